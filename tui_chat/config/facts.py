"""What is known of single models, as data: patterns of names, and facts with their evidence.

A fact that nobody has shown stays unknown. A longer pattern goes before a shorter one, fact by
fact. `config.toml` overrides any of them: `[endpoints.openai.facts."gpt-5*"]`.

Evidence, all of November 2026:
    L  the model table of litellm 1.106.2, which names the providers' own pages as its source
    P  the profiles of pydantic-ai 2.68.0, which say that they were tried against the live API
    S  types and docstrings of the official SDKs (openai 3.54, anthropic 2.12)
    R  a recorded call that was accepted or refused
    I  an error text in public issues

Where a provider counts input and output apart, the limit is their sum (OpenAI: 272,000 and
128,000), except for Gemini, whose limit is that of the input.
"""

from __future__ import annotations

from tui_chat.model.endpoint import ModelFacts

_REASONS = ModelFacts(sampling=False)
"""Reasons unless told not to, and then takes no temperature [P]."""

_O_SERIES = ModelFacts(200_000, sampling=False, developer_role=True)
"""Limit [L], sampling [P], `developer` as the docstrings have it for “o1 models and newer” [S].
GPT-5 and later are generally said to take `system` too, so nothing is renamed for them."""

OPENAI: tuple[tuple[str, ModelFacts], ...] = (
    # “Unrecognized request argument supplied”, “Additional properties are not allowed”
    # [I: tg-spam#304, langchain_dart#712, openai-node#1161].
    ("*", ModelFacts(strict_keys=True)),
    ("gpt-3.5-turbo*", ModelFacts(16_385)),
    ("gpt-4", ModelFacts(8_192)),
    ("gpt-4-turbo*", ModelFacts(128_000)),
    ("gpt-4o*", ModelFacts(128_000)),
    ("gpt-4.1*", ModelFacts(1_047_576)),
    ("o1*", _O_SERIES),
    ("o1-mini*", ModelFacts(128_000, developer_role=False)),  # refuses both names [R]
    ("o1-preview*", ModelFacts(128_000, developer_role=False)),
    ("o3*", _O_SERIES),
    ("o4*", _O_SERIES),
    ("gpt-5", ModelFacts(400_000, sampling=False)),
    ("gpt-5-*", ModelFacts(400_000, sampling=False)),
    ("gpt-5-chat*", ModelFacts(128_000, sampling=True)),  # does not reason [P]
    # 5.1 to 5.4 reason only when asked to, and take a temperature otherwise [P].
    ("gpt-5.1*", ModelFacts(400_000)),
    ("gpt-5.1-codex*", _REASONS),
    ("gpt-5.1-chat*", ModelFacts(128_000, sampling=False)),
    ("gpt-5.2*", ModelFacts(400_000)),
    ("gpt-5.2-pro*", _REASONS),
    ("gpt-5.2-chat*", ModelFacts(128_000, sampling=False)),
    ("gpt-5.3-codex*", ModelFacts(400_000)),
    ("gpt-5.3-chat*", ModelFacts(128_000, sampling=False)),
    ("gpt-5.4*", ModelFacts(1_050_000)),
    ("gpt-5.4-mini*", ModelFacts(400_000)),
    ("gpt-5.4-nano*", ModelFacts(400_000)),
    ("gpt-5.4-pro*", _REASONS),
    ("gpt-5.5*", ModelFacts(1_050_000, sampling=False)),
    ("gpt-5.6*", ModelFacts(1_050_000, sampling=False)),
    ("gpt-6*", ModelFacts(1_050_000, sampling=False)),
)

_OLDER = ModelFacts(200_000, sampling=True, mid_history_system=False, prefill=True)
"""Claude 4.5: takes sampling settings [R, haiku] and prefill [L], no system turns [P]."""

_NEWER = ModelFacts(1_000_000, sampling=False, mid_history_system=False, prefill=False)
"""Refuses sampling settings [P] and prefill [L][I]."""

_NEWEST = ModelFacts(1_000_000, sampling=False, mid_history_system=True, prefill=False)
"""As above, and honours system turns between the others [R][P]."""

ANTHROPIC: tuple[tuple[str, ModelFacts], ...] = (
    ("claude-haiku-4-5*", _OLDER),
    ("claude-sonnet-4-5*", _OLDER),
    ("claude-opus-4-5*", _OLDER),
    # 4.6 still takes sampling settings: only later ones are on the list of those that do not [P].
    (
        "claude-sonnet-4-6*",
        ModelFacts(1_000_000, sampling=True, mid_history_system=False, prefill=False),
    ),
    (
        "claude-opus-4-6*",
        ModelFacts(1_000_000, sampling=True, mid_history_system=False, prefill=False),
    ),
    ("claude-opus-4-7*", _NEWER),
    ("claude-opus-4-8*", _NEWEST),
    ("claude-opus-5*", _NEWEST),
    ("claude-fable-5*", _NEWEST),
    ("claude-mythos-5*", _NEWEST),
    ("claude-sonnet-5*", _NEWER),  # answers 200 to a system turn and ignores it [P]
    ("claude-haiku-5-5*", _NEWER),
)

GEMINI: tuple[tuple[str, ModelFacts], ...] = (
    ("gemini-2.5*", ModelFacts(1_048_576)),
    ("gemini-3*", ModelFacts(1_048_576)),
    ("gemini-flash*", ModelFacts(1_048_576)),
    ("gemini-pro*", ModelFacts(1_048_576)),
)

DEEPSEEK: tuple[tuple[str, ModelFacts], ...] = (
    ("deepseek-chat", ModelFacts(131_072)),
    ("deepseek-reasoner", ModelFacts(131_072)),
    ("deepseek-v4*", ModelFacts(1_000_000)),
    ("deepseek-flash", ModelFacts(1_000_000)),
)

MISTRAL: tuple[tuple[str, ModelFacts], ...] = (
    # Refuses `stream_options` and whatever else it does not know; sends usage unasked
    # [I: openai-agents-python#442, tabby#4082, eca#231].
    ("*", ModelFacts(strict_keys=True, stream_usage=False)),
    ("mistral-large-4*", ModelFacts(1_048_576)),
    ("mistral-large-latest", ModelFacts(262_144)),
    ("mistral-medium-latest", ModelFacts(262_144)),
    ("mistral-small-latest", ModelFacts(262_144)),
    ("magistral-*", ModelFacts(262_144)),
    ("codestral-latest", ModelFacts(128_000)),
)

GROQ: tuple[tuple[str, ModelFacts], ...] = (
    ("openai/gpt-oss-*", ModelFacts(131_072)),
    ("qwen/qwen3.8-27b", ModelFacts(131_072)),
)

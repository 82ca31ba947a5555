"""What is known of single providers and of the models under the names they have there.

What follows a model's name wherever it is asked is in `model.model_facts`. Here is what a server
does whichever model it serves, and names that mean this model at this provider only. A longer
pattern goes before a shorter one, fact by fact. `config.toml` overrides any of them:
`[endpoints.openai.facts."gpt-5*"]`. For the evidence marks see `model.model_facts`.
"""

from __future__ import annotations

from tui_chat.models.model_facts import ModelFacts

OPENAI: tuple[tuple[str, ModelFacts], ...] = (
    # “Unrecognized request argument supplied”, “Additional properties are not allowed”
    # [I: tg-spam#304, langchain_dart#712, openai-node#1161].
    ("*", ModelFacts(strict_keys=True)),
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

"""Facts about models, known by their names, whichever endpoint serves them.

A proxy, a cloud and a local gateway serve the same model under their own spelling of its name, so
facts follow the name and not the endpoint:

    anthropic/claude-sonnet-4.5            us.anthropic.claude-sonnet-4-5-20250929-v1:0
    claude-sonnet-4-5@20250929             models/gemini-2.5-pro
    openai:gpt-5-mini                      openai/o3-mini:online

1. A fact that nobody has shown stays unknown (None), and nothing is claimed about it.
2. What a server does, whichever model it serves, is not here: see `config.facts`.
3. What the user wrote about an endpoint goes before all of it: see `Endpoint.facts_of`.

Evidence, all of November 2026:
    L  the model table of litellm 1.106.2, which names the providers' own pages as its source
    P  the profiles of pydantic-ai 2.68.0, which say that they were tried against the live API
    M  models.dev and ruby_llm's models.json: limits of output
    S  types and docstrings of the official SDKs (openai 3.54, anthropic 2.12)
    R  a recorded call that was accepted or refused
    I  an error text in public issues

Where a provider counts input and output apart, the context limit is their sum (OpenAI: 272,000
and 128,000), except for Gemini, whose limit is that of the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in US dollars per million tokens; None means unknown."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    """Input that the provider still had in its cache."""
    cache_write: float | None = None
    """Input that was put into the provider's cache."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model; None means unknown."""

    context_limit: int | None = None
    """Tokens of input and output together."""
    sampling: bool | None = None
    """True if temperature and other sampling settings are accepted at any effort."""
    sampling_efforts: tuple[str, ...] | None = None
    """The reasoning efforts at which they are; the empty string is the model's own default.
    Counts only where `sampling` is None."""
    developer_role: bool | None = None
    """True if OpenAI expects `developer` instead of `system`."""
    mid_history_system: bool | None = None
    """True if Anthropic accepts `system` turns inside `messages`."""
    prefill: bool | None = None
    """True if the conversation may end with the beginning of the reply."""
    max_output: int | None = None
    """Most tokens of one reply that the model accepts as its limit."""
    strict_keys: bool | None = None
    """True if OpenAI Chat's server refuses unknown keys and an empty `tools`; a
    captured request then loses them. None: they are passed on, with a warning."""
    stream_usage: bool | None = None
    """True if OpenAI Chat's `stream_options.include_usage` is accepted."""
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] | None = None
    """How OpenAI Chat's reply limit is called; None leaves it to the endpoint."""
    prices: Prices | None = None


NO_FACTS = ModelFacts()
_NAMES = tuple(each.name for each in fields(ModelFacts))


def merged_facts(found: Iterable[ModelFacts]) -> ModelFacts:
    """Return one value of several; of each fact the first that is known counts."""
    known = [facts for facts in found if facts is not NO_FACTS]
    if len(known) < 2:
        return known[0] if known else NO_FACTS
    values: dict[str, Any] = {}
    for name in _NAMES:
        values[name] = next(
            (value for facts in known if (value := getattr(facts, name)) is not None), None
        )
    return ModelFacts(**values)


@lru_cache(maxsize=256)
def known_facts(model: str) -> ModelFacts:
    """Return what is known of a model by its name, in whichever spelling."""
    name = plain_model_name(model)
    if _is_derived(name):
        return NO_FACTS
    if (version := _claude_version(name)) is not None:
        return _CLAUDE.get(version, NO_FACTS)
    matching = sorted((p for p in _BY_PATTERN if _fits(name, p)), key=len, reverse=True)
    return merged_facts(_BY_PATTERN[pattern] for pattern in matching)


def is_newer_claude(model: str) -> bool:
    """Return True for a Claude model that no fact is known of. New ones are likely to refuse what
    the newest known ones refuse, so they are asked as those are.
    """
    name = plain_model_name(model)
    is_claude = re.match(r"claude(?![a-z])", name) is not None and not _is_derived(name)
    return is_claude and known_facts(model) is NO_FACTS


def is_openai_model(model: str) -> bool:
    """Return True for a name that OpenAI gives to its own hosted models."""
    return _OPENAI_NAME.match(plain_model_name(model)) is not None


_OPENAI_NAME = re.compile(r"(?:gpt-\d|chatgpt-|o[1-9](?:-|$))")

_HOST = re.compile(
    r"(?:ft|anthropic|openai|google|azure|aws|gcp|bedrock|vertex(?:_ai|-ai)?|databricks|openrouter)"
    r"[:_-]"
)
"""What gateways put in front of a model's name, beside paths: `openai:gpt-5`."""
_REGION = re.compile(r"(?:[a-z][a-z-]*\.)+(?=[a-z])")
"""What Bedrock puts in front: `us.anthropic.`."""


def plain_model_name(model: str) -> str:
    """Return a model's name in lower case, without the path, vendor and region before it."""
    name = model.strip().lower().rpartition("/")[2]
    while (found := _HOST.match(name) or _REGION.match(name)) is not None:
        name = name[found.end() :]
    return name


def _is_derived(name: str) -> bool:
    """Return True where a name only tells which model taught this one."""
    return "distill" in name


_BOUNDARY = re.compile(r"[^a-z0-9.]|$")
_DATE = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})(?=$|[@:])|-latest$|[@:].*$")
"""What names one version of a model: `-2025-08-07`, `-0613`; and a gateway's variant: `:online`."""


def _fits(name: str, pattern: str) -> bool:
    """Return whether a name is the pattern's, or begins so where the pattern ends in `*`: at the
    end of a word, so that `gpt-5.1*` is not `gpt-5.10`.
    """
    if not pattern.endswith("*"):
        return _DATE.sub("", name) == pattern
    stem = pattern[:-1]
    if not name.startswith(stem):
        return False
    return not stem[-1].isdigit() or _BOUNDARY.match(name, len(stem)) is not None


_WHILE_IDLE = ("", "none")
"""GPT-5.1 to 5.4 reason only when asked to, and take a temperature otherwise [P]."""
_WHILE_OFF = ("none",)
"""GPT-5.5 and later reason unless told not to [P][R]."""
_REASONS = ModelFacts(sampling=False)
"""Always reasons, and takes no temperature [P]."""
_O_SERIES = ModelFacts(200_000, sampling=False, developer_role=True)
"""Limit [L], sampling [P], `developer` as the docstrings have it for “o1 models and newer” [S].
GPT-5 and later are generally said to take `system` too, so nothing is renamed for them."""
_GEMINI = ModelFacts(1_048_576, max_output=65_536)
"""Limit [L], output [M]."""

_BY_PATTERN: dict[str, ModelFacts] = {
    "gpt-3.5-turbo*": ModelFacts(16_385),
    "gpt-35-turbo*": ModelFacts(16_385),  # Azure's spelling
    "gpt-4": ModelFacts(8_192),
    "gpt-4-turbo*": ModelFacts(128_000),
    "gpt-4o*": ModelFacts(128_000),
    "chatgpt-4o*": ModelFacts(128_000),
    "gpt-4.1*": ModelFacts(1_047_576),
    "o1*": _O_SERIES,
    "o1-mini*": ModelFacts(128_000, developer_role=False),  # refuses both names [R]
    "o1-preview*": ModelFacts(128_000, developer_role=False),
    "o3*": _O_SERIES,
    "o4*": _O_SERIES,
    "gpt-5": ModelFacts(400_000, sampling=False),
    "gpt-5-*": ModelFacts(400_000, sampling=False),
    "gpt-5-chat*": ModelFacts(128_000, sampling=True),  # does not reason [P]
    "gpt-5.1*": ModelFacts(400_000, sampling_efforts=_WHILE_IDLE),
    "gpt-5.1-codex*": _REASONS,
    "gpt-5.1-chat*": ModelFacts(128_000, sampling=False),
    "gpt-5.2*": ModelFacts(400_000, sampling_efforts=_WHILE_IDLE),
    "gpt-5.2-pro*": _REASONS,
    "gpt-5.2-chat*": ModelFacts(128_000, sampling=False),
    "gpt-5.3-codex*": ModelFacts(400_000, sampling_efforts=_WHILE_IDLE),
    "gpt-5.3-chat*": ModelFacts(128_000, sampling=False),
    "gpt-5.4*": ModelFacts(1_050_000, sampling_efforts=_WHILE_IDLE),
    "gpt-5.4-mini*": ModelFacts(400_000),
    "gpt-5.4-nano*": ModelFacts(400_000),
    "gpt-5.4-pro*": _REASONS,
    "gpt-5.5*": ModelFacts(1_050_000, sampling_efforts=_WHILE_OFF),
    "gpt-5.5-pro*": _REASONS,
    "gpt-5.6*": ModelFacts(1_050_000, sampling_efforts=_WHILE_OFF),
    "gpt-6*": ModelFacts(1_050_000),
    "gemini-2.5*": _GEMINI,
    "gemini-3*": _GEMINI,
    "gemini-3.*": _GEMINI,
    "gemini-flash*": _GEMINI,
    "gemini-pro*": _GEMINI,
}

NEWEST_CLAUDE_OUTPUT = 128_000
"""Most tokens of one reply of the newest known models."""

_OLDEST = ModelFacts(200_000, sampling=True, max_output=4_096)
"""Claude 3: sampling [P], limits [L][M]."""
_OLD = ModelFacts(200_000, sampling=True, max_output=8_192)
_OLDER = ModelFacts(200_000, sampling=True, max_output=64_000)
_OPUS_4 = ModelFacts(200_000, sampling=True, max_output=32_000)
_CLAUDE_4_5 = ModelFacts(
    200_000, sampling=True, mid_history_system=False, prefill=True, max_output=64_000
)
"""Takes sampling settings [R, haiku and sonnet] and prefill [L], no system turns [P]."""
_CLAUDE_4_6 = ModelFacts(
    1_000_000,
    sampling=True,
    mid_history_system=False,
    prefill=False,
    max_output=NEWEST_CLAUDE_OUTPUT,
)
"""Still takes sampling settings: only later ones are on the list of those that do not [P][R]."""
_NEWER = ModelFacts(
    1_000_000,
    sampling=False,
    mid_history_system=False,
    prefill=False,
    max_output=NEWEST_CLAUDE_OUTPUT,
)
"""Refuses sampling settings [P] and prefill [L][I]."""
_NEWEST = ModelFacts(
    1_000_000,
    sampling=False,
    mid_history_system=True,
    prefill=False,
    max_output=NEWEST_CLAUDE_OUTPUT,
)
"""As above, and honours system turns between the others [R][P]."""

ClaudeVersion = tuple[str, int, int]
"""Family, major and minor version."""

_CLAUDE: dict[ClaudeVersion, ModelFacts] = {
    ("", 2, 0): ModelFacts(sampling=True, max_output=4_096),
    ("haiku", 3, 0): _OLDEST,
    ("sonnet", 3, 0): _OLDEST,
    ("opus", 3, 0): _OLDEST,
    ("haiku", 3, 5): _OLD,
    ("sonnet", 3, 5): _OLD,
    ("sonnet", 3, 7): _OLDER,
    ("sonnet", 4, 0): _OLDER,
    ("opus", 4, 0): _OPUS_4,
    ("opus", 4, 1): _OPUS_4,
    ("haiku", 4, 5): _CLAUDE_4_5,
    ("sonnet", 4, 5): _CLAUDE_4_5,
    ("opus", 4, 5): _CLAUDE_4_5,
    ("sonnet", 4, 6): _CLAUDE_4_6,
    ("opus", 4, 6): _CLAUDE_4_6,
    ("opus", 4, 7): _NEWER,
    ("opus", 4, 8): _NEWEST,
    ("sonnet", 5, 0): _NEWER,  # answers 200 to a system turn and ignores it [P]
    ("opus", 5, 0): _NEWEST,
    ("fable", 5, 0): _NEWEST,
    ("mythos", 5, 0): _NEWEST,
}

_CLAUDE_NAME = re.compile(
    r"""claude-(?:
        (?P<old>(?:instant|v?[12])(?!\d))
      | (?P<family>[a-z]+)-(?P<major>\d{1,2})(?!\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?
      | (?P<first>\d)(?:[-.](?P<second>\d{1,2}))?-(?P<kind>[a-z]+)
    )(?![a-z0-9])""",
    re.VERBOSE,
)
"""`claude-sonnet-4-5-20250929`, `claude-3-5-sonnet-latest`, `claude-2.1`; `4.5` for `4-5`."""


def _claude_version(name: str) -> ClaudeVersion | None:
    """Return which Claude a plain name means; None where it is none that can be told."""
    found = _CLAUDE_NAME.match(name)
    if found is None:
        return None
    if found["old"]:
        return ("", 2, 0)
    if found["family"]:
        return (found["family"], int(found["major"]), int(found["minor"] or 0))
    return (found["kind"], int(found["first"]), int(found["second"] or 0))

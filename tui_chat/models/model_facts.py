"""Facts about models, known by their names, whichever endpoint serves them.

A proxy, a cloud and a local gateway serve the same model under their own spelling of its name, so
facts follow the name and not the endpoint:

    anthropic/claude-sonnet-4.5            us.anthropic.claude-sonnet-4-5-20250929-v1:0
    claude-sonnet-4-5@20250929             models/gemini-2.5-pro
    openai:gpt-5-mini                      openai/o3-mini:online

1. A fact that nobody has shown stays unknown (None), and nothing is claimed about it.
2. What a server does, whichever model it serves, is not here: see `config.built_in_endpoints`.
3. What the user wrote goes before all of it: see `Endpoint.facts_of`.
4. The facts are in `known_facts.json`, which is kept by hand and read at the first question. Each
   entry names its models, exactly or by a beginning (`gpt-5.1*`), and its evidence. If several
   entries fit a name, the longer pattern goes before the shorter one, fact by fact.
5. Limits, media and whether a model reasons are also in `published_facts.json`, which
   `docs/dev/refresh_facts.py` writes from tables that others publish. They count last. Facts about
   models of open weights hold only at the host that they are published for: elsewhere the same
   name may mean a smaller model or a shorter context.

Evidence, all of November 2026:
    L  the model table of litellm 1.106.2, which names the providers' own pages as its source
    P  the profiles of pydantic-ai 2.68.0, which say that they were tried against the live API,
       and the tables of the AI SDK of Vercel
    M  models.dev and ruby_llm's models.json: limits of output
    S  types and docstrings of the official SDKs (openai 3.54, anthropic 2.12)
    R  a recorded call that was accepted or refused
    I  an error text in public issues

Where a provider counts input and output apart, the context limit is their sum (OpenAI: 272,000
and 128,000), except for Gemini, whose limit is that of the input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache, lru_cache
from pkgutil import get_data
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Check, Range
from tui_chat.models.prices import Prices
from tui_chat.models.settings import EFFORTS

MEDIA = ("text", "image", "audio", "video", "pdf")
"""Kinds of input and output."""


def _some_of(words: tuple[str, ...]) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """Return the check of a list of words, which also puts them in order."""

    def check(values: tuple[str, ...]) -> tuple[str, ...]:
        if not {*values} <= {*words}:
            raise ValueError(f"must be some of {', '.join(filter(None, words))}")
        return tuple(word for word in words if word in values)

    return check


def _budgets(tokens: tuple[int, ...]) -> tuple[int, ...]:
    if tokens and not (len(tokens) == 2 and 0 <= tokens[0] <= tokens[1]):
        raise ValueError("must be the least and the most tokens, or empty for none")
    return tokens


_Tokens = Annotated[int, Range(1, 10**9)]
_Efforts = Annotated[tuple[str, ...], Check(_some_of(EFFORTS))]
_Media = Annotated[tuple[str, ...], Check(_some_of(MEDIA))]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model; None means unknown."""

    context_limit: _Tokens | None = None
    """Tokens of input and output together."""
    sampling: bool | None = None
    """True if sampling settings are accepted at any effort."""
    sampling_efforts: Annotated[tuple[str, ...] | None, Check(_some_of(("", *EFFORTS)))] = None
    """The efforts at which they are; `""` for the model's own. `sampling` goes before it."""
    developer_role: bool | None = None
    """OpenAI: true if `developer` takes the place of `system`."""
    mid_history_system: bool | None = None
    """Anthropic: true if `messages` may have `system` messages."""
    prefill: bool | None = None
    """True if the request may end with the beginning of the reply."""
    max_output: _Tokens | None = None
    """Most tokens of a reply."""
    strict_keys: bool | None = None
    """OpenAI Chat: true if the server refuses unknown keys and an empty `tools`; they are left out
    then."""
    stream_usage: bool | None = None
    """OpenAI Chat: true if `stream_options.include_usage` is accepted."""
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] | None = None
    """OpenAI Chat: the name of the reply limit."""
    prices: Prices | None = None
    """See below."""
    efforts: _Efforts | None = None
    """Reasoning efforts; with `none` if reasoning can be switched off, empty for no reasoning."""
    reasons_by_default: bool | None = None
    """True if it reasons unless told otherwise."""
    budgets: Annotated[tuple[int, ...] | None, Check(_budgets)] = None
    """Least and most tokens of a reasoning budget, or empty."""
    adaptive_thinking: bool | None = None
    """Anthropic: true if `thinking.type` may be `adaptive`."""
    forced_tools: bool | None = None
    """False if the tool choice may not force a call."""
    stop: bool | None = None
    """False if stop sequences are refused."""
    response_schema: bool | None = None
    """False if a schema of the reply is refused."""
    hosted_beside_functions: bool | None = None
    """False if the provider's own tools cannot stand beside functions."""
    reasons: bool | None = None
    """True if it can reason, where efforts and budgets are unknown."""
    input_media: _Media | None = None
    """Some of `text`, `image`, `audio`, `video`, `pdf`."""
    output_media: _Media | None = None
    """The same for replies."""

    @property
    def can_reason(self) -> bool:
        """True if efforts or budgets are known that the model accepts."""
        return bool(self.efforts or self.budgets)


NO_FACTS = ModelFacts()
_NAMES = frozenset(fact.name for fact in fields(ModelFacts))


def merged_facts(found: Iterable[ModelFacts]) -> ModelFacts:
    """Merge several facts; the first known value of each field counts."""
    non_empty = [facts for facts in found if facts is not NO_FACTS]
    if len(non_empty) < 2:
        return non_empty[0] if non_empty else NO_FACTS
    values = {name: _from_first(non_empty, name, name) for name in _NAMES}
    # Whoever is the first to say the one or the other decides both.
    values["sampling"] = _from_first(non_empty, "sampling", "sampling_efforts")
    values["reasons"] = _from_first(non_empty, "reasons", "efforts")
    return ModelFacts(**values)


def _from_first(known: Iterable[ModelFacts], name: str, detail: str) -> Any:
    """Return a fact of the first that knows it or its detail."""
    return next(
        (
            getattr(facts, name)
            for facts in known
            if getattr(facts, name) is not None or getattr(facts, detail) is not None
        ),
        None,
    )


@lru_cache(maxsize=256)
def known_facts(model: str) -> ModelFacts:
    """Return the facts about a model by any spelling of its name."""
    name = canonical_model_name(model)
    if _is_derived(name):
        return NO_FACTS
    table = _known_table()
    matching = sorted((p for p in table if _fits(name, p)), key=len, reverse=True)
    return merged_facts(facts for pattern in matching for facts in table[pattern])


@cache
def _known_table() -> dict[str, list[ModelFacts]]:
    """Return the facts that are kept by hand, by the names and patterns of models."""
    table: dict[str, list[ModelFacts]] = {}
    for entry in _read_data("known_facts.json"):
        facts = facts_of_json(entry)
        for pattern in entry["models"]:
            table.setdefault(pattern, []).append(facts)
    return table


@lru_cache(maxsize=256)
def published_facts(model: str, base_url: str = "") -> ModelFacts:
    """Return what others publish about a model: for the host of `base_url`, then for any host."""
    data = _published_data()
    at_host: dict[str, Any] = data["hosts"].get(urlsplit(base_url).hostname, {})
    _, plain, canonical, dateless = spellings(model)
    if _is_derived(plain):
        return NO_FACTS
    entries = [at_host.get(model.strip().lower())]
    entries += [data["anywhere"].get(name) for name in dict.fromkeys((canonical, dateless))]
    return merged_facts(facts_of_json(facts) for facts in entries if facts is not None)


def published_date() -> str:
    """Return the day of the published facts, as YYYY-MM-DD."""
    return _published_data()["date"]


@cache
def _published_data() -> dict[str, Any]:
    return _read_data("published_facts.json")


def _read_data(name: str) -> Any:
    """Return the JSON of a file of this package, which is a part of the program like a module."""
    return json.loads(get_data(__name__, name) or b"null")


def facts_of_json(values: Mapping[str, Any]) -> ModelFacts:
    """Return the facts of a JSON object; keys that are not fields of `ModelFacts` are ignored."""
    facts: dict[str, Any] = {name: values[name] for name in _NAMES & values.keys()}
    for name in [name for name, value in facts.items() if isinstance(value, list)]:
        facts[name] = tuple(facts[name])
    return ModelFacts(**facts)


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


def maker_of(model: str) -> str:
    """Return the only provider (id in `models.prices`) of a model; empty for any other."""
    name = plain_model_name(model)
    if is_openai_model(model):
        return "openai"
    makers = (maker for prefix, maker in _MAKERS.items() if name.startswith(prefix))
    return "" if _is_derived(name) else next(makers, "")


_MAKERS = {"claude-": "anthropic", "gemini-": "google", "grok-": "x-ai"}
_OPENAI_NAME = re.compile(r"(?:gpt-\d|chatgpt-|o[1-9](?:-|$))")

_HOST = re.compile(
    r"(?:ft|anthropic|openai|google|azure|aws|gcp|bedrock|vertex(?:_ai|-ai)?|databricks|openrouter)"
    r"[:_-]"
)
"""Prefixes of gateways, besides paths: `openai:gpt-5`."""
_REGION = re.compile(r"(?:[a-z][a-z-]*\.)+(?=[a-z])")
"""Bedrock's prefixes: `us.anthropic.`."""


def plain_model_name(model: str) -> str:
    """Return a model's name in lower case, without the path, vendor and region before it."""
    name = model.strip().lower().rpartition("/")[2]
    while (prefix := _HOST.match(name) or _REGION.match(name)) is not None:
        name = name[prefix.end() :]
    return name


def canonical_model_name(model: str) -> str:
    """Return the plain name of a model; of a Claude model the one that new models have:
    `claude-sonnet-3-5` for `anthropic/claude-3.5-sonnet:beta`.
    """
    name = plain_model_name(model)
    match = _CLAUDE_NAME.match(name)
    if match is None or _is_derived(name):
        return name
    if match["old"]:
        return "claude-2"
    family = match["family"] or match["kind"]
    major, minor = match["major"] or match["first"], match["minor"] or match["second"]
    return f"claude-{family}-{int(major)}" + (f"-{int(minor)}" if int(minor or 0) else "")


@lru_cache(maxsize=256)
def spellings(model: str) -> tuple[str, ...]:
    """Return a model's name as it is, plain, canonical, and without date and variant."""
    name = canonical_model_name(model)
    return (model, plain_model_name(model), name, _DATE.sub("", name))


def _is_derived(name: str) -> bool:
    """Return True if a name has another model's only since it was distilled from that."""
    return "distill" in name


_BOUNDARY = re.compile(r"[^a-z0-9.]|$")
_DATE = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})(?=$|[@:])|-latest$|[@:].*$")
"""Suffixes of a version, `-2025-08-07`, `-0613`, and of a gateway's variant, `:online`."""


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


NEWEST_CLAUDE_OUTPUT = 128_000
"""Most tokens of one reply of the newest known models."""

CLAUDE_EFFORTS = ("none", "low", "medium", "high", "xhigh", "max")
"""Efforts that the newest known models accept [P]."""

_CLAUDE_NAME = re.compile(
    r"""claude-(?:
        (?P<old>(?:instant|v?[12])(?!\d))
      | (?P<family>[a-z]+)-(?P<major>\d{1,2})(?!\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?
      | (?P<first>\d)(?:[-.](?P<second>\d{1,2}))?-(?P<kind>[a-z]+)
    )(?![a-z0-9])""",
    re.VERBOSE,
)
"""`claude-sonnet-4-5-20250929`, `claude-3-5-sonnet-latest`, `claude-2.1`; `4.5` for `4-5`."""

"""The settings that only Gemini has.

`thinkingConfig`, as the model's family accepts it: Gemini 3 and later take levels, 2.5 takes
budgets, older ones neither. An unknown model is asked as the newest are. A model of another maker
behind this protocol gets levels, and a budget of 0 for no reasoning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Json
from tui_chat.models.boundary import camel_case
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Parameters, Sourced
from tui_chat.models.json_text import as_object, as_string
from tui_chat.models.model_facts import ModelFacts, maker_of
from tui_chat.models.semantics import UNSET, Namespace, Setting
from tui_chat.models.settings import EFFORTS
from tui_chat.protocols.common.decoding import Meanings
from tui_chat.protocols.common.loss_notes import setting_note
from tui_chat.protocols.common.reasoning_effort import (
    AUTO,
    Reasoning,
    reasoning_by_budget,
    reasoning_by_word,
    summary_note,
    with_default_effort,
)
from tui_chat.protocols.common.request_fields import Fields, is_count
from tui_chat.protocols.common.setting_rows import (
    Row,
    Table,
    boolean,
    count,
    integer,
    never,
    number,
    text,
    texts,
    unread,
)
from tui_chat.protocols.gemini.tools import (
    read_choice,
    read_mime,
    read_own_schema,
    read_schema,
    write_choice,
    write_mime,
    write_own_schema,
    write_schema,
)

_LEVELS = ("minimal", "low", "medium", "high")
"""Levels that the newest known models accept."""
TIERS = {"standard": "default", "flex": "flex", "priority": "priority", "unspecified": "auto"}
"""Gemini's service tiers in OpenAI's words."""
_TIER_WORDS = {word: tier for tier, word in TIERS.items()}
THINKING = "thinkingConfig"


def _read_tier(value: Json) -> str | None:
    return TIERS.get(value.lower()) if isinstance(value, str) else None


def _write_tier(tier: str) -> str:
    return _TIER_WORDS.get(tier, tier)


def _read_level(value: Json) -> str | None:
    word = value.lower() if isinstance(value, str) else ""
    return word if word in EFFORTS and word != "none" else None


def _write_level(effort: str) -> str | None:
    return effort.upper() if effort not in (AUTO, "none") else None


CONFIG: Table = (
    Row("temperature", ("temperature",), number, low=0, high=2, is_sampling=True),
    Row("top_p", ("topP",), number, low=0, high=1, is_sampling=True),
    Row("top_k", ("topK",), integer, low=1, is_sampling=True),
    Row("presence_penalty", ("presencePenalty",), number, low=-2, high=2, is_sampling=True),
    Row("frequency_penalty", ("frequencyPenalty",), number, low=-2, high=2, is_sampling=True),
    Row("seed", ("seed",), integer, low=-(2**31), high=2**31 - 1),
    Row("max_tokens", ("maxOutputTokens",), integer),
    Row("stop", ("stopSequences",), texts),
    Row("response_format", ("responseJsonSchema",), read_schema, never),
    Row("response_format", ("responseSchema",), read_own_schema, never),
    Row("response_format", ("responseMimeType",), read_mime, write_mime),
    Row("response_format", ("responseSchema",), unread, write_own_schema),
    Row("response_format", ("responseJsonSchema",), unread, write_schema),
    Row("effort", (THINKING, "thinkingLevel"), _read_level, _write_level),
    Row(
        "effort",
        (THINKING, "thinkingBudget"),
        lambda budget: AUTO if budget == -1 else None,
        lambda effort: -1 if effort == AUTO else None,
    ),
    Row("reasoning_budget", (THINKING, "thinkingBudget"), count),
    Row(
        "reasoning_summary",
        (THINKING, "includeThoughts"),
        lambda shown: {True: "auto", False: "none"}[shown] if isinstance(shown, bool) else None,
        lambda summary: summary != "none",
    ),
    Row("replies", ("candidateCount",), count),
    Row("logprobs", ("responseLogprobs",), unread, lambda _: True),
    Row("logprobs", ("logprobs",), count, lambda number: number or None),
    Row("logprobs", ("responseLogprobs",), lambda on: 0 if on is True else None, never),
)
"""The settings in `generationConfig`, in the order in which they are sent."""
BODY: Table = (
    Row("tool_choice", ("toolConfig", "functionCallingConfig"), read_choice, write_choice),
    Row("service_tier", ("serviceTier",), _read_tier, _write_tier),
    Row("store", ("store",), boolean),
)
"""Those beside it."""
TABLE: Table = (
    Row("model", ("model",), text),
    *BODY,
    *(replace(row, path=("generationConfig", *row.path)) for row in CONFIG),
)


def fitted_thinking(
    parameters: Parameters, facts: ModelFacts, notes: list[Note], *, by_budget: bool = False
) -> Parameters:
    """Return the parameters with reasoning in the form that the model accepts. `by_budget`: a
    budget stays, also where levels are usual.
    """
    if facts.budgets or (by_budget and parameters.effort is None and facts.efforts != ()):
        reasoning = reasoning_by_budget(parameters, facts, notes)
    else:
        reasoning = _level(parameters, facts, notes)
    effort = budget = None
    if reasoning.source is not None:
        origin = reasoning.source.origin
        if reasoning.effort == "none":  # which is no level
            budget = Sourced(0, origin)
        elif reasoning.effort:
            effort = Sourced(reasoning.effort, origin)
        elif reasoning.budget is not None:
            budget = Sourced(reasoning.budget, origin)
    return replace(
        parameters,
        effort=effort,
        reasoning_budget=budget,
        reasoning_summary=_summary(parameters, facts, notes),
    )


def _summary(parameters: Parameters, facts: ModelFacts, notes: list[Note]) -> Sourced[str] | None:
    summary = parameters.reasoning_summary
    if summary is None:
        return None
    if facts.efforts == () and not facts.budgets:
        why = f"{parameters.model.value} does not reason"
        level = Level.INFO if summary.value == "none" else Level.WARNING
        name = f"the reasoning summary “{summary.value}”"
        notes.append(setting_note(summary, name, why, level))
        return None
    if summary.value not in ("none", "auto"):
        notes.append(summary_note(summary, "includeThoughts: true"))
    return summary


def _level(parameters: Parameters, facts: ModelFacts, notes: list[Note]) -> Reasoning:
    if facts.efforts is None:
        is_google = maker_of(parameters.model.value) == "google"
        facts = ModelFacts(efforts=_LEVELS if is_google else ("none", *_LEVELS))
    return with_default_effort(reasoning_by_word(parameters, facts, notes), parameters, notes)


@dataclass(frozen=True, slots=True)
class GeminiSettings(Namespace):
    """The settings that only Gemini has."""

    protocol: ClassVar = Protocol.GEMINI
    form_only: ClassVar = frozenset({"system_instruction", "tool_groups", "tools_shape", "spelled"})
    informational: ClassVar = frozenset({"labels", "service_tier", "store"})
    earlier_turns: ClassVar = frozenset({"cached_content"})
    keys: ClassVar = {
        name: camel_case(name)
        for name in (
            *("cached_content", "continuation_token", "generation_config", "safety_settings"),
            *("service_tier", "tool_config"),
        )
    }
    groups: ClassVar = frozenset({"generation_config", "tool_config"})

    cached_content: Setting = UNSET
    continuation_token: Setting = UNSET
    generation_config: Setting = UNSET
    """The part of `generationConfig` that no unified field holds."""
    labels: Setting = UNSET
    model: Setting = UNSET
    """The body's own `model`, as it was written; the one that counts is in the URL."""
    safety_settings: Setting = UNSET
    service_tier: Setting = UNSET
    store: Setting = UNSET
    tool_config: Setting = UNSET
    """The part that the unified tool choice does not give back word for word."""
    system_instruction: Setting = UNSET
    """Not in the body: the instruction's keys other than its parts (`role`)."""
    tool_groups: tuple[tuple[int, str], ...] = ()
    """Not in the body: how `tools` was written: for each entry, how many function declarations
    it holds, and its other keys (`googleSearch`, ...) as compact JSON."""
    tools_shape: Literal["", "object"] = ""
    """Not in the body: whether `tools` was one bare object."""
    spelled: tuple[str, ...] = ()
    """Not in the body: the keys above the contents that were written in snake_case."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        meanings = Meanings(GeminiSettings)
        config = as_object(self.generation_config)
        thinking = Fields(as_object(config.get("thinkingConfig")), "")
        level = as_string(thinking.remaining.get("thinkingLevel")).lower()
        budget = thinking.remaining.get("thinkingBudget")
        shown = thinking.remaining.get("includeThoughts")
        base = "generation_config"
        if level in EFFORTS:
            meanings.add("effort", level, f"{base}.thinkingConfig.thinkingLevel")
        if is_count(budget):
            meanings.add("reasoning_budget", budget, f"{base}.thinkingConfig.thinkingBudget")
        elif budget == -1:
            meanings.add("effort", AUTO, f"{base}.thinkingConfig.thinkingBudget")
        if isinstance(shown, bool):
            summary = "auto" if shown else "none"
            meanings.add("reasoning_summary", summary, f"{base}.thinkingConfig.includeThoughts")
        if is_count(count := config.get("candidateCount")):
            meanings.add("replies", count, f"{base}.candidateCount")
        is_on, number = config.get("responseLogprobs"), config.get("logprobs")
        meanings.add_logprobs(is_on, number, f"{base}.responseLogprobs", f"{base}.logprobs")
        if (tier := as_string(self.service_tier).lower()) in TIERS:
            meanings.add("service_tier", TIERS[tier], "service_tier")
        if isinstance(self.store, bool):
            meanings.add("store", self.store, "store")
        return meanings

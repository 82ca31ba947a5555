"""The settings that only Gemini has.

`thinkingConfig`, as the model's family accepts it: Gemini 3 and later take levels, 2.5 takes
budgets, older ones neither. An unknown model is asked as the newest are. A model of another maker
behind this protocol gets levels, and a budget of 0 for no reasoning.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import camel_case
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Parameters
from tui_chat.models.json_text import as_object, as_string
from tui_chat.models.json_tree import Obj, tree_of
from tui_chat.models.model_facts import ModelFacts, maker_of
from tui_chat.models.semantics import UNSET, Namespace, Setting
from tui_chat.models.settings import EFFORTS
from tui_chat.protocols.common.decoding import Meanings
from tui_chat.protocols.common.encoding import Items
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
from tui_chat.protocols.common.settings import INTEGER, NUMBER, TEXTS, Scalar

SCALARS = (
    Scalar("temperature", "temperature", NUMBER, 0, 2, is_sampling=True),
    Scalar("top_p", "topP", NUMBER, 0, 1, is_sampling=True),
    Scalar("top_k", "topK", INTEGER, 1, is_sampling=True),
    Scalar("presence_penalty", "presencePenalty", NUMBER, -2, 2, is_sampling=True),
    Scalar("frequency_penalty", "frequencyPenalty", NUMBER, -2, 2, is_sampling=True),
    Scalar("seed", "seed", INTEGER, -(2**31), 2**31 - 1),
    Scalar("max_tokens", "maxOutputTokens", INTEGER),
    Scalar("stop", "stopSequences", TEXTS),
)
"""Keys of `generationConfig`."""
_LEVELS = ("minimal", "low", "medium", "high")
"""Levels that the newest known models accept."""


def write_thinking_config(
    parameters: Parameters, facts: ModelFacts, notes: list[Note], *, by_budget: bool = False
) -> Obj | None:
    """Return `thinkingConfig` or None. `by_budget`: a budget stays, also where levels are usual."""
    summary = parameters.reasoning_summary
    if facts.budgets or (by_budget and parameters.effort is None and facts.efforts != ()):
        reasoning = reasoning_by_budget(parameters, facts, notes)
        amount = {AUTO: -1, "none": 0}.get(reasoning.effort, reasoning.budget)
        key, value = "thinkingBudget", amount
    else:
        reasoning = _level(parameters, facts, notes)
        key, value = "thinkingLevel", reasoning.effort.upper() or None
        if reasoning.effort == "none":  # which is no level
            key, value = "thinkingBudget", 0
    items: Items = []
    if value is not None and reasoning.source is not None:
        items.append((key, tree_of(value, reasoning.source.origin)))
    refuses = facts.efforts == () and not facts.budgets
    if summary is not None and refuses:
        why = f"{parameters.model.value} does not reason"
        level = Level.INFO if summary.value == "none" else Level.WARNING
        name = f"the reasoning summary “{summary.value}”"
        notes.append(setting_note(summary, name, why, level))
    elif summary is not None:
        if summary.value not in ("none", "auto"):
            notes.append(summary_note(summary, "includeThoughts: true"))
        items.append(("includeThoughts", tree_of(summary.value != "none", summary.origin)))
    return Obj(tuple(items)) if items else None


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


TIERS = {"standard": "default", "flex": "flex", "priority": "priority", "unspecified": "auto"}
"""Gemini's service tiers in OpenAI's words."""

"""The settings that only Anthropic has.

Thinking and effort, as the model's family accepts them.

1. The newest families think adaptively, with an effort. Older ones take a budget; Opus 4.5 takes
   both. Nothing is known of other vendors' models behind this protocol: they get budgets.
2. A budget leaves `ROOM` tokens of the reply limit for the reply. Where that is not possible there
   is no thinking.
3. A budget and a forced tool exclude each other; the tool decides what is said, so it stays.
4. With a budget the model's last turn must begin with its thinking: not after the call of another
   model, or a beginning of the reply. So no budget is sent until the next turn of the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Parameters
from tui_chat.models.json_text import as_object, as_string
from tui_chat.models.json_tree import Obj, Tree, tree_of
from tui_chat.models.model_facts import CLAUDE_EFFORTS, ModelFacts, is_newer_claude
from tui_chat.models.semantics import UNSET, Namespace, Setting
from tui_chat.models.settings import EFFORTS
from tui_chat.protocols.common.decoding import Meanings
from tui_chat.protocols.common.encoding import Items
from tui_chat.protocols.common.loss_notes import setting_note
from tui_chat.protocols.common.reasoning_effort import (
    AUTO,
    BUDGETS,
    UNLIMITED,
    Reasoning,
    reasoning_by_budget,
    reasoning_by_word,
    reasoning_name,
    summary_note,
    with_default_effort,
)
from tui_chat.protocols.common.request_fields import is_count
from tui_chat.protocols.common.settings import INTEGER, NUMBER, TEXTS, Scalar

LIMIT = (Scalar("max_tokens", "max_tokens", INTEGER),)
SCALARS = (
    Scalar("temperature", "temperature", NUMBER, 0, 1, is_sampling=True),
    Scalar("top_p", "top_p", NUMBER, 0, 1, is_sampling=True),
    Scalar("top_k", "top_k", INTEGER, 0, is_sampling=True),
    Scalar("stop", "stop_sequences", TEXTS),
)
_SYNONYMS = {"xhigh": "max"}
"""The effort that takes the place of one that a model lacks: its `max` is the step of `xhigh`
[P: see `models.model_facts`]."""
ROOM = 1_024
"""Tokens of the reply limit that a budget leaves."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """The settings that are sent; None for nothing."""

    thinking: Tree | None = None
    effort: Tree | None = None


def write_thinking(
    parameters: Parameters,
    facts: ModelFacts,
    notes: list[Note],
    *,
    limit: int,
    excluded: str,
    by_budget: bool = False,
) -> Thinking:
    """Return what asks for the reasoning.

    `limit` is the reply limit, `excluded` the reason why there can be no budget (empty if there
    can), and `by_budget` true if a budget is to stay one where the model accepts it.
    """
    if is_newer_claude(parameters.model.value):
        facts = replace(facts, efforts=CLAUDE_EFFORTS, adaptive_thinking=True)
    keep = by_budget and bool(facts.budgets) and parameters.effort is None
    if facts.adaptive_thinking and not keep:
        reasoning = reasoning_by_word(parameters, facts, notes, _SYNONYMS)
    else:
        reasoning = _budget(parameters, facts, notes, limit - ROOM)
        if excluded and reasoning.budget is not None and reasoning.source is not None:
            notes[:] = [note for note in notes if note.origin is not reasoning.source.origin]
            name = reasoning_name(reasoning.source)
            notes.append(setting_note(reasoning.source, name, excluded))
            reasoning = Reasoning()
    if reasoning.source is None:
        is_asked = parameters.effort is not None or parameters.reasoning_budget is not None
        why = f"no reasoning is {'sent' if is_asked else 'asked for'}"
        _note_summary(parameters, notes, why, Level.WARNING)
        return Thinking()
    origin = reasoning.source.origin
    if reasoning.effort == "none":
        _note_summary(parameters, notes, "there is no reasoning", Level.INFO)
        return Thinking(tree_of({"type": "disabled"}, origin))
    if reasoning.budget is None:
        items: Items = [("type", tree_of("adaptive", origin))]
    else:
        items = [("type", tree_of("enabled", origin))]
        items.append(("budget_tokens", tree_of(reasoning.budget, origin)))
    summary = parameters.reasoning_summary
    if summary is not None:
        display = "omitted" if summary.value == "none" else "summarized"
        if summary.value not in ("none", "auto"):
            notes.append(summary_note(summary, display))
        items.append(("display", tree_of(display, summary.origin)))
    effort = tree_of(reasoning.effort, origin) if reasoning.effort not in ("", AUTO) else None
    return Thinking(Obj(tuple(items), origin), effort)


def _budget(parameters: Parameters, facts: ModelFacts, notes: list[Note], most: int) -> Reasoning:
    """Return the reasoning by a budget, with an effort beside it if the model takes both."""
    if facts.budgets is None and facts.efforts != ():
        facts = replace(facts, budgets=(ROOM, UNLIMITED))  # 1,024 at least [S]
    has_words = facts.efforts is not None and facts.efforts not in ((), ("none",))
    if has_words and parameters.effort is not None:
        reasoning = reasoning_by_word(parameters, facts, notes)
        if reasoning.effort in BUDGETS and most >= ROOM:
            return replace(reasoning, budget=max(min(BUDGETS[reasoning.effort], most), ROOM))
        if reasoning.effort in BUDGETS and reasoning.source is not None:
            why = "the reply limit leaves no room for it"
            notes.append(setting_note(reasoning.source, reasoning_name(reasoning.source), why))
            return Reasoning()
    else:
        reasoning = reasoning_by_budget(parameters, facts, notes, most)
    if reasoning.effort != AUTO:
        return reasoning
    reasoning = with_default_effort(reasoning, parameters, notes)
    budget = min(reasoning.budget or ROOM, most)
    if budget >= ROOM:
        return replace(reasoning, effort=reasoning.effort if has_words else "", budget=budget)
    notes.pop()
    if reasoning.source is not None:
        why = "the reply limit leaves no room for it"
        notes.append(setting_note(reasoning.source, reasoning_name(reasoning.source), why))
    return Reasoning()


def _note_summary(parameters: Parameters, notes: list[Note], why: str, level: Level) -> None:
    summary = parameters.reasoning_summary
    if summary is not None:
        level = Level.INFO if summary.value == "none" else level
        name = f"the reasoning summary “{summary.value}”"
        notes.append(setting_note(summary, name, why, level))


@dataclass(frozen=True, slots=True)
class AnthropicSettings(Namespace):
    """The settings that only Anthropic has."""

    protocol: ClassVar = Protocol.ANTHROPIC
    informational: ClassVar = frozenset(
        ("betas", "cache_control", "inference_geo", "metadata", "service_tier", "speed")
    )
    groups: ClassVar = frozenset({"metadata", "output_config", "thinking"})

    cache_control: Setting = UNSET
    """Top-level: marks the last block that can be cached."""
    container: Setting = UNSET
    context_management: Setting = UNSET
    inference_geo: Setting = UNSET
    mcp_servers: Setting = UNSET
    metadata: Setting = UNSET
    output_config: Setting = UNSET
    """Effort and output format."""
    output_format: Setting = UNSET
    """Older beta form of the output format."""
    service_tier: Setting = UNSET
    speed: Setting = UNSET
    stream: Setting = UNSET
    """Only if it was false."""
    thinking: Setting = UNSET
    tool_choice: Setting = UNSET
    """Only a form that the unified fields do not give back word for word."""
    betas: Setting = UNSET
    """Some clients put the beta header into the body."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        meanings = Meanings()
        thinking, config = as_object(self.thinking), as_object(self.output_config)
        kind, budget, display = (thinking.get(k) for k in ("type", "budget_tokens", "display"))
        if is_count(budget) and kind == "enabled":
            meanings.add("reasoning_budget", budget, "thinking.budget_tokens", "thinking.type")
        elif kind == "adaptive":
            meanings.add("effort", AUTO, "thinking.type")
        if kind == "disabled":
            meanings.add("effort", "none", "thinking.type")
        elif (effort := config.get("effort")) in EFFORTS:
            name = "thinking.type, output_config.effort" if kind == "adaptive" else ""
            meanings.add("effort", effort, "output_config.effort", name=name)
        if display in _SUMMARIES:
            meanings.add("reasoning_summary", _SUMMARIES[display], "thinking.display")
        if user := as_string(as_object(self.metadata).get("user_id")):
            meanings.add("user_id", user, "metadata.user_id")
        if self.service_tier in TIERS:
            meanings.add("service_tier", TIERS[self.service_tier], "service_tier")
        return meanings


_SUMMARIES: Mapping[Any, str] = {"summarized": "auto", "omitted": "none"}
TIERS: Mapping[Any, str] = {"auto": "auto", "standard_only": "default"}
"""Anthropic's service tiers in OpenAI's words."""

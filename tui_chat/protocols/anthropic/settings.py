"""The settings of Anthropic, and its reasoning as the model's family accepts it.

1. The newest families think adaptively, with an effort. Older ones take a budget; Opus 4.5 takes
   both. Nothing is known of other vendors' models behind this protocol: they get budgets.
2. A budget leaves `ROOM` tokens of the reply limit for the reply. Where that is not possible there
   is no thinking.
3. A budget and a forced tool exclude each other; the tool decides what is said, so it stays.
4. With a budget the model's last turn must begin with its thinking: not after the call of another
   model, or a beginning of the reply. So no budget is sent until the next turn of the user.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.models.blocks import Json
from tui_chat.models.envelope import Level, Note, Parameters
from tui_chat.models.model_facts import CLAUDE_EFFORTS, ModelFacts, is_newer_claude
from tui_chat.models.settings import EFFORTS
from tui_chat.protocols.anthropic.tools import (
    read_choice,
    read_format,
    write_choice,
    write_format,
)
from tui_chat.protocols.common.loss_notes import setting_note
from tui_chat.protocols.common.reasoning_effort import (
    AUTO,
    BUDGETS,
    UNLIMITED,
    Reasoning,
    reasoning_by_budget,
    reasoning_by_word,
    summary_note,
    with_default_effort,
    with_reasoning,
)
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
    when_on,
    words,
)

_SYNONYMS = {"xhigh": "max"}
"""The effort that takes the place of one that a model lacks: its `max` is the step of `xhigh`
[P: see `models.model_facts`]."""
ROOM = 1_024
"""Tokens of the reply limit that a budget leaves."""


def _read_effort(value: Json) -> str | None:
    return value if isinstance(value, str) and value in EFFORTS else None


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


TABLE: Table = (
    Row("model", ("model",), text),
    Row("max_tokens", ("max_tokens",), integer),
    Row("tool_choice", ("tool_choice",), read_choice, write_choice),
    Row(
        "parallel_tool_calls",
        ("tool_choice", "disable_parallel_tool_use"),
        lambda single: _not(boolean(single)),
        _not,
    ),
    Row("temperature", ("temperature",), number, low=0, high=1, is_sampling=True),
    Row("top_p", ("top_p",), number, low=0, high=1, is_sampling=True),
    Row("top_k", ("top_k",), integer, low=0, is_sampling=True),
    Row("stop", ("stop_sequences",), texts),
    Row("reasoning_budget", ("thinking", "type"), unread, lambda _: "enabled"),
    Row("reasoning_budget", ("thinking", "budget_tokens"), count),
    Row(
        "effort",
        ("thinking", "type"),
        lambda word: "none" if word == "disabled" else None,
        lambda effort: "disabled" if effort == "none" else "adaptive",
    ),
    Row(
        "reasoning_summary",
        ("thinking", "display"),
        *words({"summarized": "auto", "omitted": "none"}),
    ),
    Row(
        "effort",
        ("output_config", "effort"),
        _read_effort,
        lambda effort: None if effort in (AUTO, "none") else effort,
    ),
    Row("effort", ("thinking", "type"), lambda word: AUTO if word == "adaptive" else None, never),
    Row("response_format", ("output_config", "format"), read_format, write_format),
    Row("user_id", ("metadata", "user_id"), text),
    Row("service_tier", ("service_tier",), *words({"auto": "auto", "standard_only": "default"})),
    Row("stream", ("stream",), boolean, when_on),
)
"""In the order in which they are sent. With a budget `thinking.type` is that of the budget."""


def fitted_reasoning(
    parameters: Parameters,
    facts: ModelFacts,
    notes: list[Note],
    *,
    limit: int,
    excluded: str,
    by_budget: bool = False,
) -> Parameters:
    """Return the parameters with the reasoning as the model accepts it.

    `limit` is the reply limit, `excluded` the reason why there can be no budget (empty if there
    can), and `by_budget` true if a budget is to stay one where the model accepts it.
    """
    if is_newer_claude(parameters.values.model):
        facts = replace(facts, efforts=CLAUDE_EFFORTS, adaptive_thinking=True)
    keep = by_budget and bool(facts.budgets) and parameters.values.effort is None
    if facts.adaptive_thinking and not keep:
        reasoning = reasoning_by_word(parameters, facts, notes, _SYNONYMS)
    else:
        reasoning = _budget(parameters, facts, notes, limit - ROOM)
        source = reasoning.source
        if excluded and reasoning.budget is not None and source is not None:
            notes[:] = [note for note in notes if note.origin is not source.origin]
            notes.append(source.left_out(excluded))
            reasoning = Reasoning()
    summary = _summary(parameters, reasoning, notes)
    return with_reasoning(parameters, reasoning).with_values(reasoning_summary=summary)


def _budget(parameters: Parameters, facts: ModelFacts, notes: list[Note], most: int) -> Reasoning:
    """Return the reasoning by a budget, with an effort beside it if the model takes both."""
    if facts.budgets is None and facts.efforts != ():
        facts = replace(facts, budgets=(ROOM, UNLIMITED))  # 1,024 at least [S]
    has_words = facts.efforts is not None and facts.efforts not in ((), ("none",))
    if has_words and parameters.values.effort is not None:
        reasoning = reasoning_by_word(parameters, facts, notes)
        if reasoning.effort in BUDGETS and most >= ROOM:
            return replace(reasoning, budget=max(min(BUDGETS[reasoning.effort], most), ROOM))
        if reasoning.effort in BUDGETS and reasoning.source is not None:
            notes.append(reasoning.source.left_out(_NO_ROOM))
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
        notes.append(reasoning.source.left_out(_NO_ROOM))
    return Reasoning()


_NO_ROOM = "the reply limit leaves no room for it"


def _summary(parameters: Parameters, reasoning: Reasoning, notes: list[Note]) -> str | None:
    """Return the summary of the reasoning in one of the two lengths that there are."""
    values, summary = parameters.values, parameters.values.reasoning_summary
    if summary is None:
        return None
    is_asked = values.effort is not None or values.reasoning_budget is not None
    why, level = f"no reasoning is {'sent' if is_asked else 'asked for'}", Level.WARNING
    if reasoning.source is not None and reasoning.effort == "none":
        why, level = "there is no reasoning", Level.INFO
    elif reasoning.source is not None:
        if summary not in ("none", "auto"):
            notes.append(summary_note(parameters, "summarized"))
        return summary if summary == "none" else "auto"
    level = Level.INFO if summary == "none" else level
    origin = parameters.origin("reasoning_summary")
    notes.append(setting_note(f"the reasoning summary “{summary}”", why, origin, level))
    return None

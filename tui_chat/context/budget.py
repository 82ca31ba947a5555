"""The token budget: notes about it, and the budget of an envelope that was decoded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, pairwise

from tui_chat.context.history import (
    HistoryCosts,
    SummarizedHistory,
    TruncatedHistory,
    answered_turn,
    is_blank,
)
from tui_chat.context.inputs import Inputs
from tui_chat.models.envelope import Budget, ChatEnvelope, Level, Note, ToolDefinition
from tui_chat.models.json_text import as_object
from tui_chat.models.message import have_media, message_origin
from tui_chat.models.text import Origin
from tui_chat.models.tool import definitions_in
from tui_chat.tokens import (
    REQUEST_OVERHEAD,
    TOOL_OVERHEAD,
    Correction,
    Counter,
    how_counted,
    media_tokens,
)


def count_envelope(
    envelope: ChatEnvelope, count: Counter, limit: int | None = None
) -> ChatEnvelope:
    """Return a decoded envelope with its turns' tokens; `limit` is the model's, or None."""
    tokens = tuple(map(count.turn, envelope.turns))
    costs = list(zip(envelope.turns, tokens, strict=True))
    tools = tuple(_request_tool_costs(envelope, count))
    fixed = REQUEST_OVERHEAD + sum(cost for _, cost in tools)
    guessed = bool(tools) or have_media(envelope.turns)
    budget = Budget(
        limit=limit,
        reserve=envelope.parameters.values.max_tokens or 0,
        fixed=fixed + sum(cost for turn, cost in costs if turn.role == "system"),
        history=sum(cost for turn, cost in costs if turn.role != "system"),
        dropped=0,
        counter=count.name,
        exact=count.exact,
        ratio=count.ratio,
        how=how_counted(count, guessed=guessed),
        tools=tools,
    )
    return replace(envelope, tokens=tokens, budget=budget)


def calibrated(envelope: ChatEnvelope, reported: int | None) -> ChatEnvelope:
    """Return a counted envelope whose tokens add up to the input that its reply reported, cached
    tokens included. A figure that is not that of what the request has (the provider keeps earlier
    turns, or adds a prompt of its own) is only mentioned.
    """
    budget = envelope.budget
    if budget is None or not reported:
        return envelope
    mentioned = ""
    if envelope.is_continuation:
        mentioned = ", with what the provider keeps of earlier messages"
    elif not Correction.is_likely(budget.total, reported):
        mentioned = ", too different to be divided among the parts"
    if mentioned:
        how = f"{budget.how}; the reply reported {reported:,}{mentioned}"
        return replace(envelope, budget=replace(budget, how=how))
    costs = [cost for _, cost in budget.tools]
    shared = [*costs, *envelope.tokens]
    ends = accumulate((*shared, budget.total - sum(shared)))
    parts = pairwise((0, *(round(reported * end / budget.total) for end in ends)))
    shared = [end - start for start, end in parts]
    tools, tokens = shared[: len(costs)], shared[len(costs) : -1]
    history = sum(
        cost for turn, cost in zip(envelope.turns, tokens, strict=True) if turn.role != "system"
    )
    named = zip(budget.tools, tools, strict=True)
    budget = replace(
        budget,
        fixed=reported - history,
        history=history,
        exact=True,
        ratio=budget.ratio * reported / budget.total,
        how=f"reported by the reply; divided among its parts with {budget.counter}",
        tools=tuple((name, cost) for (name, _), cost in named),
    )
    return replace(envelope, tokens=tuple(tokens), budget=budget)


def without_unsent(envelope: ChatEnvelope, notes: Iterable[Note]) -> ChatEnvelope:
    """Return an envelope in which files that the encoder leaves out (`notes`) cost nothing."""
    budget = envelope.budget
    unsent = [(note, note.unsent) for note in notes if note.unsent is not None]
    if not unsent or budget is None:
        return envelope
    indices = {id(turn.origin): index for index, turn in enumerate(envelope.turns)}
    tokens, fixed, history = list(envelope.tokens), budget.fixed, budget.history
    for note, part in unsent:
        index = indices.get(id(note.origin))
        if index is None or part.text:
            continue
        cost = min(round(media_tokens(part) * budget.ratio), tokens[index])
        tokens[index] -= cost
        if envelope.turns[index].placement.kind == "history":
            history -= cost
        else:
            fixed -= cost
    budget = replace(budget, fixed=fixed, history=history)
    return replace(envelope, tokens=tuple(tokens), budget=budget)


def tool_costs(tools: tuple[ToolDefinition, ...], count: Counter) -> tuple[tuple[str, int], ...]:
    """Return the name and tokens of each tool."""
    return tuple((tool.name, cost) for tool, cost in zip(tools, count.tools(tools), strict=True))


def _request_tool_costs(envelope: ChatEnvelope, count: Counter) -> Iterator[tuple[str, int]]:
    """Yield the name and tokens of each tool of a captured request."""
    yield from tool_costs(envelope.functions, count)
    for tool in envelope.native_tools:
        for name, definition in definitions_in(as_object(tool.value)):
            words = json.dumps(definition, separators=(",", ":"), ensure_ascii=False)
            yield name, count.count(words) + count.scaled(TOOL_OVERHEAD)


def budget_notes(budget: Budget, dropped: int) -> Iterator[Note]:
    """Yield notes about a budget; `dropped` is how many messages did not fit."""
    about = "" if budget.exact else ", as estimated"
    if budget.free is not None and budget.free < 0:
        over = "1 token" if budget.free == -1 else f"{-budget.free:,} tokens"
        sentence = (
            f"Over budget by {over} even without history ({'' if budget.exact else 'estimated '}"
            f"budget: {(budget.limit or 0) - budget.reserve:,} = limit {budget.limit:,} − "
            f"{budget.reserve:,} for the reply)."
        )
        yield Note(Level.ERROR, "over-budget", sentence)
    if dropped:
        which = "message does" if dropped == 1 else f"{dropped:,} messages do"
        sentence = f"The oldest {which} not fit into the budget ({budget.dropped:,} tokens{about})."
        yield Note(Level.WARNING, "history-dropped", sentence)


def history_notes(inputs: Inputs, costs: HistoryCosts, kept: TruncatedHistory) -> Iterator[Note]:
    """Yield warnings about the stored messages that are sent."""
    dropped_origins = (
        {id(dropped.origin) for dropped in kept.dropped} if costs.blank else set[int]()
    )
    for index in costs.blank:
        origin = costs.turns[index].origin
        if id(origin) not in dropped_origins:
            yield _empty_message(index, origin)
    if inputs.answered is not None and is_blank(inputs.answered):
        yield _empty_message(len(costs.turns), answered_turn(inputs.answered).origin)


def summary_notes(summarized: SummarizedHistory) -> Iterator[Note]:
    """Yield a note on the summary that is sent instead of messages."""
    if summarized.summary is not None and summarized.replaced:
        which = "message" if summarized.replaced == 1 else f"{summarized.replaced:,} messages"
        sentence = f"A summary is sent instead of the first {which}."
        origin = message_origin(summarized.summary)
        yield Note(Level.INFO, "history-summarized", sentence, origin)


def _empty_message(index: int, origin: Origin) -> Note:
    sentence = f"Message {index + 1} of the history is empty; some providers refuse that."
    return Note(Level.WARNING, "empty-message", sentence, origin)

"""Tool calls and results in the order that a protocol requires.

1. Every call gets exactly one result. A missing one becomes an empty result; a second one, or one
   without a call, becomes a user message with the same text. A note reports each.
2. If results must follow their calls directly, they are moved there.
3. Ids with forbidden characters are changed, too long ones shortened, equal ones made unique, and
   missing ones made up, as far as the protocol requires it. A result without an id answers the
   first open call of its name, else the first open call.
4. Most conversations need none of this: calls with their results are checked once. Everything is
   paired again only if some are not valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from hashlib import sha256
from itertools import accumulate

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note, Placement, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.message import ToolCall
from tui_chat.models.text import GLUE, Text
from tui_chat.protocols.common.tools import NameRule, aliases_for


@dataclass(frozen=True, slots=True)
class PairingRules:
    """The requirements of a protocol on calls and results."""

    names: NameRule
    adjacent: bool = True
    """Results follow their calls directly."""
    captured: bool = False
    """For a captured request: results may be in another order than their calls, and what lacks an
    id or a name stays so."""
    by_run: bool = False
    """Calls of adjacent assistant turns count as one turn's."""
    unique_ids: bool = False
    """No two calls of the whole conversation share an id."""
    id_forbidden: re.Pattern[str] | None = None
    """A character that ids must not contain."""
    longest_id: int = 0
    """Maximum characters of an id; 0 for no limit."""
    ids: bool = True
    """Calls must have ids."""
    named_results: bool = False
    """A result names its tool."""
    open_ended: bool = False
    """The provider keeps earlier turns: a result may answer a call that is not in here, and a
    call may have been answered there."""


@dataclass(frozen=True, slots=True)
class PairedTurns:
    """The turns in the form to send."""

    turns: Sequence[Turn]
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    """The tool names that were changed, and their aliases."""
    notes: tuple[Note, ...] = ()


def pair_tools(
    turns: Sequence[Turn],
    rules: PairingRules,
    tool_names: Sequence[str] = (),
    known_aliases: Sequence[tuple[str, str]] = (),
) -> PairedTurns:
    """Bring calls and results into order. `tool_names` are those of the defined tools."""
    if all(map(rules.names.allows, tool_names)) and _is_in_order(turns, rules):
        return PairedTurns(turns)
    calls = (call.name for turn in turns for call in turn.tool_calls)
    called = (name for name in calls if name or not rules.captured)
    aliases = aliases_for((*tool_names, *called), rules.names, known_aliases)
    notes = [_alias_note(name, alias) for name, alias in aliases.items()]
    if _is_in_order(turns, rules, aliases=True) and not aliases.keys() & {
        call.name for turn in turns for call in turn.tool_calls
    }:
        return PairedTurns(turns, aliases, tuple(notes))
    pairing = _Pairing(turns, rules, aliases)
    pairing.match()
    return PairedTurns(tuple(pairing.ordered()), aliases, (*notes, *pairing.notes))


def _alias_note(name: str, alias: str) -> Note:
    sentence = f"The tool name “{name}” is not allowed here; it is sent as “{alias}”."
    return Note(Level.WARNING, "tool-renamed", sentence, GLUE)


def _is_in_order(turns: Sequence[Turn], rules: PairingRules, *, aliases: bool = False) -> bool:
    """Return True if all calls and results are valid without a change."""
    seen: list[str] = []
    index, count = 0, len(turns)
    while index < count:
        turn = turns[index]
        index += 1
        if turn.tool_calls:
            start = index
            while index < count and turns[index].role == "tool":
                index += 1
            if not _has_valid_results(turn, tuple(turns[start:index]), rules):
                return False
            seen += [call.id for call in turn.tool_calls]
        elif turn.role == "tool":
            return False
    return not rules.unique_ids or len(set(seen)) == len(seen)


@Memo
def _has_valid_results(caller: Turn, results: tuple[Turn, ...], rules: PairingRules) -> bool:
    """Return True if the calls of a turn and their results are valid without a change."""
    calls = caller.tool_calls
    ids = [call.id for call in calls]
    answers = [turn.tool_call_id for turn in results]
    return (
        len(set(ids)) == len(ids)
        and (sorted(answers) == sorted(ids) if rules.captured else answers == ids)
        and all(ids)
        and all(rules.names.allows(call.name) for call in calls)
        and not (rules.id_forbidden and any(map(rules.id_forbidden.search, ids)))
        and not (rules.longest_id and any(len(id) > rules.longest_id for id in ids))
    )


@dataclass(slots=True)
class _OpenCall:
    """A call and its result, if one was found."""

    turn: int
    """Index of its turn."""
    call: ToolCall
    number: int
    """Its place among the calls of its turn."""
    id: str
    """The id that is sent."""
    result: int | None = None
    """Index of the turn that answers it."""


class _Pairing:
    """The pairing of one conversation."""

    def __init__(self, turns: Sequence[Turn], rules: PairingRules, aliases: dict[str, str]) -> None:
        self._turns = turns
        self._rules = rules
        self._aliases = aliases
        self._calls: dict[int, list[_OpenCall]] = {}
        """By the index of their turn."""
        allowed = ("tool", "assistant") if rules.by_run else ("tool",)
        outside = (turn.role not in allowed for turn in turns)
        self._outside = list(accumulate(outside, initial=0))
        """For each turn, the number before it that may not be between a call and its result."""
        self._answers: dict[int, _OpenCall] = {}
        """The call that a result, by its index, answers."""
        self.notes: list[Note] = []

    def match(self) -> None:
        """Find the call of every result."""
        open_calls: list[_OpenCall] = []
        used: set[str] = set()
        for index, turn in enumerate(self._turns):
            if turn.tool_calls:
                if not self._rules.unique_ids:
                    used = set()
                calls = [
                    _OpenCall(index, call, number, self._assign_id(call, used))
                    for number, call in enumerate(turn.tool_calls)
                ]
                self._calls[index] = calls
                # A later call takes the place of an open one with the same id.
                again = {call.call.id for call in calls if call.call.id}
                open_calls = [c for c in open_calls if c.call.id not in again] + calls
            elif turn.role == "tool":
                call = _find_call(turn, open_calls)
                if call is not None:
                    open_calls.remove(call)
                    call.result = index
                    self._answers[index] = call

    def _assign_id(self, call: ToolCall, used: set[str]) -> str:
        """Return the id under which a call is sent, and reserve it."""
        fit = call.id
        if self._rules.id_forbidden:
            fit = self._rules.id_forbidden.sub("_", fit)
        if not fit and (self._rules.captured or not self._rules.ids):
            return ""
        longest = self._rules.longest_id
        if longest and len(fit) > longest:
            # Its beginning and a hash of the whole: the same in each request.
            fit = f"{fit[: longest - _HASH - 1]}_{_hash(call.id)}"
        base, number = fit or "call", 1 if not fit else 2
        fit = fit or "call_1"
        while fit in used:
            ending = f"_{number}"
            fit = base[: longest - len(ending)] + ending if longest else base + ending
            number += 1
        used.add(fit)
        return fit

    def ordered(self) -> Iterator[Turn]:
        """Yield the turns in the order in which they are sent."""
        rules = self._rules
        waiting: list[_OpenCall] = []
        for index, turn in enumerate(self._turns):
            answered = self._answers.get(index)
            if turn.role == "tool":
                if answered is None:
                    yield from self._without_call(turn)
                elif not rules.adjacent:
                    yield self._result(answered)
                elif answered in waiting:
                    yield from self._results(waiting)
                    waiting = []
                continue
            if waiting and not (rules.by_run and turn.role == "assistant"):
                yield from self._results(waiting)
                waiting = []
            calls = self._calls.get(index)
            if calls is None:
                yield turn
                continue
            yield self._renamed(turn, calls)
            if rules.adjacent:
                waiting += calls
                if not rules.by_run:
                    yield from self._results(waiting)
                    waiting = []
            else:
                yield from (self._missing(c) for c in calls if self._is_missing(c))
        yield from self._results(waiting)

    def _is_missing(self, call: _OpenCall) -> bool:
        return call.result is None and not self._rules.open_ended

    def _results(self, calls: list[_OpenCall]) -> Iterator[Turn]:
        """Yield the results of the calls of one turn, or of one run of turns."""
        if not calls:
            return
        if self._rules.captured:
            last = len(self._turns)
            calls = sorted(calls, key=lambda call: last if call.result is None else call.result)
        elif (places := [c.result for c in calls if c.result is not None]) != sorted(places):
            sentence = "The results of the tool calls are sorted into the order of the calls."
            origin = self._turns[calls[0].turn].origin
            self.notes.append(Note(Level.INFO, "results-reordered", sentence, origin))
        for call in calls:
            if call.result is not None:
                if self._moved(call):
                    sentence = "The tool result is moved up to its call."
                    origin = self._turns[call.result].origin
                    self.notes.append(Note(Level.WARNING, "result-moved", sentence, origin))
                yield self._result(call)
            elif self._is_missing(call):
                yield self._missing(call)

    def _moved(self, call: _OpenCall) -> bool:
        """Return True if more than results of the same turn stood between call and result."""
        assert call.result is not None
        return self._outside[max(call.result, call.turn + 1)] > self._outside[call.turn + 1]

    def _missing(self, call: _OpenCall) -> Turn:
        sentence = f"The call of “{call.call.name}” has no result; an empty one is sent."
        origin = self._turns[call.turn].origin
        self.notes.append(Note(Level.WARNING, "result-missing", sentence, origin))
        name = self._aliases.get(call.call.name, call.call.name)
        return variant(
            self._turns[call.turn],
            ("missing", call.number, call.id, name),
            lambda turn: Turn("tool", Text(), GLUE, _PLACEMENT, tool_call_id=call.id, name=name),
        )

    def _result(self, call: _OpenCall) -> Turn:
        assert call.result is not None
        turn = self._turns[call.result]
        alias = self._aliases.get(call.call.name, call.call.name)
        name, identity = self._aliases.get(turn.name, turn.name), call.id
        if not self._rules.captured:
            name = alias if self._rules.named_results else name
        elif not turn.tool_call_id:
            identity = ""
        if turn.tool_call_id == identity and turn.name == name:
            return turn
        return variant(
            turn, (identity, name), lambda old: replace(old, tool_call_id=identity, name=name)
        )

    def _renamed(self, turn: Turn, calls: list[_OpenCall]) -> Turn:
        renamed = tuple(
            ToolCall(c.id, self._aliases.get(c.call.name, c.call.name), c.call.arguments)
            for c in calls
        )
        if renamed == turn.tool_calls:
            return turn
        pairs = zip(renamed, turn.tool_calls, strict=True)
        if any(new.id != old.id and old.id for new, old in pairs):
            sentence = "The ids of the tool calls are not valid here; they are changed."
            self.notes.append(Note(Level.INFO, "call-id-changed", sentence, turn.origin))
        return variant(turn, renamed, lambda old: replace(old, tool_calls=renamed))

    def _without_call(self, turn: Turn) -> Iterator[Turn]:
        """Yield a result that answers no call, or one that was answered before."""
        if self._rules.open_ended:
            yield turn
            return
        sentence = (
            f"A tool result for “{turn.tool_call_id}” answers no call; its text is sent as a "
            "user message."
        )
        self.notes.append(Note(Level.WARNING, "result-without-call", sentence, turn.origin))
        yield variant(turn, "user", _as_user_turn)


_HASH = 12
"""Characters of the hash in an id that was too long."""


def _hash(identity: str) -> str:
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


_PLACEMENT = Placement("history", rule="Every tool call has to be answered.")


def _as_user_turn(turn: Turn) -> Turn:
    semantics = replace(turn.semantics, wire=None, failed=None)
    layout = semantics.layout
    if layout is not None:
        pieces = tuple(piece for piece in layout.pieces if piece.kind != "result")
        semantics = replace(semantics, layout=replace(layout, pieces=pieces))
    return replace(turn, role="user", tool_call_id="", name="", semantics=semantics)


def _find_call(turn: Turn, open_calls: list[_OpenCall]) -> _OpenCall | None:
    """Return the open call that a result answers."""
    if turn.tool_call_id:
        return next((c for c in open_calls if c.call.id == turn.tool_call_id), None)
    nameless = [c for c in open_calls if not c.call.id] or open_calls
    by_name = (c for c in nameless if c.call.name == turn.name)
    return next(by_name, None) or (nameless[0] if nameless and not turn.name else None)


_variants: Memo[Turn, dict[object, Turn]] = Memo(lambda _: {})


def variant(turn: Turn, key: object, make: Callable[[Turn], Turn]) -> Turn:
    """Return a changed turn, the same object for the same change, for memos of what follows."""
    variants = _variants(turn)
    changed = variants.get(key)
    if changed is None:
        changed = variants[key] = make(turn)
    return changed

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
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from hashlib import sha256
from itertools import accumulate

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, CallBlock, Extras, ResultBlock
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.text import GLUE
from tui_chat.models.turn import Turn, kept_blocks, with_block
from tui_chat.protocols.common.tools import NameRule, aliases_for
from tui_chat.protocols.common.turn_fit import variant


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


_Tools = tuple[tuple[CallBlock, ...], ResultBlock | None]


@Memo
def tools_of(turn: Turn) -> _Tools | None:
    """Return the calls of a turn, and the head of the result that it is; None for neither."""
    calls, result = turn.tool_calls, turn.result
    return (calls, result) if calls or result is not None else None


def _calls(turn: Turn) -> tuple[CallBlock, ...]:
    tools = tools_of(turn)
    return tools[0] if tools is not None else ()


def _result_of(turn: Turn) -> ResultBlock | None:
    tools = tools_of(turn)
    return tools[1] if tools is not None else None


def pair_calls(
    turns: Sequence[Turn], rules: PairingRules, tool_names: Sequence[str] = ()
) -> PairedTurns:
    """Bring calls and results into order. `tool_names` are those of the defined tools."""
    is_in_order = _is_in_order(turns, rules)
    if is_in_order and all(map(rules.names.allows, tool_names)):
        return PairedTurns(turns)
    called = [call.name for turn in turns for call in _calls(turn)]
    named = (name for name in called if name or not rules.captured)
    aliases = aliases_for((*tool_names, *named), rules.names)
    notes = [_alias_note(name, alias) for name, alias in aliases.items()]
    if is_in_order and not aliases.keys() & set(called):
        return PairedTurns(turns, aliases, tuple(notes))
    pairing = _Pairing(turns, rules, aliases)
    pairing.match()
    return PairedTurns(tuple(pairing.ordered()), aliases, (*notes, *pairing.notes))


def _alias_note(name: str, alias: str) -> Note:
    sentence = f"The tool name “{name}” is not allowed here; it is sent as “{alias}”."
    return Note(Level.WARNING, "tool-renamed", sentence, GLUE)


def _is_in_order(turns: Sequence[Turn], rules: PairingRules) -> bool:
    """Return True if all calls and results are valid without a change."""
    seen: list[str] = []
    caller: Turn | None = None
    results: list[Turn] = []
    for turn in turns:
        tools = tools_of(turn)
        if tools is not None and tools[1] is not None:
            if caller is None:
                return False
            results.append(turn)
            continue
        if caller is not None and not _has_valid_results(caller, tuple(results), rules):
            return False
        caller, results = None, []
        if tools is not None:
            caller = turn
            seen += [call.id for call in tools[0]]
    if caller is not None and not _has_valid_results(caller, tuple(results), rules):
        return False
    return not rules.unique_ids or len(set(seen)) == len(seen)


@Memo
def _has_valid_results(caller: Turn, results: tuple[Turn, ...], rules: PairingRules) -> bool:
    """Return True if the calls of a turn and their results are valid without a change."""
    calls = caller.tool_calls
    ids = [call.id for call in calls]
    answers = [result.call_id for turn in results if (result := turn.result) is not None]
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
    call: CallBlock
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
            if _calls(turn):
                if not self._rules.unique_ids:
                    used = set()
                calls = [
                    _OpenCall(index, call, number, self._assign_id(call, used))
                    for number, call in enumerate(_calls(turn))
                ]
                self._calls[index] = calls
                # A later call takes the place of an open one with the same id.
                again = {call.call.id for call in calls if call.call.id}
                open_calls = [c for c in open_calls if c.call.id not in again] + calls
            elif (result := _result_of(turn)) is not None:
                call = _find_call(result, open_calls)
                if call is not None:
                    open_calls.remove(call)
                    call.result = index
                    self._answers[index] = call

    def _assign_id(self, call: CallBlock, used: set[str]) -> str:
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
            if _result_of(turn) is not None:
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
            lambda turn: Turn("tool", (ResultBlock(call.id, name),), GLUE),
        )

    def _result(self, call: _OpenCall) -> Turn:
        assert call.result is not None
        turn = self._turns[call.result]
        head = _result_of(turn)
        assert head is not None
        alias = self._aliases.get(call.call.name, call.call.name)
        name, identity = self._aliases.get(head.name, head.name), call.id
        if not self._rules.captured:
            name = alias if self._rules.named_results else name
        elif not head.call_id:
            identity = ""
        if head.call_id == identity and head.name == name:
            return turn
        named = replace(head, call_id=identity, name=name)
        return variant(turn, (identity, name), lambda old: with_block(old, 0, named))

    def _renamed(self, turn: Turn, calls: list[_OpenCall]) -> Turn:
        renamed = [
            replace(c.call, id=c.id, name=self._aliases.get(c.call.name, c.call.name))
            for c in calls
        ]
        pairs = list(zip(renamed, (c.call for c in calls), strict=True))
        if all(new == old for new, old in pairs):
            return turn
        if any(new.id != old.id and old.id for new, old in pairs):
            sentence = "The ids of the tool calls are not valid here; they are changed."
            self.notes.append(Note(Level.INFO, "call-id-changed", sentence, turn.origin))
        key = tuple((call.id, call.name) for call in renamed)
        return variant(turn, key, lambda old: _with_calls(old, renamed))

    def _without_call(self, turn: Turn) -> Iterator[Turn]:
        """Yield a result that answers no call, or one that was answered before."""
        head = _result_of(turn)
        if self._rules.open_ended or head is None:
            yield turn
            return
        sentence = (
            f"A tool result for “{head.call_id}” answers no call; its text is sent as a "
            "user message."
        )
        self.notes.append(Note(Level.WARNING, "result-without-call", sentence, turn.origin))
        yield variant(turn, "user", _as_user_turn)


_HASH = 12
"""Characters of the hash in an id that was too long."""


def _hash(identity: str) -> str:
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def _with_calls(turn: Turn, calls: Sequence[CallBlock]) -> Turn:
    """Return a turn with other calls in the places of its own."""
    left = iter(calls)
    blocks = tuple(next(left) if type(block) is CallBlock else block for block in turn.blocks)
    return replace(turn, blocks=blocks)


def _as_user_turn(turn: Turn) -> Turn:
    """Return a tool result as a message of the user with the same content."""
    content = kept_blocks(turn, range(1, len(turn.blocks)))
    blocks = tuple(map(_without_frame, content.blocks))
    return replace(content, role="user", extras=None, blocks=blocks)


def _without_frame(block: Block) -> Block:
    """Return a block without extras that say only that it was an object."""
    extras = block.extras
    return replace(block, extras=None) if extras and extras == Extras(extras.protocol) else block


def _find_call(result: ResultBlock, open_calls: list[_OpenCall]) -> _OpenCall | None:
    """Return the open call that a result answers."""
    if result.call_id:
        return next((c for c in open_calls if c.call.id == result.call_id), None)
    nameless = [c for c in open_calls if not c.call.id] or open_calls
    by_name = (c for c in nameless if c.call.name == result.name)
    return next(by_name, None) or (nameless[0] if nameless and not result.name else None)

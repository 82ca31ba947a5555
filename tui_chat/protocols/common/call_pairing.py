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
from dataclasses import replace
from hashlib import sha256

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, CallBlock, Extras, ResultBlock
from tui_chat.models.envelope import Level, Note, Turn, kept_blocks, with_block
from tui_chat.models.memo import Memo
from tui_chat.models.text import GLUE
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


def pair_calls(
    turns: Sequence[Turn], rules: PairingRules, tool_names: Sequence[str], notes: list[Note]
) -> tuple[Sequence[Turn], dict[str, str]]:
    """Return the turns with calls and results in order, and the tool names that were changed, with
    their aliases. Adds notes. `tool_names` are those of the defined tools.
    """
    is_in_order = _is_in_order(turns, rules)
    if is_in_order and all(map(rules.names.allows, tool_names)):
        return turns, {}
    called = [call.name for turn in turns for call in _tools_of(turn)[0]]
    named = (name for name in called if name or not rules.captured)
    aliases = aliases_for((*tool_names, *named), rules.names)
    for name, alias in aliases.items():
        sentence = f"The tool name “{name}” is not allowed here; it is sent as “{alias}”."
        notes.append(Note(Level.WARNING, "tool-renamed", sentence, GLUE))
    if is_in_order and not aliases.keys() & set(called):
        return turns, aliases
    return tuple(_Pairing(turns, rules, aliases, notes).ordered()), aliases


@Memo
def _tools_of(turn: Turn) -> tuple[tuple[CallBlock, ...], ResultBlock | None]:
    """Return the calls of a turn, and the head of the result that it is."""
    return turn.tool_calls, turn.result


def _is_in_order(turns: Sequence[Turn], rules: PairingRules) -> bool:
    """Return True if all calls and results are valid without a change."""
    seen: list[str] = []
    caller: Turn | None = None
    results: list[Turn] = []
    for turn in (*turns, None):
        calls, result = ((), None) if turn is None else _tools_of(turn)
        if turn is not None and result is not None:
            if caller is None:
                return False
            results.append(turn)
            continue
        if caller is not None and not _has_valid_results(caller, tuple(results), rules):
            return False
        caller, results = None, []
        if calls:
            caller = turn
            seen += [call.id for call in calls]
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

    def __init__(
        self,
        turns: Sequence[Turn],
        rules: PairingRules,
        aliases: dict[str, str],
        notes: list[Note],
    ) -> None:
        self._turns = turns
        self._rules = rules
        self._aliases = aliases
        self._notes = notes
        self._calls: dict[int, list[_OpenCall]] = {}
        """By the index of their turn."""
        self._answers: dict[int, _OpenCall] = {}
        """The call that a result, by its index, answers."""
        open_calls: list[_OpenCall] = []
        used: set[str] = set()
        for index, turn in enumerate(turns):
            calls, result = _tools_of(turn)
            if calls:
                used = used if rules.unique_ids else set()
                own = [
                    _OpenCall(index, call, number, self._assign_id(call, used))
                    for number, call in enumerate(calls)
                ]
                self._calls[index] = own
                # A later call takes the place of an open one with the same id.
                again = {call.id for call in calls if call.id}
                open_calls = [c for c in open_calls if c.call.id not in again] + own
            elif result is not None and (found := _find_call(result, open_calls)) is not None:
                open_calls.remove(found)
                found.result = index
                self._answers[index] = found

    def _note(self, level: Level, code: str, sentence: str, turn: int) -> None:
        self._notes.append(Note(level, code, sentence, self._turns[turn].origin))

    def _assign_id(self, call: CallBlock, used: set[str]) -> str:
        """Return the id under which a call is sent, and reserve it."""
        rules, fit, longest = self._rules, call.id, self._rules.longest_id
        if rules.id_forbidden:
            fit = rules.id_forbidden.sub("_", fit)
        if not fit and (rules.captured or not rules.ids):
            return ""
        if longest and len(fit) > longest:
            # Its beginning and a hash of the whole: the same in each request.
            digest = sha256(call.id.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
            fit = f"{fit[: longest - _HASH - 1]}_{digest}"
        base, number = fit or "call", 2 if fit else 1
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
            if (result := _tools_of(turn)[1]) is not None:
                answered = self._answers.get(index)
                if answered is None and not rules.open_ended:
                    sentence = f"A tool result for “{result.call_id}” answers no call; its text is "
                    sentence += "sent as a user message."
                    self._note(Level.WARNING, "result-without-call", sentence, index)
                    yield variant(turn, "user", _as_user_turn)
                elif answered is None:
                    yield turn
                elif not rules.adjacent:
                    yield self._result(answered)
                elif answered in waiting:
                    yield from self._results(waiting)
                    waiting = []
                continue
            if not (rules.by_run and turn.role == "assistant"):
                yield from self._results(waiting)
                waiting = []
            calls = self._calls.get(index, [])
            yield self._renamed(turn, calls)
            if rules.adjacent and rules.by_run:
                waiting += calls
            elif rules.adjacent:
                yield from self._results(calls)
            else:
                yield from (self._missing(call) for call in calls if self._is_missing(call))
        yield from self._results(waiting)

    def _is_missing(self, call: _OpenCall) -> bool:
        return call.result is None and not self._rules.open_ended

    def _results(self, calls: list[_OpenCall]) -> Iterator[Turn]:
        """Yield the results of the calls of one turn, or of one run of turns."""
        places = [call.result for call in calls if call.result is not None]
        if self._rules.captured:
            last = len(self._turns)
            calls = sorted(calls, key=lambda call: last if call.result is None else call.result)
        elif places != sorted(places):
            sentence = "The results of the tool calls are sorted into the order of the calls."
            self._note(Level.INFO, "results-reordered", sentence, calls[0].turn)
        allowed = ("tool", "assistant") if self._rules.by_run else ("tool",)
        for call in calls:
            if call.result is not None:
                between = self._turns[call.turn + 1 : call.result]
                if any(turn.role not in allowed for turn in between):
                    sentence = "The tool result is moved up to its call."
                    self._note(Level.WARNING, "result-moved", sentence, call.result)
                yield self._result(call)
            elif self._is_missing(call):
                yield self._missing(call)

    def _missing(self, call: _OpenCall) -> Turn:
        sentence = f"The call of “{call.call.name}” has no result; an empty one is sent."
        self._note(Level.WARNING, "result-missing", sentence, call.turn)
        name = self._aliases.get(call.call.name, call.call.name)
        return variant(
            self._turns[call.turn],
            ("missing", call.number, call.id, name),
            lambda turn: Turn("tool", (ResultBlock(call.id, name),), GLUE),
        )

    def _result(self, call: _OpenCall) -> Turn:
        assert call.result is not None
        turn = self._turns[call.result]
        head = _tools_of(turn)[1]
        assert head is not None
        is_named = self._rules.named_results and not self._rules.captured
        name = call.call.name if is_named else head.name
        identity = call.id if head.call_id or not self._rules.captured else ""
        named = replace(head, call_id=identity, name=self._aliases.get(name, name))
        if named == head:
            return turn
        key = (named.call_id, named.name)
        return variant(turn, key, lambda old: with_block(old, 0, named))

    def _renamed(self, turn: Turn, calls: list[_OpenCall]) -> Turn:
        """Return a turn whose calls have the ids and names that are sent."""
        before = [c.call for c in calls]
        renamed = [
            replace(c.call, id=c.id, name=self._aliases.get(c.call.name, c.call.name))
            for c in calls
        ]
        if renamed == before:
            return turn
        if any(new.id != old.id and old.id for new, old in zip(renamed, before, strict=True)):
            sentence = "The ids of the tool calls are not valid here; they are changed."
            self._note(Level.INFO, "call-id-changed", sentence, calls[0].turn)

        def changed(old: Turn) -> Turn:
            left = iter(renamed)
            blocks = (next(left) if type(block) is CallBlock else block for block in old.blocks)
            return replace(old, blocks=tuple(blocks))

        return variant(turn, tuple((call.id, call.name) for call in renamed), changed)


_HASH = 12
"""Characters of the hash in an id that was too long."""


def _as_user_turn(turn: Turn) -> Turn:
    """Return a tool result as a message of the user with the same content, without extras that say
    only that a block was an object.
    """

    def unframed(block: Block) -> Block:
        extras = block.extras
        is_frame = extras is not None and extras == Extras(extras.protocol)
        return replace(block, extras=None) if is_frame else block

    content = kept_blocks(turn, range(1, len(turn.blocks)))
    return replace(content, role="user", extras=None, blocks=tuple(map(unframed, content.blocks)))


def _find_call(result: ResultBlock, open_calls: list[_OpenCall]) -> _OpenCall | None:
    """Return the open call that a result answers."""
    if result.call_id:
        return next((c for c in open_calls if c.call.id == result.call_id), None)
    nameless = [c for c in open_calls if not c.call.id] or open_calls
    by_name = (c for c in nameless if c.call.name == result.name)
    return next(by_name, None) or (nameless[0] if nameless and not result.name else None)

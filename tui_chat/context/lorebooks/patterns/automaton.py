"""Automata that find a pattern in time linear in the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import accumulate, chain
from operator import getitem
from typing import TypeAlias

from tui_chat.context.lorebooks.patterns.syntax import (
    LINE_ENDS,
    Alternation,
    BackReference,
    Boundary,
    CaptureGroup,
    Item,
    LiteralCharacter,
    Lookaround,
    Repeat,
    Sequence,
    Test,
    is_boundary,
    is_word,
)

_MAX_TRANSITIONS = 4_096
"""Transitions that an automaton remembers before it starts over."""
_Symbol: TypeAlias = "str | tuple[str, int]"
"""A character, or the empty string at the end; if the pattern has lookarounds, together with those
that hold before it, as bits.
"""


class _State(dict[_Symbol, "_State"]):
    """A state of the deterministic automaton: a set of nodes, and its transitions so far."""

    __slots__ = ("accepted", "automaton", "before", "nodes")

    def __init__(
        self, automaton: _Automaton, nodes: frozenset[int], before: str, accepted: bool
    ) -> None:
        super().__init__()
        self.automaton = automaton
        self.nodes = nodes
        self.before = before
        """A representative of the previous character's kind: word, line end or other."""
        self.accepted = accepted
        """True if a match ended before the previous character; see `stays` of `_Automaton`."""

    def __missing__(self, symbol: _Symbol) -> _State:
        return self.automaton.follow(self, symbol)


class _Automaton:
    """The automaton of one item."""

    def __init__(
        self,
        item: Item,
        bits: dict[Lookaround, int],
        *,
        multiline: bool,
        backward: bool = False,
        anchored: bool = False,
        stays: bool = False,
    ) -> None:
        """Build the nodes of an item.

        `bits` are the bits of the lookarounds in it. A `backward` automaton reads reversed
        texts, an `anchored` one matches at the start only, and one that `stays` remains accepted
        after the first match.
        """
        self._bits = bits
        self._multiline = multiline
        self._backward = backward
        self._anchored = anchored
        self._stays = stays
        self._tests: list[Test | None] = []
        """By node: the test of the next character; None if the node consumes none."""
        self._conditions: list[Boundary | Lookaround | None] = []
        """By node: the condition for passing it."""
        self._next: list[list[int]] = []
        """By node: the following nodes."""
        self._add_node()
        self._end = self._add_node()
        self._link(self._append(item, 0), self._end)
        self._has_boundaries = any(isinstance(each, Boundary) for each in self._conditions)
        self._states: dict[tuple[frozenset[int], str, bool], _State] = {}
        self._transitions = 0

    def start(self, before: str) -> _State:
        """Return the initial state; `before` is the character before the text, or empty."""
        return self._state(frozenset((0,)), before, False)

    def follow(self, state: _State, symbol: _Symbol) -> _State:
        """Compute and remember a transition."""
        after, lookarounds = symbol if isinstance(symbol, tuple) else (symbol, 0)
        closure = self._closure(state.nodes, state.before, after, lookarounds)
        if self._stays and (state.accepted or self._end in closure):
            following = self._state(frozenset(), "", True)
        else:
            nodes: set[int] = set() if self._anchored else {0}
            for node in closure:
                test = self._tests[node]
                if test is not None and test(after):
                    nodes.update(self._next[node])
            following = self._state(frozenset(nodes), after, self._end in closure)
        self._transitions += 1
        if self._transitions > _MAX_TRANSITIONS:
            self._transitions = 0
            for known in tuple(self._states.values()):
                known.clear()
            self._states = {}
        state[symbol] = following
        return following

    def _state(self, nodes: frozenset[int], before: str, accepted: bool) -> _State:
        if not self._has_boundaries:
            before = ""
        elif before:
            before = "a" if is_word(before) else "\n" if before in LINE_ENDS else " "
        key = nodes, before, accepted
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(self, nodes, before, accepted)
        return state

    def _closure(
        self, nodes: Iterable[int], before: str, after: str, lookarounds: int
    ) -> frozenset[int]:
        """Return the nodes and all nodes reachable from them without a character."""
        found: set[int] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node in found:
                continue
            found.add(node)
            if self._tests[node] is None and self._holds(node, before, after, lookarounds):
                waiting += self._next[node]
        return frozenset(found)

    def _holds(self, node: int, before: str, after: str, lookarounds: int) -> bool:
        condition = self._conditions[node]
        if condition is None:
            return True
        if isinstance(condition, Lookaround):
            return bool(lookarounds >> self._bits[condition] & 1) is not condition.negative
        left, right = (after, before) if self._backward else (before, after)
        return is_boundary(condition.kind, left, right, self._multiline)

    def _add_node(
        self, test: Test | None = None, condition: Boundary | Lookaround | None = None
    ) -> int:
        self._tests.append(test)
        self._conditions.append(condition)
        self._next.append([])
        return len(self._next) - 1

    def _link(self, start: int, end: int) -> int:
        self._next[start].append(end)
        return end

    def _append(self, item: Item, start: int) -> int:
        """Append the nodes of an item to `start`; return the last one."""
        match item:
            case LiteralCharacter(test):
                return self._link(start, self._add_node(test))
            case Boundary() | Lookaround():
                return self._link(start, self._add_node(condition=item))
            case Sequence(items):
                for each in items:
                    start = self._append(each, start)
                return start
            case Alternation(ways):
                end = self._add_node()
                for way in ways:
                    self._link(self._append(way, start), end)
                return end
            case CaptureGroup(inner, _):
                return self._append(inner, start)
            case Repeat(inner, least, most):
                for _ in range(least if most is not None else least - 1):
                    start = self._append(inner, start)
                end = self._add_node()
                if most is None:
                    begin = self._link(start, self._add_node())
                    self._link(self._link(self._append(inner, begin), end), begin)
                    if not least:
                        self._link(begin, end)
                    return end
                self._link(start, end)
                for _ in range(most - least):
                    start = self._append(inner, start)
                    self._link(start, end)
                return end
            case BackReference():
                raise AssertionError("back-references are replaced before")


class PatternSearch:
    """The automata of a pattern: one for each lookaround, and one for the whole pattern."""

    def __init__(self, item: Item, multiline: bool, sticky: bool) -> None:
        self._bits: dict[Lookaround, int] = {}
        self._markers: list[tuple[Lookaround, _Automaton]] = []
        for look in _lookarounds_of(item):
            if look in self._bits:
                continue
            inner = look.item if look.behind else _reversed(look.item)
            marker = _Automaton(inner, self._bits, multiline=multiline, backward=not look.behind)
            self._markers.append((look, marker))
            self._bits[look] = len(self._bits)
        self._whole = _Automaton(item, self._bits, multiline=multiline, anchored=sticky, stays=True)

    def occurs(self, before: str, text: str) -> bool:
        """Return true if the pattern matches anywhere in a text that follows `before`."""
        if not self._markers:
            symbols: Iterable[_Symbol] = chain(text, ("",))
        else:
            symbols = zip((*text, ""), self._find_lookarounds(before, text), strict=True)
        return reduce(getitem, symbols, self._whole.start(before)).accepted

    def _find_lookarounds(self, before: str, text: str) -> list[int]:
        """Return the lookarounds whose item matches at each position of a text, as bits."""
        lookarounds = [0] * (len(text) + 1)
        for number, (look, marker) in enumerate(self._markers):
            if look.behind:
                symbols = zip((*text, ""), lookarounds, strict=True)
                states = accumulate(symbols, getitem, initial=marker.start(before))
            else:
                symbols = zip((*reversed(text), before), reversed(lookarounds), strict=True)
                states = accumulate(symbols, getitem, initial=marker.start(""))
            marks = [state.accepted for state in states][1:]
            if not look.behind:
                marks.reverse()
            bit = 1 << number
            lookarounds = [
                known | bit if marked else known
                for known, marked in zip(lookarounds, marks, strict=True)
            ]
        return lookarounds


def _reversed(item: Item) -> Item:
    """Return the item that matches the reversed text. A `Lookaround` stays as it is."""
    match item:
        case Sequence(parts):
            return Sequence(tuple(map(_reversed, reversed(parts))))
        case Alternation(parts):
            return Alternation(tuple(map(_reversed, parts)))
        case CaptureGroup(inner, _):
            return _reversed(inner)
        case Repeat(inner, least, most):
            return Repeat(_reversed(inner), least, most)
        case _:
            return item


def _lookarounds_of(item: Item) -> Iterator[Lookaround]:
    """Yield the lookarounds of an item, inner ones first."""
    match item:
        case Sequence(parts) | Alternation(parts):
            for part in parts:
                yield from _lookarounds_of(part)
        case CaptureGroup(inner, _) | Repeat(inner):
            yield from _lookarounds_of(inner)
        case Lookaround(inner, _, _):
            yield from _lookarounds_of(inner)
            yield item
        case _:
            return

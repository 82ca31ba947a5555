r"""Matching lorebook patterns (`/dragons?/i`) in bounded time, with the same result on any machine.

A lorebook is a stranger's file and is searched with every keystroke, so `re` is not an option:
for `/(a+)+$/` it tries a number of ways that doubles with each character.

1. All ways are followed at once, a character at a time, as a set of places in the pattern (an
   automaton without backtracking, made deterministic as far as texts need it). The time for a text
   is its length times the pattern's size at worst, and mostly its length alone.
2. Look-around: for each one, a run over the text marks the positions where it holds (forward for
   look-behind; backward, with the pattern reversed, for look-ahead). The time stays linear.
3. Back-references make matching NP-hard. `occurs_in` then says whether the pattern might occur, in
   linear time, and `backtrack` decides it and counts its steps: the caller bounds them. A limit
   in seconds would let the same request come out differently on a slower machine.
4. `required_texts` are literals of which any matching text contains one, so that of thousands of
   patterns only a few are run on a text.

Why not a library: `google-re2` has no wheels for musl and refuses look-around and
back-references; `regex` and `re` accept them, but their only bound is a time limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import accumulate, chain, product
from operator import getitem
from typing import TypeAlias

from tui_chat.context.lorebooks.backtracking import BacktrackingMatcher
from tui_chat.context.lorebooks.pattern_syntax import (
    LINE_ENDS,
    Alternation,
    BackReference,
    BadPattern,
    Border,
    CaptureGroup,
    Character,
    Item,
    LookAround,
    Repeat,
    Sequence,
    Test,
    is_border,
    is_word,
    read_pattern,
    utf16_units,
)

LARGEST = 2_000
"""Places that a pattern may have, each repetition counted out."""
_MAX_TRANSITIONS = 4_096
"""Transitions that an automaton remembers; then it begins anew."""
_MAX_ALTERNATIVES = 64
"""Literals that a pattern's requirement may consist of."""


class Pattern:
    """A pattern ready to be searched for. Raises BadPattern for one that cannot be used."""

    def __init__(self, source: str, flags: str = "") -> None:
        self._flags = flags
        self._item = read_pattern(source, flags)
        # Only counted repetitions make a pattern much larger than its source.
        if ("{" in source or len(source) > LARGEST // 4) and _size(self._item) > LARGEST:
            raise BadPattern("is too large")
        self.has_back_references = "\\" in source and _has_back_reference(self._item)
        """True if `occurs_in` only says that the pattern might occur; see `backtrack`."""
        self.required_texts = _required_texts(self._item)
        """Case-folded literals; one of them is in the case-folded form of any text in which the
        pattern occurs. Empty if nothing is known.
        """
        self.required_characters = _required_characters(self._item)
        """Tests each of which some character of any matching text passes, as `utf16_units` or as
        it is.
        """
        self._search: _PatternSearch | None = None
        self._matcher: BacktrackingMatcher | None = None

    def occurs_in(self, text: str, start: int = 0) -> bool:
        r"""Return true if the pattern matches anywhere from `start` on.

        With back-references: if it might match. What stands before `start` counts for `^` and `\b`.
        """
        if self._search is None:
            item = _without_back_references(self._item) if self.has_back_references else self._item
            self._search = _PatternSearch(item, "m" in self._flags, "y" in self._flags)
        return self._search.occurs(*self._seen(text, start))

    def backtrack(self, text: str, start: int, limit: int) -> tuple[bool, int]:
        """Decide whether a pattern with back-references matches from `start` on.

        Returns the result and the steps that it took. If `limit` steps are not enough, the result
        is false and the steps are negative.
        """
        if self._matcher is None:
            self._matcher = BacktrackingMatcher(self._item, self._flags)
        before, seen = self._seen(text, start)
        return self._matcher.search(before + seen, len(before), limit)

    def _seen(self, text: str, start: int) -> tuple[str, str]:
        """Return the character before `start`, if any, and the text from there, as JavaScript
        sees them.
        """
        before, seen = text[max(start - 1, 0) : start], text[start:]
        if "u" in self._flags:
            return before, seen
        return utf16_units(before)[-1:], utf16_units(seen)


def _size(item: Item) -> int:
    """Return how many places an item takes at most."""
    if isinstance(item, Character):
        return 1
    match item:
        case Sequence(parts) | Alternation(parts):
            return 1 + sum(map(_size, parts))
        case CaptureGroup(inner, _) | LookAround(inner, _, _):
            return 1 + _size(inner)
        case Repeat(inner, least, most):
            return 1 + _size(inner) * max(least if most is None else most, 1)
        case _:
            return 1


def _has_back_reference(item: Item) -> bool:
    if isinstance(item, Character):
        return False
    match item:
        case Sequence(parts) | Alternation(parts):
            return any(map(_has_back_reference, parts))
        case CaptureGroup(inner, _) | LookAround(inner, _, _) | Repeat(inner):
            return _has_back_reference(inner)
        case _:
            return isinstance(item, BackReference)


_ANY_TEXT = Repeat(Character(bool), 0, None)
_NOTHING = Sequence(())


def _without_back_references(item: Item) -> Item:
    """Return an item without back-references that matches wherever the given one does."""
    match item:
        case BackReference():
            return _ANY_TEXT
        case LookAround() if _has_back_reference(item):
            return _NOTHING
        case Sequence(parts):
            return Sequence(tuple(map(_without_back_references, parts)))
        case Alternation(parts):
            return Alternation(tuple(map(_without_back_references, parts)))
        case CaptureGroup(inner, _):
            return _without_back_references(inner)
        case Repeat(inner, least, most):
            return Repeat(_without_back_references(inner), least, most)
        case _:
            return item


def _reversed(item: Item) -> Item:
    """Return the item that matches the same text read backward. A `LookAround` stays as it is."""
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


def _looks(item: Item) -> Iterator[LookAround]:
    """Yield the look-arounds of an item, those inside another one before it."""
    match item:
        case Sequence(parts) | Alternation(parts):
            for part in parts:
                yield from _looks(part)
        case CaptureGroup(inner, _) | Repeat(inner):
            yield from _looks(inner)
        case LookAround(inner, _, _):
            yield from _looks(inner)
            yield item
        case _:
            return


# Requirements

_Texts: TypeAlias = frozenset[str]


def _required_texts(item: Item) -> tuple[str, ...]:
    texts = sorted(_better(*_requirement(item)) or (), key=len)
    shortest: list[str] = []
    for text in texts:
        if not any(known in text for known in shortest):
            shortest.append(text)
    return tuple(shortest)


def _better(one: _Texts | None, other: _Texts | None) -> _Texts | None:
    """Return which of two requirements excludes more texts; None if neither excludes any."""

    def worth(texts: _Texts) -> tuple[int, int]:
        return min(min(map(len, texts)), 6), -len(texts)

    # A single ASCII letter is in nearly every text; `required_characters` see to it.
    known = [
        texts
        for texts in (one, other)
        if texts and all(len(text) > 1 or text > "\x7f" for text in texts)
    ]
    return max(known, key=worth, default=None)


def _requirement(item: Item) -> tuple[_Texts | None, _Texts | None]:
    """Return all texts that an item matches, folded, if they are few; and texts of which it needs
    one. None where they are not known.
    """
    match item:
        case Character(_, folded):
            return frozenset(folded) or None, None
        case Border() | LookAround():
            return frozenset(("",)), None
        case BackReference():
            return None, None
        case CaptureGroup(inner, _):
            return _requirement(inner)
        case Repeat(inner, least, most):
            whole, needed = _requirement(inner)
            if (least, most) == (1, 1):
                return whole, needed
            if least:
                return None, _better(whole, needed)
            return (whole | {""} if whole is not None and most == 1 else None), None
        case Alternation(ways):
            known = [_requirement(way) for way in ways]
            return (
                _union(whole for whole, _ in known),
                _union(_better(whole, needed) for whole, needed in known),
            )
        case Sequence(items):
            return _requirement_of_sequence(items)


def _required_characters(item: Item) -> frozenset[Test]:
    """Return the tests of all characters that cannot be missing; of alternatives, none."""
    match item:
        case Character(test):
            return frozenset((test,))
        case Sequence(items):
            return frozenset[Test]().union(*map(_required_characters, items))
        case CaptureGroup(inner, _):
            return _required_characters(inner)
        case Repeat(inner, least, _) if least:
            return _required_characters(inner)
        case _:
            return frozenset()


def _union(sets: Iterable[_Texts | None]) -> _Texts | None:
    texts: set[str] = set()
    for each in sets:
        if each is None or len(texts) > _MAX_ALTERNATIVES:
            return None
        texts |= each
    return frozenset(texts) if len(texts) <= _MAX_ALTERNATIVES else None


def _requirement_of_sequence(items: tuple[Item, ...]) -> tuple[_Texts | None, _Texts | None]:
    run: _Texts = frozenset(("",))
    best: _Texts | None = None
    is_whole = True
    literal = ""
    for item in items:
        if isinstance(item, Character) and len(item.folded) == 1:
            literal += item.folded[0]
            continue
        whole, needed = _requirement(item)
        if whole is not None and len(run) * len(whole) <= _MAX_ALTERNATIVES:
            run = frozenset(text + literal + more for text, more in product(run, whole))
            literal = ""
            continue
        best = _better(_better(best, frozenset(text + literal for text in run)), needed)
        run, literal = whole if whole is not None else frozenset(("",)), ""
        is_whole = False
    run = frozenset(text + literal for text in run)
    return (run if is_whole else None), _better(best, run)


# The automaton

_Symbol: TypeAlias = "str | tuple[str, int]"
"""A character, the empty string at the end; with it the look-arounds that hold before it, as bits,
in a pattern that has some.
"""


class _AutomatonState(dict[_Symbol, "_AutomatonState"]):
    """A set of places in a pattern, and where each symbol met so far leads from there."""

    __slots__ = ("accepted", "automaton", "before", "places")

    def __init__(
        self, automaton: _Automaton, places: frozenset[int], before: str, accepted: bool
    ) -> None:
        super().__init__()
        self.automaton = automaton
        self.places = places
        self.before = before
        """A character that stands for the kind of the previous one."""
        self.accepted = accepted
        """True if a match ended before the previous character; see `_Automaton.stays`."""

    def __missing__(self, symbol: _Symbol) -> _AutomatonState:
        return self.automaton.follow(self, symbol)


class _Automaton:
    """One item of a pattern, to be run over texts."""

    def __init__(
        self,
        item: Item,
        looks: dict[LookAround, int],
        *,
        multiline: bool,
        backward: bool = False,
        anchored: bool = False,
        stays: bool = False,
    ) -> None:
        """Lay out an item.

        `looks` are the bits of the look-arounds in it. A `backward` one is given reversed texts.
        An `anchored` one matches at the start only. One that `stays` remains accepted after the
        first match.
        """
        self._looks = looks
        self._multiline = multiline
        self._backward = backward
        self._anchored = anchored
        self._stays = stays
        self._tests: list[Test | None] = []
        """By place: what the next character has to pass; None for a place that needs none."""
        self._conditions: list[Border | LookAround | None] = []
        """By place: what has to hold for going on."""
        self._onward: list[list[int]] = []
        """By place: the places that follow."""
        self._place()
        self._end = self._place()
        self._link(self._lay(item, 0), self._end)
        self._has_borders = any(isinstance(each, Border) for each in self._conditions)
        self._states: dict[tuple[frozenset[int], str, bool], _AutomatonState] = {}
        self._transitions = 0

    def start(self, before: str) -> _AutomatonState:
        """Return the state in which a text begins that has a character, or none, before it."""
        return self._state(frozenset((0,)), before, False)

    def follow(self, state: _AutomatonState, symbol: _Symbol) -> _AutomatonState:
        """Return, and remember, where a symbol leads."""
        after, holding = symbol if isinstance(symbol, tuple) else (symbol, 0)
        spread = self._spread(state.places, state.before, after, holding)
        if self._stays and (state.accepted or self._end in spread):
            following = self._state(frozenset(), "", True)
        else:
            places: set[int] = set() if self._anchored else {0}
            for place in spread:
                test = self._tests[place]
                if test is not None and test(after):
                    places.update(self._onward[place])
            following = self._state(frozenset(places), after, self._end in spread)
        self._transitions += 1
        if self._transitions > _MAX_TRANSITIONS:
            self._transitions = 0
            for known in tuple(self._states.values()):
                known.clear()
            self._states = {}
        state[symbol] = following
        return following

    def _state(self, places: frozenset[int], before: str, accepted: bool) -> _AutomatonState:
        if not self._has_borders:
            before = ""
        elif before:
            before = "a" if is_word(before) else "\n" if before in LINE_ENDS else " "
        key = places, before, accepted
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _AutomatonState(self, places, before, accepted)
        return state

    def _spread(
        self, places: Iterable[int], before: str, after: str, holding: int
    ) -> frozenset[int]:
        """Return the places, and all that are reached from them without a character."""
        found: set[int] = set()
        waiting = list(places)
        while waiting:
            place = waiting.pop()
            if place in found:
                continue
            found.add(place)
            if self._tests[place] is None and self._holds(place, before, after, holding):
                waiting += self._onward[place]
        return frozenset(found)

    def _holds(self, place: int, before: str, after: str, holding: int) -> bool:
        condition = self._conditions[place]
        if condition is None:
            return True
        if isinstance(condition, LookAround):
            return bool(holding >> self._looks[condition] & 1) is not condition.negative
        left, right = (after, before) if self._backward else (before, after)
        return is_border(condition.kind, left, right, self._multiline)

    def _place(self, test: Test | None = None, condition: Border | LookAround | None = None) -> int:
        self._tests.append(test)
        self._conditions.append(condition)
        self._onward.append([])
        return len(self._onward) - 1

    def _link(self, start: int, end: int) -> int:
        self._onward[start].append(end)
        return end

    def _lay(self, item: Item, start: int) -> int:
        """Lay out the places of an item behind `start`; return the last of them."""
        match item:
            case Character(test):
                return self._link(start, self._place(test))
            case Border() | LookAround():
                return self._link(start, self._place(condition=item))
            case Sequence(items):
                for each in items:
                    start = self._lay(each, start)
                return start
            case Alternation(ways):
                end = self._place()
                for way in ways:
                    self._link(self._lay(way, start), end)
                return end
            case CaptureGroup(inner, _):
                return self._lay(inner, start)
            case Repeat(inner, least, most):
                for _ in range(least if most is not None else least - 1):
                    start = self._lay(inner, start)
                end = self._place()
                if most is None:
                    begin = self._link(start, self._place())
                    self._link(self._link(self._lay(inner, begin), end), begin)
                    if not least:
                        self._link(begin, end)
                    return end
                self._link(start, end)
                for _ in range(most - least):
                    start = self._lay(inner, start)
                    self._link(start, end)
                return end
            case BackReference():
                raise AssertionError("back-references are replaced before")


class _PatternSearch:
    """The automata of a pattern: one for each look-around, and one for the whole."""

    def __init__(self, item: Item, multiline: bool, sticky: bool) -> None:
        self._looks: dict[LookAround, int] = {}
        self._markers: list[tuple[LookAround, _Automaton]] = []
        for look in _looks(item):
            if look in self._looks:
                continue
            inner = look.item if look.behind else _reversed(look.item)
            marker = _Automaton(inner, self._looks, multiline=multiline, backward=not look.behind)
            self._markers.append((look, marker))
            self._looks[look] = len(self._looks)
        self._whole = _Automaton(
            item, self._looks, multiline=multiline, anchored=sticky, stays=True
        )

    def occurs(self, before: str, text: str) -> bool:
        """Return true if the pattern matches somewhere in a text that follows `before`."""
        if not self._markers:
            symbols: Iterable[_Symbol] = chain(text, ("",))
        else:
            symbols = zip((*text, ""), self._holding(before, text), strict=True)
        return reduce(getitem, symbols, self._whole.start(before)).accepted

    def _holding(self, before: str, text: str) -> list[int]:
        """Return, for each position of a text, the look-arounds whose inner part matches there."""
        holding = [0] * (len(text) + 1)
        for number, (look, marker) in enumerate(self._markers):
            if look.behind:
                symbols = zip((*text, ""), holding, strict=True)
                states = accumulate(symbols, getitem, initial=marker.start(before))
            else:
                symbols = zip((*reversed(text), before), reversed(holding), strict=True)
                states = accumulate(symbols, getitem, initial=marker.start(""))
            marks = [state.accepted for state in states][1:]
            if not look.behind:
                marks.reverse()
            bit = 1 << number
            holding = [
                known | bit if marked else known
                for known, marked in zip(holding, marks, strict=True)
            ]
        return holding

r"""Patterns in JavaScript's syntax (`/dragons?/i`), matched in time linear in the text.

A lorebook is a stranger's file and is searched with every keystroke, so `re` alone is not an
option: for `/(a+)+$/` its time doubles with each character. `google-re2` has no wheels for musl.

1. `_translated` turns a source into one for `re`, whose parser reads it.
2. The parser's tree becomes a nondeterministic automaton, whose tests of single characters `re`
   compiles. `Pattern.occurs_in` makes it deterministic lazily; `Pattern.find` walks it in order of
   preference and visits each node once at each place, which finds the groups.
3. Where a pattern can be tried in few ways on a text, `re` itself matches it, which is faster.
4. Refused are look-around, back-references, `\p{...}` and what browsers accept for compatibility
   only, such as octal escapes. A character is a code point with or without the flag `u`, and only
   a line feed ends a line for `^` and `$`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property, reduce
from importlib import import_module
from itertools import chain
from math import inf, prod
from operator import getitem
from typing import Any, TypeAlias

_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")

LARGEST = 2_000
"""Maximum nodes of an automaton, counted repetitions written out."""
_QUICK = 100_000
"""Characters that `re` may have to look at, at most, where it is used instead of an automaton."""
MAX_NESTING = 40
"""Maximum depth of nested groups."""
_MAX_TRANSITIONS = 4_096
"""Transitions that are remembered before an automaton starts over."""
_MAX_TESTS = 4_096
_OPTIONS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_CLASSES = {
    "d": "0-9",
    "w": "0-9A-Za-z_",
    "s": r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
}
_TOKEN = re.compile(
    r"\\u\{0*(?P<long>[0-9a-fA-F]{1,6})\}"
    r"|\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\(?P<escaped>.?)|(?P<group>\((?:\?(?:<[^\W\d]\w*>|<?.?))?)|(?P<other>\[\^?\]?|[\].){^$])",
    re.DOTALL,
)

Test: TypeAlias = Callable[[str], object]
"""Gives a true value if a character passes; never for the empty string, the end of the text."""


class BadPattern(ValueError):
    """A pattern cannot be used; the message continues a sentence after “it ”."""


def is_word(character: str) -> bool:
    r"""True if a character is in JavaScript's `\w`; the empty string is not."""
    return character.isascii() and (character.isalnum() or character == "_")


def _translated(source: str, flags: str) -> str:
    """Return the source for Python's parser. Raises BadPattern if it has no equivalent."""
    is_class, depth = False, 0

    def replaced(token: re.Match[str]) -> str:
        nonlocal is_class, depth
        if token["long"]:
            code = int(token["long"], 16)
            if "u" not in flags or code > 0x10FFFF:
                raise BadPattern(r"has the escape \u{…} without the flag u or with a large number")
            return re.escape(chr(code))
        if token["high"]:
            pair = (int(token["high"], 16) & 0x3FF) << 10 | int(token["low"], 16) & 0x3FF
            return re.escape(chr(0x10000 + pair))
        if token["escaped"] is not None:
            return _escape(token["escaped"], is_class)
        if is_class:
            is_class = token["other"] != "]" and not (token["other"] or "").endswith("]")
            return token[0]
        if token["group"]:
            depth += 1
            return _group(token["group"], depth)
        following = source[token.end() : token.end() + 1]
        match token["other"]:
            case "[]":
                raise BadPattern("has an empty class")
            case "[^]":
                return r"[\s\S]"
            case "." if "s" not in flags:
                return r"[^\n\r\u2028\u2029]"
            case "^" | "$" if "m" not in flags:
                return r"\A" if token[0] == "^" else r"\Z"
            case "{" if following == ",":
                return r"\{"
            case "[" | "[^":
                is_class = True
            case ")":
                depth -= 1
            case _:
                pass
        return token[0]

    return _TOKEN.sub(replaced, source)


def _escape(letter: str, is_class: bool) -> str:
    if letter.lower() in ("d", "w", "s"):
        if letter.islower():
            return _CLASSES[letter] if is_class else f"[{_CLASSES[letter]}]"
        return "\\" + letter if is_class else f"[^{_CLASSES[letter.lower()]}]"
    if letter in ("b", "B") and not is_class:
        return rf"(?a:\{letter})"
    if letter == "k" or letter in tuple("123456789"):
        raise BadPattern("has a back-reference")
    if letter in ("p", "P"):
        raise BadPattern("names a Unicode property")
    if letter.isascii() and letter.isalpha() and letter not in "bnrtfvxu":
        raise BadPattern(rf"has the unknown escape \{letter}")
    return "\\" + letter


def _group(opening: str, depth: int) -> str:
    if depth > MAX_NESTING:
        raise BadPattern("nests too many groups")
    if opening in ("(", "(?:"):
        return opening
    if opening in ("(?=", "(?!", "(?<=", "(?<!"):
        raise BadPattern("looks around a place with " + opening)
    if not opening.endswith(">"):
        raise BadPattern("has a group of an unknown kind")
    return "(?P" + opening.removeprefix("(?")


class _Node:
    """A node of an automaton: it consumes a character, has a condition, or only leads on."""

    __slots__ = ("after", "boundary", "item", "slot", "test")

    def __init__(self, *after: _Node) -> None:
        self.after = list(after)
        """The nodes that follow, the preferred one first."""
        self.item: Any = None
        """The parser's item for the character; None if it consumes none."""
        self.test: Test | None = None
        self.boundary = ""
        """The name of the parser for what must be at the place; empty for anything."""
        self.slot = -1
        """The slot of the captures that takes the place, or -1."""


class _State(dict[str, "_State"]):
    """A set of nodes between two characters; by the next character the state that follows."""

    __slots__ = ("accepted", "before", "nodes", "pattern")

    def __init__(
        self, pattern: Pattern, nodes: frozenset[_Node], before: str, accepted: bool
    ) -> None:
        super().__init__()
        self.pattern = pattern
        self.nodes = nodes
        self.before = before
        """A representative of the character before."""
        self.accepted = accepted
        """True if a match ended before that character."""

    def __missing__(self, character: str) -> _State:
        return self.pattern.follow(self, character)


class Pattern:
    """A compiled pattern. The constructor raises BadPattern for one that cannot be used."""

    def __init__(self, source: str, flags: str = "") -> None:
        if len(set(flags)) < len(flags):
            raise BadPattern("has a flag twice")
        options = sum(_OPTIONS[flag] for flag in _OPTIONS if flag in flags)
        if source.isascii() or "i" not in flags:  # else case is ignored in ASCII only
            options |= re.ASCII
        translated = _translated(source, flags)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of sets in classes
                self._tree = _parser.parse(translated, options)
        except (re.error, OverflowError, RecursionError) as error:
            raise BadPattern(f"is malformed ({error})") from None
        self.required_texts = _required(self._tree)
        """Case-folded literals, one of which is in each matching text; empty if none is known."""
        self._is_sticky = "y" in flags
        self._known_ways: dict[int, float] = {}
        self._size = 0
        self._end = _Node()
        self._start = self._build(self._tree, self._end)
        self._states: dict[tuple[frozenset[_Node], str, bool], _State] = {}
        self._transitions = 0

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern for `re`, whose time `most_ways` tells."""
        return _compiler.compile(self._tree, self._tree.state.flags)

    def occurs_in(self, text: str, start: int = 0) -> bool:
        r"""True if the pattern matches anywhere from `start` on; `^` and `\b` see what precedes."""
        length = len(text) - start
        if 0 < self.most_ways(length) * length < _QUICK:
            search = self.regex.match if self._is_sticky else self.regex.search
            return search(text, start) is not None
        return self.accepts(text, start)

    def accepts(self, text: str, start: int = 0) -> bool:
        """Return what `occurs_in` does, by the automaton whatever the pattern is."""
        state = self._state(frozenset((self._start,)), text[max(start - 1, 0) : start], False)
        return reduce(getitem, chain(text[start:], ("",)), state).accepted

    def find(self, text: str, start: int, limit: int) -> tuple[tuple[int, ...] | None, int]:
        """Return the first match from `start` on as the start and end of the whole and of each
        group, -1 for none, and the steps that it took.

        If `limit` steps are not enough, it is None and the steps are negative.
        """
        visited: set[tuple[_Node, int]] = set()
        for begin in range(start, start + 1 if self._is_sticky else len(text) + 1):
            waiting: list[tuple[_Node, int, Any]] = [(self._start, begin, None)]
            while waiting:
                node, place, captured = waiting.pop()
                if (node, place) in visited:
                    continue
                visited.add((node, place))
                if len(visited) > limit:
                    return None, -limit
                if node is self._end:
                    slots = [-1] * (2 * self.regex.groups + 2)
                    slots[:2] = begin, place
                    while captured is not None:
                        slot, at, captured = captured
                        slots[slot] = at if slots[slot] < 0 else slots[slot]
                    return tuple(slots), len(visited)
                if node.item is not None:
                    if self._passes(node, text[place : place + 1]):
                        waiting.append((node.after[0], place + 1, captured))
                    continue
                if node.slot >= 0:
                    captured = node.slot, place, captured
                before = text[place - 1 : place] if place else ""
                if _holds(node.boundary, before, text[place : place + 1]):
                    waiting += [(after, place, captured) for after in reversed(node.after)]
        return None, len(visited)

    def most_ways(self, length: int) -> float:
        """Return an upper bound of the ways in which `regex` tries to match from one place of a
        text of this length.
        """
        if length not in self._known_ways:
            self._known_ways = {length: _ways(self._tree, length)}
        return self._known_ways[length]

    def follow(self, state: _State, character: str) -> _State:
        """Compute and remember a transition."""
        closure: set[_Node] = set()
        waiting = list(state.nodes)
        while waiting:
            node = waiting.pop()
            if node not in closure:
                closure.add(node)
                if node.item is None and _holds(node.boundary, state.before, character):
                    waiting += node.after
        if state.accepted or self._end in closure:
            following = self._state(frozenset(), "", True)
        else:
            nodes = {
                node.after[0]
                for node in closure
                if node.item is not None and self._passes(node, character)
            }
            if not self._is_sticky:
                nodes.add(self._start)
            following = self._state(frozenset(nodes), character, False)
        self._transitions += 1
        if self._transitions > _MAX_TRANSITIONS:
            self._transitions = 0
            for known in self._states.values():
                known.clear()
            self._states = {}
        state[character] = following
        return following

    def _passes(self, node: _Node, character: str) -> object:
        if node.test is None:
            node.test = _test_of(node.item, self._tree.state)
        return node.test(character)

    def _state(self, nodes: frozenset[_Node], before: str, accepted: bool) -> _State:
        if before not in ("", "\n"):
            before = "a" if is_word(before) else " "
        key = nodes, before, accepted
        if key not in self._states:
            self._states[key] = _State(self, *key)
        return self._states[key]

    def _build(self, items: Iterable[Any], after: _Node) -> _Node:
        """Return the first node of a sequence of the parser's items that leads to `after`."""
        self._size += 1
        for item in reversed(tuple(items)):
            after = self._build_item(item, after)
        if self._size > LARGEST:
            raise BadPattern("is too large")
        return after

    def _build_item(self, item: Any, after: _Node) -> _Node:
        self._size += 1
        value = item[1]
        match str(item[0]):
            case "AT":
                node = _Node(after)
                node.boundary = str(value)
                return node
            case "BRANCH":
                return _Node(*(self._build(way, after) for way in value[1]))
            case "SUBPATTERN" if value[0] is None:
                return self._build(value[3], after)
            case "SUBPATTERN":
                end, start = _Node(after), _Node()
                end.slot, start.slot = 2 * value[0] + 1, 2 * value[0]
                start.after = [self._build(value[3], end)]
                return start
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(value, after, lazy=str(item[0]) == "MIN_REPEAT")
            case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY":
                node = _Node(after)
                node.item = item
                return node
            case _:
                raise BadPattern("repeats a repetition")  # possessively, in Python

    def _repeat(self, value: Any, after: _Node, *, lazy: bool) -> _Node:
        (least, most, inner), first = value, after
        if most == _parser.MAXREPEAT:
            first = _Node()
            ways = self._build(inner, first), after
            first.after = list(reversed(ways) if lazy else ways)
            most = least
        for _ in range(most - least):
            ways = self._build(inner, first), after
            first = _Node(*(reversed(ways) if lazy else ways))
        for _ in range(least):
            first = self._build(inner, first)
        return first


_tests: dict[tuple[str, int], Test] = {}


def _test_of(item: Any, state: Any) -> Test:
    """Return the test of an item that is one character."""
    if str(item[0]) == "LITERAL" and not state.flags & re.IGNORECASE:
        return chr(item[1]).__eq__
    key = repr(item), int(state.flags)
    if key not in _tests:
        if len(_tests) >= _MAX_TESTS:
            _tests.clear()
        _tests[key] = _compiler.compile(_parser.SubPattern(state, [item]), state.flags).match
    return _tests[key]


def _holds(boundary: str, before: str, after: str) -> bool:
    """True if a boundary is between two characters, empty at the ends."""
    match boundary:
        case "":
            return True
        case "AT_BEGINNING":
            return not before or before == "\n"
        case "AT_BEGINNING_STRING":
            return not before
        case "AT_END":
            return not after or after == "\n"
        case "AT_END_STRING":
            return not after
        case _:
            return (is_word(before) is is_word(after)) is (boundary == "AT_NON_BOUNDARY")


def _ways(items: Iterable[Any], length: int) -> float:
    return prod(_ways_of(item[0], item[1], length) for item in items)


def _ways_of(op: Any, value: Any, length: int) -> float:
    match str(op):
        case "SUBPATTERN":
            return _ways(value[3], length)
        case "BRANCH":
            return sum(_ways(way, length) for way in value[1])
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, inner = value
            inside = _ways(inner, length)
            if inside > 1:
                return inside**least if most == least and least < 9 else inf
            return max(min(most, length) - least, 0) + 1
        case _:
            return 1


def _required(items: Iterable[Any]) -> tuple[str, ...]:
    runs, known = [""], list[tuple[str, ...]]()
    for op, value in items:
        match str(op):
            case "LITERAL":
                runs[-1] += chr(value).casefold()
            case "SUBPATTERN":
                known.append(_required(value[3]))
                runs.append("")
            case "BRANCH":
                ways = [_required(way) for way in value[1]]
                known.append(tuple(chain(*ways)) if all(ways) else ())
                runs.append("")
            case "MAX_REPEAT" | "MIN_REPEAT" if value[0]:
                known.append(_required(value[2]))
                runs.append("")
            case "AT":
                pass
            case _:
                runs.append("")
    known += [(run,) for run in runs if run]
    return max(filter(None, known), key=lambda texts: min(map(len, texts)), default=())

"""The parser of lorebook patterns; see `syntax`."""

from __future__ import annotations

import re
from functools import lru_cache

from tui_chat.context.lorebooks.patterns.syntax import (
    DIGITS,
    LINE_ENDS,
    SPACES,
    WORD_CHARACTERS,
    Alternation,
    BackReference,
    BadPattern,
    Boundary,
    CaptureGroup,
    Item,
    LiteralCharacter,
    Lookaround,
    Repeat,
    Sequence,
    Test,
    canonical,
    is_word,
    property_test,
    utf16_units,
)
from tui_chat.lazy_dataclass import dataclass

MAX_NESTING = 40
"""Maximum depth of nested groups."""
_KINDS = {"d": DIGITS, "w": WORD_CHARACTERS, "s": SPACES}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})")
_LONG_HEX = re.compile(r"u\{0*([0-9a-fA-F]{1,6})\}")
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_COUNTS = re.compile(r"\{(\d+)(,(\d*))?\}", re.ASCII)
_GROUP_NAME = re.compile(r"\?<([^\W\d][\w$]*|\$[\w$]*)>")
_NAME_OF_REFERENCE = re.compile(r"<([^>]*)>")
_OPENINGS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?|\((\?<(?![=!])|(?!\?))", re.DOTALL)
_CLASS = re.compile(r"(?:\\.|[^\]\\])*\]", re.DOTALL)
_PLAIN_TEXT = re.compile(r"[^\\^$.*+?()\[\]{}|]+(?![*+?{])")
_LONGEST_COUNT = 5
"""Digits of a number that are read; a longer one exceeds the maximum size of a pattern."""


def parse_pattern(source: str, flags: str) -> Item:
    """Parse a pattern. Raises BadPattern if JavaScript would refuse it, or it cannot be used."""
    if len(set(flags)) < len(flags):
        raise BadPattern("has a flag twice")
    unicode = "u" in flags
    source = source if unicode else utf16_units(source)
    names = group_names(source)
    reader = _PatternParser(source, "i" in flags, "s" in flags, unicode, names)
    item = reader.choice()
    if reader.at < len(source):
        raise BadPattern("closes a group that was not opened")
    return item


def group_names(source: str) -> tuple[str, ...]:
    """Return the names of all capturing groups, in order; empty for those without a name.

    Raises BadPattern for a name that is none, or is used twice.
    """
    names: list[str] = []
    for opening in _OPENINGS.finditer(source):
        if opening[1] is None:
            continue
        named = _GROUP_NAME.match(source, opening.start() + 1) if opening[1] else None
        if opening[1] and named is None:
            raise BadPattern("has a group whose name is not one")
        name = named[1] if named else ""
        if name and name in names:
            raise BadPattern(f"has two groups named {name}")
        names.append(name)
    return tuple(names)


@dataclass(slots=True)
class _PatternParser:
    """A recursive-descent parser."""

    source: str
    ignores_case: bool
    dot_is_all: bool
    unicode: bool
    names: tuple[str, ...]
    at: int = 0
    depth: int = 0
    groups: int = 0
    """Capturing groups opened so far."""

    def choice(self) -> Item:
        """Parse up to a closing bracket or the end."""
        ways = [self._sequence()]
        while self._take("|"):
            ways.append(self._sequence())
        return ways[0] if len(ways) == 1 else Alternation(tuple(ways))

    def _take(self, what: str) -> bool:
        found = self.source.startswith(what, self.at)
        self.at += len(what) if found else 0
        return found

    def _match(self, pattern: re.Pattern[str], at: int | None = None) -> re.Match[str] | None:
        """Match here and advance past the match."""
        if found := pattern.match(self.source, self.at if at is None else at):
            self.at = found.end()
        return found

    def _next(self) -> str:
        if self.at >= len(self.source):
            raise BadPattern("ends too early")
        self.at += 1
        return self.source[self.at - 1]

    def _sequence(self) -> Item:
        items: list[Item] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            if found := self._match(_PLAIN_TEXT):
                items += map(self._literal, found[0])
                continue
            first = self.groups + 1
            items.append(self._repeated(self._item(), first))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _repeated(self, item: Item, first_group: int) -> Item:
        least: int
        most: int | None
        if found := self._match(_COUNTS):
            least = _count(found[1])
            most = least if found[2] is None else _count(found[3]) if found[3] else None
        elif self._take("*"):
            least, most = 0, None
        elif self._take("+"):
            least, most = 1, None
        elif self._take("?"):
            least, most = 0, 1
        else:
            return item
        if isinstance(item, Boundary) or (
            isinstance(item, Lookaround) and (item.behind or self.unicode)
        ):
            raise BadPattern("repeats nothing")
        lazy = self._take("?")
        if most is not None and most < least:
            raise BadPattern("has a repetition that ends before it begins")
        return Repeat(item, least, most, lazy, (first_group, self.groups + 1))

    def _item(self) -> Item:
        match character := self._next():
            case "(":
                return self._group()
            case "[":
                return self._shared_class()
            case ".":
                return _ANY if self.dot_is_all else _ANY_OF_A_LINE
            case "^" | "$":
                return Boundary(character)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise BadPattern("repeats nothing")
            case "{" if self.unicode or _COUNTS.match(self.source, self.at - 1):
                raise BadPattern("repeats nothing")
            case "}" | "]" if self.unicode:
                raise BadPattern(f"has a {character} that closes nothing")
            case _:
                return self._literal(character)

    def _group(self) -> Item:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise BadPattern("nests its groups too deeply")
        look = number = None
        if self._take("?="):
            look = False, False
        elif self._take("?!"):
            look = False, True
        elif self._take("?<="):
            look = True, False
        elif self._take("?<!"):
            look = True, True
        elif not self._take("?:"):
            if not self._match(_GROUP_NAME) and self._take("?"):
                raise BadPattern("has a group of an unknown kind")
            number = self.groups = self.groups + 1
        item = self.choice()
        if not self._take(")"):
            raise BadPattern("leaves a group open")
        self.depth -= 1
        if look is not None:
            return Lookaround(item, *look)
        return Sequence((item,)) if number is None else CaptureGroup(item, number)

    def _escape(self) -> Item:
        character = self._next()
        if character in "bB":
            return Boundary(character)
        if character in "123456789" and (reference := self._numbered_reference()):
            return reference
        if character == "k" and (any(self.names) or self.unicode):
            named = self._match(_NAME_OF_REFERENCE)
            if named is None or not named[1] or named[1] not in self.names:
                raise BadPattern("refers back to a group that it does not have")
            return BackReference(self.names.index(named[1]) + 1)
        if (kind := self._kind(character)) is not None:
            return _of_kind(kind)
        return self._literal(self._escaped(character, in_class=False))

    def _numbered_reference(self) -> BackReference | None:
        r"""Parse `\12`, the first digit of which was read; None if there is no such group."""
        start = self.at - 1
        end = start
        while end < len(self.source) and self.source[end] in DIGITS:
            end += 1
        number = int(self.source[start : min(end, start + _LONGEST_COUNT)])
        if number <= len(self.names):
            self.at = end
            return BackReference(number)
        if self.unicode:
            raise BadPattern("refers back to a group that it does not have")
        return None

    def _escaped(self, letter: str, *, in_class: bool) -> str:
        """Return the character of an escape whose letter was read."""
        start = self.at - 1
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if self.unicode and letter == "u" and (found := self._match(_LONG_HEX, start)):
            code = int(found[1], 16)
            if code > 0x10FFFF:
                raise BadPattern("names a character that does not exist")
            return chr(code)
        if found := self._match(_HEX, start):
            return self._join_surrogates(int(found[1] or found[2], 16))
        if letter == "c":
            following = self.source[self.at : self.at + 1]
            if following.isascii() and (
                following.isalpha() or (in_class and not self.unicode and is_word(following))
            ):
                self.at += 1
                return chr(ord(following) % 32)
            if not self.unicode:
                self.at -= 1  # Annex B: the backslash stands for itself
                return "\\"
        if letter in DIGITS:
            if letter == "0" and self.source[self.at : self.at + 1] not in DIGITS:
                return "\0"
            if not self.unicode and (found := self._match(_OCTAL, start)):
                return chr(int(found[0], 8))
        if self.unicode and letter not in _SYNTAX and not (in_class and letter == "-"):
            raise BadPattern(f"has an escape \\{letter} that means nothing")
        return letter

    def _join_surrogates(self, code: int) -> str:
        """Return the character of a code; with the flag `u`, join two surrogates."""
        if self.unicode and 0xD800 <= code < 0xDC00 and (low := self._match(_LOW_HALF)):
            code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        return chr(code)

    def _kind(self, letter: str) -> Test | None:
        r"""Return the test of `\d` and similar escapes; None for other letters."""
        if letter in "pP" and self.unicode:
            found = re.compile(r"\{(\w+)(?:=(\w+))?\}", re.ASCII).match(self.source, self.at)
            if not found:
                raise BadPattern(f"has an escape \\{letter} without a property")
            self.at = found.end()
            return self._property_test(property_test(found[1], found[2]), wanted=letter == "p")
        members = _KINDS.get(letter.lower()) if letter.isascii() else None
        if members is None:
            return None
        if members is WORD_CHARACTERS and self.unicode and self.ignores_case:
            members = WORD_CHARACTERS | {
                "\u017f",
                "\u212a",
            }  # the long s and the kelvin sign fold to s and k
        return _test_of(members, wanted=letter.islower())

    def _property_test(self, has: Test, *, wanted: bool) -> Test:
        if self.ignores_case:
            return lambda c: bool(c) and any(has(x) is wanted for x in _other_cases(c, True))
        return lambda c: bool(c) and has(c) is wanted

    def _shared_class(self) -> LiteralCharacter:
        """Parse a class after its opening bracket; equal classes are the same object."""
        if found := _CLASS.match(self.source, self.at):
            self.at = found.end()
            return _class_of(found[0], self.ignores_case, self.unicode)
        raise BadPattern("leaves a class open")

    def read_class(self) -> LiteralCharacter:
        """Parse a class, up to its closing bracket."""
        negated = self._take("^")
        tests: list[Test] = []
        few: list[str] = []
        """The members that are single characters; empty strings for the others."""
        while not self._take("]"):
            low = self._class_member()
            high = low
            if self.source.startswith("-", self.at) and not self.source.startswith("-]", self.at):
                self.at += 1
                high = self._class_member()
                if callable(low) or callable(high):
                    if self.unicode:
                        raise BadPattern("has a range of characters without a beginning or an end")
                    tests += [each if callable(each) else self._one(each) for each in (low, high)]
                    low = high = "-"
            if callable(low) or callable(high):
                tests.append(low if callable(low) else self._one(low))
                few.append("")
            elif high < low:
                raise BadPattern("has a range of characters that ends before it begins")
            else:
                tests.append(self._one(low) if low == high else self._between(low, high))
                few.append(low if low == high else "")
        members = tuple(tests)
        if negated:
            return LiteralCharacter(lambda c: bool(c) and not any(test(c) for test in members))
        folded = tuple({each.casefold() for each in few})
        is_few = len(members) == len(few) <= 4 and all(few) and not any(map(_is_surrogate, few))
        return LiteralCharacter(
            lambda c: any(test(c) for test in members), folded if is_few else ()
        )

    def _class_member(self) -> str | Test:
        character = self._next()
        if character != "\\":
            return character
        character = self._next()
        if character == "b":
            return "\b"
        kind = self._kind(character)
        return kind if kind is not None else self._escaped(character, in_class=True)

    def _literal(self, character: str) -> LiteralCharacter:
        return _literal(character, self.ignores_case, self.unicode)

    def _one(self, character: str) -> Test:
        return _literal(character, self.ignores_case, self.unicode).test

    def _between(self, low: str, high: str) -> Test:
        if not self.ignores_case:
            return lambda c: low <= c <= high
        unicode = self.unicode

        def test(c: str) -> bool:
            return any(low <= each <= high for each in _other_cases(c, unicode))

        return test


@lru_cache(maxsize=4096)
def _literal(character: str, ignores_case: bool, unicode: bool) -> LiteralCharacter:
    folded = () if _is_surrogate(character) else (character.casefold(),)
    if not ignores_case:
        return LiteralCharacter(character.__eq__, folded)
    wanted = canonical(character, unicode)
    return LiteralCharacter(lambda c: canonical(c, unicode) == wanted, folded)


_ANY = LiteralCharacter(bool)
_ANY_OF_A_LINE = LiteralCharacter(lambda c: bool(c) and c not in LINE_ENDS)


@lru_cache(maxsize=64)
def _test_of(members: frozenset[str], *, wanted: bool) -> Test:
    if wanted:
        return lambda c: c in members
    return lambda c: bool(c) and c not in members


@lru_cache(maxsize=64)
def _of_kind(test: Test) -> LiteralCharacter:
    return LiteralCharacter(test)


@lru_cache(maxsize=4096)
def _class_of(source: str, ignores_case: bool, unicode: bool) -> LiteralCharacter:
    """Return the test of a class; `source` begins after its opening bracket."""
    return _PatternParser(source, ignores_case, False, unicode, ()).read_class()


def _count(digits: str) -> int:
    """Return the number of a repetition; for a very long one, a number that is too large."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= _LONGEST_COUNT else 10**_LONGEST_COUNT


def _is_surrogate(character: str) -> bool:
    """True for a surrogate, which no text contains."""
    return "\ud800" <= character <= "\udfff"


@lru_cache(maxsize=4096)
def _other_cases(character: str, unicode: bool) -> tuple[str, ...]:
    """Return a character and those that differ from it only in case."""
    upper, lower = character.upper(), character.lower()
    wanted = canonical(character, unicode)
    forms = {character, upper, lower, upper.lower(), lower.upper(), character.title()}
    return tuple(each for each in forms if len(each) == 1 and canonical(each, unicode) == wanted)

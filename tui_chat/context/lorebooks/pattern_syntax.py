r"""The syntax of lorebook patterns: JavaScript's regular expressions (ECMA-262, section 22.2 and
Annex B, which is what `new RegExp(source, flags)` of a browser accepts).

1. Literals, `.`, classes, `\d \w \s \b` (ASCII, `\s` excepted), `^ $`, groups, `|`, repetition,
   look-ahead and look-behind of any length, back-references, and `\p{...}` with the flag `u`.
2. Without the flag `u` a pattern sees UTF-16 code units, as in JavaScript: an emoji is two
   characters. `utf16_units` gives the text that such a pattern is matched against.
3. Captures are kept only for back-references; what a group captured is not reported.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

MAX_NESTING = 40
"""Groups that may stand inside one another."""


class BadPattern(ValueError):
    """A pattern cannot be used; the message continues a sentence after “it ”."""


Test: TypeAlias = Callable[[str], bool]
"""Returns true if a character matches. The empty string, the end of the text, never does."""


@dataclass(frozen=True, slots=True)
class Character:
    """One character that passes a test."""

    test: Test
    folded: tuple[str, ...] = ()
    """The case-folded forms of all characters that pass; empty if they are many or unknown."""


@dataclass(frozen=True, slots=True)
class Border:
    """A position between characters: `^`, `$`, `b` or `B`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One item after the other."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of several items."""

    ways: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """An item `least` to `most` times; None means any number."""

    item: Item
    least: int
    most: int | None
    lazy: bool = False
    groups: tuple[int, int] = (0, 0)
    """The numbers of the groups inside: from the first up to, but not including, the second."""


@dataclass(frozen=True, slots=True)
class CaptureGroup:
    """An item whose match a back-reference may ask for."""

    item: Item
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class LookAround:
    """A position where an item does, or does not, match ahead or behind. Compared by identity."""

    item: Item
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text that a group captured; matches the empty string if it captured none."""

    group: int


Item: TypeAlias = (
    Character | Border | Sequence | Alternation | Repeat | CaptureGroup | LookAround | BackReference
)

LINE_ENDS = "\n\r\u2028\u2029"
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DIGITS = frozenset("0123456789")
_SPACES = frozenset(
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def is_word(character: str) -> bool:
    r"""Return true if a character is in JavaScript's `\w`; the empty string is not."""
    return character in _WORD


def is_border(kind: str, left: str, right: str, multiline: bool) -> bool:
    """Return true if a `Border` of this kind is between two characters, empty at the ends."""
    match kind:
        case "^":
            return not left or (multiline and left in LINE_ENDS)
        case "$":
            return not right or (multiline and right in LINE_ENDS)
        case _:
            return (is_word(left) is not is_word(right)) is (kind == "b")


_KINDS = {"d": _DIGITS, "w": _WORD, "s": _SPACES}
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
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_CLASS = re.compile(r"(?:\\.|[^\]\\])*\]", re.DOTALL)
_PLAIN_TEXT = re.compile(r"[^\\^$.*+?()\[\]{}|]+(?![*+?{])")
_LONGEST_COUNT = 5
"""Digits of a repetition's number that are read; a longer one is more than a pattern may have."""


def utf16_units(text: str) -> str:
    """Return the text with each character beyond U+FFFF as its two UTF-16 code units."""
    if text.isascii():
        return text

    def halves(found: re.Match[str]) -> str:
        code = ord(found[0]) - 0x10000
        return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))

    return _ASTRAL.sub(halves, text)


@lru_cache(maxsize=4096)
def canonical(character: str, unicode: bool) -> str:
    """Return what two characters have in common that differ only in case (22.2.2.7.3)."""
    if unicode:
        folded = character.casefold()
        lower = character.lower()
        return folded if len(folded) == 1 else lower if len(lower) == 1 else character
    upper = character.upper()
    if len(upper) != 1 or (character >= "\x80" > upper):
        return character
    return upper


def read_pattern(source: str, flags: str) -> Item:
    """Parse a pattern. Raises BadPattern if JavaScript would refuse it, or it cannot be used."""
    if len(set(flags)) < len(flags):
        raise BadPattern("has a flag twice")
    unicode = "u" in flags
    source = source if unicode else utf16_units(source)
    names = _group_names(source)
    reader = _PatternParser(source, "i" in flags, "s" in flags, unicode, names)
    item = reader.choice()
    if reader.at < len(source):
        raise BadPattern("closes a group that was not opened")
    return item


def _group_names(source: str) -> tuple[str, ...]:
    """Return the names of all capturing groups, in order; empty for those without a name."""
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
        """Match here, and move behind the match."""
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
        if isinstance(item, Border) or (
            isinstance(item, LookAround) and (item.behind or self.unicode)
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
                return Border(character)
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
            return LookAround(item, *look)
        return Sequence((item,)) if number is None else CaptureGroup(item, number)

    def _escape(self) -> Item:
        character = self._next()
        if character in "bB":
            return Border(character)
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
        while end < len(self.source) and self.source[end] in _DIGITS:
            end += 1
        number = int(self.source[start : min(end, start + _LONGEST_COUNT)])
        if number <= len(self.names):
            self.at = end
            return BackReference(number)
        if self.unicode:
            raise BadPattern("refers back to a group that it does not have")
        return None

    def _escaped(self, letter: str, *, in_class: bool) -> str:
        """Return the character that an escape stands for; its letter was read."""
        start = self.at - 1
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if self.unicode and letter == "u" and (found := self._match(_LONG_HEX, start)):
            code = int(found[1], 16)
            if code > 0x10FFFF:
                raise BadPattern("names a character that does not exist")
            return chr(code)
        if found := self._match(_HEX, start):
            return self._joined(int(found[1] or found[2], 16))
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
        if letter in _DIGITS:
            if letter == "0" and self.source[self.at : self.at + 1] not in _DIGITS:
                return "\0"
            if not self.unicode and (found := self._match(_OCTAL, start)):
                return chr(int(found[0], 8))
        if self.unicode and letter not in _SYNTAX and not (in_class and letter == "-"):
            raise BadPattern(f"has an escape \\{letter} that means nothing")
        return letter

    def _joined(self, code: int) -> str:
        """Return the character of a code; with `u`, that of two codes that are its halves."""
        if self.unicode and 0xD800 <= code < 0xDC00 and (low := self._match(_LOW_HALF)):
            code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        return chr(code)

    def _kind(self, letter: str) -> Test | None:
        r"""Return the test of `\d` and its like; None if the letter names no kind."""
        if letter in "pP" and self.unicode:
            found = re.compile(r"\{(\w+)(?:=(\w+))?\}", re.ASCII).match(self.source, self.at)
            if not found:
                raise BadPattern(f"has an escape \\{letter} without a property")
            self.at = found.end()
            return self._property_test(_property(found[1], found[2]), wanted=letter == "p")
        members = _KINDS.get(letter.lower()) if letter.isascii() else None
        if members is None:
            return None
        if members is _WORD and self.unicode and self.ignores_case:
            members = _WORD | {"\u017f", "\u212a"}  # the long s and the kelvin sign fold to s and k
        return _test_of(members, wanted=letter.islower())

    def _property_test(self, has: Test, *, wanted: bool) -> Test:
        if self.ignores_case:
            return lambda c: bool(c) and any(has(x) is wanted for x in _other_cases(c, True))
        return lambda c: bool(c) and has(c) is wanted

    def _shared_class(self) -> Character:
        """Parse a class, its bracket was read; the same object as for the same class before."""
        if found := _CLASS.match(self.source, self.at):
            self.at = found.end()
            return _class_of(found[0], self.ignores_case, self.unicode)
        raise BadPattern("leaves a class open")

    def read_class(self) -> Character:
        """Parse a class, up to its closing bracket."""
        negated = self._take("^")
        tests: list[Test] = []
        few: list[str] = []
        """The members one by one, while they are literals."""
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
            return Character(lambda c: bool(c) and not any(test(c) for test in members))
        folded = tuple({each.casefold() for each in few})
        is_few = len(members) == len(few) <= 4 and all(few) and not any(map(_is_half, few))
        return Character(lambda c: any(test(c) for test in members), folded if is_few else ())

    def _class_member(self) -> str | Test:
        character = self._next()
        if character != "\\":
            return character
        character = self._next()
        if character == "b":
            return "\b"
        kind = self._kind(character)
        return kind if kind is not None else self._escaped(character, in_class=True)

    def _literal(self, character: str) -> Character:
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
def _literal(character: str, ignores_case: bool, unicode: bool) -> Character:
    folded = () if _is_half(character) else (character.casefold(),)
    if not ignores_case:
        return Character(character.__eq__, folded)
    wanted = canonical(character, unicode)
    return Character(lambda c: canonical(c, unicode) == wanted, folded)


_ANY = Character(bool)
_ANY_OF_A_LINE = Character(lambda c: bool(c) and c not in LINE_ENDS)


@lru_cache(maxsize=64)
def _test_of(members: frozenset[str], *, wanted: bool) -> Test:
    if wanted:
        return lambda c: c in members
    return lambda c: bool(c) and c not in members


@lru_cache(maxsize=64)
def _of_kind(test: Test) -> Character:
    return Character(test)


@lru_cache(maxsize=4096)
def _class_of(source: str, ignores_case: bool, unicode: bool) -> Character:
    """Return the character that a class stands for; `source` begins behind its bracket."""
    return _PatternParser(source, ignores_case, False, unicode, ()).read_class()


def _count(digits: str) -> int:
    """Return the number of a repetition; of a very long one, a number too large to be used."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= _LONGEST_COUNT else 10**_LONGEST_COUNT


def _is_half(character: str) -> bool:
    """Return true for half of a character beyond U+FFFF, which no text contains."""
    return "\ud800" <= character <= "\udfff"


@lru_cache(maxsize=4096)
def _other_cases(character: str, unicode: bool) -> tuple[str, ...]:
    """Return a character and those that differ from it only in case."""
    upper, lower = character.upper(), character.lower()
    wanted = canonical(character, unicode)
    forms = {character, upper, lower, upper.lower(), lower.upper(), character.title()}
    return tuple(each for each in forms if len(each) == 1 and canonical(each, unicode) == wanted)


_CATEGORIES = {
    "letter": "L", "cased_letter": "LC", "uppercase_letter": "Lu", "lowercase_letter": "Ll",
    "titlecase_letter": "Lt", "modifier_letter": "Lm", "other_letter": "Lo", "mark": "M",
    "combining_mark": "M", "nonspacing_mark": "Mn", "spacing_mark": "Mc", "enclosing_mark": "Me",
    "number": "N", "decimal_number": "Nd", "digit": "Nd", "letter_number": "Nl",
    "other_number": "No", "punctuation": "P", "punct": "P", "connector_punctuation": "Pc",
    "dash_punctuation": "Pd", "open_punctuation": "Ps", "close_punctuation": "Pe",
    "initial_punctuation": "Pi", "final_punctuation": "Pf", "other_punctuation": "Po",
    "symbol": "S", "math_symbol": "Sm", "currency_symbol": "Sc", "modifier_symbol": "Sk",
    "other_symbol": "So", "separator": "Z", "space_separator": "Zs", "line_separator": "Zl",
    "paragraph_separator": "Zp", "other": "C", "control": "Cc", "cntrl": "Cc", "format": "Cf",
    "surrogate": "Cs", "private_use": "Co", "unassigned": "Cn",
}  # fmt: skip
_SCRIPTS = {
    "Arabic": "ARABIC", "Armenian": "ARMENIAN", "Bengali": "BENGALI", "Cyrillic": "CYRILLIC",
    "Devanagari": "DEVANAGARI", "Georgian": "GEORGIAN", "Greek": "GREEK",
    "Han": "CJK UNIFIED IDEOGRAPH|CJK COMPATIBILITY IDEOGRAPH|CJK RADICAL|KANGXI RADICAL"
    "|IDEOGRAPHIC NUMBER ZERO|IDEOGRAPHIC ITERATION MARK",
    "Hangul": "HANGUL|HALFWIDTH HANGUL", "Hebrew": "HEBREW",
    "Hiragana": "HIRAGANA LETTER|HIRAGANA ITERATION|HIRAGANA VOICED ITERATION|HIRAGANA DIGRAPH",
    "Katakana": "KATAKANA LETTER|KATAKANA ITERATION|KATAKANA VOICED ITERATION|KATAKANA DIGRAPH"
    "|HALFWIDTH KATAKANA LETTER",
    "Latin": "LATIN|FULLWIDTH LATIN", "Tamil": "TAMIL", "Thai": "THAI",
}  # fmt: skip
"""Scripts, and how the names of their characters begin: Python's own tables lack scripts."""


def _property(name: str, value: str | None) -> Test:
    r"""Return the test of `\p{name}` or `\p{name=value}`. Raises BadPattern if it is unknown."""
    if name in ("Script", "sc", "Script_Extensions", "scx") and value in _SCRIPTS:
        begins = tuple(_SCRIPTS[value].split("|"))
        return lambda c: bool(c) and unicodedata.name(c, "").startswith(begins)
    if value is None or name in ("General_Category", "gc"):
        category = value or name
        short = _CATEGORIES.get(category.lower(), category)
        if short == "LC":
            return lambda c: bool(c) and unicodedata.category(c) in ("Lu", "Ll", "Lt")
        if short in _CATEGORIES.values():
            return lambda c: bool(c) and unicodedata.category(c).startswith(short)
    tests: dict[str, Test] = {
        "Any": bool,
        "ASCII": lambda c: bool(c) and c.isascii(),
        "Alphabetic": str.isalpha,
        "Alpha": str.isalpha,
        "Uppercase": str.isupper,
        "Lowercase": str.islower,
        "White_Space": lambda c: c in _SPACES and c != "\ufeff",
    }
    if value is None and name in tests:
        return tests[name]
    raise BadPattern(
        f"asks for the property {name}{'=' + value if value else ''}, which is unknown"
    )

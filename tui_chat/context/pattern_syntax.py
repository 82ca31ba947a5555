r"""How the patterns of lorebooks are written: JavaScript's regular expressions, less what cannot
be followed character by character.

Literals, `.`, classes, `\d \w \s \b` (ASCII, `\s` excepted), `^ $`, groups, `|`, `* + ? {m,n}`,
lazy ones too. Look-around and back references are refused with `BadPattern`, as is what is
wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

_DEEPEST = 40
"""How many groups may stand inside one another."""


class BadPattern(ValueError):
    """A pattern cannot be used; the message goes on after “it ”."""


Test: TypeAlias = Callable[[str], bool]
"""Whether one character fits."""


@dataclass(frozen=True, slots=True)
class Character:
    """One character that passes a test."""

    test: Test


@dataclass(frozen=True, slots=True)
class Border:
    """A place between characters: `^`, `$`, `b` or `B`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    ways: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` times; None: any number."""

    item: Item
    least: int
    most: int | None


Item: TypeAlias = Character | Border | Sequence | Choice | Repeat

LINE_ENDS = "\n\r\u2028\u2029"
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def is_word(character: str) -> bool:
    r"""Whether a character is of JavaScript's `\w`; an empty string is not."""
    return character in _WORD


def _is_digit(character: str) -> bool:
    return character in "0123456789"


def _is_space(character: str) -> bool:
    return character.isspace() or character == "\ufeff"


_KINDS: dict[str, Test] = {"d": _is_digit, "w": is_word, "s": _is_space}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")
_COUNTS = re.compile(r"\{(\d{1,4})(,(\d{1,4})?)?\}", re.ASCII)
_GROUP_NAME = re.compile(r"\?<[A-Za-z_$][\w$]*>", re.ASCII)


def read_pattern(source: str, flags: str) -> Item:
    """Read a pattern. Raises BadPattern for one that cannot be used."""
    reader = _Reader(source, "i" in flags, "s" in flags)
    item = reader.choice()
    if reader.at < len(source):
        raise BadPattern("closes a group that was not opened")
    return item


@dataclass(slots=True)
class _Reader:
    source: str
    ignores_case: bool
    dot_is_all: bool
    at: int = 0
    depth: int = 0

    def choice(self) -> Item:
        """Read up to a closing bracket or the end."""
        ways = [self._sequence()]
        while self._take("|"):
            ways.append(self._sequence())
        return ways[0] if len(ways) == 1 else Choice(tuple(ways))

    def _take(self, what: str) -> bool:
        found = self.source.startswith(what, self.at)
        self.at += len(what) if found else 0
        return found

    def _next(self) -> str:
        if self.at >= len(self.source):
            raise BadPattern("ends too early")
        self.at += 1
        return self.source[self.at - 1]

    def _sequence(self) -> Item:
        items: list[Item] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            items.append(self._repeated(self._item()))
        return Sequence(tuple(items))

    def _repeated(self, item: Item) -> Item:
        if found := _COUNTS.match(self.source, self.at):
            self.at = found.end()
            least = int(found[1])
            most = least if found[2] is None else int(found[3]) if found[3] else None
        elif self._take("*"):
            least, most = 0, None
        elif self._take("+"):
            least, most = 1, None
        elif self._take("?"):
            least, most = 0, 1
        else:
            return item
        self._take("?")  # lazy or not, the same texts match
        if most is not None and most < least:
            raise BadPattern("has a repetition that ends before it begins")
        return Repeat(item, least, most)

    def _item(self) -> Item:
        match character := self._next():
            case "(":
                return self._group()
            case "[":
                return Character(self._class())
            case ".":
                all_of_them = self.dot_is_all
                return Character(lambda c: all_of_them or c not in LINE_ENDS)
            case "^" | "$":
                return Border(character)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise BadPattern("repeats nothing")
            case _:
                return Character(self._same(character))

    def _group(self) -> Item:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise BadPattern("nests its groups too deeply")
        if named := _GROUP_NAME.match(self.source, self.at):
            self.at = named.end()
        elif not self._take("?:") and self._take("?"):
            raise BadPattern("looks around, which is not supported")
        item = self.choice()
        if not self._take(")"):
            raise BadPattern("leaves a group open")
        self.depth -= 1
        return item

    def _escape(self) -> Item:
        character = self._next()
        if character in "bB":
            return Border(character)
        if character in "123456789k":
            raise BadPattern("refers back to a group, which is not supported")
        kind = _kind(character)
        return Character(kind or self._same(self._escaped(character)))

    def _escaped(self, character: str) -> str:
        """Return the character that an escape stands for; the letter was read."""
        if found := _HEX.match(self.source, self.at - 1):
            self.at = found.end()
            code = int(found[1] or found[2] or found[3], 16)
            return chr(code) if code <= 0x10FFFF else "\ufffd"
        return _CONTROLS.get(character, character)

    def _class(self) -> Test:
        negated = self._take("^")
        tests: list[Test] = []
        while not self._take("]"):
            low = self._class_member()
            if callable(low):
                tests.append(low)
                continue
            high = low
            if self.source.startswith("-", self.at) and not self.source.startswith("-]", self.at):
                self.at += 1
                end = self._class_member()
                if callable(end):
                    tests += [self._same("-"), end]
                else:
                    high = end
            if high < low:
                raise BadPattern("has a range of characters that ends before it begins")
            tests.append(self._between(low, high))
        members = tuple(tests)
        return lambda c: any(test(c) for test in members) is not negated

    def _class_member(self) -> str | Test:
        character = self._next()
        if character != "\\":
            return character
        character = self._next()
        if character == "b":
            return "\b"
        return _kind(character) or self._escaped(character)

    def _same(self, character: str) -> Test:
        return self._between(character, character)

    def _between(self, low: str, high: str) -> Test:
        if not self.ignores_case:
            return lambda c: low <= c <= high
        return lambda c: low <= c <= high or low <= c.lower() <= high or low <= c.upper() <= high


def _kind(letter: str) -> Test | None:
    kind = _KINDS.get(letter.lower()) if letter.isascii() else None
    if kind is None or letter.islower():
        return kind
    return lambda c: not kind(c)

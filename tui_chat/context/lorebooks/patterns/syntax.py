r"""The items of a lorebook pattern: JavaScript's regular expressions (ECMA-262, section 22.2 and
Annex B, which is what `new RegExp(source, flags)` of a browser accepts).

1. Literals, `.`, classes, `\d \w \s \b` (ASCII, `\s` excepted), `^ $`, groups, `|`, repetition,
   look-ahead and look-behind of any length, back-references, and `\p{...}` with the flag `u`.
2. Without the flag `u` a pattern sees UTF-16 code units, as in JavaScript: an emoji is two
   characters. `utf16_units` returns the text that such a pattern is matched against.
3. Captures are kept only for back-references; the text that a group captured is not reported.
4. `property_test` knows the Unicode properties that `\p{...}` can name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from tui_chat.lazy_dataclass import dataclass


class BadPattern(ValueError):
    """A pattern cannot be used; the message continues a sentence after “it ”."""


Test: TypeAlias = Callable[[str], bool]
"""Returns true if a character matches; false for the empty string, the end of the text."""


@dataclass(frozen=True, slots=True)
class LiteralCharacter:
    """One character that passes a test."""

    test: Test
    folded: tuple[str, ...] = ()
    """The case-folded forms of all characters that pass; empty if they are many or unknown."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A position between characters: `^`, `$`, `b` or `B`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items that follow one another."""

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
    """The group numbers inside: from the first up to, but not including, the second."""


@dataclass(frozen=True, slots=True)
class CaptureGroup:
    """An item whose match back-references refer to."""

    item: Item
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Lookaround:
    """A position where an item does, or does not, match ahead or behind. Compared by identity."""

    item: Item
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text that a group captured; matches the empty string if it captured none."""

    group: int


Item: TypeAlias = (
    LiteralCharacter
    | Boundary
    | Sequence
    | Alternation
    | Repeat
    | CaptureGroup
    | Lookaround
    | BackReference
)

LINE_ENDS = "\n\r\u2028\u2029"
WORD_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
DIGITS = frozenset("0123456789")
SPACES = frozenset(
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def is_word(character: str) -> bool:
    r"""Return true if a character is in JavaScript's `\w`; the empty string is not."""
    return character in WORD_CHARACTERS


def is_boundary(kind: str, left: str, right: str, multiline: bool) -> bool:
    """Return true if a boundary of a kind is between two characters, empty at the ends."""
    match kind:
        case "^":
            return not left or (multiline and left in LINE_ENDS)
        case "$":
            return not right or (multiline and right in LINE_ENDS)
        case _:
            return (is_word(left) is not is_word(right)) is (kind == "b")


_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


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
    """Return the canonical form, the same for characters that differ only in case (22.2.2.7.3)."""
    if unicode:
        folded = character.casefold()
        lower = character.lower()
        return folded if len(folded) == 1 else lower if len(lower) == 1 else character
    upper = character.upper()
    if len(upper) != 1 or (character >= "\x80" > upper):
        return character
    return upper


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
"""Prefixes of the character names of each script, since Python has no table of scripts."""


def property_test(name: str, value: str | None) -> Test:
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
        "White_Space": lambda c: c in SPACES and c != "\ufeff",
    }
    if value is None and name in tests:
        return tests[name]
    raise BadPattern(
        f"asks for the property {name}{'=' + value if value else ''}, which is unknown"
    )

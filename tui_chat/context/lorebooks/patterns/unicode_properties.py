r"""The Unicode properties that `\p{...}` of a pattern can name."""

from __future__ import annotations

import unicodedata

from tui_chat.context.lorebooks.patterns.syntax import SPACES, BadPattern, Test

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

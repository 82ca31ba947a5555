r"""Hostile characters, made visible.

What a model, a file or a provider wrote is shown and never obeyed. A terminal obeys control
characters; a reader is misled by characters that reorder text or cannot be seen. Before any
such text is drawn:

1. A control character becomes its picture (`␛`) or, for C1, its escape (`\x9b`).
2. What reorders text or is invisible becomes its escape (`\u202e`); a run of them becomes
   one mark with a count, so that a flood costs nothing.
3. Joiners stay where scripts and emoji need them: one, between two characters it can join.
4. A letter keeps a few combining marks; a pile of them is cut, with a count.

Everything else is returned as it is, and ordinary text as the same object.
"""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
_UNSEEN = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028\u2029\u2060-\u2065"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f"
_MARKS = (
    "\u0300-\u034e\u0350-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"

MARKS_KEPT = 4
"""How many combining marks in a row a letter keeps; no written language needs more."""

_SUSPECT = re.compile(
    f"(?P<control>[{_CONTROLS}])"
    f"|(?P<unseen>[{_BIDI}{_UNSEEN}\ud800-\udfff]+)"
    f"|(?P<joiner>[{_JOINERS}]+)"
    f"|(?P<selector>[{_SELECTORS}]{{2,}})"
    f"|(?P<marks>[{_MARKS}]{{{MARKS_KEPT + 1},}})"
)


_MASKED = re.compile(f"[{_CONTROLS}{_BIDI}{_UNSEEN}\ud800-\udfff]")


def visible(text: str) -> str:
    """Return `text` with everything a terminal would obey, or a reader not see, spelled out.

    Newlines and tabs are left for the caller, who knows where lines end.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SUSPECT.sub(_shown, text)


def one_line(text: str, limit: int = 300) -> str:
    """Return `text` fit for one line: white space is a single space, and `limit` is its cut."""
    cut = text[: limit * 4]
    return visible(" ".join(cut.split()))[:limit]


def masked(text: str) -> str:
    """Return `text` with each such character replaced by one that is seen, at equal length.

    For an editor, where a column on the screen is a character of the text.
    """
    if text.isascii() and text.isprintable():
        return text
    return _MASKED.sub("�", text)


def _shown(match: re.Match[str]) -> str:
    found = match.group()
    match match.lastgroup:
        case "control":
            code = ord(found)
            if code == 0x7F:
                return "␡"
            return chr(0x2400 + code) if code < 0x20 else f"\\x{code:02x}"
        case "joiner":
            return found if _joins(match) else _counted(found)
        case "marks":
            return f"{found[:MARKS_KEPT]}[+{len(found) - MARKS_KEPT} marks]"
        case "selector":
            return _counted(found)
        case _:
            return _counted(found)


def _counted(run: str) -> str:
    """Spell a run: each different character once, and how many there were."""
    code = ord(run[0])
    name = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return name if len(run) == 1 else f"{name}×{len(run)}"


def _joins(match: re.Match[str]) -> bool:
    """Whether a single joiner stands between two characters of a script that uses it."""
    text, start, end = match.string, match.start(), match.end()
    if end - start != 1 or start == 0 or end == len(text):
        return False
    before, after = text[start - 1], text[end]
    if before == "\ufe0f" or _is_emoji(before):
        return match.group() == "\u200d" and _is_emoji(after)
    return _is_joining_letter(before) and _is_joining_letter(after)


def _is_emoji(char: str) -> bool:
    code = ord(char)
    return 0x1F000 <= code <= 0x1FAFF or 0x2190 <= code <= 0x2BFF


def _is_joining_letter(char: str) -> bool:
    """Whether the character is of Arabic, an Indic script or their neighbours."""
    code = ord(char)
    return 0x0600 <= code <= 0x109F or 0x1780 <= code <= 0x18AF

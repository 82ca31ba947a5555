"""Graphemes: characters as people see them, such as a flag or a letter with its accents. In a text
they may be several. The rules are the main ones of Unicode's text segmentation (UAX 29).
"""

from __future__ import annotations

from unicodedata import category

_JOINER = "\u200d"
_EXTENDING = ("Mn", "Mc", "Me")
"""Categories of what belongs to the character before it: accents, variation selectors."""
_OTHERS_EXTENDING = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f")
_TONES, _TAGS = ("\U0001f3fb", "\U0001f3ff"), ("\U000e0020", "\U000e007f")
_REGIONAL = ("\U0001f1e6", "\U0001f1ff")
_JAMO, _FIRST_JAMO, _SYLLABLES = ("\u1100", "\u11ff"), ("\u1100", "\u115f"), ("\uac00", "\ud7a3")


def is_boundary(text: str, index: int) -> bool:
    """Return True if no character as people see it goes across an index of a text."""
    if not 0 < index < len(text):
        return True
    before, after = text[index - 1], text[index]
    if before.isascii() and after.isascii():
        return True
    if category(before) in ("Cc", "Zl", "Zp"):
        return True
    if _extends(after):
        return False
    if before == _JOINER and category(after).startswith("S"):
        return False
    if _is_in(before, _REGIONAL) and _is_in(after, _REGIONAL):
        first = index
        while first > 0 and _is_in(text[first - 1], _REGIONAL):
            first -= 1
        return (index - first) % 2 == 0
    return not _is_syllable_part(before, after)


def boundary_before(text: str, index: int) -> int:
    """Return the last boundary before an index; 0 at the start."""
    index = max(min(index, len(text)) - 1, 0)
    while not is_boundary(text, index):
        index -= 1
    return index


def boundary_after(text: str, index: int) -> int:
    """Return the first boundary behind an index; the text's length at the end."""
    index = min(index + 1, len(text))
    while not is_boundary(text, index):
        index += 1
    return index


def whole_graphemes(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range of a text, extended to the graphemes that it has parts of."""
    if not is_boundary(text, start):
        start = boundary_before(text, start)
    return start, end if is_boundary(text, end) else boundary_after(text, end)


def _extends(character: str) -> bool:
    is_listed = character in _OTHERS_EXTENDING or category(character) in _EXTENDING
    return is_listed or _is_in(character, _TONES) or _is_in(character, _TAGS)


def _is_syllable_part(before: str, after: str) -> bool:
    """Return True if the second of two characters continues the Korean syllable of the first."""
    if not (_is_in(before, _JAMO) or _is_in(before, _SYLLABLES)):
        return False
    if _is_in(after, _FIRST_JAMO) or _is_in(after, _SYLLABLES):
        return _is_in(before, _FIRST_JAMO)
    return _is_in(after, _JAMO)


def _is_in(character: str, interval: tuple[str, str]) -> bool:
    return interval[0] <= character <= interval[1]

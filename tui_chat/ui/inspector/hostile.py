r"""Characters that hide or deceive, drawn so that they can be seen.

The payload's text is other people's text. Escape sequences cannot occur in it, since JSON
escapes C0 controls; what remains are characters that a terminal obeys or swallows: C1
controls, bidi overrides, zero-width and tag characters, floods of combining marks. The
payload keeps them, the screen shows each as a mark, `\u202e` or `\u{e0041}`, in the warning
colour; only what is part of an emoji is drawn as that emoji. Marks look like JSON escapes, so
the wrapping keeps them whole by the same rule.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tui_chat.models.visible import EMOJI_SEQUENCE

_HIDDEN = (
    "\x00-\x1f\x7f-\x9f"  # controls
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # drawn as nothing
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # zero width, separators, bidi
    "\ufe00-\ufe0f"  # variation selectors that do not belong to an emoji
    "\ufff0-\ufffc\ufffe\uffff"  # annotations and non-characters
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # invisible format controls
    "\U000e0000-\U000e0fff"  # tags and more selectors: text that only the model reads
)
_COMBINING = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u06d6-\u06dc"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302d"
    "\u3099\u309a\ufe20-\ufe2f"
)
_UNSAFE = re.compile(
    # No writing system piles up more than four marks on one character.
    f"(?P<emoji>{EMOJI_SEQUENCE})|[{_HIDDEN}]+|(?<=[{_COMBINING}]{{4}})[{_COMBINING}]+|\\A[{_COMBINING}]+"
)


def mark(character: str) -> str:
    """Return what stands on the screen for a character that must not be drawn."""
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\u{{{number:x}}}"


def shown(text: str) -> str:
    """Return text as the screen may draw it. The same object when there is nothing to do."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_marks, text)


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the drawn text in runs, each with whether it is a run of marks."""
    if text.isascii() and text.isprintable():
        yield text, False
        return
    at = 0
    for found in _UNSAFE.finditer(text):
        if found["emoji"]:
            continue
        if at < found.start():
            yield text[at : found.start()], False
        yield _marks(found), True
        at = found.end()
    if at < len(text):
        yield text[at:], False


def name_of(marked: str) -> str:
    """Say in words what the first mark of a drawn run stands for: `U+202E RIGHT-TO-LEFT
    OVERRIDE`.
    """
    digits = re.match(r"\\u\{?([0-9a-f]+)", marked)
    if digits is None:
        return ""
    number = int(digits[1], 16) if "{" in marked[:3] else int(digits[1][:4], 16)
    name = unicodedata.name(chr(number), "control character")
    return f"U+{number:04X} {name}"


def _marks(found: re.Match[str]) -> str:
    return found["emoji"] or "".join(map(mark, found[0]))

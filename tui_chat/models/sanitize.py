r"""The one sanitizer: hostile characters are shown and never obeyed.

What a model, a file or a provider wrote may contain characters that a terminal obeys (controls),
that reorder a line (bidi), that cannot be seen (zero width, tags), or that flood it (combining
marks). `sanitize` returns such a text in one of these forms:

| form | for | what stands for hidden characters |
| --- | --- | --- |
| `readable` | most of the screen | pictures (`␛`), escapes (`\x9b`); one and a count for a run |
| `exact` | the request body | an escape for each, `\u202e` or `\u{e0041}`, tabs included |
| `masked` | text areas | `�` for each, so that columns stay those of the text |
| `json` | JSON documents | a JSON escape for each: the document stays equal |
| `removed` | the last filter before the terminal | nothing; removes what would be obeyed |

1. `readable` and `exact` keep emoji of several characters, although parts of them are invisible.
2. `readable` also keeps a joiner between two letters of a script that joins, and variation
   selectors where Unicode defines them. `exact` keeps neither: one must see what is sent.
3. Both keep up to `MARKS_KEPT` combining marks on a character; no language needs more.
4. Tabs and line breaks are left to the caller in every form but `exact` and `removed`.

Ordinary text is returned as the same object.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal

Form = Literal["readable", "exact", "masked", "json", "removed"]
"""The notation for hidden characters; see the table above."""

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
_SCRIPT_MARKS = (
    "\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u06d6-\u06dc\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u302a-\u302d\u3099\u309a"
)
"""Combining marks that belong to a script."""
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_FORMAT_CONTROLS = "\ufffc\U0001bca0-\U0001bca3"
"""Invisible, and marked in the exact form only."""

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e"
    "\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640"
    "\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699"
    "\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf"
    "\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f"
    "\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757"
    "\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
"""Characters that begin an emoji: emoji-data.txt, with the pictographs as one range."""
_MODIFIERS = "\U0001f3fb-\U0001f3ff"
_EMOJI_ELEMENT = f"[{_EMOJI}](?:[\ufe0e\ufe0f]|[{_MODIFIERS}])?"
_REGION_TAGS = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region)
    for region in ("gbeng", "gbsct", "gbwls")
)

EMOJI_SEQUENCE = (
    f"{_EMOJI_ELEMENT}(?:\u200d{_EMOJI_ELEMENT}){{1,5}}"
    f"|[{_EMOJI}][\ufe0e\ufe0f]"
    f"|[#*0-9]\ufe0f\u20e3"
    f"|\U0001f3f4(?:{_REGION_TAGS})\U000e007f"
)
"""A pattern for emoji of several characters, some of which are invisible by themselves (UTS #51):
joined ones, those with a variation selector, keycaps and the three flags that are spelled with
tags. Nothing can be hidden in them: there is one selector or joiner for each visible character,
and Unicode recommends no sequence of more than four elements.
"""

# Mathematical symbols and ideographs have standardized variants (StandardizedVariants.txt).
_WITH_VARIANTS = "\u2200-\u22ff\u2a00-\u2aff\u3400-\u9fff\uf900-\ufaff"

MARKS_KEPT = 4
"""The number of combining marks in a row that a character keeps."""

_HIDDEN = f"{_CONTROLS}{_BIDI}{_UNSEEN}\ud800-\udfff"
_READABLE = re.compile(
    f"(?P<emoji>{EMOJI_SEQUENCE})"
    f"|(?P<control>[{_CONTROLS}])"
    f"|(?P<unseen>[{_BIDI}{_UNSEEN}\ud800-\udfff]+)"
    f"|(?P<joiner>[{_JOINERS}]+)"
    f"|(?P<variant>(?<=[{_WITH_VARIANTS}])[\ufe00-\ufe02](?![{_SELECTORS}]))"
    f"|(?P<selector>[{_SELECTORS}]+)"
    f"|(?P<marks>[{_MARKS}]{{{MARKS_KEPT + 1},}})"
)
_COMBINING = f"{_MARKS}{_SCRIPT_MARKS}"
_EXACT = re.compile(
    f"(?P<emoji>{EMOJI_SEQUENCE})"
    f"|[\t\n{_HIDDEN}{_JOINERS}{_SELECTORS}{_FORMAT_CONTROLS}]+"
    f"|(?<=[{_COMBINING}]{{{MARKS_KEPT}}})[{_COMBINING}]+|\\A[{_COMBINING}]+"
)
_EACH_HIDDEN = re.compile(f"[{_HIDDEN}]")
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
"""Control characters, and those that reverse the direction of text."""


def sanitize(text: str, form: Form = "readable") -> str:
    """Return a text without characters that deceive, in one of the forms of the table above."""
    if text.isascii() and text.isprintable():
        return text
    pattern, replacement = _FORMS[form]
    return pattern.sub(replacement, text)


def one_line(text: str, limit: int = 300) -> str:
    """Return a readable text on one line: white space becomes single spaces, `limit` cuts it."""
    cut = text[: limit * 4]
    return sanitize(" ".join(cut.split()))[:limit]


def exact_runs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the exact form in runs; True with a run of escapes for hidden characters."""
    if text.isascii() and text.isprintable():
        yield text, False
        return
    offset = 0
    for match in _EXACT.finditer(text):
        if match["emoji"]:
            continue
        if offset < match.start():
            yield text[offset : match.start()], False
        yield _exact(match), True
        offset = match.end()
    if offset < len(text):
        yield text[offset:], False


def character_name(escape: str) -> str:
    """Name the character of the first escape of an exact text: `U+202E RIGHT-TO-LEFT OVERRIDE`.

    Returns an empty string if the text does not begin with one.
    """
    digits = re.match(r"\\u\{?([0-9a-f]+)", escape)
    if digits is None:
        return ""
    number = int(digits[1], 16) if "{" in escape[:3] else int(digits[1][:4], 16)
    name = unicodedata.name(chr(number), "control character")
    return f"U+{number:04X} {name}"


def _exact(match: re.Match[str]) -> str:
    return match["emoji"] or "".join(map(_exact_escape, match[0]))


def _exact_escape(character: str) -> str:
    # Like a JSON escape, so that the wrapping keeps it whole by the same rule.
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\u{{{number:x}}}"


def _json_escape(match: re.Match[str]) -> str:
    """Return a JSON escape; a pair of them beyond U+FFFF."""
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _readable(match: re.Match[str]) -> str:
    character = match.group()
    match match.lastgroup:
        case "emoji" | "variant":
            return character
        case "control":
            code = ord(character)
            if code == 0x7F:
                return "␡"
            return chr(0x2400 + code) if code < 0x20 else f"\\x{code:02x}"
        case "joiner":
            return character if _joins(match) else _counted(character)
        case "marks":
            return f"{character[:MARKS_KEPT]}[+{len(character) - MARKS_KEPT} marks]"
        case _:
            return _counted(character)


def _counted(run: str) -> str:
    """Return the escape of the first character of a run, and the length of the run."""
    code = ord(run[0])
    name = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return name if len(run) == 1 else f"{name}×{len(run)}"


def _joins(match: re.Match[str]) -> bool:
    """Return True for a single joiner between two letters of a script that uses it."""
    text, start, end = match.string, match.start(), match.end()
    if end - start != 1 or start == 0 or end == len(text):
        return False
    return _is_joining_letter(text[start - 1]) and _is_joining_letter(text[end])


def _is_joining_letter(char: str) -> bool:
    """Return True for a character of Arabic, an Indic script or their neighbors."""
    code = ord(char)
    return 0x0600 <= code <= 0x109F or 0x1780 <= code <= 0x18AF


_FORMS: dict[Form, tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = {
    "readable": (_READABLE, _readable),
    "exact": (_EXACT, _exact),
    "masked": (_EACH_HIDDEN, "�"),
    "json": (_EACH_HIDDEN, _json_escape),
    "removed": (_OBEYED, ""),
}

"""Texts within texts: what is escaped, URL-encoded, or in base64 is searched in its plain form.

Each function yields the plain form of a text, or of a part of it, so that a stretch of it can be
mapped to the stretch of the text that it stands for.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, urlsafe_b64decode
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

from tui_chat.models.json_text import JsonError, decode_json

_JSON_START = re.compile(r"\s*[\[{\"]")
_JSON_STRING = re.compile(
    r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|(?<![\w.+-])(\d{7,40})(?![\w.])', re.DOTALL
)
_URL_CHARACTER = re.compile(
    r"%[0-7][0-9A-Fa-f]|%[CcDd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}|%[Ff][0-7](?:%[89ABab][0-9A-Fa-f]){3}"
)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|[\"\\/nrt])")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{20,}+={0,2}|[A-Za-z0-9_-]{20,}+={0,2}")
_SHORTEST_FILE = 256
"""Characters of base64 that may be a file."""


class JsonString(NamedTuple):
    """A string of a JSON document, or a number that is long enough to be somebody's."""

    start: int
    end: int
    text: str
    label: str
    """The key of the value, or the string before it in a list."""
    is_key: bool
    is_number: bool = False


def json_strings(text: str) -> Iterator[JsonString] | None:
    """Return the strings of a JSON document with their places; None if the text is none."""
    if not _JSON_START.match(text):
        return None
    try:
        decode_json(text)
    except JsonError:
        return None
    return _json_strings(text)


def _json_strings(text: str) -> Iterator[JsonString]:
    label = ""
    for found in _JSON_STRING.finditer(text):
        if number := found[3]:
            yield JsonString(*found.span(3), number, label, is_key=False, is_number=True)
            continue
        value = found[1] if "\\" not in found[1] else json.loads(f'"{found[1]}"', strict=False)
        is_key = found[2] is not None
        yield JsonString(found.start(1), found.end(1), value, "" if is_key else label, is_key)
        label = value if len(value) <= 64 else ""


def json_escaped(text: str) -> str:
    """Return a text as it stands within the quotes of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


class PlainForm:
    """The plain form of a text with escapes, and where its characters came from."""

    def __init__(self, text: str, escape: re.Pattern[str], character: Callable[[str], str]) -> None:
        found = list(escape.finditer(text))
        pieces: list[str] = []
        end = 0
        for match in found:
            pieces += (text[end : match.start()], character(match[0]))
            end = match.end()
        pieces.append(text[end:])
        self.text = "".join(pieces)
        lengths = [0, *accumulate(map(len, pieces))]
        # Behind the n-th escape, a character of the plain form is so many places further on.
        self._starts = lengths[1:-1:2]
        self._ends = [match.end() for match in found]
        self._begins = [match.start() for match in found]

    def place(self, offset: int) -> int:
        """Return the offset in the text of an offset in its plain form."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return offset
        behind = offset - self._starts[index]
        return self._begins[index] if behind == 0 else self._ends[index] + behind - 1


def plain_forms(text: str) -> Iterator[PlainForm]:
    """Yield the text without its URL encoding and without its escapes, if it has some."""
    if "%" in text and _URL_CHARACTER.search(text):
        yield PlainForm(text, _URL_CHARACTER, _unquoted)
    if "\\" in text and _ESCAPE.search(text):
        yield PlainForm(text, _ESCAPE, _unescaped)


def _unquoted(escape: str) -> str:
    return bytes.fromhex(escape.replace("%", "")).decode("utf-8", "replace")[:1]


def _unescaped(escape: str) -> str:
    if escape[1] == "u":
        return chr(int(escape[2:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(escape[1], escape[1])


class Base64Run(NamedTuple):
    """A stretch of base64, with the text that it holds."""

    start: int
    end: int
    text: str
    """Empty if it holds no text."""


def base64_runs(text: str) -> Iterator[Base64Run]:
    """Yield the stretches of base64 that hold text, or are as long as a file."""
    for found in _BASE64.finditer(text):
        inner = _base64_text(found[0])
        if inner or found.end() - found.start() >= _SHORTEST_FILE:
            yield Base64Run(*found.span(), inner)


def _base64_text(data: str) -> str:
    data = data.rstrip("=")
    data += "=" * (-len(data) % 4)
    decode = urlsafe_b64decode if "-" in data or "_" in data else b64decode
    try:
        text = decode(data).decode()
    except ValueError:
        return ""
    return text if all(each.isprintable() or each in "\n\r\t" for each in text[:200]) else ""

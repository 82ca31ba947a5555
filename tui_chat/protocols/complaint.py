"""What an error body says, whoever wrote it.

Providers, gateways and proxies have a dozen shapes for one thing. They are looked for in one
place, because a wrong base URL brings an answer of any shape to any protocol:

    {"error": {"message", "type", "code", "status", "details"}}     OpenAI, Anthropic, Gemini
    [{"error": {...}}]                                               Gemini, when streaming
    {"error": "..."}  {"message": "..."}  {"detail": "..."}          gateways, local servers
    {"detail": [{"loc", "msg"}]}                                     FastAPI
    <html><title>502 Bad Gateway</title>                             proxies
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tui_chat.models.text import clean
from tui_chat.protocols.lenient import JsonObject, items, mapping

_LONGEST = 600
_LOOK_AT = 8192
"""Of a page, so that a hostile one costs little."""
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Complaint:
    """A provider's words about what went wrong."""

    words: str = ""
    """In one line; empty where it gave none."""
    code: str = ""
    """Its word for the error."""
    status: int | None = None
    """The HTTP status it names in the body, which inside a stream is the only one."""
    retry_after: float | None = None
    """Seconds to wait, where the body says so."""


def find_complaint(value: object) -> Complaint | None:
    """Return what an answer complains of, or None where it does not."""
    for error in _errors(value, _DEEPEST):
        words = _words(error)
        if words or error.get("code") or error.get("type"):
            return Complaint(words, _code(error), _status(error), _retry_after(error, words))
    return None


def complaint_in_text(text: str) -> Complaint:
    """Return what an answer that is not JSON says: a page's title, or its text."""
    text = text[:_LOOK_AT]
    title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
    if title and (words := one_line(html.unescape(title[1]))):
        return Complaint(f"it answered with a web page titled “{words}”")
    if re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE):
        words = one_line(html.unescape(re.sub(r"<[^<>]*>", " ", text)))
        return Complaint(f"it answered with a web page: {words}" if words else "")
    return Complaint(one_line(text))


# Cc and the bidi controls of Cf: what would move the cursor or turn the line around.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\\s]+")


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Return the text in one line without control characters, cut to `longest` characters."""
    line = _CONTROL.sub(" ", clean(text[: 8 * longest])).strip()
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def _errors(value: object, depth: int) -> Iterator[JsonObject]:
    """Yield the objects that may describe the error, the likeliest first."""
    if not depth:
        return
    for each in items(value)[:8]:
        yield from _errors(each, depth - 1)
    if said := mapping(value):
        for key in ("error", "errors"):
            yield from _errors(said.get(key), depth - 1)
        yield said


def _words(error: JsonObject) -> str:
    for key in ("message", "error", "detail", "msg", "error_description", "title"):
        value = error.get(key)
        if isinstance(value, str) and (words := one_line(value)):
            return words + _upstream(error, words)
        if said := [s for v in items(value)[:4] if (s := _finding(v))]:
            return one_line("; ".join(said))
    return ""


def _finding(value: object) -> str:
    """Return one entry of FastAPI's list: where, and what is wrong there."""
    if isinstance(value, str):
        return one_line(value)
    entry = mapping(value)
    message = entry.get("msg") or entry.get("message")
    if not isinstance(message, str):
        return ""
    path = ".".join(str(part) for part in items(entry.get("loc"))[:8])
    return one_line(f"{path}: {message}" if path else message)


def _upstream(error: JsonObject, words: str) -> str:
    """Return what a gateway quotes of the provider behind it (OpenRouter's `metadata.raw`)."""
    raw = mapping(error.get("metadata")).get("raw")
    if not isinstance(raw, str) or not (quoted := one_line(raw, 300)) or quoted in words:
        return ""
    return f" ({quoted})"


def _code(error: JsonObject) -> str:
    # Gemini's `status` and OpenAI's `code` say more than `type`; Gemini's `code` is a number.
    for key in ("status", "code", "type"):
        value = error.get(key)
        if isinstance(value, str) and value and value != "error":
            return one_line(value, 80)
    number = _status(error)
    return "" if number is None else str(number)


def _status(error: JsonObject) -> int | None:
    for key in ("code", "status", "status_code"):
        value = error.get(key)
        if isinstance(value, str) and re.fullmatch(r"[1-5]\d\d", value):
            return int(value)
        if isinstance(value, int) and 100 <= value < 600:
            return value
    return None


_AGAIN = re.compile(
    r"\b(?:try again|retry) in ((?:[\d.]+ ?(?:ms|h|m|s)(?:econds?|inutes?)?)+)", re.I
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _retry_after(error: JsonObject, words: str) -> float | None:
    for each in items(error.get("details")):
        delay = mapping(each).get("retryDelay")
        if isinstance(delay, str) and (seconds := _seconds(delay)) is not None:
            return seconds
    told = _AGAIN.search(words)
    return _seconds(told[1]) if told else None


def _seconds(text: str) -> float | None:
    """Read `34.4s`, `6m0s`, `850ms`."""
    parts = re.findall(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|h|m|s)", text)
    return sum(float(n) * _UNITS[unit] for n, unit in parts) if parts else None

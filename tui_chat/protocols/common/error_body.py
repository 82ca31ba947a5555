"""Error bodies of all providers, and advice on them.

Providers, gateways and proxies write errors in a dozen forms. One module reads them all, because
with a wrong base URL any protocol can receive any form:

    {"error": {"message", "type", "code", "status", "details"}}     OpenAI, Anthropic, Gemini
    [{"error": {...}}]                                               Gemini, when streaming
    {"error": "..."}  {"message": "..."}  {"detail": "..."}          gateways, local servers
    {"detail": [{"loc", "msg"}]}                                     FastAPI
    {"base_resp": {"status_code", "status_msg"}}                     MiniMax
    <html><title>502 Bad Gateway</title>                             proxies

The advice depends on the message first, then on the status: providers differ in most statuses
(Gemini answers 400 to a wrong key, OpenAI 429 for an empty account).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from http import HTTPStatus
from math import ceil

from tui_chat.errors import Refused
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string, decode_lenient
from tui_chat.models.text import clean


def response_error(status: int, body: bytes) -> Refused:
    """Return the error for a response with an error status."""
    error = _read_error(body)
    phrase = next((known.phrase for known in HTTPStatus if known == status), "")
    label = f"HTTP {status} {phrase}".strip()
    if error.code not in ("", str(status)):
        label = f"HTTP {status}, {error.code}"
    verb = "failed" if status >= 500 else "refused the request"
    words = error.message or "it gave no reason"
    return Refused(
        f"The provider {verb} ({label}): {words}",
        status=status,
        code=error.code,
        retry_after=error.retry_after,
        advice=advice(status, error),
    )


def stream_error(error: ErrorBody) -> Refused:
    """Return the error for one inside a stream, or inside a reply with status 200."""
    label = f" ({error.code})" if error.code else ""
    return Refused(
        f"The provider broke off the reply{label}: {error.message or 'it gave no reason'}",
        code=error.code,
        retry_after=error.retry_after,
        advice=advice(error.status, error),
    )


_TOO_LONG = re.compile(
    r"context.{0,3}length|context.window|maximum context|prompt is too long|too many tokens"
    r"|token (limit|count)|tokens? (allowed|exceed)|reduce the length|input is too long"
    r"|string_above_max_length|max_tokens_exceeded",
    re.IGNORECASE,
)
_UNPAID = re.compile(
    r"insufficient.(quota|credit|balance|funds)|billing|credit balance|payment"
    r"|exceeded your current quota.*plan|requires more credits",
    re.IGNORECASE,
)
_KEY = re.compile(r"api.?key|authenticat|unauthor|invalid.?token|\bcredentials?\b", re.IGNORECASE)
_WAIT = re.compile(r"rate.?limit|too many requests|resource.?exhausted|throttl", re.IGNORECASE)
_SERVER_FAULT = re.compile(
    r"overloaded|server.?error|api_error|unavailable|\binternal\b|time[d_ -]?out|deadline"
    r"|bad gateway|try again later",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"model.{0,40}(not.?found|not exist|not supported for)|not.?found", re.IGNORECASE
)

_SHORTEN = (
    "Shorten the conversation, or lower the context limit or the reply limit, and send again."
)
_RETRY = "The problem is on the provider's side; try again in a moment."


def advice(status: int | None, error: ErrorBody) -> str:
    """Return advice on an error; empty if the provider's message is enough."""
    text = f"{error.code} {error.message}"
    if status == 413 or (status in (None, 400, 422) and _TOO_LONG.search(text)):
        return _SHORTEN
    if status == 402 or (status in (None, 400, 403, 429) and _UNPAID.search(text)):
        return "Check plan and credit with the provider."
    if status in (401, 403) or (status in (None, 400) and _KEY.search(text)):
        return "Check the key of this endpoint, and that it may use this model."
    if status == 429 or (status is None and _WAIT.search(text)):
        if error.retry_after is None:
            return "Wait a while, then send again."
        whole = max(1, ceil(error.retry_after))
        return (
            f"Wait {f'{whole} s' if whole < 120 else f'{ceil(whole / 60)} min'}, then send again."
        )
    if status in (404, 405) or (status in (None, 400) and _MODEL.search(text)):
        return "Choose another model, or check this one's name and the endpoint's base URL."
    if status is None:
        return _RETRY if _SERVER_FAULT.search(text) else ""
    if 300 <= status < 400:
        return "The address redirects; check the endpoint's base URL."
    return _RETRY if status in (408, 409, 425) or status >= 500 else ""


def _read_error(body: bytes) -> ErrorBody:
    text = body.decode("utf-8-sig", "replace")
    try:
        value = decode_lenient(text)
    except ValueError:
        # It may be an event, although the status is that of an error.
        data = re.search(r"^data:(.+)", text, re.MULTILINE)
        return _read_error(data[1].encode()) if data is not None else error_in_text(text)
    error = find_error(value)
    return error or error_in_text(value if isinstance(value, str) else text if value else "")


_MAX_LENGTH = 600
_LONGEST_PAGE = 8192
"""The number of characters read of a page, so that a hostile one costs little."""
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """A provider's description of an error."""

    message: str = ""
    """In one line; empty if the provider gave none."""
    code: str = ""
    """The provider's name for the error."""
    status: int | None = None
    """The HTTP status it names in the body, which inside a stream is the only one."""
    retry_after: float | None = None
    """The wait in seconds that the body demands."""


def find_error(value: object) -> ErrorBody | None:
    """Return the error that an answer describes, or None if it describes none."""
    for error in _errors(value, _MAX_DEPTH):
        words = _message(error)
        if words or error.get("code") or error.get("type"):
            return ErrorBody(words, _code(error), _status(error), _retry_after(error, words))
    return None


def error_in_text(text: str) -> ErrorBody:
    """Return the error of an answer that is not JSON: a page's title, or its text."""
    text = text[:_LONGEST_PAGE]
    title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
    if title and (words := one_line(html.unescape(title[1]))):
        return ErrorBody(f"it answered with a web page titled “{words}”")
    if re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE):
        words = one_line(html.unescape(re.sub(r"<[^<>]*>", " ", text)))
        return ErrorBody(f"it answered with a web page: {words}" if words else "")
    return ErrorBody(one_line(text))


# Cc and the bidi controls of Cf: what would move the cursor or turn the line around.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\\s]+")


def one_line(text: str, longest: int = _MAX_LENGTH) -> str:
    """Return the text in one line without control characters, cut to `longest` characters."""
    line = _CONTROL.sub(" ", clean(text[: 8 * longest])).strip()
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def _errors(value: object, depth: int) -> Iterator[JsonObject]:
    """Yield the objects that may describe the error, the likeliest first."""
    if not depth:
        return
    for item in as_array(value)[:8]:
        yield from _errors(item, depth - 1)
    if fields := as_object(value):
        fields = {key.lower(): inner for key, inner in fields.items()}
        for key in ("error", "errors", "base_resp", "fault"):
            yield from _errors(fields.get(key), depth - 1)
        yield fields


_MESSAGE_KEYS = (
    *("message", "error", "detail", "msg", "error_message", "error_msg", "error_description"),
    *("status_msg", "faultstring", "errors", "title"),
)


def _message(error: JsonObject) -> str:
    for key in _MESSAGE_KEYS:
        value = error.get(key)
        if isinstance(value, str) and (words := one_line(value)):
            return words + _upstream_message(error, words)
        if sentences := [s for v in as_array(value)[:4] if (s := _validation_message(v))]:
            return one_line("; ".join(sentences))
    return ""


def _validation_message(value: object) -> str:
    """Return one entry of FastAPI's list: the place and the fault."""
    if isinstance(value, str):
        return one_line(value)
    entry = as_object(value)
    message = entry.get("msg") or entry.get("message")
    if not isinstance(message, str):
        return ""
    path = ".".join(str(part) for part in as_array(entry.get("loc"))[:8])
    return one_line(f"{path}: {message}" if path else message)


def _upstream_message(error: JsonObject, words: str) -> str:
    """Return what a gateway quotes: the message of the provider behind it (OpenRouter), or the
    malformed call of the model (Groq).
    """
    raw = as_object(error.get("metadata")).get("raw") or error.get("failed_generation")
    if not isinstance(raw, str) or not (quoted := one_line(raw, 300)) or quoted in words:
        return ""
    return f" ({quoted})"


def _code(error: JsonObject) -> str:
    # Gemini's `status` and OpenAI's `code` say more than `type`; Gemini's `code` is a number.
    for key in ("status", "code", "error_code", "type"):
        value = error.get(key)
        if isinstance(value, str) and value and value != "error":
            return one_line(value, 80)
    number = _status(error)
    return "" if number is None else str(number)


def _status(error: JsonObject) -> int | None:
    for key in ("code", "status", "status_code"):
        number = error.get(key)
        if isinstance(number, str) and re.fullmatch(r"[1-5]\d\d", number):
            number = int(number)
        if isinstance(number, int) and 100 <= number < 600:
            return number
    return None


_RETRY_IN = re.compile(
    r"\b(?:try again|retry) in ((?:[\d.]+ ?(?:ms|h|m|s)(?:econds?|inutes?)?)+)", re.I
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _retry_after(error: JsonObject, words: str) -> float | None:
    match = _RETRY_IN.search(words)
    delays = [as_object(detail).get("retryDelay") for detail in as_array(error.get("details"))]
    waits = (_seconds(delay) for delay in (*delays, match and match[1]))  # first those of Gemini
    return next((seconds for seconds in waits if seconds is not None), None)


def _seconds(text: object) -> float | None:
    """Read `34.4s`, `6m0s`, `850ms`."""
    parts = re.findall(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|h|m|s)", as_string(text))
    return sum(float(n) * _UNITS[unit] for n, unit in parts) if parts else None

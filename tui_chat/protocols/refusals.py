"""A provider's no, in words, with what to do about it.

The advice looks at the words before the status: providers agree on what 401 and 429 mean, and
on little else (Gemini says 400 for a wrong key, OpenAI 429 for an empty account).
"""

from __future__ import annotations

import re
from http import HTTPStatus

from tui_chat.errors import Refused
from tui_chat.protocols.complaint import Complaint, complaint_in_text, find_complaint
from tui_chat.protocols.lenient import load


def refused(status: int, body: bytes) -> Refused:
    """Put an HTTP error into words."""
    complaint = _read(body)
    label = f"HTTP {status} {_phrase(status)}".strip()
    if complaint.code not in ("", str(status)):
        label = f"HTTP {status}, {complaint.code}"
    verb = "failed" if status >= 500 else "refused the request"
    words = complaint.words or "it gave no reason"
    return Refused(
        f"The provider {verb} ({label}): {words}",
        status=status,
        code=complaint.code,
        retry_after=complaint.retry_after,
        advice=advice(status, complaint),
    )


def broke_off(complaint: Complaint) -> Refused:
    """Put an error inside a stream, or inside an answer with status 200, into words."""
    label = f" ({complaint.code})" if complaint.code else ""
    return Refused(
        f"The provider broke off the reply{label}: {complaint.words or 'it gave no reason'}",
        code=complaint.code,
        retry_after=complaint.retry_after,
        advice=advice(complaint.status, complaint),
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
_THEIRS = re.compile(
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
_PAY = "Check plan and credit with the provider."
_CHECK_KEY = "Check the key of this endpoint, and that it may use this model."
_CHECK_PLACE = "Ask another model, or check this one's name and the endpoint's base URL."
_AGAIN = "The trouble is on the provider's side; try again in a moment."


def advice(status: int | None, complaint: Complaint) -> str:
    """Return what to do about it; empty where the provider's words say it all."""
    said = f"{complaint.code} {complaint.words}"
    if status in (None, 400, 413, 422) and _TOO_LONG.search(said):
        return _SHORTEN
    if status == 402 or (status in (None, 400, 403, 429) and _UNPAID.search(said)):
        return _PAY
    if status in (401, 403) or (status in (None, 400) and _KEY.search(said)):
        return _CHECK_KEY
    if status == 429 or (status is None and _WAIT.search(said)):
        return _wait(complaint.retry_after)
    if status == 413:
        return _SHORTEN
    if status in (404, 405) or (status in (None, 400) and _MODEL.search(said)):
        return _CHECK_PLACE
    if status is not None and 300 <= status < 400:
        return "The address leads elsewhere; check the endpoint's base URL."
    if status in (408, 409, 425) or (status or 0) >= 500:
        return _AGAIN
    if status is None and _THEIRS.search(said):
        return _AGAIN
    return ""


def _wait(seconds: float | None) -> str:
    if seconds is None:
        return "Wait a while, then send again."
    whole = max(1, int(seconds + 0.999))
    span = f"{whole} s" if whole < 120 else f"{(whole + 59) // 60} min"
    return f"Wait {span}, then send again."


def _read(body: bytes) -> Complaint:
    text = body.decode("utf-8-sig", "replace")
    try:
        value = load(text)
    except ValueError:
        return complaint_in_text(text)
    found = find_complaint(value)
    if found is None:
        found = complaint_in_text(value if isinstance(value, str) else text if value else "")
    return found


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""

"""A recorded model call as text: a line of a table, and JSON as `tui-chat tap --json` prints it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

from rich.cells import set_cell_size

from tui_chat.cli.documents import dump, envelope_document, recorded_reply_document
from tui_chat.models.sanitize import one_line
from tui_chat.models.usage import CacheLoss, short_number
from tui_chat.plugins.tap.calls import Call
from tui_chat.plugins.tap.comparison import CallComparison
from tui_chat.plugins.tap.conversations import PlacedCall
from tui_chat.plugins.tap.exchange import Hold, HoldEnd
from tui_chat.plugins.tap.recorded_call import RecordedCall

_COLUMNS = (("time", 8), ("program", 13), ("model", 18))
_FIGURES = (("input", 6), ("cached", 6), ("written", 7), ("lost", 6), ("cost", 8))
_PREVIEW = 120


def heading() -> str:
    """Return the line above the calls."""
    return "  ".join(_cells([name for name, _ in (*_COLUMNS, *_FIGURES)])).rstrip()


def call_line(recorded: RecordedCall, began: float) -> str:
    """Return a call as a line of a table; further lines say what broke the cache, why it failed,
    and what became of it while it was held. `began` is in seconds since the epoch. The program of
    a side conversation is indented.
    """
    usage, loss = recorded.reply.usage, recorded.loss
    program = recorded.call.program.name or "unknown"
    figures = (usage.input, usage.cached, usage.cache_write, loss.tokens if loss else None)
    cells = [
        datetime.fromtimestamp(began).astimezone().strftime("%H:%M:%S"),
        f"└ {program}" if recorded.placed.conversation.main is not None else program,
        recorded.call.model,
        *("" if figure is None else short_number(figure) for figure in figures),
        "" if recorded.cost is None else f"${recorded.cost:.4f}",
    ]
    lines = ["  ".join(_cells(cells)).rstrip()]
    texts = (loss and loss.sentence, recorded.failure, hold_words(recorded.exchange.hold))
    lines += [f"          {text}" for text in texts if text]
    return "\n".join(lines)


_HOLD_ENDS: Mapping[HoldEnd, str] = {
    "sent": "sent as it came",
    "edited": "edited by hand and sent",
    "dropped": "dropped",
    "expired": "sent as it came, since the time was up",
    "client disconnected": "given up by its program",
    "ended": "refused, since the tap ended",
}


def hold_words(hold: Hold | None) -> str:
    """Return how long a request was held and what became of it; empty if it was not held."""
    if hold is None or not hold.end:
        return ""
    return f"Held for {hold.seconds:,.0f} s; {_HOLD_ENDS[hold.end]}."


def _cells(texts: Sequence[str]) -> list[str]:
    count = len(_COLUMNS)
    cells = [
        set_cell_size(one_line(text), width)
        for text, (_, width) in zip(texts[:count], _COLUMNS, strict=True)
    ]
    return cells + [
        text.rjust(width) for text, (_, width) in zip(texts[count:], _FIGURES, strict=True)
    ]


def call_json(recorded: RecordedCall, began: float) -> Any:
    """Return a call as JSON values; `began` is its beginning in seconds since the epoch."""
    exchange, call, placed = recorded.exchange, recorded.call, recorded.placed
    requested = exchange.requested or exchange.began
    response = recorded.reader.body if recorded.reader is not None else b""
    came = call.as_it_came
    return {
        "number": exchange.number,
        "at": datetime.fromtimestamp(began, UTC).isoformat(timespec="milliseconds"),
        "conversation": {
            "number": placed.conversation.number,
            "call": placed.number,
            "is_retry": placed.is_retry,
            "session_id": recorded.session_id or None,
            "main": placed.conversation.main.number if placed.conversation.main else None,
        },
        "program": {
            "name": call.program.name or None,
            "version": call.program.version or None,
        },
        "request": {
            "method": exchange.method,
            "url": exchange.url,
            "headers": [list(pair) for pair in exchange.headers],
            "protocol": call.protocol.value,
            "model": call.model,
            "sent_bytes": exchange.request.size,
            "body_is": _form(came),
            "bytes": len(came.body) if came.body else None,
            "sha256": sha256(came.body).hexdigest() if came.body else None,
            "body": _text(came.body),
            "sent": _sent(call),
        },
        "held": _held(exchange.hold),
        "explained": explained_json(call),
        "compared": _compared(placed, recorded.comparison),
        "response": {
            "outcome": exchange.outcome,
            "status": exchange.status or None,
            "headers": [list(pair) for pair in exchange.response_headers],
            "bytes": exchange.response.size,
            "body": _text(response),
            "failure": recorded.failure or None,
        },
        "reply": dump(recorded_reply_document(recorded.reply, recorded.error)),
        "lost": _loss(recorded.loss),
        "cost": str(recorded.cost) if recorded.cost is not None else None,
        "priced": recorded.priced or None,
        "seconds": {
            "request": _seconds(exchange.began, exchange.requested),
            "first_byte": _seconds(requested, exchange.first_byte),
            "first_token": _rounded(recorded.first_token),
            "total": _seconds(exchange.began, exchange.ended),
        },
        "notes": list(_notes(recorded)),
    }


def _sent(call: Call) -> Any:
    """Return the edited request that was sent; None if it was sent as it came."""
    if call.came is None:
        return None
    return {
        "headers": [list(pair) for pair in call.recorded.headers or ()],
        "body_is": "masked" if call.is_masked else "as sent",
        "bytes": len(call.body),
        "sha256": sha256(call.body).hexdigest(),
        "body": _text(call.body),
    }


def _held(hold: Hold | None) -> Any:
    return hold and {"seconds": round(hold.seconds, 3), "decision": hold.end}


def _form(call: Call) -> str | None:
    """Return which text `body`, `bytes` and `sha256` are of; None without a body."""
    if not call.body:
        return None
    if call.is_masked:
        return "masked"
    return "decoded" if call.exchange.encoding else "as sent"


def explained_json(call: Call) -> Any:
    """Return a request's turns, parameters, tokens and notes; None if it cannot be read."""
    if call.composed is None or call.captured is None:
        return None
    envelope = dump(envelope_document(call.composed))
    tools = call.captured.tools
    return {
        **envelope,
        "tools": list(tools) if tools or call.composed.envelope.tools is not None else None,
        "not_kept": list(call.captured.not_kept),
    }


def _compared(placed: PlacedCall, comparison: CallComparison | None) -> Any:
    if comparison is None:
        return None
    forecast = comparison.forecast
    return {
        "previous": comparison.previous,
        "messages": {
            "shared": placed.shared,
            "added": [_message(placed, n) for n in placed.added],
            "removed": len(placed.removed),
            "left_out": placed.left_out,
        },
        "cache": {
            "kind": forecast.at.kind,
            "sentence": forecast.sentence,
            "total": forecast.total,
            "common": forecast.common,
            "served": forecast.served,
            "after": forecast.after,
        },
    }


def _loss(loss: CacheLoss | None) -> Any:
    if loss is None:
        return None
    return {"tokens": loss.tokens, "cost": _dollars(loss.cost), "cause": loss.cause}


def _dollars(cost: Decimal | None) -> str | None:
    return None if cost is None else format(cost.normalize(), "f")


def _message(placed: PlacedCall, index: int) -> Any:
    message = placed.messages[index]
    calls = ", ".join(call.name for call in message.tool_calls)
    preview = one_line(message.content, _PREVIEW) or (f"calls {calls}" if calls else "")
    return {"index": index, "role": message.role, "preview": preview}


def _text(body: bytes) -> Any:
    """Return a body as text, in base64 if it is not UTF-8; None for an empty one."""
    if not body:
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _seconds(start: float, end: float | None) -> float | None:
    return None if end is None else _rounded(max(0.0, end - start))


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)


def _notes(recorded: RecordedCall) -> Iterator[str]:
    exchange, call = recorded.exchange, recorded.call
    if call.fault:
        yield call.fault
    if call.came is not None:
        yield "It was edited by hand: “request.sent” has what the provider received."
    if call.is_masked:
        yield "The request's body had credentials; “body”, “bytes” and “sha256” are without them."
    if exchange.encoding:
        yield f"The request was encoded ({exchange.encoding}); “body” is what it decodes to."
    if encoding := exchange.response_header("content-encoding"):
        yield f"The response was encoded ({encoding}); “body” is what it decodes to."
    if not exchange.response.is_whole:
        yield f"The response of {exchange.response.size:,} bytes is larger than the limit."
    elif recorded.reader is not None and recorded.reader.fault:
        yield recorded.reader.fault

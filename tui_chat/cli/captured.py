"""Captured requests and replies: `tui-chat inspect` and `tui-chat read`.

1. `inspect` opens the app on a captured request, or on an exported turn.
2. `read` prints a recorded reply of any protocol as JSON. What is no JSON is a stream of
   server-sent events; a reply that was cut or refused is read as far as it came, and `error`
   describes the failure.
3. Token counts are the provider's own figures, as it wrote them: Anthropic counts cached tokens
   apart from the input, Gemini its thoughts apart from the output.
4. `refusal` is present only if the model declined in words apart from its text.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

from tui_chat.analysis import read_captured
from tui_chat.cli.app import run_app
from tui_chat.cli.files import STANDARD_INPUT, named, read_bytes
from tui_chat.cli.output import write_json
from tui_chat.errors import InputError, ProviderError, Refused
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply, advance
from tui_chat.models.usage import Usage
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers import recorded_events
from tui_chat.turn_file import holds_turn, read_turn


def run_inspect(settings: dict[str, object], file: Path) -> None:
    """Open the screen on a captured request and stay until it is closed.

    Raises InputError where there is none in the file, before anything is shown.
    """
    text = read_bytes(file).decode("utf-8", "replace")
    try:
        if holds_turn(text):
            read_turn(text, "the turn")
        else:
            read_captured(text)
    except InputError as error:
        raise InputError(f"{named(file)}: {error}", advice=error.advice) from error
    if file == STANDARD_INPUT:
        _take_terminal()
    run_app(**cast("dict[str, Any]", settings), captured=text)


def _take_terminal() -> None:
    """Read keys from the terminal again, where the standard input was something else."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:  # no terminal, or a system that has no such file
        advice = "Keep the request in a file, and name that."
        raise InputError("The screen needs a terminal to read keys from.", advice=advice) from error
    os.dup2(terminal, 0)
    os.close(terminal)


def run_read(file: Path, protocol: Protocol) -> None:
    """Print the reply as JSON. Raises InputError where the file cannot be read."""
    reply, error = read_reply(read_bytes(file), protocol)
    write_json(_reply_json(reply, error))


def read_reply(body: bytes, protocol: Protocol) -> tuple[Reply, ProviderError | None]:
    """Return what came of a reply, and what went wrong, if anything did."""
    definition, reply = protocol_of(protocol), Reply()
    try:
        if not _is_stream(body):
            return definition.read_reply(body), None
        parser = definition.parser()
        for name, data in recorded_events(body):
            for event in parser.feed(name, data):
                reply = advance(reply, event)
        for event in parser.close():
            reply = advance(reply, event)
    except ProviderError as error:
        return reply, error
    return reply, None


_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def _is_stream(body: bytes) -> bool:
    """Whether a line of it begins as one of a stream does, and it does not begin as JSON."""
    body = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    return body[:1] not in (b"{", b"[") and any(
        line.startswith(_FIELDS) for line in body.splitlines()
    )


def _reply_json(reply: Reply, error: ProviderError | None) -> dict[str, Any]:
    finish, refusal = reply.finish, str(reply.refusal)
    return {
        "content": reply.text,
        **({"refusal": refusal} if refusal else {}),
        "reasoning": reply.thought,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": str(call.arguments)}
            for call in reply.calls
        ],
        "finish_reason": finish.reason if finish else None,
        "provider_finish_reason": finish.raw if finish else None,
        "usage": _usage_json(reply.usage),
        "error": _error_json(error) if error else None,
    }


def _usage_json(usage: Usage) -> dict[str, int | None]:
    return {
        "input": None if usage.input is None else usage.input - usage.input_apart,
        "output": None if usage.output is None else usage.output - usage.output_apart,
        "cached": usage.cached,
        "cache_write": usage.cache_write,
        "reasoning": usage.reasoning,
    }


def _error_json(error: ProviderError) -> dict[str, Any]:
    refused = error if isinstance(error, Refused) else None
    return {
        "kind": "cut" if refused is None else "refused",
        "message": str(error),
        "code": refused.code or None if refused else None,
        "status": refused.status if refused else None,
        "advice": error.advice,
    }

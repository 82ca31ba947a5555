"""`tui-chat read`: a recorded reply of any protocol, in one form.

1. What is no JSON is a stream of server-sent events; a reply that ended too soon, or was an
   error, is read as far as it came, and `error` says what went wrong.
2. Counts are the provider's own figures, as it wrote them: Anthropic counts what came from the
   cache beside the input, Gemini its thoughts beside the output.
3. `refusal` is there only where the model declined in words of their own, apart from its text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tui_chat.cli.files import read_bytes
from tui_chat.cli.output import write_json
from tui_chat.errors import ProviderError, Refused
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply, Usage, advance
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers import recorded_events


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
        "usage": _usage(reply.usage),
        "error": _error(error) if error else None,
    }


def _usage(usage: Usage) -> dict[str, int | None]:
    return {
        "input": None if usage.input is None else usage.input - usage.input_apart,
        "output": None if usage.output is None else usage.output - usage.output_apart,
        "cached": usage.cached,
        "cache_write": usage.cache_write,
        "reasoning": usage.reasoning,
    }


def _error(error: ProviderError) -> dict[str, Any]:
    refused = error if isinstance(error, Refused) else None
    return {
        "kind": "cut" if refused is None else "refused",
        "message": str(error),
        "code": refused.code or None if refused else None,
        "status": refused.status if refused else None,
        "advice": error.advice,
    }

"""`tui-chat read`: a recorded reply of any protocol as JSON.

Server-sent events are read as a stream, and several lines of JSON too. A reply that was cut or
refused is read as far as it goes, and `error` describes the failure. `usage` is as `Usage` has it,
in every protocol: the input includes cached tokens, and the output includes reasoning. `refusal` is
present only if the model declined in words apart from its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import click

from tui_chat.cli.captured import named_in_errors, require_no_transcript
from tui_chat.cli.options import PROTOCOLS, file_argument
from tui_chat.cli.output import write_json
from tui_chat.errors import InputError, ProviderError, Refused
from tui_chat.files import LARGEST_REQUEST, input_name
from tui_chat.library.file_reader import read_content
from tui_chat.models.boundary import pack, plain
from tui_chat.models.citations import NO_REFERENCES
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply
from tui_chat.models.stream_events import Finished
from tui_chat.models.token_probabilities import unpack_tokens
from tui_chat.models.usage import usage_json
from tui_chat.providers.response_recorder import read_recorded, recorded_events


@click.command()
@file_argument
@click.option(
    "--protocol",
    "--from",
    type=click.Choice(PROTOCOLS),
    help="The protocol of the reply; default: detected.",
)
def read(file: Path, protocol: str | None) -> None:
    """Parse a recorded reply and print it as JSON.

    FILE, or - for the standard input, is an event stream or JSON. Prints a JSON object with
    "content", "reasoning", "tool_calls", "finish_reason", "provider_finish_reason", "usage" (its
    input includes cached tokens, its output reasoning) and "error". A reply that was cut or refused
    is parsed as far as it goes.

    \b
    Example:
      tui-chat read reply.sse
    """
    content = read_content(file, LARGEST_REQUEST)
    with named_in_errors(input_name(file)):
        require_no_transcript(content, "reply")
    source = Protocol(protocol) if protocol else detect_reply(content)
    if source is None:
        raise InputError(
            f"{input_name(file)}: The protocol of the reply cannot be told from its keys.",
            advice="Name it with --protocol.",
        )
    reply, error = read_recorded(content, source)
    write_json(reply_json(reply, error))


_SIGNS: tuple[tuple[Protocol, Callable[[Mapping[str, Any]], bool]], ...] = (
    (Protocol.OPENAI_CHAT, lambda data: "choices" in data),
    (Protocol.GEMINI, lambda data: "candidates" in data or "promptFeedback" in data),
    (
        Protocol.OPENAI_RESPONSES,
        lambda data: (
            data.get("object") == "response" or str(data.get("type", "")).startswith("response.")
        ),
    ),
    (
        Protocol.ANTHROPIC,
        lambda data: (
            str(data.get("type", "")).startswith(("message", "content_block"))
            or (data.get("type") == "error" and "error" in data)
        ),
    ),
    (Protocol.OLLAMA, lambda data: "done" in data and ("message" in data or "response" in data)),
)
"""Tests of what only a protocol's replies have, at the top of a body or of an event."""


def detect_reply(body: bytes) -> Protocol | None:
    """Return the protocol of a recorded reply; None if nothing in it tells."""
    body = body.removeprefix(b"\xef\xbb\xbf").strip()
    texts: Iterable[str | bytes] = chain((body,), (data for _, data in recorded_events(body)))
    for text in islice(texts, 101):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for data in cast("list[Any]", value)[:1] if isinstance(value, list) else [value]:
            for protocol, is_sign in _SIGNS if isinstance(data, dict) else ():
                if is_sign(cast("dict[str, Any]", data)):
                    return protocol
    return None


def reply_json(reply: Reply, error: ProviderError | None) -> dict[str, Any]:
    """Return a reply in the form that `read` prints."""
    finish, refusal = reply.finish, str(reply.refusal)
    references = reply.references.counted_in(reply.content)
    return {
        "content": reply.text,
        **({"refusal": refusal} if refusal else {}),
        "reasoning": reply.thought,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": str(call.arguments)}
            for call in reply.calls
        ],
        **({"parts": [json.loads(pack(part)) for part in reply.parts]} if reply.parts else {}),
        "finish_reason": finish.reason if finish else None,
        "provider_finish_reason": finish.raw if finish else None,
        **({"replaced": list(reply.replaced)} if reply.replaced else {}),
        **({"references": json.loads(pack(references))} if references != NO_REFERENCES else {}),
        **({"tokens": plain(unpack_tokens(str(reply.tokens)))} if len(reply.tokens) else {}),
        "usage": usage_json(reply.usage),
        "error": _error_json(error) if error else _end_json(finish),
    }


def _end_json(finish: Finished | None) -> dict[str, Any] | None:
    """Return the provider's words for an end that was not normal; None if it gave none."""
    if finish is None or not finish.detail or finish.reason in ("stop", "tool_calls"):
        return None
    ended = {"kind": "ended", "message": finish.detail, "code": finish.raw}
    return {**ended, "status": None, "advice": ""}


def _error_json(error: ProviderError) -> dict[str, Any]:
    refused = error if isinstance(error, Refused) else None
    return {
        "kind": "cut" if refused is None else "refused",
        "message": str(error),
        "code": refused.code or None if refused else None,
        "status": refused.status if refused else None,
        "advice": error.advice,
    }

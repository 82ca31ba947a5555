"""Requests and replies in every protocol, made of the cases in `cases`.

    python -m tests.protocols.golden

writes the expected results anew; read the difference before you commit it.

A request has a `body` and its protocol as `source`; if it is for another one, the `model` and
`facts` about it. Expected are, for each protocol, the notes and the body that is sent, and what the
request is taken for where that is wrong.

A reply has its `protocol` and the events of a `stream`, or a `body`; an error has its `status`.
Expected is what is read of it, and how it is sent back in the next request: to its own protocol, or
to those in `to`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.golden import update
from tests.support.messages import make_message
from tests.support.reply_streams import fold, parse
from tests.support.requests import decoded, endpoint
from tui_chat.compose import Composed, compose, encode
from tui_chat.context.inputs import Inputs
from tui_chat.errors import InputError, ProviderError
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.reply import Reply, with_call_ids
from tui_chat.models.token_probabilities import unpack_tokens
from tui_chat.models.usage import usage_json
from tui_chat.protocols.common.error_body import response_error
from tui_chat.protocols.registry import detect_request, protocol_of

REQUESTS = Path(__file__).parent / "cases" / "requests"
REPLIES = Path(__file__).parent / "cases" / "replies"
AS_IT_CAME = "as it came"
TURNS = {Protocol.OPENAI_RESPONSES: "input", Protocol.GEMINI: "contents"}


def converted(case: dict[str, Any]) -> Any:
    """Return what each protocol is sent of a captured request."""
    source, body = Protocol(case["source"]), case["body"]
    detected = detect_request(body) if isinstance(body, dict) else source
    sent: dict[str, Any] = {} if detected is source else {"detected as": detected}
    for target in Protocol:
        # The models of Gemini are in the path, so that other protocols need one.
        model = case.get("model", "" if target is source or "model" in body else "m")
        try:
            envelope = decoded(body, source, model)
        except InputError as error:
            return {"refused": str(error)}
        to = endpoint(target, model or "m", **_facts(case))
        sent[target] = _sent(encode(envelope, to), body)
    return sent


def _facts(case: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in case.get("facts", {}).items()
    }


def _sent(composed: Composed, source: Any = None) -> dict[str, Any]:
    body = json.loads(composed.payload.body)
    return {"body": AS_IT_CAME if body == source else body} | _without_empty(
        notes=notes_of(composed)
    )


def notes_of(composed: Composed) -> list[str]:
    return [f"{note.level} {note.code}: {note.sentence}" for note in composed.notes]


def received(case: dict[str, Any]) -> Any:
    """Return what is read of a reply."""
    protocol = Protocol(case["protocol"])
    try:
        reply = reply_of(protocol, case)
    except ProviderError as error:
        details = {name: getattr(error, name, None) for name in ("status", "code", "retry_after")}
        kind, advice = type(error).__name__, error.advice
        return _without_empty(error=kind, says=str(error), advice=advice, **details)
    message = reply.message(protocol)
    finish, about = reply.finish, message.about
    usage = {name: value for name, value in usage_json(reply.usage).items() if value is not None}
    usage |= _without_empty(one_hour=reply.usage.cache_write_1h, tier=reply.usage.tier)
    return _without_empty(
        id=reply.id,
        model=reply.model,
        text=message.content,
        refusal=message.refusal,
        thought=reply.thought,
        calls=[[call.id, call.name, call.arguments] for call in message.tool_calls],
        parts=[_part(part) for part in message.parts],
        finish=finish and [each for each in (finish.reason, finish.raw, finish.detail) if each],
        usage=usage,
        tokens=[
            [
                token.text,
                token.logprob,
                *([other.text, other.logprob] for other in token.alternatives),
            ]
            for token in unpack_tokens(about.tokens)
        ],
        excess=reply.excess,
        sources=[[each.label, each.url, each.file] for each in about.references.sources],
        sent={to: _sent_back(message, Protocol(to)) for to in case.get("to", [protocol])},
    )


def reply_of(protocol: Protocol, case: dict[str, Any]) -> Reply:
    """Return the reply of a case. Raises ProviderError."""
    definition = protocol_of(protocol)
    if "status" in case:
        raise response_error(case["status"], _bytes(case["body"]))
    if "stream" in case:
        return fold(parse(definition.parser(), map(_event, case["stream"])))
    return definition.read_reply(_bytes(case["body"]))


def _bytes(body: Any) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def _event(event: Any) -> tuple[str, str]:
    """Return name and data of an event: given as both, or as its data, which may hold its name."""
    if isinstance(event, list):
        name, data = event
    else:
        name, data = event.get("type", "") if isinstance(event, dict) else "", event
    return name, data if isinstance(data, str) else json.dumps(data)


def _part(part: MediaBlock) -> list[str]:
    content = part.data or part.url or part.file_id
    return [part.media, part.mime, content if len(content) < 60 else f"{content[:60]}…", part.name]


def next_request(message: Message, to: Protocol) -> Composed:
    """Return the request after a reply whose calls are all answered."""
    reply = with_call_ids(message, ())
    history = [Message.of("user", "Question.", "q"), reply]
    history += [
        make_message("tool", "Result.", f"r{number}", tool_call_id=call.id, name=call.name)
        for number, call in enumerate(reply.tool_calls)
    ]
    target = Endpoint("e", to, "https://e", models=("m",))
    return compose(Inputs(target, Preset("p"), tuple(history), "Go on."))


def _sent_back(message: Message, to: Protocol) -> Any:
    """Return what the next request has of a reply."""
    sent = _sent(next_request(message, to))
    turns = [
        turn
        for turn in sent.pop("body")[TURNS.get(to, "messages")][1:-1]
        if "Result." not in json.dumps(turn)
    ]
    return {"turns": turns, **sent} if sent else turns


def _without_empty(**fields: Any) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in fields.items()
        if value not in (None, "", [], {}, (), 0)
    }


if __name__ == "__main__":
    update(REQUESTS, converted)
    update(REPLIES, received)

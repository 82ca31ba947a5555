"""What a user writes about a held request: its body edited, or an answer in the model's place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.content_encoding import EncodingFault, decode_body
from tui_chat.models.endpoint import CREDENTIAL_MASK, Protocol
from tui_chat.models.json_text import parse_json
from tui_chat.models.json_tree import JsonValue, body_of, tree_of
from tui_chat.offline.base_protocol import OfflineProtocol, Operation
from tui_chat.offline.http_messages import Headers, HttpRequest, OfflineDependencies
from tui_chat.offline.reply import Finish, Refusal, TextPiece, WholeReply, limited
from tui_chat.offline.service import protocol_of as offline_protocol_of
from tui_chat.plugins.tap.calls import MAX_DECODED, Call, json_object
from tui_chat.protocols.registry import protocol_of

FAULT = "The edited request"
"""The source that faults of an edited body name."""


def editable_text(body: bytes) -> str:
    """Return a body as JSON for an editor. Raises InputError."""
    value = json_object(body)
    if value is None:
        raise InputError("The body of this request cannot be read as JSON, so it cannot be edited.")
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def read_edited(text: str, body: bytes, protocol: Protocol) -> dict[str, Any] | None:
    """Return the edited text of a body, which has its credentials masked; None if nothing was
    changed. Raises InputError, with the place, for what is not a request of the protocol.
    """
    value, before = parse_json(text, FAULT), json_object(body)
    if not isinstance(value, dict) or before is None:
        raise InputError(f"{FAULT} is not a JSON object.")
    edited = cast("dict[str, Any]", value)
    if edited == before and json.dumps(edited) == json.dumps(before):
        return None
    if edited.get("stream") != before.get("stream"):
        sentence = f"{FAULT}: “stream” must stay as it is: the program reads its reply by it."
        raise InputError(sentence)
    protocol_of(protocol).decode(json.dumps(edited, ensure_ascii=False).encode())
    return edited


def edited_body(call: Call, text: str) -> bytes | None:
    """Return the body to send for the edited text of a call; None if nothing was changed. Masked
    credentials that are still at their place are those of the request. Raises InputError.
    """
    edited, masked = read_edited(text, call.body, call.protocol), json_object(call.body)
    if edited is None:
        return None
    original = received_value(call)
    body = body_of(tree_of(cast("JsonValue", _with_credentials(edited, masked, original))))
    mask = CREDENTIAL_MASK.encode()
    before = body_of(tree_of(cast("JsonValue", original)))
    if body.count(mask) > before.count(mask):
        sentence = f"{FAULT} has “{CREDENTIAL_MASK}” at a place where no credential was."
        raise InputError(sentence, advice="A credential stays hidden: leave it where it is.")
    return body


def received_value(call: Call) -> dict[str, Any]:
    """Return the body of a call as it came, credentials included. It must not be shown or kept."""
    exchange = call.exchange
    try:
        body = decode_body(exchange.request.data, exchange.encoding, MAX_DECODED)
    except EncodingFault as error:
        raise InputError(f"The body of this request cannot be read: {error}.") from error
    return json_object(body) or {}


def _with_credentials(edited: Any, masked: Any, original: Any) -> Any:
    """Return an edited value in which what was not changed is as in the original."""
    if edited == masked:
        return original
    if all(isinstance(value, dict) for value in (edited, masked, original)):
        return {
            key: _with_credentials(value, masked[key], original[key])
            if key in masked and key in original
            else value
            for key, value in edited.items()
        }
    if all(isinstance(value, list) for value in (edited, masked, original)):
        if len(edited) == len(masked):
            rows = zip(edited, masked, original, strict=True)
            return [_with_credentials(*row) for row in rows]
        pairs = list(zip(masked, original, strict=True))
        return [next((value for shown, value in pairs if shown == item), item) for item in edited]
    return edited


def answer_by_hand(call: Call, text: str) -> tuple[Headers, bytes]:
    """Return headers and body of a response that says a text, in the protocol of a call, and as a
    stream if it asks for one. Raises InputError if the request cannot be read.
    """
    request = HttpRequest("POST", _usual_target(call), (), call.body)
    try:
        protocol, operation = _offline_protocol(request)
        body = json_object(call.body) or {}
        prompt = protocol.read(body, operation, len(call.body))
    except Refusal as refusal:
        raise InputError(f"It cannot be answered: {refusal.fault.message}") from refusal
    prompt = replace(prompt, model=prompt.model or call.model, limit=None, stops=())
    dependencies = OfflineDependencies()
    writer = protocol.writer(prompt, dependencies)
    pieces = list(limited([TextPiece(text)], None, (), dependencies.random_id))
    texts = [piece for piece in pieces if isinstance(piece, TextPiece)]
    finish = next(piece for piece in pieces if isinstance(piece, Finish))
    if not prompt.stream:
        data = writer.full_response(WholeReply(texts), finish)
        return (("content-type", protocol.json_type),), data
    data = writer.start() + b"".join(map(writer.piece, texts)) + writer.end(finish)
    return (("content-type", protocol.stream_type), ("cache-control", "no-cache")), data


def _offline_protocol(request: HttpRequest) -> tuple[OfflineProtocol, Operation]:
    protocol = offline_protocol_of(request)
    operation = protocol.operation(request)
    if operation is None:
        raise InputError("It cannot be answered: its path is not known.")
    return protocol, operation


def _usual_target(call: Call) -> str:
    """Return the target of a call at its provider; a gateway may have another path."""
    target = call.exchange.target
    if "/models/" in target:  # the path says whether a stream is wanted
        return "/v1beta/models/" + target.partition("/models/")[2]
    path = call.composed.encoded.path if call.composed is not None else target
    return path if path.startswith(("/v1", "/api/")) else f"/v1{path}"

"""The body of a held request as a user edits it."""

from __future__ import annotations

import json
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.content_encoding import EncodingFault, decode_body
from tui_chat.models.endpoint import CREDENTIAL_MASK, Protocol
from tui_chat.models.json_text import parse_json
from tui_chat.models.payload import JsonValue, body_of, tree_of
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

"""Parse the body of a captured request.

1. A body is read strictly: what is not JSON, is nested too deep or holds numbers that JSON does
   not have is refused with an explanation.
2. Lone surrogates cannot be sent as UTF-8; they become U+FFFD, with a note. Of a key that an
   object has twice the last value counts, with a note.
"""

from __future__ import annotations

from typing import cast

from tui_chat.errors import InputError
from tui_chat.models.blocks import JsonObject
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_text import JsonError, decode_repaired, repeated_keys, to_json, type_name


def load_request(
    body: bytes, protocol: Protocol, conversation: str = ""
) -> tuple[JsonObject, list[Note]]:
    """Parse a body as a JSON object. Returns it with notes on text that was cleaned.

    Raises InputError if it is not a request that could be sent, or lacks the key `conversation`.
    """
    title = f"This is not a valid {protocol.label} request"
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{title}: byte {error.start} is not UTF-8.") from error
    try:
        value, has_surrogates = decode_repaired(text)
    except JsonError as fault:
        raise InputError(f"{title}: {fault.place}: {fault.sentence}.") from fault
    if not isinstance(value, dict):
        raise InputError(f"{title}: it is {type_name(value)} and not an object.")
    if conversation and conversation not in value:
        raise InputError(f"{title}: it has no “{conversation}”.")
    notes: list[Note] = []
    if has_surrogates:
        sentence = (
            "The request has half of a surrogate pair, which is not a character and cannot be "
            "sent; U+FFFD replaces it."
        )
        notes.append(Note(Level.WARNING, "surrogate-replaced", sentence))
    if repeated := repeated_keys(text):
        names = ", ".join(f"“{excerpt(key)[1:-1]}”" for key in repeated[:_MOST_KEYS])
        sentence = f"An object of the request has a key more than once ({names}); the last value "
        sentence += "counts, the others are left out."
        notes.append(Note(Level.WARNING, "key-repeated", sentence))
    return cast("JsonObject", value), notes


def excerpt(value: object) -> str:
    """Return a JSON value, cut to a length that fits into a sentence."""
    text = to_json(value)
    return text if len(text) <= _EXCERPT_LENGTH else f"{text[:_EXCERPT_LENGTH]}…"


_EXCERPT_LENGTH = 60
_MOST_KEYS = 5
"""Keys that one note names."""

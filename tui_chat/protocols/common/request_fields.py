"""Read a captured request without loss of a key.

1. A body is read strictly: what is not JSON, is nested too deep or holds numbers that JSON does
   not have is refused with an explanation.
2. An object becomes `Fields`. A reader takes out the keys that it understands; a value of an
   unexpected type stays in. The rest is passed through unchanged, so a request can be encoded
   again word for word, including keys that are unknown here.
3. Lone surrogates cannot be sent as UTF-8; they become U+FFFD, with a note. Of a key that an
   object has twice the last value counts, with a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_text import JsonError, decode_repaired, repeated_keys, to_json, type_name


def load_request(
    body: bytes, protocol: Protocol, conversation: str = ""
) -> tuple[Fields, list[Note]]:
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
    return Fields(cast("dict[str, Any]", value), ""), notes


def excerpt(value: object) -> str:
    """Return a JSON value, cut to a length that fits into a sentence."""
    text = to_json(value)
    return text if len(text) <= _EXCERPT_LENGTH else f"{text[:_EXCERPT_LENGTH]}…"


_EXCERPT_LENGTH = 60
_MOST_KEYS = 5
"""Keys that one note names."""


class Fields:
    """A JSON object whose keys are taken one by one. It works on a copy."""

    __slots__ = ("place", "remaining")

    def __init__(self, value: Mapping[str, Any], place: str) -> None:
        self.remaining = dict(value)
        """The keys that have not been taken yet."""
        self.place = place
        """Its place in the body, for errors: `messages[3]`."""

    def take_text(self, key: str) -> str:
        """Take a string that is not empty; leave anything else and return the empty string."""
        value = self.remaining.get(key)
        if isinstance(value, str) and value:
            del self.remaining[key]
            return value
        return ""

    def take_boolean(self, key: str) -> bool | None:
        """Take `true` or `false`."""
        value = self.remaining.get(key)
        return self.remaining.pop(key) if isinstance(value, bool) else None

    def take_strings(self, key: str) -> tuple[str, ...]:
        """Take a list of strings that is not empty."""
        value = self.remaining.get(key)
        if not isinstance(value, list) or not value:
            return ()
        texts = cast("list[object]", value)
        if not all(isinstance(text, str) for text in texts):
            return ()
        del self.remaining[key]
        return tuple(cast("list[str]", texts))

    def take_equal(self, key: str, value: object) -> bool:
        """Take a key if it has exactly this value."""
        held = self.remaining.get(key, _ABSENT)
        if held is _ABSENT or held != value or isinstance(held, bool) != isinstance(value, bool):
            return False
        del self.remaining[key]
        return True

    def take_fields(self, key: str) -> Fields | None:
        """Decode an object that is not empty; `put_back` returns what is left of it."""
        value = self.remaining.get(key)
        if not isinstance(value, dict) or not value:
            return None
        del self.remaining[key]
        return Fields(cast("dict[str, Any]", value), self.path(key))

    def put_back(self, key: str, inner: Fields) -> None:
        """Keep what is left of an inner object under its key."""
        if inner.remaining:
            self.remaining[key] = inner.remaining

    def take_list(self, key: str) -> Iterator[Fields]:
        """Take a list of objects. Raises InputError if it is not a list."""
        value = self.remaining.pop(key, None)
        if not isinstance(value, list):
            raise InputError(f"{self.path(key)} must be a list, not {type_name(value)}.")
        for index, item in enumerate(cast("list[object]", value)):
            place = f"{self.path(key)}[{index}]"
            if not isinstance(item, dict):
                raise InputError(f"{place} must be an object, not {type_name(item)}.")
            yield Fields(cast("dict[str, Any]", item), place)

    def path(self, key: str) -> str:
        """Return the place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def remaining_json(self) -> str:
        """Return what is left as compact JSON; empty if nothing is."""
        return to_json(self.remaining) if self.remaining else ""


_ABSENT = object()


_UPPER = re.compile(r"[A-Z]")


def snake(name: str) -> str:
    """Return a camelCase name in snake_case."""
    return _UPPER.sub(lambda match: "_" + match[0].lower(), name)

"""Conversion of rows to values and back; the only module that depends on column order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from decimal import Decimal, InvalidOperation
from sys import intern
from typing import Any, Generic, Literal, TypeVar, cast

from tui_chat.models.blocks import Block, Extras, TextBlock
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.message import (
    NOT_MUTED,
    NOTHING_ABOUT,
    About,
    Message,
    Muted,
    content_of,
    is_words,
    text_blocks,
)
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.role import Character, Role
from tui_chat.models.session import Entry, PlaceName, Session
from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.models.usage import NO_USAGE, CacheLoss, Usage
from tui_chat.store.database import Row
from tui_chat.store.errors import DECODE_ERRORS, decoding, undecodable

_T = TypeVar("_T")

ENTRY_NAMES = (
    *("message_id", "parent_id", "message_role", "content", "blocks", "about", "extras"),
    *("name", "timestamp", "pinned", "muted", "status", "error", "advice", "model", "endpoint"),
    *("usage_input", "usage_output", "usage_cached", "usage_cache_write", "usage_reasoning"),
    *("finish", "seconds", "first", "cost", "priced", "cache_loss"),
)
"""The columns of `messages` that `entry_of` reads."""

ENTRY = ", ".join(f"m.{name}" for name in ENTRY_NAMES)
"""The same for a query on `messages AS m`."""

SESSION_NAMES = tuple(field.name for field in fields(Session))

SESSION = ", ".join(SESSION_NAMES)
"""The columns that `session_of` reads; they have the names of the fields."""

_ROLE = tuple(field.name for field in fields(Role) if field.name != "character")

ROLE = ", ".join(_ROLE)
"""The columns that `role_of` reads; they have the names of the fields."""


class JsonColumn(Generic[_T]):
    """A column with a value as JSON; empty for the default value."""

    def __init__(self, kind: Any, default: _T, *, is_union: bool = False) -> None:
        """`is_union`: the value does not say its type."""
        self._kind, self._default = kind, default
        self._written_as = kind if is_union else None

    def read(self, text: str) -> _T:
        """Return the value. Raises ValueError, TypeError, LookupError or AttributeError."""
        return unpack(self._kind, text) if text else self._default

    def text(self, value: _T) -> str:
        """Return the column of a value."""
        if value is self._default or value == self._default:
            return ""
        return pack(value, self._written_as)


BLOCKS = JsonColumn[tuple[Block, ...]](tuple[Block, ...], (), is_union=True)
ABOUT = JsonColumn(About, NOTHING_ABOUT)
EXTRAS = JsonColumn[Extras | None](Extras, None)
MUTED = JsonColumn(Muted, NOT_MUTED)
SETTINGS = JsonColumn(Settings, NO_SETTINGS)
EDITS = JsonColumn[tuple[RequestEdit, ...]](tuple[RequestEdit, ...], ())
PLACES = JsonColumn[tuple[PlaceName, ...]](tuple[PlaceName, ...], ())
CACHE_LOSS = JsonColumn[CacheLoss | None](CacheLoss, None)

_shared: Callable[[Any], Any] = intern
"""Makes equal values of thousands of messages one object."""
_NO_USAGE = (None,) * 5
_MOST_TOKENS = 2**53 - 1  # the exact integers of every JSON reader; a provider may send any


def entry_of(row: Row, place: tuple[int, int] = (0, 1)) -> Entry:
    """Return the entry of a row of `ENTRY_NAMES`; other columns may follow.

    `place` is its index among its siblings, and their number.
    """
    message_id, parent_id, message_role, content, blocks, about, extras = row[:7]
    name, timestamp, pinned, muted, status, error, advice, model, endpoint = row[7:16]
    usage = row[16:21]
    finish, seconds, first, cost, priced, loss = row[21:27]
    try:
        refuse_bytes(row)
        status, model, endpoint, finish = map(_shared, (status, model, endpoint, finish))
        dollars = cost_of_text(cost)
        cache_loss = CACHE_LOSS.read(loss)
        message = Message(
            role=_shared(message_role),
            blocks=read_blocks(content, blocks),
            id=message_id,
            name=name,
            timestamp=timestamp,
            pinned=bool(pinned),
            muted=MUTED.read(muted),
            about=ABOUT.read(about),
            extras=EXTRAS.read(extras),
        )
    except DECODE_ERRORS as fault:
        raise undecodable(f"message {message_id}", fault) from fault
    return Entry(
        message=message,
        parent_id=parent_id,
        status=status,
        error=error,
        advice=advice,
        model=model,
        endpoint=endpoint,
        usage=NO_USAGE if usage == _NO_USAGE else Usage(*usage),
        finish=finish,
        seconds=seconds,
        first=first,
        cost=dollars,
        priced=_shared(priced),
        cache_loss=cache_loss,
        sibling=place[0],
        siblings=place[1],
    )


def refuse_bytes(row: Row) -> None:
    """Raise TypeError for a text that became bytes: a single bit tells the two apart in SQLite."""
    if bytes in map(type, row):
        raise TypeError("a text in it is not text")


GrowingField = Literal["content", "blocks", "about"]
"""The columns of a message that grow during a reply."""


def read_blocks(content: str, text: str) -> tuple[Block, ...]:
    """Return the blocks of the columns `content` and `blocks`. Raises ValueError and the like.

    `blocks` is empty for a message that is one bare text or nothing. If a message has exactly one
    text, it is missing in `blocks`, since it is the `content`: nothing long is stored twice.
    """
    if not text:
        return text_blocks(content)
    blocks = BLOCKS.read(text)
    place = _only_text(blocks)
    return blocks if place is None else _with_text(blocks, place, content)


def blocks_text(blocks: tuple[Block, ...]) -> str:
    """Return the column of blocks."""
    place = _only_text(blocks)
    if place is None:
        return BLOCKS.text(blocks)
    if blocks == text_blocks(content_of(blocks)):
        return ""
    return BLOCKS.text(_with_text(blocks, place, ""))


def _only_text(blocks: tuple[Block, ...]) -> int | None:
    """Return the index of the one block that is text; None if there are others, or none."""
    places = [index for index, block in enumerate(blocks) if is_words(block)]
    return places[0] if len(places) == 1 else None


def _with_text(blocks: tuple[Block, ...], place: int, text: str) -> tuple[Block, ...]:
    block = blocks[place]
    assert isinstance(block, TextBlock)
    return (*blocks[:place], replace(block, text=text), *blocks[place + 1 :])


def message_texts(message: Message) -> tuple[str, str, str, str]:
    """Return the columns `content`, `blocks`, `about` and `extras` of a message."""
    return (
        message.content,
        blocks_text(message.blocks),
        ABOUT.text(message.about),
        EXTRAS.text(message.extras),
    )


def entry_values(entry: Entry) -> tuple[object, ...]:
    """Return the columns of `ENTRY_NAMES` of an entry."""
    message = entry.message
    return (
        *(message.id, entry.parent_id, message.role, *message_texts(message)),
        *(message.name, message.timestamp, message.pinned, MUTED.text(message.muted)),
        *(entry.status, entry.error, entry.advice, entry.model, entry.endpoint),
        *(*usage_values(entry.usage), entry.finish, entry.seconds, entry.first),
        *(cost_text(entry.cost), entry.priced, CACHE_LOSS.text(entry.cache_loss)),
    )


def usage_values(usage: Usage) -> tuple[int | None, ...]:
    """Return the five usage columns."""
    if usage is NO_USAGE:
        return _NO_USAGE
    counts = (usage.input, usage.output, usage.cached, usage.cache_write, usage.reasoning)
    return tuple(None if count is None else max(0, min(count, _MOST_TOKENS)) for count in counts)


def cost_of_text(text: str) -> Decimal | None:
    """Return the cost of its column. Raises ValueError or TypeError."""
    try:
        return Decimal(text) if text else None
    except InvalidOperation:
        raise ValueError("a cost in it is not a number") from None


def cost_text(cost: Decimal | None) -> str:
    """Return the column for a cost."""
    return "" if cost is None else f"{cost:f}"


def names_of(text: str) -> tuple[str, ...]:
    """Return a list of names from its column. Raises ValueError or TypeError."""
    names: Any = json.loads(text) if text else []
    if not isinstance(names, list) or not {str}.issuperset(map(type, cast("list[object]", names))):
        raise ValueError("it is not a list of names")
    return tuple(cast("list[str]", names))


def names_text(names: Iterable[str]) -> str:
    """Return the column for a list of names, without duplicates."""
    distinct = list(dict.fromkeys(names))
    return json.dumps(distinct, ensure_ascii=False) if distinct else ""


_READ: dict[str, Callable[[Any], Any]] = {
    "settings": SETTINGS.read,
    "edits": EDITS.read,
    "places": PLACES.read,
    "pinned": bool,
    "archived": bool,
    "tags": names_of,
    "lorebooks": names_of,
}
"""Reads the columns of sessions and roles that are not stored as their fields are."""
_TEXTS: dict[str, Callable[[Any], str]] = {
    "settings": SETTINGS.text,
    "edits": EDITS.text,
    "places": PLACES.text,
    "tags": names_text,
    "lorebooks": names_text,
}


def session_of(row: Row) -> Session:
    """Return the session of a row of `SESSION`."""
    with decoding("session"):
        return Session(*_read_values(SESSION_NAMES, row))


def role_of(row: Row) -> Role:
    """Return the role of a row of `ROLE`."""
    with decoding("role"):
        return Role(*_read_values(_ROLE, row))


def _read_values(names: Sequence[str], row: Row) -> list[Any]:
    refuse_bytes(row)
    return [
        _READ[name](value) if name in _READ else value
        for name, value in zip(names, row, strict=True)
    ]


def column_value(name: str, value: object) -> object:
    """Return the column of a session's or a role's field."""
    return _TEXTS[name](value) if name in _TEXTS else value


def character_of(row: Row) -> Character:
    """Return the character card of a row with nothing but that."""
    with decoding("character"):
        refuse_bytes(row)
        return unpack(Character, str(row[0]))

"""Conversations of other programs, stored as sessions while they happen.

1. A conversation is one session with the tag `tap`. Its messages are those of the requests; a
   message that several requests repeat is stored once, and what replaces it is another version.
2. A reply is stored as `streaming` when its request has passed, grows, and ends as it did; so a
   running app shows it live. The request's exact body is kept as for our own requests.
3. If the database cannot be written to, the call is counted and dropped: nothing waits for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from hashlib import blake2b, sha256
from typing import Any

from tui_chat.errors import RecordGone, StoreError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.request import RawResponse, RequestRecord
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, Session
from tui_chat.models.settings import NO_SETTINGS
from tui_chat.models.transcript import SessionTranscript
from tui_chat.models.usage import Usage
from tui_chat.store import Store
from tui_chat.store.replies import Ending
from tui_chat.tap.calls import Call
from tui_chat.tap.conversations import Key, PlacedCall, RecordedConversation, message_key

TAG = "tap"
"""The tag, and the folder, of sessions that were recorded."""
_TITLE = 60
_TAGGED = re.compile(r"<([\w-]+)[^<>]*>.*?</\1>", re.DOTALL)
_LONGEST_SEARCHED = 100_000
_MOST_CHAINS = 50
"""Requests of a conversation whose messages are known by id."""

Chain = bytes
"""Identifies a message by what it says and all that is before it."""


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A call whose reply is being stored."""

    session_id: str
    entry_id: str
    timestamp: float | None
    end: Chain
    """Of the last message that it answers."""


@dataclass(slots=True)
class _StoredConversation:
    session_id: str
    root: str | None = None
    """The id of the last message of the system prompt."""
    ids: dict[Chain, str] = field(default_factory=dict[Chain, str])
    replies: dict[Chain, list[tuple[str, Message]]] = field(
        default_factory=dict[Chain, list[tuple[str, Message]]]
    )
    """The replies by the message that they answer."""
    chains: dict[int, tuple[Chain, ...]] = field(default_factory=dict[int, tuple[Chain, ...]])
    """Of the messages of each request, by the number of its exchange."""


class SessionWriter:
    """Stores calls."""

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        endpoint_name: Callable[[Protocol, str], str],
    ) -> None:
        """`endpoint_name` returns the name of the configured endpoint of a protocol at a base URL,
        empty if there is none.
        """
        self._store = store
        self._now = now
        self._new_id = new_id
        self._endpoint_name = endpoint_name
        self._known: dict[int, _StoredConversation] = {}
        self._beginning = asyncio.Lock()
        self.dropped = 0
        """Calls that could not be stored."""

    def session_id(self, conversation: RecordedConversation) -> str:
        """Return the id of a conversation's session; empty if it is not stored."""
        known = self._known.get(conversation.number)
        return known.session_id if known is not None else ""

    async def begin(self, placed: PlacedCall, call: Call) -> StoredCall | None:
        """Store a request's messages, and the empty reply to it; None if that is not possible."""
        try:
            async with self._beginning:
                return await self._begin(placed, call)
        except StoreError:
            self.dropped += 1
            return None

    async def _begin(self, placed: PlacedCall, call: Call) -> StoredCall:
        number = placed.conversation.number
        known = self._known.get(number)
        entries: list[Entry] = []
        if known is None or await self._store.sessions.get(known.session_id) is None:
            known = self._known[number] = _StoredConversation(self._new_id())
            self._add_system(known, call, entries)
        chains = self._add_messages(known, placed, call, entries)
        if entries:
            imported = await self._store.transcripts.add(
                self._transcript(known, placed, call, entries)
            )
            if imported.fault:
                raise StoreError(imported.fault)
        end = chains[-1] if chains else b""
        parent = known.ids.get(end, known.root)
        exchange = call.exchange
        name = self._endpoint_name(call.protocol, exchange.upstream)
        stored = await self._store.replies.begin(
            known.session_id,
            parent_id=parent,
            user=None,
            model=call.model,
            endpoint=name or exchange.upstream,
            request=RequestRecord(
                endpoint=name or exchange.upstream,
                protocol=call.protocol,
                method=exchange.method,
                url=exchange.upstream + exchange.target,
                sha256=sha256(call.body).hexdigest(),
                recipe={"source": TAG, "client": exchange.header("user-agent")[:200]},
                body=call.body,
            ),
        )
        known.chains[exchange.number] = chains
        while len(known.chains) > _MOST_CHAINS:
            known.chains.pop(next(iter(known.chains)))
        message = stored.reply.message
        return StoredCall(known.session_id, message.id, message.timestamp, end)

    def _add_system(self, known: _StoredConversation, call: Call, entries: list[Entry]) -> None:
        turns = call.composed.envelope.turns if call.composed is not None else ()
        for turn in turns:
            if turn.role != "system":
                break
            message = Message("system", turn.text.plain, self._new_id(), timestamp=self._now())
            entries.append(Entry(message, known.root))
            known.root = message.id

    def _add_messages(
        self, known: _StoredConversation, placed: PlacedCall, call: Call, entries: list[Entry]
    ) -> tuple[Chain, ...]:
        """Add the entries of messages that are not stored yet; return the chain of each message."""
        chain = b""
        if placed.left_out and placed.previous is not None:
            before = known.chains.get(placed.previous.exchange, ())
            chain = before[placed.left_out - 1] if placed.left_out <= len(before) else b""
        chains: list[Chain] = []
        parent = known.ids.get(chain, known.root)
        for key, message in zip(placed.keys, placed.messages, strict=True):
            before, chain = chain, _next(chain, key)
            found = known.ids.get(chain)
            if found is None and message.role == "assistant":
                found = _reply_like(message, known.replies.get(before, ()))
            if found is None:
                found = self._new_id()
                stored = replace(message, id=found, timestamp=self._now())
                model = call.model if message.role == "assistant" else ""
                entries.append(Entry(stored, parent, model=model))
            known.ids[chain] = parent = found
            chains.append(chain)
        return tuple(chains)

    def _transcript(
        self, known: _StoredConversation, placed: PlacedCall, call: Call, entries: list[Entry]
    ) -> SessionTranscript:
        title = one_line(_first_words(placed.messages) or call.model or "Recorded", _TITLE)
        settings = call.captured.settings if call.captured is not None else None
        session = Session(
            known.session_id,
            title,
            model=call.model,
            endpoint=self._endpoint_name(call.protocol, call.exchange.upstream),
            preset="plain",
            head_id=entries[-1].message.id,
            settings=settings.without_model if settings is not None else NO_SETTINGS,
            folder=TAG,
            tags=(TAG,),
            updated=self._now(),
        )
        first = entries[0].parent_id
        if first is not None:  # an entry that is there already stays as it is
            entries = [Entry(Message("user", id=first)), *entries]
        return SessionTranscript(session, tuple(entries))

    async def flush(self, stored: StoredCall, message: Message) -> None:
        """Store what has arrived of a reply."""
        try:
            await self._store.replies.flush(stored.entry_id, _named(message, stored))
        except (StoreError, RecordGone):
            return  # `finish` counts it

    async def finish(
        self,
        placed: PlacedCall,
        stored: StoredCall,
        message: Message,
        *,
        status: Ending,
        error: str,
        usage: Usage,
        finish: str,
        seconds: float | None,
        first: float | None,
        cost: Decimal | None,
        priced: str,
        received: RawResponse | None,
    ) -> None:
        """End a reply."""
        message = _named(message, stored)
        known = self._known.get(placed.conversation.number)
        if known is not None:
            known.replies.setdefault(stored.end, []).append((stored.entry_id, message))
        values: dict[str, Any] = {"usage": usage, "finish": finish, "seconds": seconds}
        values |= {"first": first, "cost": cost, "priced": priced, "received": received}
        try:
            await self._store.replies.finish(
                stored.entry_id, message=message, status=status, error=error, **values
            )
        except StoreError:
            self.dropped += 1


def _first_words(messages: Sequence[Message]) -> str:
    """Return the first words of the user, without what agents put around them in tags."""
    texts = [m.content.strip() for m in messages if m.role == "user" and m.content.strip()]
    words = (_TAGGED.sub("", text[:_LONGEST_SEARCHED]).strip() for text in texts)
    return next(filter(None, words), texts[0] if texts else "")


def _named(message: Message, stored: StoredCall) -> Message:
    return replace(message, id=stored.entry_id, timestamp=stored.timestamp)


def _next(chain: Chain, key: Key) -> Chain:
    return blake2b(chain + key, digest_size=16).digest()


def _reply_like(message: Message, replies: Any) -> str | None:
    """Return the id of the newest reply that an assistant message repeats."""
    calls = {call.id for call in message.tool_calls if call.id}
    for entry_id, reply in reversed(tuple(replies)):
        same_calls = calls == {call.id for call in reply.tool_calls if call.id}
        if same_calls and (
            reply.content.strip() == message.content.strip()
            or message_key(reply) == message_key(message)
        ):
            return entry_id
    return None

"""Conversations of other programs, stored as sessions while they happen.

1. A conversation is one session with the tag `tap`. Its messages are those of the requests; a
   message that several requests repeat is stored once, and what replaces it is another version.
2. A reply is stored as `streaming` when its request has passed, grows, and ends as it did; so a
   running app shows it live. The request is kept as it was recorded: URL, headers and body.
3. A conversation that continues one in the database, from before this program was started, goes on
   there: the session with the same title whose messages it begins with, a reply included.
4. If the database cannot be written to, the call is counted and dropped: nothing waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from hashlib import blake2b, sha256

from tui_chat.errors import RecordGone, StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, own_words
from tui_chat.models.request import RequestRecord, recorded_recipe
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, Session
from tui_chat.models.settings import NO_SETTINGS
from tui_chat.models.transcript import SessionTranscript
from tui_chat.plugins.tap.calls import Call
from tui_chat.plugins.tap.conversations import (
    MOST_CONVERSATIONS,
    Key,
    PlacedCall,
    RecordedConversation,
    message_key,
)
from tui_chat.plugins.tap.recorded_call import RecordedCall
from tui_chat.store import Store

TAG = "tap"
"""The tag, and the folder, of sessions that were recorded."""
_BY_HAND = "answered by hand"
"""The finish of a reply that the user wrote in the model's place."""
_TITLE = 60
_MOST_CANDIDATES = 20
"""Sessions with the title of a new conversation in which its beginning is looked for."""
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
    parent_id: str | None
    """The id of the last message that it answers."""


@dataclass(slots=True)
class _StoredConversation:
    session_id: str
    is_linked: bool = False
    """True if its session names the one that it belongs to."""
    root: str | None = None
    """The id of the last message of the system prompt."""
    ids: dict[Chain, str] = field(default_factory=dict[Chain, str])
    children: dict[str | None, list[Message]] = field(
        default_factory=dict[str | None, list[Message]]
    )
    """By the id of the message before them: the replies, and what was stored by an earlier run."""
    chains: dict[int, tuple[Chain, ...]] = field(default_factory=dict[int, tuple[Chain, ...]])
    """The ids of the messages of each request, by the number of its exchange."""


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
        """`endpoint_name` names the configured endpoint of a protocol at a base URL, if any."""
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
            known = await self._earlier(placed)
            if known is None:
                known = _StoredConversation(self._new_id())
                self._add_system(known, call, entries)
        self._known.pop(number, None)
        self._known[number] = known
        while len(self._known) > MOST_CONVERSATIONS:  # one that goes on is found in the store
            del self._known[next(iter(self._known))]
        chains = self._add_messages(known, placed, call, entries)
        if entries:
            imported = await self._store.transcripts.add(
                self._transcript(known, placed, call, entries)
            )
            if imported.fault:
                raise StoreError(imported.fault)
        end = chains[-1] if chains else b""
        parent = known.ids.get(end, known.root)
        request = self._request_record(call)
        stored = await self._store.replies.begin(
            known.session_id,
            parent_id=parent,
            user=None,
            model=call.model,
            endpoint=request.endpoint,
            request=request,
        )
        await self._link_sides(placed.conversation, known.session_id)
        known.chains[call.exchange.number] = chains
        while len(known.chains) > _MOST_CHAINS:
            known.chains.pop(next(iter(known.chains)))
        message = stored.reply.message
        return StoredCall(known.session_id, message.id, message.timestamp, parent)

    def _request_record(self, call: Call) -> RequestRecord:
        exchange = call.exchange
        name = self._endpoint_name(call.protocol, exchange.upstream)
        return RequestRecord(
            endpoint=name or exchange.upstream,
            protocol=call.protocol,
            method=exchange.method,
            url=exchange.url,
            sha256=sha256(call.body).hexdigest(),
            recipe=recorded_recipe(TAG, call.recorded, exchange.header("user-agent")[:200]),
            body=call.body,
        )

    async def replace_request(self, stored: StoredCall, call: Call) -> None:
        """Store the edited request that was sent in place of one that was held."""
        with suppress(StoreError):
            await self._store.requests.replace(stored.entry_id, self._request_record(call))

    def _parent_id(self, conversation: RecordedConversation) -> str:
        """Return the id of the session that a conversation's session belongs to."""
        return self.session_id(conversation.main) if conversation.main is not None else ""

    async def _link_sides(self, conversation: RecordedConversation, session_id: str) -> None:
        """Link the side conversations that were stored before their main one."""
        for number in conversation.sides:
            known = self._known.get(number)
            if known is not None and not known.is_linked:
                known.is_linked = True
                with suppress(RecordGone):
                    await self._store.sessions.update(known.session_id, parent_id=session_id)

    async def _earlier(self, placed: PlacedCall) -> _StoredConversation | None:
        """Return the conversation in the database that a new one continues; None for none."""
        if not any(message.role == "assistant" for message in placed.messages):
            return None
        title = _title(placed)
        own = {known.session_id for known in self._known.values()}
        candidates = [
            session.session_id
            for session in await self._store.sessions.list()
            if session.title == title and TAG in session.tags and session.session_id not in own
        ]
        best: tuple[int, _StoredConversation] | None = None
        for session_id in candidates[:_MOST_CANDIDATES]:
            transcript = await self._store.transcripts.get(session_id, requests=False)
            if transcript is not None:
                known = _restored(session_id, transcript.entries)
                shared = _shared(known, placed)
                if shared and (best is None or shared > best[0]):
                    best = shared, known
        return best[1] if best is not None else None

    def _add_system(self, known: _StoredConversation, call: Call, entries: list[Entry]) -> None:
        composed = call.as_it_came.composed
        turns = composed.envelope.turns if composed is not None else ()
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
            chain = _next(chain, key)
            message_id = known.ids.get(chain)
            if message_id is None:
                message_id = _like(key, message, known.children.get(parent, ()))
            if message_id is None:
                message_id = self._new_id()
                stored = replace(message, id=message_id, timestamp=self._now())
                model = call.model if message.role == "assistant" else ""
                entries.append(Entry(stored, parent, model=model))
            known.ids[chain] = parent = message_id
            chains.append(chain)
        return tuple(chains)

    def _transcript(
        self, known: _StoredConversation, placed: PlacedCall, call: Call, entries: list[Entry]
    ) -> SessionTranscript:
        call = call.as_it_came
        settings = call.captured.settings if call.captured is not None else None
        session = Session(
            known.session_id,
            _title(placed),
            model=call.model,
            endpoint=self._endpoint_name(call.protocol, call.exchange.upstream),
            preset="plain",
            head_id=entries[-1].message.id,
            settings=settings.without_model if settings is not None else NO_SETTINGS,
            folder=TAG,
            tags=(TAG,),
            client=call.program.name,
            parent_id=self._parent_id(placed.conversation),
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

    async def finish(self, recorded: RecordedCall, stored: StoredCall) -> None:
        """End a reply."""
        message, reply = _named(recorded.message, stored), recorded.reply
        finish = reply.finish.raw if reply.finish is not None else ""
        if recorded.exchange.outcome == "answered":
            finish = _BY_HAND
        known = self._known.get(recorded.placed.conversation.number)
        if known is not None:
            known.children.setdefault(stored.parent_id, []).append(message)
        try:
            await self._store.replies.end(
                stored.entry_id,
                message=message,
                status=recorded.status,
                error=recorded.failure if recorded.status == "failed" else "",
                usage=reply.usage,
                finish=finish,
                seconds=recorded.seconds,
                first=recorded.first_token,
                cost=recorded.cost,
                priced=recorded.priced,
                cache_loss=recorded.loss,
                received=recorded.reader.received() if recorded.reader is not None else None,
            )
        except StoreError:
            self.dropped += 1


def _title(placed: PlacedCall) -> str:
    model = placed.call.model if placed.call is not None else ""
    return one_line(_first_words(placed.messages) or model or "Recorded", _TITLE)


def _first_words(messages: Sequence[Message]) -> str:
    """Return the first words of the user, without what agents put before them in tags."""
    texts = [m.content.strip() for m in messages if m.role == "user" and m.content.strip()]
    words = (own_words(text) for text in texts)
    return next((word for word in words if word), texts[0] if texts else "")


def _named(message: Message, stored: StoredCall) -> Message:
    return replace(message, id=stored.entry_id, timestamp=stored.timestamp)


def _next(chain: Chain, key: Key) -> Chain:
    return blake2b(chain + key, digest_size=16).digest()


def _like(key: Key, message: Message, stored: Sequence[Message]) -> str | None:
    """Return the id of the newest stored message that a message repeats. Of a reply, programs may
    send only the text and the ids of the calls back.
    """
    calls = {call.id for call in message.tool_calls if call.id}
    for entry in reversed(stored):
        if entry.role != message.role:
            continue
        is_reply = entry.role == "assistant" and calls == {c.id for c in entry.tool_calls if c.id}
        if is_reply and entry.content.strip() == message.content.strip():
            return entry.id
        if message_key(entry) == key:
            return entry.id
    return None


def _restored(session_id: str, entries: Sequence[Entry]) -> _StoredConversation:
    """Return a conversation with what an earlier run stored of it."""
    known = _StoredConversation(session_id)
    for entry in entries:
        if entry.message.role == "system" and entry.parent_id == known.root:
            known.root = entry.message.id
        known.children.setdefault(entry.parent_id, []).append(entry.message)
    return known


def _shared(known: _StoredConversation, placed: PlacedCall) -> int:
    """Return how many messages two conversations share; 0 if no reply is among them."""
    parent, count, has_reply = known.root, 0, False
    for key, message in zip(placed.keys, placed.messages, strict=True):
        parent = _like(key, message, known.children.get(parent, ()))
        if parent is None:
            break
        count += 1
        has_reply |= message.role == "assistant"
    return count if has_reply else 0

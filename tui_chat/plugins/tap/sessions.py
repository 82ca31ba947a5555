"""Conversations of other programs, stored as sessions while they happen.

1. A conversation is one session with the tag `tap`; see `message_tree` for its messages.
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
from dataclasses import replace
from hashlib import sha256

from tui_chat.errors import RecordGone, StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, own_words
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import (
    Entry,
    RequestRecord,
    Session,
    SessionTranscript,
    recorded_recipe,
)
from tui_chat.models.settings import NO_SETTINGS
from tui_chat.plugins.tap.calls import Call
from tui_chat.plugins.tap.conversations import MOST_CONVERSATIONS, PlacedCall, RecordedConversation
from tui_chat.plugins.tap.message_tree import MessageTree
from tui_chat.plugins.tap.recorded_call import RecordedCall
from tui_chat.store import Store

TAG = "tap"
"""The tag, and the folder, of sessions that were recorded."""
_TITLE = 60
_MOST_CANDIDATES = 20
"""Sessions with the title of a new conversation in which its beginning is looked for."""


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
    tree: MessageTree
    is_linked: bool = False
    """True if its session names the one that it belongs to."""


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

    async def begin(self, placed: PlacedCall, call: Call) -> StoredCall | None:
        """Store a request's messages, and the empty reply to it; None if that is not possible."""
        try:
            async with self._beginning:
                return await self._begin(placed, call)
        except StoreError:
            self.dropped += 1
            return None

    async def _begin(self, placed: PlacedCall, call: Call) -> StoredCall:
        known, added = await self._conversation(placed)
        added += known.tree.add_request(placed)
        if added:
            transcript = self._transcript(known.session_id, placed, call.as_it_came, added)
            if fault := (await self._store.transcripts.add(transcript)).fault:
                raise StoreError(fault)
        parent, request = known.tree.end_of(placed), self._request_record(call)
        stored = await self._store.replies.begin(
            known.session_id,
            parent_id=parent,
            user=None,
            model=call.model,
            endpoint=request.endpoint,
            request=request,
        )
        await self._link_sides(placed.conversation, known.session_id)
        message = stored.reply.message
        return StoredCall(known.session_id, message.id, message.timestamp, parent)

    async def _conversation(
        self, placed: PlacedCall
    ) -> tuple[_StoredConversation, list[tuple[Message, str | None]]]:
        """Return the stored conversation of a call, and its system prompt if it is a new one."""
        number, added = placed.conversation.number, list[tuple[Message, str | None]]()
        known = self._known.pop(number, None)
        if known is None or await self._store.sessions.get(known.session_id) is None:
            known = await self._earlier(placed)
            if known is None:
                known = _StoredConversation(self._new_id(), self._new_tree())
                added += known.tree.add_system(placed.system)
        self._known[number] = known
        while len(self._known) > MOST_CONVERSATIONS:  # one that goes on is found in the store
            del self._known[next(iter(self._known))]
        return known, added

    def _new_tree(self) -> MessageTree:
        return MessageTree(lambda chain: self._new_id())

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
        best, most = None, 0
        for session_id in candidates[:_MOST_CANDIDATES]:
            transcript = await self._store.transcripts.get(session_id, requests=False)
            known = _StoredConversation(session_id, self._new_tree())
            known.tree.add_stored(transcript.entries if transcript is not None else ())
            if (shared := known.tree.shared_with(placed)) > most:
                best, most = known, shared
        return best

    def _transcript(
        self,
        session_id: str,
        placed: PlacedCall,
        call: Call,
        added: Sequence[tuple[Message, str | None]],
    ) -> SessionTranscript:
        settings = call.captured.settings if call.captured is not None else None
        main = placed.conversation.main
        known = self._known.get(main.number) if main is not None else None
        session = Session(
            session_id,
            _title(placed),
            model=call.model,
            endpoint=self._endpoint_name(call.protocol, call.exchange.upstream),
            preset="plain",
            head_id=added[-1][0].id,
            settings=settings.without_model if settings is not None else NO_SETTINGS,
            folder=TAG,
            tags=(TAG,),
            client=call.program.name,
            parent_id=known.session_id if known is not None else "",
            updated=self._now(),
        )
        entries = [
            Entry(
                replace(message, timestamp=self._now()),
                parent,
                model=call.model if message.role == "assistant" else "",
            )
            for message, parent in added
        ]
        first = added[0][1]
        if first is not None:  # an entry that is there already stays as it is
            entries.insert(0, Entry(Message("user", id=first)))
        return SessionTranscript(session, tuple(entries))

    async def flush(self, stored: StoredCall, message: Message) -> None:
        """Store what has arrived of a reply."""
        with suppress(StoreError, RecordGone):  # `finish` counts it
            await self._store.replies.flush(stored.entry_id, _named(message, stored))

    async def finish(self, recorded: RecordedCall, stored: StoredCall) -> None:
        """End a reply."""
        message, reply = _named(recorded.message, stored), recorded.reply
        finish = reply.finish.raw if reply.finish is not None else ""
        known = self._known.get(recorded.placed.conversation.number)
        if known is not None:
            known.tree.add_reply(message, stored.parent_id)
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

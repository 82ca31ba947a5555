"""A question, its request, and the reply as it arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from tui_chat.errors import RecordGone, StoreError
from tui_chat.models.message import Message
from tui_chat.models.received import Received
from tui_chat.models.reply import NO_USAGE, Usage
from tui_chat.models.request import Exchange, RequestRecord, Sent
from tui_chat.models.session import Entry
from tui_chat.store import memory, messages, requests, sessions
from tui_chat.store import received as responses
from tui_chat.store.api.base import Base, UnsavedEnd
from tui_chat.store.database import Database, Transaction
from tui_chat.store.faults import told
from tui_chat.store.growing import Arrived, Written, arrived, grown, write_changes
from tui_chat.store.owner import Owner, is_alive, tokens

Ending = Literal["complete", "stopped", "failed", "interrupted"]
"""How a reply can end."""


class Exchanges(Base):
    """The store's methods for talking to a provider."""

    def __init__(
        self,
        path: Path,
        database: Database,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        super().__init__(database, now=now, new_id=new_id)
        self._path = path
        self._owner = Owner(path, new_id())
        self._written: dict[str, Written] = {}
        """The replies that this store receives, by entry id."""
        self._places: dict[str, tuple[str, Entry]] = {}
        """Their sessions' ids, and the entries as they began."""

    async def begin_exchange(
        self,
        session_id: str,
        *,
        parent_id: str | None,
        user: Message | None,
        model: str,
        endpoint: str,
        request: RequestRecord,
    ) -> Exchange:
        """Store a question and the empty, `streaming` reply to it; to be awaited before the
        request leaves.

        `parent_id` is what the question follows or, where `user` is None because a reply is
        asked for again, what the reply follows. The reply becomes the session's head. A draft
        with the question's very text is done with and goes. `StoreError` if the session is
        gone or the parent is not in it.
        """
        now = self._now()
        asked = None
        if user is not None:
            stamp = now if user.timestamp is None else user.timestamp
            asked = Entry(replace(user, id=user.id or self._new_id(), timestamp=stamp), parent_id)
        reply = Entry(
            Message("assistant", id=self._new_id(), timestamp=now),
            parent_id=parent_id if asked is None else asked.message.id,
            status="streaming",
            model=model,
            endpoint=endpoint,
        )

        async def work(tx: Transaction) -> Exchange:
            await messages.check_parent(tx, session_id, parent_id)
            self._owner.claim()
            question = None
            if asked is not None:
                question = await messages.add(tx, asked, messages.Place(session_id, now))
                await memory.drop_sent_draft(tx, session_id, asked.message.content)
            place = messages.Place(session_id, now, self._owner.token)
            answer = await messages.add(tx, reply, place)
            await requests.insert(tx, reply.message.id, request, now)
            await sessions.say_in(tx, session_id, answer, now)
            return Exchange(question, answer)

        def begun(exchange: Exchange) -> None:
            self._written[reply.message.id] = Written(exchange.reply.message)
            self._places[reply.message.id] = session_id, exchange.reply

        return await self._database.write(work, committed=begun)

    async def flush_reply(self, entry_id: str, message: Message) -> None:
        """Store what has arrived of a streaming reply: text, parts, tool calls, semantics.

        Costs what was added since the last flush, and nothing if nothing was. `StoreError` if
        this store does not receive the reply, or its session is gone.
        """

        async def work(tx: Transaction) -> Written:
            written = self._written.get(entry_id)
            if written is None or not await messages.is_streaming(tx, entry_id):
                raise RecordGone("This reply is no longer being received.")
            after, changes = grown(written, message)
            await write_changes(tx, entry_id, changes)
            return after

        await self._database.write(work, committed=partial(self._written.__setitem__, entry_id))

    async def arrived(self, entry_id: str, known: Arrived | None = None) -> Arrived | None:
        """Return what has arrived of a reply that another program receives, None where it has
        ended or is gone. Costs what arrived after `known`, which comes back where nothing did.
        """
        return await self._database.read(lambda tx: arrived(tx, entry_id, known))

    async def finish_reply(
        self,
        entry_id: str,
        *,
        message: Message,
        status: Ending,
        error: str = "",
        advice: str = "",
        usage: Usage = NO_USAGE,
        finish: str = "",
        seconds: float | None = None,
        first: float | None = None,
        received: Received | None = None,
    ) -> Entry:
        """End a reply with all of what arrived; return it as it is stored now.

        `received` is the response that it was read from, kept for a while. Where the file cannot
        be written to, the reply is kept in memory, is returned so, with the reason in `unsaved`,
        by whatever reads it, and is written as soon as that works. `RecordGone` if its session
        is gone.
        """
        now = self._now()
        ended = Entry(
            replace(message, id=entry_id),
            status=status,
            error=error,
            advice=advice,
            usage=usage,
            finish=finish,
            seconds=seconds,
            first=first,
        )

        async def work(tx: Transaction) -> Entry:
            entry = await messages.finish(tx, ended, now)
            if received is not None:
                await responses.insert(tx, entry_id, received)
            return entry

        def over(_: Entry) -> None:
            self._written.pop(entry_id, None)
            self._places.pop(entry_id, None)
            self._unsaved.pop(entry_id, None)

        try:
            return await self._database.write_or_defer(f"reply {entry_id}", work, committed=over)
        except RecordGone:
            raise
        except StoreError:
            session_id, begun = self._places.get(entry_id, ("", ended))
            self._unsaved[entry_id] = UnsavedEnd(session_id, ended)
            return self._as_ended(begun)

    async def received(self, entry_id: str) -> Received | None:
        """Return the response of a reply as it was received, None where it is not kept."""
        return await self._database.read(lambda tx: responses.find(tx, entry_id))

    async def request_of(self, entry_id: str) -> RequestRecord | None:
        """Return the request that produced a reply, None where there was none."""
        return await self._database.read(lambda tx: requests.find(tx, entry_id))

    async def last_request(
        self, endpoint: str | None = None, *, before: str | None = None
    ) -> Sent | None:
        """Return the newest request of one endpoint, or of all; with the id of a reply as
        `before`, the newest before the request of that reply. None where there is none.
        """
        return await self._database.read(lambda tx: requests.last(tx, endpoint, before))

    async def requests_of_session(self, session_id: str) -> tuple[Sent, ...]:
        """Return the requests of a session, oldest first, without their bodies."""
        return await self._database.read(lambda tx: requests.of_session(tx, session_id))

    async def interrupt_orphans(self) -> bool:
        """End the replies of programs that no longer run; tell whether there were any."""
        with told(self._path):
            left_behind = tokens(self._path)
        if not left_behind and not await self._database.read(messages.owners):
            return False

        async def work(tx: Transaction) -> bool:
            dead = [
                token
                for token in {*left_behind, *await messages.owners(tx)}
                if not is_alive(self._path, token)
            ]
            ended = [await messages.interrupt_all(tx, token) for token in dead]
            return any(ended)

        return await self._database.write(work)

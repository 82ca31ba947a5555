"""Replies: from sending the request to the end of the stream.

A reply is stored as `streaming` before its request leaves, grows in the stream journal, and is
written completely when it ends.
"""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Literal

from tui_chat.errors import BranchMoved, RecordGone
from tui_chat.models.message import Message
from tui_chat.models.session import (
    Beginning,
    Begun,
    EndChanges,
    Entry,
    NewExchange,
    RawResponse,
    RequestRecord,
    StoredEnd,
    StoredExchange,
)
from tui_chat.models.usage import NO_USAGE, CacheLoss, Usage
from tui_chat.store.branches import check_parent
from tui_chat.store.database import StoreContext, Transaction
from tui_chat.store.drafts import drop_sent_draft, write_settings
from tui_chat.store.errors import store_errors
from tui_chat.store.index import put_message, put_stored_message
from tui_chat.store.messages import (
    InsertPosition,
    begin_session,
    insert_message,
    with_siblings_counted,
)
from tui_chat.store.process_lock import ProcessLock, is_running, lock_tokens
from tui_chat.store.requests import (
    insert_request,
    insert_response,
    prune_bodies,
    save_revision,
)
from tui_chat.store.rows import ENTRY_NAMES, entry_of, entry_values
from tui_chat.store.sessions import (
    append_to_branch,
    refresh_status,
    require_session,
    set_edits,
    summary_of,
    touch_session,
)
from tui_chat.store.stream_journal import (
    PersistedFields,
    append_changes,
    changes_to,
    drop_changes,
    is_streaming,
    read_streamed_fields,
)

Ending = Literal["complete", "stopped", "failed", "interrupted"]
"""The status of a reply that has ended."""

_NO_CHANGES = EndChanges()

_WRITTEN = tuple(
    name
    for name in ENTRY_NAMES
    if not name.endswith("_id")
    and name not in ("message_role", "timestamp", "pinned", "muted", "model", "endpoint")
)
"""The columns that are written when a reply has ended."""
_FINISH = f"""
    UPDATE messages SET
        {" = ?, ".join(_WRITTEN)} = ?, timestamp = coalesce(?, timestamp), owner = ''
    WHERE message_id = ?
    RETURNING {", ".join(ENTRY_NAMES)}, seq, session_id
"""


class ReplyStore:
    """The replies that this program receives, and those that others receive or left behind."""

    def __init__(self, path: Path, context: StoreContext) -> None:
        self._path = path
        self.database, self._now, self._new_id = context
        self._owner = ProcessLock(None if self.database.is_in_memory else path, self._new_id())
        self._persisted: dict[str, PersistedFields] = {}
        """The stored fields of each reply that this program receives, by entry id."""

    def close(self) -> None:
        """Release the claim on the replies of this program."""
        self._owner.release()

    async def begin(
        self,
        session_id: str,
        *,
        parent_id: str | None,
        user: Message | None,
        model: str,
        endpoint: str,
        request: RequestRecord,
    ) -> StoredExchange:
        """Store one exchange of a session; see `begin_all`."""
        request = replace(request, endpoint=endpoint)
        exchange = NewExchange(parent_id, user, model, request)
        return (await self.begin_all(Beginning(session_id, (exchange,)))).exchanges[0]

    async def begin_all(self, beginning: Beginning) -> Begun:
        """Store user messages and the empty, `streaming` replies to them, with all that belongs to
        that; to be awaited before the requests leave.

        A draft that is the very text of a message is removed. Raises `StoreError` if the session is
        gone or a parent is not in it, and `BranchMoved` if the first exchange should follow the
        session's last message and does not.
        """
        now, session_id = self._now(), beginning.session_id

        async def work(tx: Transaction) -> Begun:
            if beginning.new is not None:
                await begin_session(tx, beginning.new, now)
            elif beginning.is_at_head:
                await _require_head(tx, session_id, beginning.exchanges[0].parent_id)
            for kind, text in beginning.revisions.values():
                await save_revision(tx, kind, text, now)
            self._owner.claim()
            stored = [
                await self._add_exchange(tx, session_id, exchange, now)
                for exchange in beginning.exchanges
            ]
            if beginning.edits is not None:
                await set_edits(tx, session_id, beginning.edits)
            await write_settings(tx, beginning.settings)
            is_new = beginning.new is not None
            session = await require_session(tx, session_id) if is_new else None
            return Begun(tuple(stored), await summary_of(tx, session_id), session)

        def committed(begun: Begun) -> None:
            for reply in (exchange.reply for exchange in begun.exchanges):
                self._persisted[reply.message.id] = PersistedFields(reply.message)

        return await self.database.write(work, committed=committed)

    async def _add_exchange(
        self, tx: Transaction, session_id: str, exchange: NewExchange, now: float
    ) -> StoredExchange:
        """Store a user message and the reply to it, which becomes the session's head."""
        await check_parent(tx, session_id, exchange.parent_id)
        parent_id, user, question = exchange.parent_id, exchange.user, None
        if user is not None:
            stamp = now if user.timestamp is None else user.timestamp
            asked = Entry(replace(user, id=user.id or self._new_id(), timestamp=stamp), parent_id)
            question = await insert_message(tx, asked, InsertPosition(session_id, now))
            await drop_sent_draft(tx, session_id, user.content)
            parent_id = question.message.id
        reply = Entry(
            Message("assistant", id=self._new_id(), timestamp=now),
            parent_id=parent_id,
            status="streaming",
            model=exchange.model,
            endpoint=exchange.request.endpoint,
        )
        answer = await insert_message(tx, reply, InsertPosition(session_id, now, self._owner.token))
        await insert_request(tx, reply.message.id, exchange.request, now)
        await prune_bodies(tx)
        await append_to_branch(tx, session_id, answer, now)
        return StoredExchange(question, answer)

    async def flush(self, entry_id: str, message: Message) -> None:
        """Store what has arrived of a streaming reply.

        Costs what was added since the last flush, and nothing if nothing was. Raises
        `RecordGone` if this program does not receive the reply, or its session is gone.
        """

        async def work(tx: Transaction) -> PersistedFields:
            persisted = self._persisted.get(entry_id)
            if persisted is None or not await is_streaming(tx, entry_id):
                raise RecordGone("This reply is no longer being received.")
            after, changes = changes_to(persisted, message)
            await append_changes(tx, entry_id, changes)
            return after

        await self.database.write(work, committed=partial(self._persisted.__setitem__, entry_id))

    async def end(
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
        cost: Decimal | None = None,
        priced: str = "",
        cache_loss: CacheLoss | None = None,
        received: RawResponse | None = None,
        changes: EndChanges = _NO_CHANGES,
    ) -> StoredEnd:
        """End a reply with all that arrived; return it as it is stored now.

        `received` is the response that it was read from, which is kept for a while; `changes` are
        stored with it. Raises `RecordGone` if its session is gone.
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
            cost=cost,
            priced=priced,
            cache_loss=cache_loss,
        )

        async def work(tx: Transaction) -> StoredEnd:
            entry, session_id = await write_reply(tx, ended)
            await touch_session(tx, session_id, now)
            entry = await with_siblings_counted(tx, entry, session_id)
            if received is not None:
                await insert_response(tx, entry_id, received)
            if changes.unread:
                await tx.run("UPDATE sessions SET unread = 1 WHERE session_id = ?", session_id)
            await write_settings(tx, changes.settings)
            return StoredEnd(entry, await summary_of(tx, session_id))

        def committed(_: StoredEnd) -> None:
            self._persisted.pop(entry_id, None)

        return await self.database.write(work, committed=committed)

    async def interrupt_orphans(self) -> bool:
        """End the replies of programs that no longer run; return True if there were any."""
        with store_errors(self._path):
            left_behind = lock_tokens(self._path)
        if not left_behind and not await self.database.read(_owners):
            return False

        async def work(tx: Transaction) -> bool:
            dead = [
                token
                for token in {*left_behind, *await _owners(tx)}
                if not is_running(self._path, token)
            ]
            ended = [await _interrupt_replies(tx, token) for token in dead]
            return any(ended)

        return await self.database.write(work)


async def _require_head(tx: Transaction, session_id: str, message_id: str | None) -> None:
    row = await tx.row("SELECT head_id FROM sessions WHERE session_id = ?", session_id)
    if row is not None and row[0] != message_id:
        raise BranchMoved(
            "Another window has continued this conversation.",
            advice="It is shown as it is now. Read it, and send again.",
        )


async def write_reply(tx: Transaction, entry: Entry) -> tuple[Entry, str]:
    """Write the content and result of a message that is in the database; return it as it is
    stored, and its session. Raises `RecordGone` if there is no such message.
    """
    message = entry.message
    values = dict(zip(ENTRY_NAMES, entry_values(entry), strict=True))
    written = (values[name] for name in _WRITTEN)
    row = await tx.row(_FINISH, *written, message.timestamp, message.id)
    if row is None:
        raise RecordGone("The session of this reply no longer exists.")
    await drop_changes(tx, message.id)
    *stored, seq, session_id = row
    await put_message(tx, seq, message.blocks)
    return entry_of(tuple(stored)), session_id


async def _owners(tx: Transaction) -> list[str]:
    """Return the tokens of the programs that receive replies, according to the file."""
    rows = await tx.rows("SELECT DISTINCT owner FROM messages WHERE status = 'streaming'")
    return [token for (token,) in rows]


async def _interrupt_replies(tx: Transaction, token: str) -> int:
    """End the replies of a program that is gone, with what had arrived; return their number."""
    streaming = await tx.rows(
        "SELECT message_id, session_id, seq FROM messages WHERE status = 'streaming' AND owner = ?",
        token,
    )
    for entry_id, session_id, seq in streaming:
        fields = await read_streamed_fields(tx, entry_id)
        await tx.run(
            "UPDATE messages SET content = ?, blocks = ?, about = ?, "
            "status = 'interrupted', owner = '' WHERE message_id = ?",
            *(fields["content"], fields["blocks"], fields["about"], entry_id),
        )
        await drop_changes(tx, entry_id)
        await put_stored_message(tx, seq, fields["content"], fields["blocks"])
        await refresh_status(tx, session_id)
    return len(streaming)

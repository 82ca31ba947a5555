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

from tui_chat.errors import RecordGone, StoreError
from tui_chat.models.message import Message
from tui_chat.models.request import RawResponse, RequestRecord, StoredExchange
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.session import Entry, NewSession
from tui_chat.models.usage import NO_USAGE, CacheLoss, Usage
from tui_chat.store.branches import check_parent
from tui_chat.store.database import Transaction, writes
from tui_chat.store.drafts import drop_sent_draft
from tui_chat.store.errors import store_errors
from tui_chat.store.index import put_message
from tui_chat.store.messages import (
    InsertPosition,
    begin_session,
    insert_message,
    with_siblings_counted,
)
from tui_chat.store.process_lock import ProcessLock, is_running, lock_tokens
from tui_chat.store.requests import insert_request, insert_response
from tui_chat.store.rows import (
    CACHE_LOSS,
    ENTRY_NAMES,
    cost_text,
    entry_of,
    json_texts,
    usage_values,
)
from tui_chat.store.sessions import (
    append_to_branch,
    refresh_status,
    require_session,
    set_edits,
    touch_session,
)
from tui_chat.store.stream_journal import (
    PersistedFields,
    append_changes,
    changes_to,
    drop_changes,
    is_streaming,
    read_journal,
    read_streamed_fields,
)
from tui_chat.store.unsaved import StoreContext

Ending = Literal["complete", "stopped", "failed", "interrupted"]
"""The status of a reply that has ended."""

_FINISH = f"""
    UPDATE messages AS m SET
        content = ?, parts = ?, tool_calls = ?, semantics = ?, tool_call_id = ?, name = ?,
        timestamp = coalesce(?, timestamp), status = ?, owner = '', error = ?, advice = ?,
        usage_input = ?, usage_output = ?, usage_cached = ?, usage_cache_write = ?,
        usage_reasoning = ?, finish = ?, seconds = ?, first = ?, cost = ?, priced = ?,
        cache_loss = ?
    WHERE m.message_id = ?
    RETURNING {", ".join(ENTRY_NAMES)}, seq, session_id
"""


class ReplyStore:
    """The replies that this program receives, and those that others receive or left behind."""

    def __init__(self, path: Path, context: StoreContext) -> None:
        self._path = path
        self.database, self._unsaved, self._now, self._new_id = context
        self.read_journal = self.database.reader(read_journal)
        self._owner = ProcessLock(None if self.database.is_in_memory else path, self._new_id())
        self._persisted: dict[str, PersistedFields] = {}
        """The stored fields of each reply that this program receives, by entry id."""
        self._begun: dict[str, tuple[str, Entry]] = {}
        """Their session ids, and the entries as they began."""

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
        edits: tuple[RequestEdit, ...] | None = None,
        new: NewSession | None = None,
    ) -> StoredExchange:
        """Store a user message and the empty, `streaming` reply to it; to be awaited before the
        request leaves.

        `parent_id` is what the user message follows or, if `user` is None because a reply is
        regenerated, what the reply follows. `edits` are the session's edits by hand from now on;
        None leaves them as they are. A `new` session is stored with them. The reply becomes the
        session's head. A draft that is the very text of the message is removed. Raises `StoreError`
        if the session is gone or the parent is not in it.
        """
        now = self._now()
        question_entry = None
        if user is not None:
            stamp = now if user.timestamp is None else user.timestamp
            question_entry = Entry(
                replace(user, id=user.id or self._new_id(), timestamp=stamp), parent_id
            )
        reply = Entry(
            Message("assistant", id=self._new_id(), timestamp=now),
            parent_id=parent_id if question_entry is None else question_entry.message.id,
            status="streaming",
            model=model,
            endpoint=endpoint,
        )

        async def work(tx: Transaction) -> StoredExchange:
            session = None if new is None else await begin_session(tx, new, now)
            await check_parent(tx, session_id, parent_id)
            self._owner.claim()
            question = None
            if question_entry is not None:
                question = await insert_message(tx, question_entry, InsertPosition(session_id, now))
                await drop_sent_draft(tx, session_id, question_entry.message.content)
            placement = InsertPosition(session_id, now, self._owner.token)
            answer = await insert_message(tx, reply, placement)
            await insert_request(tx, reply.message.id, request, now)
            await append_to_branch(tx, session_id, answer, now)
            if edits is not None:
                await set_edits(tx, session_id, edits)
            if session is not None:
                session = await require_session(tx, session_id)
            return StoredExchange(question, answer, session)

        def committed(exchange: StoredExchange) -> None:
            self._persisted[reply.message.id] = PersistedFields(exchange.reply.message)
            self._begun[reply.message.id] = session_id, exchange.reply

        return await self.database.write(work, committed=committed)

    async def flush(self, entry_id: str, message: Message) -> None:
        """Store what has arrived of a streaming reply: text, parts, tool calls, semantics.

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

    async def finish(
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
    ) -> Entry:
        """End a reply with all that arrived; return it as it is stored now.

        `received` is the response that it was read from, which is kept for a while. If the file
        cannot be written to, the reply is kept in memory and written as soon as that works; until
        then whatever reads it gets it from memory, with the reason in `unsaved`. Raises
        `RecordGone` if its session is gone.
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

        async def work(tx: Transaction) -> Entry:
            entry = await _finish(tx, ended, now)
            if received is not None:
                await insert_response(tx, entry_id, received)
            return entry

        def committed(_: Entry) -> None:
            self._persisted.pop(entry_id, None)
            self._begun.pop(entry_id, None)
            self._unsaved.discard(entry_id)

        try:
            return await self.database.write_or_defer(
                f"reply {entry_id}", work, committed=committed
            )
        except RecordGone:
            raise
        except StoreError:
            session_id, begun = self._begun.get(entry_id, ("", ended))
            self._unsaved.add(session_id, ended)
            return self._unsaved.applied_to(begun)

    @writes
    async def set_cache_loss(self, tx: Transaction, entry_id: str, loss: CacheLoss) -> None:
        """Store what a reply's request lost of the prompt cache, unless the reply is gone."""
        await tx.run(
            "UPDATE messages SET cache_loss = ? WHERE message_id = ?",
            CACHE_LOSS.text(loss),
            entry_id,
        )

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


async def _finish(tx: Transaction, entry: Entry, now: float) -> Entry:
    """Write a reply whole and end it; return the entry as it is stored."""
    stored, session_id = await write_reply(tx, entry)
    await touch_session(tx, session_id, now)
    return await with_siblings_counted(tx, stored, session_id)


async def write_reply(tx: Transaction, entry: Entry) -> tuple[Entry, str]:
    """Write the content and result of a message that is in the database; return it as it is
    stored, and its session. Raises `RecordGone` if there is no such message.
    """
    message = entry.message
    json_columns = json_texts(message)
    row = await tx.row(
        _FINISH,
        *(message.content, *json_columns, message.tool_call_id, message.name),
        *(message.timestamp, entry.status, entry.error, entry.advice),
        *(*usage_values(entry.usage), entry.finish, entry.seconds, entry.first),
        *(cost_text(entry.cost), entry.priced, CACHE_LOSS.text(entry.cache_loss), message.id),
    )
    if row is None:
        raise RecordGone("The session of this reply no longer exists.")
    await drop_changes(tx, message.id)
    *stored, seq, session_id = row
    await put_message(tx, seq, message.content, *json_columns)
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
        columns = fields["content"], fields["parts"], fields["tool_calls"], fields["semantics"]
        await tx.run(
            "UPDATE messages SET content = ?, parts = ?, tool_calls = ?, semantics = ?, "
            "status = 'interrupted', owner = '' WHERE message_id = ?",
            *(*columns, entry_id),
        )
        await drop_changes(tx, entry_id)
        await put_message(tx, seq, *columns)
        await refresh_status(tx, session_id)
    return len(streaming)

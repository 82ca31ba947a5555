"""Messages typed while a reply arrives: each is sent when the reply before it is complete.

1. A queue belongs to one session, and its messages are sent to that one only, while it is active.
2. A reply that failed or was stopped, a waiting tool call, and a session that is opened later leave
   the queue as it is: `send_next` goes on.
3. It is stored with the session at each change, so that it outlives the program. What was stored
   before is read first: it stands in front of what was queued meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any

from tui_chat.errors import InputError, TuiChatError
from tui_chat.models.json_values import pack, unpack
from tui_chat.models.message import Part
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Failed, QueueChanged, ReplySettled, WorkspaceEvent
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.state import QueuedMessage, WorkspaceState


class MessageQueue:
    """Keeps and sends the queued messages of sessions."""

    def __init__(self, core: WorkspaceCore, requests: Requests, replies: Replies) -> None:
        self.core = core
        self._requests = requests
        self._replies = replies
        self._tasks = set[asyncio.Task[Any]]()
        self._sending = asyncio.Lock()
        """Held while a queued message is being sent."""
        self._loads: dict[str, asyncio.Task[None]] = {}
        """What reads the stored queue of a session, once."""
        core.subscribe(self._follow_reply)
        core.watch(self._follow_session)

    # --- use cases -----------------------------------------------------------------------

    async def add(self, session_id: str, message: QueuedMessage) -> None:
        """Add a message to its session's queue, which goes on if the reply is complete by then."""
        await self._change(session_id, (*self._of(session_id), message))
        if self._may_go_on(session_id):
            self._spawn(self.send_next())

    async def take(self, index: int) -> QueuedMessage | None:
        """Take a message out of the active session's queue; return None if it is not there."""
        queue = self.core.state.queue
        if not -len(queue) <= index < len(queue):
            return None
        taken = queue[index]
        rest = tuple(each for each in queue if each is not taken)
        await self._change(self.core.state.session_id, rest)
        return taken

    async def remove(self, index: int | None = None) -> None:
        """Remove a message of the active session's queue, by default all; this can be undone."""
        session_id, queue = self.core.state.session_id, self.core.state.queue
        if not queue or (index is not None and index >= len(queue)):
            return
        rest = () if index is None else (*queue[:index], *queue[index + 1 :])
        await self._change(session_id, rest)
        what = "the queued message" if len(queue) - len(rest) == 1 else "the queued messages"
        self.core.push_undo(
            what,
            lambda: self._change(session_id, queue),
            done="Removed",
            store=self.core.store_of(session_id),
        )

    @reported(False)
    async def send_next(self, *, despite_errors: bool = False) -> bool:
        """Send the active session's oldest queued message; True once it is on disk and on its way.

        One whose request has errors is sent with `despite_errors` only. False, with `Failed`
        published, if it was not sent; it stays in the queue then.
        """
        async with self._sending:
            state = self.core.state
            session_id, queue = state.session_id, state.queue
            if not queue or state.is_streaming:
                return False
            message = queue[0]
            parts = await asyncio.to_thread(parts_of, message)
            faults = self._requests.compose(message.text, parts=parts).errors
            if faults and not despite_errors:
                raise InputError(
                    f"The queued message was not sent. {faults[0].sentence}",
                    advice="Enter in the empty composer sends it anyway.",
                )

            def stored() -> None:
                self._show(session_id, (e for e in self._of(session_id) if e is not message))
                self._spawn(self._store(session_id))

            return await self._replies.submit(message.text, parts, session_id, stored)

    async def finish(self) -> None:
        """Wait until the queues are stored."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    # --- following replies and sessions ----------------------------------------------------

    def _follow_reply(self, event: WorkspaceEvent) -> None:
        match event:
            case ReplySettled(session_id, _, True, None) if self._may_go_on(session_id):
                self._spawn(self.send_next())
            case _:
                pass

    def _may_go_on(self, session_id: str) -> bool:
        """True if a session is active and ends with a complete reply without waiting calls."""
        state = self.core.state
        if not (state.is_active(session_id) and state.queue and state.entries):
            return False
        last = state.entries[-1]
        is_answered = last.message.role == "assistant" and last.status == "complete"
        return is_answered and not (state.is_streaming or state.pending_calls)

    def _follow_session(self, before: WorkspaceState, now: WorkspaceState) -> None:
        if now.session_id != before.session_id:
            self._loading(now.session_id)

    def _loading(self, session_id: str) -> asyncio.Task[None]:
        if session_id not in self._loads:
            self._loads[session_id] = self._spawn(self._load(session_id))
        return self._loads[session_id]

    async def _load(self, session_id: str) -> None:
        with suppress(TuiChatError):
            stored = await self.core.store_of(session_id).settings.get(_key(session_id))
            queue = read_queue(stored or "")
            if queue:
                self._show(session_id, (*queue, *self._of(session_id)))

    # --- changing and storing --------------------------------------------------------------

    def _of(self, session_id: str) -> tuple[QueuedMessage, ...]:
        return self.core.state.queues.get(session_id, ())

    def _show(self, session_id: str, queue: Iterable[QueuedMessage]) -> None:
        queues = {**self.core.state.queues, session_id: tuple(queue)}
        shown = {key: each for key, each in queues.items() if each}
        self.core.update(QueueChanged(), queues=shown)

    async def _change(self, session_id: str, queue: tuple[QueuedMessage, ...]) -> None:
        self._show(session_id, queue)
        await self._store(session_id)

    async def _store(self, session_id: str) -> None:
        """Store a queue as it is now; one that cannot be stored stays in memory."""
        await asyncio.wait((self._loading(session_id),))
        queue = self._of(session_id)
        try:
            text = pack(queue) if queue else ""
            await self.core.store_of(session_id).settings.set(_key(session_id), text)
        except TuiChatError as error:
            self.core.publish(Failed(error))

    def _spawn(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def parts_of(message: QueuedMessage) -> tuple[Part, ...]:
    """Read the attachments of a queued message. Raises InputError if one cannot be read."""
    from tui_chat.workspace.attachments import stored_attachment

    return tuple(stored_attachment(file).part for file in message.files)


def read_queue(stored: str) -> tuple[QueuedMessage, ...]:
    """Return a queue as it was stored; empty if that cannot be read."""
    try:
        return unpack(tuple[QueuedMessage, ...], stored) if stored else ()
    except (ValueError, TypeError, AttributeError):
        return ()


def _key(session_id: str) -> str:
    """Return the name of the stored setting that holds a session's queue."""
    return f"queue:{session_id}"

"""Messages typed while a reply arrives: each is sent when the reply before it is complete.

1. A queue belongs to one session, and its messages are sent to that one only, while it is active.
2. A reply that failed or was stopped, a waiting tool call, and a session that is opened later leave
   the queue as it is: `send_next` goes on.
3. It is stored with the session at each change, which is made to what is stored then, so that
   another window's change stays. A change that cannot be stored is made again with the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeAlias

from tui_chat.errors import InputError, TuiChatError
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.boundary import pack, unpack
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, Failed, ReplySettled
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.requests import Requests, require_usable_role
from tui_chat.workspace.state import QueuedMessage, WorkspaceState

_Queue: TypeAlias = tuple[QueuedMessage, ...]
_Change: TypeAlias = Callable[[_Queue], _Queue]


class MessageQueue:
    """Keeps and sends the queued messages of sessions."""

    def __init__(self, core: WorkspaceCore, requests: Requests, replies: Replies) -> None:
        self.core = core
        self._requests = requests
        self._replies = replies
        self._tasks = set[asyncio.Task[Any]]()
        self._sending = asyncio.Lock()
        """Held while a queued message is being sent."""
        self._storing = asyncio.Lock()
        """Held while a queue is read or stored."""
        self._unsaved: dict[str, tuple[_Change, ...]] = {}
        """The changes that could not be stored, by session id."""
        core.watch(self._follow_session)

    # --- use cases -----------------------------------------------------------------------

    async def add(self, session_id: str, message: QueuedMessage) -> None:
        """Add a message to its session's queue, which goes on if the reply is complete by then."""
        await self._change(session_id, lambda queue: (*queue, message), message.text)
        if self._may_go_on(session_id):
            self._spawn(self.send_next())

    async def save(self) -> None:
        """Store the active session's queue as it is shown, after that was not possible."""
        await self._change(self.core.state.session_id, lambda queue: queue)

    async def take(self, index: int) -> QueuedMessage | None:
        """Take a message out of the active session's queue; return None if it is not there."""
        queue = self.core.state.queue
        if not -len(queue) <= index < len(queue):
            return None
        await self._change(self.core.state.session_id, lambda now: _without(now, queue[index]))
        return queue[index]

    async def remove(self, index: int | None = None) -> None:
        """Remove a message of the active session's queue, by default all."""
        session_id, queue = self.core.state.session_id, self.core.state.queue
        if queue and (index is None or index < len(queue)):
            removed = queue if index is None else (queue[index],)
            await self._change(session_id, lambda now: _without(now, *removed))

    @reported(False)
    async def send_next(self, *, despite_errors: bool = False) -> bool:
        """Send the active session's oldest queued message; True once it is on disk and on its way.

        One whose request has errors is sent with `despite_errors` only. False, with `Failed`
        published, if it was not sent; it stays in the queue then.
        """
        async with self._sending:
            session_id = self.core.state.session_id
            await self.save()  # another window may have sent one
            state = self.core.state
            if state.session_id != session_id or not state.queue or state.is_streaming:
                return False
            message = state.queue[0]
            parts = await asyncio.to_thread(parts_of, message)
            faults = self._requests.compose(message.text, parts=parts).errors
            require_usable_role(faults)
            if faults and not despite_errors:
                raise InputError(
                    f"The queued message was not sent. {faults[0].sentence}",
                    advice="Enter in the empty composer sends it anyway.",
                )

            def stored() -> None:
                self._show(session_id, _without(self.core.state.queue, message))
                self._spawn(self._change(session_id, lambda now: _without(now, message)))

            return await self._replies.submit(message.text, parts, session_id, stored)

    async def finish(self) -> None:
        """Wait until the queues are stored."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    # --- following replies and sessions ----------------------------------------------------

    def follow(self, event: ReplySettled) -> None:
        """Send the next message after a reply that is complete."""
        if event.continues and event.target is None and self._may_go_on(event.session_id):
            self._spawn(self.send_next())

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
            self.core.update(queue=())
            self._spawn(self._load(now.session_id))

    async def _load(self, session_id: str) -> None:
        with suppress(TuiChatError):
            async with self._storing:
                queue = read_queue(await self.core.store_of(session_id).queues.get(session_id))
                self._show(session_id, self._changed(session_id, queue))

    # --- changing and storing --------------------------------------------------------------

    def _show(self, session_id: str, queue: _Queue) -> None:
        state, is_unsaved = self.core.state, session_id in self._unsaved
        if session_id == state.session_id and (queue, is_unsaved) != (
            state.queue,
            state.is_queue_unsaved,
        ):
            self.core.update(BranchChanged(), queue=queue, is_queue_unsaved=is_unsaved)

    def _changed(self, session_id: str, queue: _Queue) -> _Queue:
        for change in self._unsaved.get(session_id, ()):
            queue = change(queue)
        return queue

    async def _change(self, session_id: str, change: _Change, typed: str = "") -> None:
        """Change the stored queue of a session; `typed` leaves its draft with it. A queue that
        cannot be stored is shown all the same.
        """
        queues = self.core.store_of(session_id).queues

        def change_text(text: str) -> str:
            queue = change(self._changed(session_id, read_queue(text)))
            return pack(queue) if queue else ""

        if session_id == self.core.state.session_id:
            self._show(session_id, change(self.core.state.queue))
        async with self._storing:
            try:
                text = await queues.update(session_id, change_text, typed)
            except TuiChatError as error:
                self._unsaved[session_id] = (*self._unsaved.get(session_id, ()), change)
                self._show(session_id, self.core.state.queue)
                self.core.publish(Failed(error))
                return
            self._unsaved.pop(session_id, None)
            self._show(session_id, read_queue(text))

    def _spawn(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def parts_of(message: QueuedMessage) -> tuple[MediaBlock, ...]:
    """Read the attachments of a queued message. Raises InputError if one cannot be read."""
    from tui_chat.workspace.attachments import stored_attachment

    return tuple(stored_attachment(file).part for file in message.files)


def read_queue(stored: str) -> tuple[QueuedMessage, ...]:
    """Return a queue as it was stored; empty if that cannot be read."""
    try:
        return unpack(tuple[QueuedMessage, ...], stored) if stored else ()
    except (ValueError, TypeError, AttributeError):
        return ()


def _without(queue: _Queue, *taken: QueuedMessage) -> _Queue:
    """Return a queue without these messages; of equal ones the first is taken."""
    left = list(queue)
    for message in taken:
        if message in left:
            left.remove(message)
    return tuple(left)

"""Messages typed while a reply arrives: each is sent when the reply before it is complete.

1. A queue belongs to one session, and its messages are sent to that one only, while it is active.
2. A reply that failed or was stopped, a waiting tool call, and a session that is opened later leave
   the queue as it is: `send_next` goes on.
3. It is stored with the session at each change, so that it outlives the program. What another
   window stored meanwhile is taken over then, and before a message is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any

from tui_chat.errors import InputError, TuiChatError
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.message import Part
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Failed, QueueChanged, ReplySettled
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.requests import Requests, require_usable_role
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
        self._storing = asyncio.Lock()
        """Held while a queue is read or stored."""
        self._stored: dict[str, tuple[QueuedMessage, ...]] = {}
        """Each session's queue as this window read or stored it last."""
        core.watch(self._follow_session)

    @property
    def is_saved(self) -> bool:
        """False while the active session's queue is in memory only."""
        session_id = self.core.state.session_id
        return self.core.store_of(session_id).queues.is_saved(session_id)

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
            await self._store(self.core.state.session_id)  # another window may have sent one
            state = self.core.state
            session_id, queue = state.session_id, state.queue
            if not queue or state.is_streaming:
                return False
            message = queue[0]
            parts = await asyncio.to_thread(parts_of, message)
            faults = self._requests.compose(message.text, parts=parts).errors
            require_usable_role(faults)
            if faults and not despite_errors:
                raise InputError(
                    f"The queued message was not sent. {faults[0].sentence}",
                    advice="Enter in the empty composer sends it anyway.",
                )

            def stored() -> None:
                self._show(session_id, _without(self._of(session_id), (message,)))
                self._spawn(self._store(session_id))

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
            self._spawn(self._load(now.session_id))

    async def _load(self, session_id: str) -> None:
        queues = self.core.store_of(session_id).queues
        with suppress(TuiChatError):
            async with self._storing:
                if not queues.is_saved(session_id):
                    return  # it is merged with what is stored once it can be written
                text = await queues.get(session_id)
                base, ours = self._stored.get(session_id, ()), self._of(session_id)
                theirs = self._stored[session_id] = read_queue(text)
                self._show(session_id, _merged(base, ours, theirs))

    # --- changing and storing --------------------------------------------------------------

    def _of(self, session_id: str) -> tuple[QueuedMessage, ...]:
        return self.core.state.queues.get(session_id, ())

    def _show(self, session_id: str, queue: Iterable[QueuedMessage]) -> None:
        queues = {**self.core.state.queues, session_id: tuple(queue)}
        if queues[session_id] == self._of(session_id):
            return
        shown = {key: each for key, each in queues.items() if each}
        self.core.update(QueueChanged(), queues=shown)

    async def _change(self, session_id: str, queue: tuple[QueuedMessage, ...]) -> None:
        self._show(session_id, queue)
        await self._store(session_id)

    async def _store(self, session_id: str) -> None:
        """Store a queue with what changed here since it was read, and show it as it is then. One
        that cannot be stored stays in memory, and the store does the same once it can.
        """
        queues = self.core.store_of(session_id).queues
        ours = together = self._of(session_id)

        def change(text: str) -> str:
            nonlocal ours, together
            base, ours = self._stored.get(session_id, ()), self._of(session_id)
            together = _merged(base, ours, read_queue(text))
            return pack(together) if together else ""

        def committed(_: str) -> None:
            self._stored[session_id] = together
            self._show(session_id, _merged(ours, self._of(session_id), together))

        try:
            async with self._storing:
                await queues.update(session_id, change, pack(ours), committed)
        except TuiChatError as error:
            self.core.publish(QueueChanged())
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


def _merged(
    base: tuple[QueuedMessage, ...],
    ours: tuple[QueuedMessage, ...],
    theirs: tuple[QueuedMessage, ...],
) -> tuple[QueuedMessage, ...]:
    """Return a queue that was `base` with the changes of two: removed where one removed it, and
    what was added here behind what was added there.
    """
    if theirs == base:
        return ours
    return (*_without(theirs, _without(base, ours)), *_without(ours, base))


def _without(
    queue: tuple[QueuedMessage, ...], taken: tuple[QueuedMessage, ...]
) -> tuple[QueuedMessage, ...]:
    """Return a queue without these messages; of equal ones the first is taken."""
    rest, left = list(taken), list[QueuedMessage]()
    for message in queue:
        if message in rest:
            rest.remove(message)
        else:
            left.append(message)
    return tuple(left)

"""Working with what was said: siblings, edits, forks, deletions, pins.

Nothing is overwritten: an edit is a sibling, and what is deleted can be brought back.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.errors import InputError
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Node
from tui_chat.models.text import clean
from tui_chat.workspace.changes import Done
from tui_chat.workspace.opening import Opening
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.state import State
from tui_chat.workspace.undo import Undo


class Branches:
    """The tree of the shown session."""

    def __init__(
        self, state: State, outside: Outside, opening: Opening, replies: Replies, undo: Undo
    ) -> None:
        self._state = state
        self._outside = outside
        self._store = outside.store
        self._opening = opening
        self._replies = replies
        self._undo = undo

    async def show_sibling(self, entry_id: str, step: int) -> None:
        """Show another version of a message; see `Desk.show_sibling`."""
        with self._outside.telling():
            await self._store.branches.activate_sibling(entry_id, step)
            await self._opening.reload()

    async def tree(self) -> tuple[Node, ...]:
        """Return all branches of the shown session; see `Desk.tree`."""
        with self._outside.telling():
            if self._state.session is not None:
                return await self._store.branches.tree(self._state.session_id)
        return ()

    async def show(self, message_id: str) -> None:
        """Show the branch that a message is on."""
        with self._outside.telling():
            if self._state.session is not None:
                await self._store.branches.activate(self._state.session_id, message_id)
                await self._opening.reload()

    async def say_system(self, text: str) -> bool:
        """Add a system message at the end of the shown branch; see `Desk.say_system`."""
        await self._opening.whole()
        with self._outside.telling():
            text = clean(text)
            session_id = self._state.session_id
            if not await self._add_system(text, session_id):
                return False
            await self._seen(session_id)
            return True
        return False

    async def _add_system(self, text: str, session_id: str) -> bool:
        async with self._opening.session_lock:
            is_there = self._opening.is_whole and self._state.session_id == session_id
            if not is_there or not self._replies.may_send():
                return False
            state = self._state
            session = state.session or await self._opening.begin(text)
            parent = state.entries[-1].message.id if state.entries else None
            now = self._outside.now().timestamp()
            message = Message("system", text, timestamp=now)
            await self._store.messages.add(session.session_id, message, parent)
            if parent is None:
                await self._opening.has_begun(session)
            return True

    async def edit(self, entry_id: str, text: str, *, send: bool) -> bool:
        """Put another version beside a message; see `Desk.edit`."""
        await self._opening.whole()
        with self._outside.telling():
            entry = self._entry(entry_id)
            message = entry.message
            text = clean(text)
            if entry.status == "streaming":
                raise InputError("This reply is still arriving.", advice="Esc stops it.")
            if not text.strip() and not message.parts and not message.tool_calls:
                raise InputError("Nothing is left of the message.", advice="Delete it instead.")
            if send and not self._replies.may_send():
                return False
            if text != message.content:
                # Where text and pictures stood, and what was refused, was true of the old text.
                said = replace(message.semantics, layout=None, refusal="", wire=None)
                now = self._outside.now().timestamp()
                fresh = replace(message, content=text, semantics=said, timestamp=now)
                edited = await self._store.messages.edit(entry_id, fresh)
                await self._opening.reload()
                entry_id = edited.message.id
            return await self._replies.go_on(entry_id) if send else True
        return False

    async def fork(self, entry_id: str) -> bool:
        """Begin a new session with a copy of the branch up to a message, and show it."""
        await self._opening.whole()
        with self._outside.telling():
            self._entry(entry_id)
            session = await self._store.branches.fork(entry_id)
            await self._opening.open(session.session_id)
            await self._opening.list_sessions()
            count = len(self._state.entries)
            words = f"{count:,} message{'s' * (count != 1)}"
            self._outside.tell(Done(f"Forked: this is a new session, with {words}."))
            return True
        return False

    async def delete(self, entry_id: str) -> None:
        """Delete a message with all that follows it; see `Desk.delete_message`."""
        await self._opening.whole()
        with self._outside.telling():
            entry = self._entry(entry_id)
            session_id = self._state.session_id
            await self._store.messages.delete(entry_id)

            async def bring_back() -> None:
                await self._store.messages.restore(entry_id)
                await self._seen(session_id)

            await self._seen(session_id)
            self._undo.push(_called(entry), bring_back, message_id=entry_id)

    async def pin(self, entry_id: str, pinned: bool) -> None:
        """Have every truncation keep a message, or no longer."""
        with self._outside.telling():
            await self._store.messages.pin(entry_id, pinned)
            await self._opening.reload()

    async def _seen(self, session_id: str) -> None:
        if self._state.shows(session_id):
            await self._opening.open(session_id)
        await self._opening.list_sessions()

    def _entry(self, entry_id: str) -> Entry:
        for entry in self._state.entries:
            if entry.message.id == entry_id:
                return entry
        raise InputError("This message is not on the shown branch any more.")


_WHO = {
    "user": "your message",
    "assistant": "a reply",
    "system": "a system message",
    "tool": "a tool's answer",
}


def _called(entry: Entry) -> str:
    words = " ".join(entry.message.content[:200].split())
    short = words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]}…"
    return f"{_WHO[entry.message.role]} “{short}”" if short else _WHO[entry.message.role]


MOST_WORDS = 40
"""Characters of a message that are enough to know it by."""

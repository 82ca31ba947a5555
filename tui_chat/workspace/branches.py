"""Branches: versions of messages, edits, forks, deletions and pins in the active session.

Nothing is overwritten: an edit adds a version, and what is deleted can be restored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_chat.context.inputs import sendable_messages
from tui_chat.errors import InputError
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Node
from tui_chat.models.text import clean
from tui_chat.workspace.events import Done
from tui_chat.workspace.request_history import with_known_messages
from tui_chat.workspace.sessions import default_title

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

EXCERPT_LENGTH = 40
"""Characters of a message that are enough to recognise it."""


class Branches:
    """Changes the tree of the active session."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def tree(self) -> tuple[Node, ...]:
        """Return all messages of the active session, each after its parent."""
        workspace = self._workspace
        with workspace.reporting():
            if workspace.state.session is not None:
                return await workspace.active_store.branches.tree(workspace.state.session_id)
        return ()

    async def path_to(self, message_id: str) -> tuple[Entry, ...]:
        """Return the messages that lead to one, itself included, on whatever branch."""
        with self._workspace.reporting():
            return await self._workspace.active_store.branches.path_to(message_id)
        return ()

    async def messages_to(self, message_id: str) -> tuple[Message, ...]:
        """Return the messages that a model is sent of the branch that ends with a message."""
        entries = await self.path_to(message_id)
        return sendable_messages(with_known_messages(entries, self._workspace.state.entries))

    async def show(self, message_id: str) -> None:
        """Switch to the branch that a message of the active session is on."""
        workspace = self._workspace
        with workspace.reporting():
            if workspace.state.session is not None:
                await workspace.active_store.branches.activate(
                    workspace.state.session_id, message_id
                )
                await workspace.sessions.reload_branch()

    async def show_version(self, entry_id: str, step: int) -> None:
        """Switch to the version of a message that is `step` after it (before it if negative) and
        what follows it. Nothing happens beyond the first and last version.
        """
        workspace = self._workspace
        if workspace.state.session is None:
            workspace.sessions.show_greeting(step)
            return
        with workspace.reporting():
            await workspace.active_store.branches.activate_sibling(entry_id, step)
            await workspace.sessions.reload_branch()

    async def add_system_message(self, text: str) -> bool:
        """Add a system message at the end of the active branch. Return False if that is not
        possible now, which is reported.
        """
        workspace = self._workspace
        await workspace.sessions.branch_loaded()
        with workspace.reporting():
            session_id = workspace.state.session_id
            if not await self._add_system_message(clean(text), session_id):
                return False
            await self._refresh(session_id)
            return True
        return False

    async def _add_system_message(self, text: str, session_id: str) -> bool:
        workspace = self._workspace
        async with workspace.sessions.session_lock:
            state = workspace.state
            is_there = state.is_branch_loaded and state.session_id == session_id
            if not is_there or not workspace.replies.may_send():
                return False
            session = state.session or await workspace.sessions.create(text)
            parent = state.entries[-1].message.id if state.entries else None
            message = Message("system", text, timestamp=workspace.now().timestamp())
            await workspace.active_store.messages.add(session.session_id, message, parent)
            if state.session is None:
                await workspace.sessions.confirm_created(session)
            return True

    async def edit(self, entry_id: str, text: str, *, send: bool = False) -> bool:
        """Add a version of a message with another text, and switch to it. With `send`, request the
        reply to it. Return False if that is not possible, which is reported.
        """
        workspace = self._workspace
        await workspace.sessions.branch_loaded()
        with workspace.reporting():
            entry = self._entry(entry_id)
            message = entry.message
            text = clean(text)
            if entry.status == "streaming":
                raise InputError("This reply is still arriving.", advice="Esc stops it.")
            if not text.strip() and not message.parts and not message.tool_calls:
                raise InputError("Nothing is left of the message.", advice="Delete it instead.")
            if send and not workspace.replies.may_send():
                return False
            if text != message.content:
                # The layout of text and pictures, and a refusal, belong to the old text.
                semantics = replace(
                    message.semantics,
                    layout=None,
                    refusal="",
                    wire=None,
                    references=message.semantics.references.edited(message.content, text),
                )
                now = workspace.now().timestamp()
                edited = replace(message, content=text, semantics=semantics, timestamp=now)
                if semantics.summary is not None and entry is not workspace.state.entries[-1]:
                    # As a version it would lose what follows.
                    await workspace.compaction.edit(entry, text)
                    sentence = "The edited summary is at the end, and counts instead of the first."
                    workspace.publish(Done(sentence))
                    return True
                entry = await workspace.active_store.messages.edit(entry_id, edited)
                await workspace.sessions.reload_branch()
            return await workspace.replies.reply_to(entry.message.id) if send else True
        return False

    async def fork(self, entry_id: str, title: str = "") -> bool:
        """Create a session with a copy of the branch up to a message, and open it. Without a title
        it has that of the original.
        """
        workspace = self._workspace
        await workspace.sessions.branch_loaded()
        with workspace.reporting():
            self._entry(entry_id)
            if workspace.state.is_temporary:
                advice = "Keep this session first (/keep)."
                raise InputError("A temporary session cannot be forked.", advice=advice)
            session = await workspace.active_store.branches.fork(entry_id, default_title(title))
            await workspace.sessions.activate(session.session_id)
            await workspace.sessions.refresh_list()
            count = len(workspace.state.entries)
            messages = f"{count:,} message{'s' * (count != 1)}"
            workspace.publish(Done(f"Forked: this is a new session, with {messages}."))
            return True
        return False

    async def was_made_here(self, entry_id: str) -> bool:
        """Return True if a message is part of an exchange of this program; False if it was recorded
        or imported, or if that cannot be told.

        The reply that it is, or the next one, else the one before it, tells.
        """
        workspace = self._workspace
        ids = [entry.message.id for entry in workspace.state.entries]
        at = ids.index(entry_id) if entry_id in ids else 0
        entries = (*workspace.state.entries[at:], *reversed(workspace.state.entries[:at]))
        replies = (entry for entry in entries if entry.message.role == "assistant")
        reply = next(replies, None)
        with workspace.reporting():
            if reply is not None:
                return await workspace.active_store.requests.was_sent_here(reply.message.id)
        return False

    async def delete(self, entry_id: str) -> None:
        """Delete a message with all that follows it. `Workspace.undo` restores them."""
        workspace = self._workspace
        await workspace.sessions.branch_loaded()
        with workspace.reporting():
            entry = self._entry(entry_id)
            session_id, store = workspace.state.session_id, workspace.active_store
            await store.messages.delete(entry_id)

            async def restore() -> None:
                await store.messages.restore(entry_id)
                await self._refresh(session_id)

            await self._refresh(session_id)
            workspace.push_undo(_description(entry), restore, message_id=entry_id, store=store)

    async def pin(self, entry_id: str, pinned: bool) -> None:
        """Pin or unpin a message. A pinned message is never truncated."""
        workspace = self._workspace
        with workspace.reporting():
            await workspace.active_store.messages.pin(entry_id, pinned)
            await workspace.sessions.reload_branch()

    async def _refresh(self, session_id: str) -> None:
        sessions = self._workspace.sessions
        if self._workspace.state.is_active(session_id):
            await sessions.activate(session_id)
        await sessions.refresh_list()

    def _entry(self, entry_id: str) -> Entry:
        for entry in self._workspace.state.entries:
            if entry.message.id == entry_id:
                return entry
        raise InputError("This message is not on the shown branch any more.")


_NOUNS = {
    "user": "your message",
    "assistant": "a reply",
    "system": "a system message",
    "tool": "a tool's answer",
}


def _description(entry: Entry) -> str:
    text = " ".join(entry.message.content[:200].split())
    excerpt = text if len(text) <= EXCERPT_LENGTH else f"{text[:EXCERPT_LENGTH]}…"
    noun = _NOUNS[entry.message.role]
    return f"{noun} “{excerpt}”" if excerpt else noun

"""Branches: versions of messages, edits, forks, deletions, pins and mutes in the active session.

1. Nothing is overwritten: an edit adds a version, and what is deleted can be restored.
2. A mute leaves a message out of requests; it stays in the transcript. Like a pin it belongs to the
   message: every branch through it obeys it, and a fork gets a copy of its own.
3. What is not sent can be more than what is muted: a call goes with its result. `muted_messages`
   says what goes, and unmuting one message of such an exchange unmutes all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tui_chat.compose import Composed
from tui_chat.context.generation import continued_text
from tui_chat.context.history import summary_of
from tui_chat.context.muted_history import answered_calls, without_muted
from tui_chat.errors import InputError, NotYet
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import TextBlock
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import NOT_MUTED, Message, Muted, with_blocks, with_content
from tui_chat.models.session import Entry, Node, PlaceName
from tui_chat.models.text import clean
from tui_chat.workspace.aside import Aside
from tui_chat.workspace.compaction import Compaction
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Done
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.session_list import default_title
from tui_chat.workspace.sessions import Sessions

EXCERPT_LENGTH = 40
"""Characters of a message that are enough to recognize it."""


@dataclass(eq=False)
class Branches:
    """Changes the tree of the active session."""

    core: WorkspaceCore
    _sessions: Sessions
    _replies: Replies
    _side_requests: Aside
    _compaction: Compaction

    @reported(())
    async def tree(self) -> tuple[Node, ...]:
        """Return all messages of the active session, each after its parent."""
        return await self.core.active_store.branches.tree(self.core.state.session_id)

    @reported(MappingProxyType[str, str]({}))
    async def excerpts(self, message_ids: Iterable[str], length: int = 200) -> Mapping[str, str]:
        """Return the first characters of messages' texts."""
        return await self.core.active_store.branches.excerpts(message_ids, length)

    @reported(None)
    async def show(self, message_id: str) -> None:
        """Switch to the branch that a message of the active session is on."""
        core = self.core
        if core.state.session is not None:
            await core.active_store.branches.activate(core.state.session_id, message_id)
            await self._sessions.reload_branch()

    async def show_version(self, entry_id: str, step: int) -> None:
        """Switch to the version of a message that is `step` after it (before it if negative) and
        what follows it. Nothing happens beyond the first and last version.
        """
        core = self.core
        if core.state.session is None:
            self._sessions.show_greeting(step)
            return
        with core.reporting():
            await core.active_store.branches.activate_sibling(entry_id, step)
            await self._sessions.reload_branch()

    @reported(False)
    async def add_system_message(self, text: str, title: str = "") -> bool:
        """Add a system message at the end of the branch; a session that begins with it is called
        by the beginning of `title`. Return False, reported, if it fails.
        """
        core = self.core
        await self._sessions.branch_loaded()
        message = Message.of("system", clean(text), timestamp=core.now().timestamp())
        return await self.append(message, core.state.session_id, title=title)

    @reported(False)
    async def append(
        self,
        message: Message,
        session_id: str,
        *,
        model: str = "",
        done: str = "",
        title: str = "",
    ) -> bool:
        """Add a message, which a `model` wrote if one did, at the end of the active branch, if that
        is still a branch of this session. Return False if that is not possible now, which is
        reported. With the word for what was `done`, that is said.
        """
        core = self.core
        await self._sessions.branch_loaded()
        async with self._sessions.lock:
            state = core.state
            is_there = state.is_branch_loaded and state.session_id == session_id
            if not is_there or not self._replies.may_send():
                return False
            new = None
            if state.session is None:
                new = self._sessions.new_session(title or message.content)
            parent = state.entries[-1].message.id if state.entries else None
            messages = core.active_store.messages
            settings = self._sessions.settings_when_begun() if new is not None else None
            entry = await messages.add(session_id, message, parent, model, new, settings)
            if new is not None:
                session = await core.store.sessions.get(session_id) or new.session
                core.update(**self._sessions.changes_when_begun(session))
        await self._sessions.refresh(session_id)
        if done:
            core.publish(Done(f"{done} {describe_message(entry)}.", session_id=session_id))
        return True

    @reported(False)
    async def edit(self, entry_id: str, text: str, *, send: bool = False) -> bool:
        """Add a version of a message with another text, and switch to it. With `send`, request the
        reply to it. Return False if that is not possible, which is reported.
        """
        core = self.core
        await self._sessions.branch_loaded()
        entry = self._entry(entry_id)
        message = entry.message
        text = clean(text)
        if entry.status == "streaming":
            raise NotYet("This reply is still arriving.", advice="Esc stops it.")
        if not text.strip() and not message.parts and not message.tool_calls:
            raise InputError("Nothing is left of the message.", advice="Delete it instead.")
        if send and not self._replies.may_send():
            return False
        if text != message.content:
            # A refusal, and the tokens, belong to the old text.
            kept = [b for b in message.blocks if not (isinstance(b, TextBlock) and b.is_refusal)]
            bare = replace(with_blocks(message, kept), extras=None)
            about, now = replace(message.about, tokens=""), core.now().timestamp()
            edited = replace(with_content(bare, text), about=about, timestamp=now)
            entry = await core.active_store.messages.edit(entry_id, edited)
            await self._sessions.reload_branch()
        return await self._replies.reply_to(entry.message.id) if send else True

    async def continue_message(
        self, entry_id: str, composed: Composed, on_text: Callable[[str], None]
    ) -> None:
        """Have the model continue the last message of the user (`composed` requests it): the longer
        text is a version of it. Reports why if that is not possible.
        """
        core, inputs = self.core, composed.inputs
        assert inputs is not None  # it is no captured request
        session_id, begun = core.state.session_id, continued_text(inputs)
        text = await self._side_requests.generate(
            "continue", composed, lambda more: on_text(begun + more), for_user=True
        )
        if text and core.state.session_id == session_id:
            await self.edit(entry_id, begun + text)

    @reported(False)
    async def fork(self, entry_id: str, title: str = "") -> bool:
        """Copy the branch up to a message to a new session and open it; the title may stay."""
        core = self.core
        await self._sessions.branch_loaded()
        self._entry(entry_id)
        if core.state.is_temporary:
            advice = "Keep this session first (/keep)."
            raise InputError("A temporary session cannot be forked.", advice=advice)
        session = await core.active_store.branches.fork(entry_id, default_title(title))
        await self._sessions.open_added(session.session_id)
        count = len(core.state.entries)
        core.publish(Done(f"Forked: this is a new session, with {_counted(count)}."))
        return True

    @reported(None)
    async def delete(self, entry_id: str) -> None:
        """Delete a message, on any branch, and what follows it. `Workspace.undo` restores them."""
        core = self.core
        await self._sessions.branch_loaded()
        session_id, store = core.state.session_id, core.active_store
        entry = await store.messages.get(entry_id)
        if entry is None:
            raise InputError("This message was deleted meanwhile.")
        await store.messages.delete(entry_id)

        async def restore() -> None:
            await store.messages.restore(entry_id)
            await self._sessions.refresh(session_id)

        await self._sessions.refresh(session_id)
        core.push_undo(describe_message(entry), restore, message_id=entry_id, store=store)

    async def name_place(self, message_id: str, name: str) -> None:
        """Name a message of the active session; an empty name removes it. Raises StoreError."""
        session = self.core.state.session
        if session is not None:
            others = [place for place in session.places if place.message_id != message_id]
            new = [PlaceName(message_id, name)] if name else []
            await self.core.change_session(places=(*others, *new))

    @reported(None)
    async def pin(self, entry_id: str, pinned: bool) -> None:
        """Pin or unpin a message. A pinned message is never truncated, and not muted."""
        entry = self._entry(entry_id)
        await self.core.active_store.messages.pin(entry_id, pinned)
        await self._sessions.reload_branch()
        done = "Pinned" if pinned else "Unpinned"
        effect = ", which is no longer muted" if pinned and entry.message.muted.whole else ""
        self.core.publish(Done(f"{done} {describe_message(entry)}{effect}."))

    # --- mutes -------------------------------------------------------------------------------

    @reported(None)
    async def toggle_mute(self, entry_id: str) -> None:
        """Mute a message, or unmute it with all that goes with it; switch a summary."""
        entries, entry = self.core.state.entries, self._entry(entry_id)
        message, what = entry.message, describe_message(entry)
        if (summary := summary_of(message)) is not None:
            await self._compaction.switch(entry_id, not summary.enabled)
        elif entry_id not in muted_messages(entries).ids:
            if entry.status == "streaming":
                raise NotYet("This reply is still arriving.", advice="Esc stops it.")
            await self._mute({entry_id: replace(message.muted, whole=True)}, "Muted", what)
        else:
            changes = {
                each.id: replace(each.muted, whole=False)
                for each in _exchange(entries, entries.index(entry))
                if each.muted.whole
            }
            if not message.muted.whole and message.muted.blocks:  # nothing was left of it
                changes[entry_id] = replace(message.muted, blocks=())
            await self._mute(changes, "Unmuted", what)

    @reported(None)
    async def set_mute(self, entry_id: str, muted: Muted) -> None:
        """Set what of a message is muted."""
        entry = self._entry(entry_id)
        if muted != entry.message.muted:
            done = "Muted parts of" if muted else "Unmuted"
            await self._mute({entry_id: muted}, done, describe_message(entry))

    @reported(False)
    async def mute(self, entry_ids: Iterable[str]) -> bool:
        """Mute several messages. Return False, which is reported, if there is nothing to mute."""
        wanted = set(entry_ids)
        changes = {
            entry.message.id: replace(entry.message.muted, whole=True)
            for entry in self.core.state.entries
            if entry.message.id in wanted
            and summary_of(entry.message) is None
            and entry.status != "streaming"
            and not entry.message.muted.whole
        }
        if not changes:
            raise InputError("There is nothing to mute, or it is muted already.")
        await self._mute(changes, "Muted", _counted(len(changes)))
        return True

    @reported(False)
    async def unmute(self, entry_ids: Iterable[str] | None = None) -> bool:
        """Unmute messages with their reasoning and parts, by default all of the active branch.
        Return False, which is reported, if none of them is muted.
        """
        wanted = None if entry_ids is None else set(entry_ids)
        changes = {
            entry.message.id: NOT_MUTED
            for entry in self.core.state.entries
            if entry.message.muted and (wanted is None or entry.message.id in wanted)
        }
        if not changes:
            raise InputError("Nothing is muted on this branch.")
        await self._mute(changes, "Unmuted", _counted(len(changes)))
        return True

    def tool_results_before(self, turns: int) -> tuple[str, ...]:
        """Return the ids of the tool results older than the user's last `turns` messages."""
        entries = self.core.state.entries
        users = [i for i, entry in enumerate(entries) if entry.message.role == "user"]
        if turns > len(users):
            return ()
        end = users[-turns] if turns else len(entries)
        return tuple(e.message.id for e in entries[:end] if e.message.role == "tool")

    async def _mute(self, changes: Mapping[str, Muted], done: str, what: str) -> None:
        """Store mutes, and say what was done."""
        core, session_id = self.core, self.core.state.session_id
        await core.active_store.messages.mute(changes)
        await self._sessions.refresh(session_id)
        core.publish(Done(f"{done} {what}.", session_id=session_id))

    def _entry(self, entry_id: str) -> Entry:
        for entry in self.core.state.entries:
            if entry.message.id == entry_id:
                return entry
        raise InputError("This message is not on the shown branch any more.")


_NOUNS = {
    "user": "your message",
    "assistant": "the reply",
    "system": "the system message",
    "tool": "the tool's answer",
}


def describe_message(entry: Entry) -> str:
    """Return a noun and the first words of a message, for sentences."""
    text = " ".join(entry.message.content[:200].split())
    excerpt = text if len(text) <= EXCERPT_LENGTH else f"{text[:EXCERPT_LENGTH]}…"
    noun = _NOUNS[entry.message.role]
    return f"{noun} “{excerpt}”" if excerpt else noun


def _counted(messages: int) -> str:
    return f"{messages:,} message{'s' * (messages != 1)}"


def _exchange(entries: Sequence[Entry], index: int) -> list[Message]:
    """Return a message with its calls' results, or with the message that has its call."""
    history = tuple(entry.message for entry in entries)
    related = {index}
    for at, _, result in answered_calls(history):
        if index in (at, result):
            related |= {at, result}
    return [history[each] for each in sorted(related)]


@dataclass(frozen=True, slots=True)
class MutedMessages:
    """What of a branch is not sent because it is muted, or goes with what is."""

    ids: frozenset[str] = frozenset()
    """Of messages."""
    calls: frozenset[tuple[str, str]] = frozenset()
    """Calls of messages that are sent: ids of message and call."""


NOTHING_MUTED = MutedMessages()


@recent_memo()
def muted_messages(entries: tuple[Entry, ...]) -> MutedMessages:
    """Return what of a branch is not sent, whatever is typed."""
    history = tuple(entry.message for entry in entries)
    muted = without_muted(history, True, False)
    if not muted.left_out and not muted.reduced:
        return NOTHING_MUTED
    return MutedMessages(
        frozenset(message.id for message in muted.left_out),
        frozenset(
            (stored.id, call.id)
            for stored, sent in muted.reduced
            for call in stored.tool_calls
            if call not in sent.tool_calls
        ),
    )

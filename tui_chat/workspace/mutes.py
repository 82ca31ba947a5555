"""Mutes: what of the active branch is left out of requests. It stays in the transcript.

1. A mute belongs to a message, as a pin does: every branch through the message obeys it, and a fork
   gets a copy of its own.
2. What is not sent can be more than what is muted: a call goes with its result. `muted_messages`
   says what goes, and unmuting one message of such an exchange unmutes all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tui_chat.context.history import summary_of
from tui_chat.context.muted_history import answered_calls, without_muted
from tui_chat.errors import InputError, NotYet
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.media import describe
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import NOT_MUTED, Muted
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.workspace.branches import describe_message
from tui_chat.workspace.compaction import Compaction
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.sessions import Sessions


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


@dataclass(eq=False)
class Mutes:
    """Mutes and unmutes messages of the active branch."""

    core: WorkspaceCore
    _sessions: Sessions
    _compaction: Compaction

    @reported(None)
    async def toggle(self, entry_id: str) -> None:
        """Mute a message, or unmute it with all that goes with it; switch a summary."""
        entries = self.core.state.entries
        index = self._index(entry_id)
        message = entries[index].message
        if (summary := summary_of(message)) is not None:
            await self._compaction.switch(entry_id, not summary.enabled)
        elif entry_id not in muted_messages(entries).ids:
            if entries[index].status == "streaming":
                raise NotYet("This reply is still arriving.", advice="Esc stops it.")
            changes = {entry_id: replace(message.muted, whole=True)}
            await self._change(changes, "Muted", describe_message(entries[index]))
        else:
            changes = {
                each.id: replace(each.muted, whole=False)
                for each in (entries[at].message for at in _exchange(entries, index))
                if each.muted.whole
            }
            if not message.muted.whole and message.muted.parts:  # nothing was left of it
                changes[entry_id] = replace(message.muted, parts=())
            await self._change(changes, "Unmuted", describe_message(entries[index]))

    @reported(None)
    async def set(self, entry_id: str, muted: Muted) -> None:
        """Set what of a message is muted."""
        entry = self.core.state.entries[self._index(entry_id)]
        before = entry.message.muted
        names = [
            *(["all of it"] if muted.whole is not before.whole else []),
            *(["the reasoning"] if muted.reasoning is not before.reasoning else []),
            *(
                one_line(describe(entry.message.parts[number]), 60) or "a part"
                for number in sorted({*muted.parts} ^ {*before.parts})
                if number < len(entry.message.parts)
            ),
        ]
        if not names:
            return
        is_more = bool(muted) and (muted.whole, muted.reasoning, len(muted.parts)) > (
            before.whole, before.reasoning, len(before.parts),
        )  # fmt: skip
        what = f"{', '.join(names)} of {describe_message(entry)}"
        await self._change({entry_id: muted}, "Muted" if is_more else "Unmuted", what)

    @reported(False)
    async def mute(self, entry_ids: Iterable[str]) -> bool:
        """Mute several messages. Return False, which is reported, if there is nothing to mute."""
        wanted = set(entry_ids)
        can_be_muted = {
            entry.message.id: entry.message.muted
            for entry in self.core.state.entries
            if entry.message.id in wanted
            and summary_of(entry.message) is None
            and entry.status != "streaming"
        }
        changes = {
            entry_id: replace(muted, whole=True)
            for entry_id, muted in can_be_muted.items()
            if not muted.whole
        }
        if not changes:
            sentence = (
                "All of it is muted already." if can_be_muted else "There is nothing to mute."
            )
            raise InputError(sentence)
        await self._change(changes, "Muted", _counted(len(changes)))
        return True

    @reported(False)
    async def unmute(self, entry_ids: Iterable[str] | None = None) -> bool:
        """Unmute messages with their reasoning and parts, by default all of the active branch.
        Return False, which is reported, if none of them is muted.
        """
        entries = self.core.state.entries
        wanted = None if entry_ids is None else set(entry_ids)
        changes = {
            entry.message.id: NOT_MUTED
            for entry in entries
            if entry.message.muted and (wanted is None or entry.message.id in wanted)
        }
        if not changes:
            raise InputError("Nothing is muted on this branch.")
        await self._change(changes, "Unmuted", _counted(len(changes)))
        return True

    def tool_results_before(self, turns: int) -> tuple[str, ...]:
        """Return the ids of the tool results older than the user's last `turns` messages."""
        entries = self.core.state.entries
        users = [i for i, entry in enumerate(entries) if entry.message.role == "user"]
        if turns > len(users):
            return ()
        end = users[-turns] if turns else len(entries)
        return tuple(e.message.id for e in entries[:end] if e.message.role == "tool")

    async def _change(self, changes: Mapping[str, Muted], done: str, what: str) -> None:
        """Store changes. `Workspace.undo` takes them back."""
        core, store = self.core, self.core.active_store
        session_id = core.state.session_id
        old = {
            entry.message.id: entry.message
            for entry in core.state.entries
            if entry.message.id in changes
        }
        await store.messages.mute(changes)
        await self._sessions.refresh(session_id)

        async def restore() -> None:
            await store.messages.mute({key: message.muted for key, message in old.items()})
            for key, message in old.items():
                if message.pinned:
                    await store.messages.pin(key, True)
            await self._sessions.refresh(session_id)

        undone = "Unmuted" if done == "Muted" else "Muted"
        if any(message.pinned and changes[key].whole for key, message in old.items()):
            undone += " and pinned"
        core.push_undo(what, restore, done=done, undone=undone, store=store)

    def _index(self, entry_id: str) -> int:
        for index, entry in enumerate(self.core.state.entries):
            if entry.message.id == entry_id:
                return index
        raise InputError("This message is not on the shown branch any more.")


def _exchange(entries: Sequence[Entry], index: int) -> set[int]:
    """Return a message with its calls' results, or with the message that has its call."""
    history = tuple(entry.message for entry in entries)
    related = {index}
    for at, _, result in answered_calls(history):
        if index in (at, result):
            related |= {at, result}
    return related


def _counted(messages: int) -> str:
    return f"{messages:,} message{'s' * (messages != 1)}"

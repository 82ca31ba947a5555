"""A panel: two to four slots, each with a model and a branch of the active session.

1. A draft goes to all slots that take part. Its message is stored once after each message that it
   follows, so every branch is a path through the session's tree, and every request an honest one.
2. The branches of slots are read again whenever a reply has ended or a tool has answered.
3. A panel ends with `keep` or `leave`. Until then replies go on where they were sent; afterwards
   the session decides, and the other branches stay as versions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.session import last_reply
from tui_chat.models.usage import NO_TIMING, Timing
from tui_chat.workspace.events import BranchChanged, ReplySettled, RequestOutdated
from tui_chat.workspace.exchange import Slot, Target
from tui_chat.workspace.settings import SessionValues
from tui_chat.workspace.state import LastSent

if TYPE_CHECKING:
    from tui_chat.compose import Composed
    from tui_chat.models.blocks import MediaBlock
    from tui_chat.models.envelope import Note
    from tui_chat.models.session import Entry
    from tui_chat.send import PartialReply
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.state import PendingToolCall
    from tui_chat.workspace.workspace import Workspace


@dataclass(slots=True, eq=False)
class PanelSlot:
    """A slot of a panel."""

    number: int
    """From 1."""
    target: Target
    entries: tuple[Entry, ...]
    """Its branch, first message first."""
    name: str
    """Its number and model, with the endpoint where another slot has a model of that name."""
    is_included: bool = True
    """True if it gets the next draft."""
    reply_id: str = ""
    """The id of the reply that its branch is found by; empty before the first send."""

    @property
    def reply(self) -> Entry | None:
        """The last reply that was sent for here."""
        return last_reply(self.entries) if self.reply_id else None

    @property
    def is_arriving(self) -> bool:
        """True while its reply arrives."""
        return bool(self.entries) and self.entries[-1].status == "streaming"

    @property
    def slot(self) -> Slot:
        """Its target and branch."""
        return Slot(self.target, self.entries)


class Panel:
    """The slots of a comparison, and what is done with them."""

    def __init__(
        self, workspace: Workspace, targets: Sequence[Target], changed: Callable[[], object]
    ) -> None:
        """`changed` is called whenever a slot or its calls may have changed."""
        self._workspace = workspace
        self._changed = changed
        entries = workspace.state.entries
        self.slots = [
            PanelSlot(number, target, entries, f"{number} {_name(target, targets)}")
            for number, target in enumerate(targets, 1)
        ]
        self.timing_of = workspace.replies.timing
        """Returns the timing of a reply that has ended."""
        self._unsubscribe = workspace.subscribe(self._follow)
        self._is_closed = False
        self._reading = asyncio.Lock()
        self._waiting: set[asyncio.Task[None]] = set()

    # --- following -----------------------------------------------------------------------

    def _follow(self, event: WorkspaceEvent) -> None:
        # A reading that has not begun reads this change, too.
        if isinstance(event, ReplySettled | BranchChanged) and len(self._waiting) < 2:
            task = asyncio.ensure_future(self.refresh())
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)

    async def refresh(self) -> None:
        """Read the branches of the slots again; entries that did not change stay the same."""
        store = self._workspace.active_store
        async with self._reading:
            with self._workspace.reporting():
                for slot in self.slots:
                    if slot.reply_id:
                        read = await store.branches.path_to(slot.reply_id, below=True)
                        same = {entry.message.id: entry for entry in slot.entries}
                        slot.entries = tuple(
                            old if (old := same.get(entry.message.id, entry)) == entry else entry
                            for entry in read
                        )
            self._changed()

    async def settled(self) -> None:
        """Wait until all slots show what has arrived."""
        while self._waiting:
            await asyncio.wait(self._waiting)

    def partial(self, slot: PanelSlot) -> PartialReply | None:
        """Return what has arrived of a slot's reply."""
        return self._workspace.state.partials.get(slot.entries[-1].message.id)

    def is_busy(self, slot: PanelSlot) -> bool:
        """Return True if a slot's reply arrives, or a tool runs for it."""
        return slot.is_arriving or any(call.is_running for call in self.calls(slot))

    def timing(self, slot: PanelSlot) -> Timing:
        """Return how long a slot's reply takes and what it costs, so far."""
        reply = slot.reply
        if reply is None:
            return NO_TIMING
        partial = self.partial(slot) if slot.is_arriving else None
        return self.timing_of(reply) if partial is None else partial.timing

    def calls(self, slot: PanelSlot) -> tuple[PendingToolCall, ...]:
        """Return the tool calls that wait in a slot."""
        if not slot.reply_id or slot.is_arriving:
            return ()
        return self._workspace.state.calls_at_end(slot.entries)

    # --- sending -------------------------------------------------------------------------

    @property
    def included(self) -> list[PanelSlot]:
        """The slots that get the next draft."""
        return [slot for slot in self.slots if slot.is_included]

    def faults(self, draft: str, parts: tuple[MediaBlock, ...] = ()) -> list[Note]:
        """Return the errors in the requests that a draft would be, each with the slot's name.
        Raises InputError if the draft cannot be sent.
        """
        if not self.included:
            raise InputError("No slot takes part.", advice="Space lets one take part again.")
        for slot in self.included:
            if slot.is_arriving:
                raise InputError(
                    f"A reply is still arriving in {slot.name}.", advice="Esc stops it."
                )
            if self.calls(slot):
                raise InputError(f"A tool call waits in {slot.name}.", advice="Answer it first.")
        return [
            replace(note, sentence=f"{slot.name}: {note.sentence}")
            for slot in self.included
            for note in self._compose(slot, draft, parts).errors
        ]

    async def send(
        self, draft: str, parts: tuple[MediaBlock, ...], stored: Callable[[], None]
    ) -> bool:
        """Send a draft to the slots that take part; True once it is on its way to one of them."""
        return await self._submit(
            self.included, [slot.slot for slot in self.included], draft, parts, stored
        )

    async def regenerate(self, slot: PanelSlot) -> None:
        """Request another version of a slot's last reply."""
        reply = slot.reply
        if reply is None or slot.is_arriving:
            raise InputError(f"There is no reply to generate again in {slot.name}.")
        entries = slot.entries[: slot.entries.index(reply)]
        await self._submit([slot], [Slot(slot.target, entries)])

    async def _submit(
        self,
        slots: Sequence[PanelSlot],
        sent: Sequence[Slot],
        draft: str = "",
        parts: tuple[MediaBlock, ...] = (),
        stored: Callable[[], None] | None = None,
    ) -> bool:
        self._workspace.tool_sources.load()
        replies = await self._workspace.replies.submit_to(sent, draft, parts, stored)
        for slot, reply_id in zip(slots, replies, strict=False):
            slot.reply_id = reply_id
        await self.refresh()
        return bool(replies)

    def _compose(self, slot: PanelSlot, draft: str, parts: tuple[MediaBlock, ...] = ()) -> Composed:
        return self._workspace.requests.compose_for(slot.slot, draft, parts)

    async def request(self, slot: PanelSlot, draft: str) -> Composed | None:
        """Return the request of a slot's last reply, else the one that a draft would be."""
        if (reply := slot.reply) is None:
            return self._compose(slot, draft)
        sent = await self._workspace.sent.sent_request(reply.message.id)
        return sent.shown if sent is not None else None

    # --- stopping and ending -------------------------------------------------------------

    async def stop(self, slots: Sequence[PanelSlot]) -> bool:
        """Stop replies and tools of some slots; False if there was nothing to stop."""
        stopped = self._workspace.tool_sources.stop_waiting()
        for slot in slots:
            stopped = self._workspace.tools.stop(slot.entries) or stopped
            if slot.is_arriving:
                stopped = True
                await self._workspace.replies.stop(reply_id=slot.entries[-1].message.id)
        return stopped

    async def keep(self, kept: PanelSlot) -> None:
        """End the panel: the conversation goes on with a slot's branch, model, preset and settings.
        The others are stopped, and stay as versions.
        """
        await self.stop([slot for slot in self.slots if slot is not kept])
        workspace = self._workspace
        await self.leave(kept)
        target = kept.target
        with workspace.reporting():
            state = target.applied_to(workspace.state, workspace.library)
            values = SessionValues(state.endpoint, target.model, state.settings)
            if values != workspace.settings.values:
                await workspace.settings.save(values)
            if target.preset:
                await workspace.presets.choose(target.preset)
        reply = kept.reply
        sent = await self.request(kept, "") if reply is not None else None
        if reply is not None and sent is not None:
            last = {**workspace.state.last_sent, target.endpoint: LastSent(reply.message.id, sent)}
            workspace.update(RequestOutdated(), last_sent=last)

    async def leave(self, shown: PanelSlot) -> None:
        """End the panel, with the branch of a slot as the active one."""
        self.close()
        self._workspace.replies.forget_targets()
        if shown.reply_id:
            with self._workspace.reporting():
                await self._workspace.branches.show(shown.entries[-1].message.id)

    def close(self) -> None:
        """Follow the workspace no longer."""
        if not self._is_closed:
            self._is_closed = True
            self._unsubscribe()


def _name(target: Target, targets: Sequence[Target]) -> str:
    model = target.model or "first model"
    endpoints = {other.endpoint for other in targets if other.model == target.model}
    return model if len(endpoints) == 1 and target.model else f"{model} @ {target.endpoint}"

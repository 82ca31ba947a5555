"""Replies that are no part of the conversation: the user's next message, answers to quiet prompts,
and summaries.

1. What a model writes for the user goes into the composer while it arrives, as one edit that undo
   takes back. It is saved like any draft, and never sent by itself. Typing stops it, and so does
   leaving the session.
2. The answer to a quiet prompt is shown in a dialog.
3. Compacting the history asks first, and opens the summary for reading. A model may take a minute
   to write one, and the user may type meanwhile: then the summary waits for `/compact` instead of
   opening over what is being typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.timer import Timer
from textual.worker import Worker

from tui_chat.ui.actions import UNDO_KEYS
from tui_chat.ui.areas.chat.drafts import confirm_send
from tui_chat.ui.key_names import key_name
from tui_chat.ui.questions import ask_text, confirm

if TYPE_CHECKING:
    from tui_chat.compose import Composed
    from tui_chat.models.envelope import ChatEnvelope
    from tui_chat.models.generation import GenerationKind
    from tui_chat.ui.areas.area import Area
    from tui_chat.ui.areas.chat.chat_pane import ChatPane
    from tui_chat.ui.areas.chat.composer import Composer
    from tui_chat.workspace.compaction import CompactionPlan
    from tui_chat.workspace.workspace import Workspace

REWRITE_SECONDS = 0.1
"""Seconds between two changes of the composer."""


class HistoryCompaction:
    """A summary that is being generated or awaits review."""

    def __init__(self, area: Area, pane: ChatPane, show_budget: Callable[[], None]) -> None:
        """`show_budget` ends the status that was shown meanwhile."""
        self._area, self._pane, self._show_budget = area, pane, show_budget
        self._writing: Worker[None] | None = None
        self._ready: tuple[CompactionPlan, str] | None = None
        """A summary that waits to be read and accepted."""

    @property
    def is_writing(self) -> bool:
        """True while a model writes a summary."""
        return self._writing is not None

    def stop(self) -> None:
        """Stop writing."""
        if self._writing is not None:
            self._writing.cancel()

    async def begin(self, workspace: Workspace) -> None:
        """Ask whether a model shall sum up older messages; show a summary that is ready."""
        if self._writing is not None:
            return
        if self._ready is not None:
            await self._read(workspace, *self._ready)
            return
        plan = await workspace.compaction.plan()
        if plan is not None and await self._confirm(plan):
            self._writing = self._area.run_worker(
                self._write(workspace, plan), group="compact", description="compact"
            )

    async def _confirm(self, plan: CompactionPlan) -> bool:
        """Ask whether to have older messages summed up, with what that sends and costs."""
        composed, budget = plan.composed, plan.composed.envelope.budget
        size = f"{budget.total:,} tokens" if budget is not None else "them"
        cost = f", ${plan.cost:.4f} without the reply" if plan.cost is not None else ""
        part = (
            ""
            if plan.is_whole
            else " Older messages do not fit into one request: repeat it for them."
        )
        question = (
            f"{composed.model} at {composed.endpoint.name} sums up the first {plan.messages:,} "
            f"messages ({plan.tokens:,} tokens in each request).{part} It gets {size}{cost}, with "
            "the preset “compact”.\n\nYou read and edit the summary before it counts. The messages "
            "stay in the session; Space on the summary sends them again."
        )
        return await confirm(
            self._area.tui, "Compact history", question, yes="Sum up", asked_for=True
        )

    async def _write(self, workspace: Workspace, plan: CompactionPlan) -> None:
        area = self._area

        def show(text: str) -> None:
            about = f"Summing up {plan.messages:,} messages · {len(text):,} characters"
            self._pane.activity.show_status(f"{about} · Esc stops")

        try:
            show("")
            text = await workspace.compaction.write(plan, show)
        finally:
            self._writing = None
            self._show_budget()
        if text:
            self._ready = plan, text
            if self._pane.composer.text or len(area.tui.screen_stack) > 1:
                area.notify("The summary is ready: /compact shows it.", markup=False)
            else:
                reading = self._read(workspace, *self._ready)
                area.run_worker(reading, group="dialog", exclusive=True, description="compact")

    async def _read(self, workspace: Workspace, plan: CompactionPlan, text: str) -> None:
        """Show a summary to be edited, and store it; if that fails, it is not lost."""
        about = f"It is sent instead of {plan.messages:,} messages ({plan.tokens:,} tokens)."
        title = f"Summary of {plan.messages:,} messages"
        while (written := await ask_text(self._area.tui, title, text, about=about)) is not None:
            text = written
            if await workspace.compaction.accept(plan, text):
                break
        self._ready = None


def offer(envelope: ChatEnvelope) -> str:
    """Return what no longer fits into the context, and what to do; empty if all does."""
    count = len(envelope.dropped)
    if count == 1:
        return "1 message no longer fits · /compact sums it up"
    words = f"{count:,} messages no longer fit · /compact sums them up"
    return words if count else ""


class SideReplies:
    """Requests replies that are no part of the conversation, and shows them."""

    def __init__(self, area: Area, pane: ChatPane, show_budget: Callable[[], None]) -> None:
        """`show_budget` ends the status that was shown meanwhile."""
        self._area, self._pane, self._show_budget = area, pane, show_budget
        self._impersonating: Worker[None] | None = None

    @property
    def is_impersonating(self) -> bool:
        """True while a model writes the user's message."""
        return self._impersonating is not None

    def stop(self) -> None:
        """Stop writing the user's message; what has arrived stays in the composer."""
        if self._impersonating is not None:
            self._impersonating.cancel()

    async def impersonate(self, workspace: Workspace) -> None:
        """Have the model write the user's next message."""
        composed = None if self.is_impersonating else await self._request(workspace, "impersonate")
        if composed is not None:
            writing = self._write(workspace, composed)
            self._impersonating = self._area.run_worker(
                writing, group="side", description="impersonate"
            )

    async def continue_message(self, workspace: Workspace, entry_id: str) -> None:
        """Have the model continue the user's last message."""
        composed = None if self.is_impersonating else await self._request(workspace, "continue")
        if composed is None:
            return
        status = f"{composed.model} continues your message"
        self._pane.activity.show_status(f"{status} · Esc stops")

        def show(text: str) -> None:
            words = f"{status} · {len(text):,} characters · Esc stops"
            self._pane.activity.show_status(words)

        async def write() -> None:
            try:
                await workspace.branches.continue_message(entry_id, composed, show)
            finally:
                self._impersonating = None
                self._show_budget()

        self._impersonating = self._area.run_worker(
            write(), group="side", description="continue your message"
        )

    async def quiet(self, workspace: Workspace, prompt: str) -> None:
        """Send an instruction, and show the answer; without one, ask for it."""
        from tui_chat.ui.dialogs.quiet_reply import QuietReply

        area = self._area
        if not prompt:
            about = "It is sent after the conversation; neither it nor the answer is stored there."
            written = await ask_text(area.tui, "Quiet prompt", about=about, enter="Enter sends")
            if written is None:
                return
            prompt = written
        composed = await self._request(workspace, "quiet", prompt)
        if composed is None:
            return
        reply = QuietReply(prompt, composed.model, area.tui.copy_to_clipboard)

        async def receive() -> None:
            try:
                await workspace.side_requests.generate("quiet", composed, reply.show_text)
            finally:
                reply.end()

        receiving = area.run_worker(receive(), group="side", description="quiet prompt")
        reply.stop = receiving.cancel
        inserted = await area.tui.push_screen_wait(reply)
        receiving.cancel()
        if inserted:
            self._pane.composer.insert_text(inserted)
            self._pane.composer.focus()

    async def _request(
        self,
        workspace: Workspace,
        kind: GenerationKind,
        prompt: str = "",
    ) -> Composed | None:
        """Return the request to send, the one that the inspector shows. Return None if the user
        decides not to send one with errors, and, after reporting why, if nothing can be sent now.
        """
        await workspace.active.branch_loaded()
        await workspace.requests.search_lore()
        if not workspace.replies.may_send():
            return None
        with workspace.reporting():
            composed = workspace.requests.compose_kind(kind, prompt)
            if await confirm_send(self._area.tui, composed.errors):
                return composed
        return None

    async def _write(self, workspace: Workspace, composed: Composed) -> None:
        area, session_id = self._area, workspace.state.session_id
        edit, arrived = ComposerEdit(self._pane.composer), ""
        timer: Timer | None = None

        def write() -> None:
            nonlocal timer
            timer = None
            if workspace.state.session_id != session_id or not edit.write(arrived):
                self.stop()
                return
            words = f"{composed.model} writes your message · {len(arrived):,} characters"
            self._pane.activity.show_status(f"{words} · Esc stops")

        def show(text: str) -> None:
            nonlocal arrived, timer
            arrived = text
            timer = timer or area.set_timer(REWRITE_SECONDS, write)

        text = ""
        self._pane.activity.show_status(f"{composed.model} writes your message · Esc stops")
        try:
            text = await workspace.side_requests.generate("impersonate", composed, show)
        finally:
            self._impersonating = None
            if timer is not None:
                timer.stop()
            is_whole = workspace.state.session_id == session_id and edit.write(arrived)
            self._show_budget()
        if text and is_whole:
            key = key_name(UNDO_KEYS.partition(",")[0])
            sentence = f"The model wrote this draft, and nothing was sent. {key} undoes it."
            area.notify(sentence, markup=False)


class ComposerEdit:
    """A text that is written into the composer piece by piece, as one edit that undo takes back."""

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self._shown = composer.text
        self._is_begun = False

    def write(self, text: str) -> bool:
        """Put the text so far in place of what was there before. Return False, with nothing
        changed, if the user has changed what is there.
        """
        composer = self._composer
        if composer.text != self._shown:
            return False
        if text:
            if self._is_begun:
                composer.undo()
            composer.history.checkpoint()
            composer.rewrite(text)
            composer.history.checkpoint()
            self._is_begun, self._shown = True, composer.text
        return True

"""Compacting the history from the chat: the question, the wait, and reading the summary.

A model may take a minute to write one, and the user may type meanwhile: then the summary waits for
`/compact` instead of opening over what is being typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.worker import Worker

if TYPE_CHECKING:
    from tui_chat.models.envelope import ChatEnvelope
    from tui_chat.ui.areas.chat.area import ChatArea
    from tui_chat.workspace.compaction import CompactionPlan
    from tui_chat.workspace.workspace import Workspace


class HistoryCompaction:
    """What the chat area knows of a summary that is being written, or waits to be read."""

    def __init__(self, area: ChatArea) -> None:
        self._area = area
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
        from tui_chat.ui.dialogs.questions import confirm_compaction

        if self._writing is not None:
            return
        if self._ready is not None:
            await self._read(workspace, *self._ready)
            return
        plan = await workspace.compaction.plan()
        if plan is not None and await confirm_compaction(self._area.tui, plan):
            self._writing = self._area.run_worker(
                self._write(workspace, plan), group="compact", description="compact"
            )

    async def _write(self, workspace: Workspace, plan: CompactionPlan) -> None:
        area = self._area

        def show(text: str) -> None:
            about = f"Summing up {plan.messages:,} messages · {len(text):,} characters"
            area.pane.activity.show_status(f"{about} · Esc stops")

        try:
            show("")
            text = await workspace.compaction.write(plan, show)
        finally:
            self._writing = None
            area.show_budget()
        if text:
            self._ready = plan, text
            if area.pane.composer.text or len(area.tui.screen_stack) > 1:
                area.notify("The summary is ready: /compact shows it.", markup=False)
            else:
                area.action_compact()

    async def _read(self, workspace: Workspace, plan: CompactionPlan, text: str) -> None:
        """Show a summary to be edited, and store it; if that fails, it is not lost."""
        from tui_chat.ui.dialogs.questions import ask_summary

        while (written := await ask_summary(self._area.tui, plan, text)) is not None:
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

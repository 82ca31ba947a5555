"""Replies that are no part of the conversation: summaries, and texts written for the user.

Compacting the history asks first, and opens the summary for reading. A model may take a minute to
write one, and the user may type meanwhile: then the summary waits for `/compact` instead of opening
over what is being typed.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING

from textual.worker import Worker

from tui_chat.models.text import Origin, OriginKind, Text
from tui_chat.tokens import counter_for
from tui_chat.ui.chat.drafts import confirm_send
from tui_chat.ui.questions import ask_text, confirm

if TYPE_CHECKING:
    from tui_chat.compose import Composed
    from tui_chat.models.envelope import ChatEnvelope
    from tui_chat.models.generation import GenerationKind
    from tui_chat.ui.chat.chat_pane import ChatPane
    from tui_chat.workspace.compaction import CompactionPlan
    from tui_chat.workspace.workspace import Workspace


class SideReplies:
    """Has a model write one text at a time, until it ends or Esc stops it: a summary, the rest of
    the user's message, or a text of a kind that a plugin adds.
    """

    def __init__(self, chat: ChatPane) -> None:
        self._chat = chat
        self._writing: Worker[None] | None = None
        self._has_begun = False
        self._ready: tuple[CompactionPlan, str] | None = None
        """A summary that waits to be read and accepted."""

    @property
    def is_writing(self) -> bool:
        """True while a model writes a text."""
        return self._writing is not None

    def stop(self) -> None:
        """Stop what is being written; what has arrived stays."""
        if self._writing is not None:
            self._writing.cancel()
            if not self._has_begun:  # and never will, so that it cannot end
                self._end()

    def run(self, write: Callable[[], Coroutine[object, object, None]], description: str) -> None:
        """Run what writes a text until it ends, or Esc stops it."""

        async def run() -> None:
            self._has_begun = True
            try:
                await write()
            finally:
                self._end()

        self._has_begun = False
        self._writing = self._chat.run_worker(run, group="side", description=description)

    def _end(self) -> None:
        self._writing = None
        self._chat.show_budget()  # which ends the status that was shown meanwhile

    async def compact(self, workspace: Workspace) -> None:
        """Ask whether a model shall sum up older messages; show a summary that is ready."""
        if self.is_writing:
            return
        if self._ready is not None:
            await self._read(workspace, *self._ready)
            return
        plan = await workspace.compaction.plan()
        if plan is not None and await self._confirm(plan):
            self.run(partial(self._write, workspace, plan), "compact")

    async def _confirm(self, plan: CompactionPlan) -> bool:
        """Ask whether to have older messages summed up, with what that sends and costs."""
        composed, budget = plan.composed, plan.composed.envelope.budget
        size = f"{budget.total:,} tokens" if budget is not None else "them"
        part = (
            ""
            if plan.is_whole
            else " Older messages do not fit into one request: repeat it for them."
        )
        question = (
            f"{composed.model} at {composed.endpoint.name} summarizes the first "
            f"{plan.messages:,} messages ({plan.tokens:,} tokens in each request).{part} It gets "
            f"{size}, with the preset “compact”.\n\nYou read and edit the summary before it "
            "is used. The messages stay in the session; Space on the summary sends them again."
        )
        return await confirm(
            self._chat.tui, "Compact history", question, yes="Sum up", asked_for=True
        )

    async def _write(self, workspace: Workspace, plan: CompactionPlan) -> None:
        chat = self._chat

        def show(text: str) -> None:
            about = f"Summarizing {plan.messages:,} messages · {len(text):,} characters"
            self._chat.activity.show_status(f"{about} · Esc stop")

        show("")
        text = await workspace.compaction.write(plan, show)
        if text:
            self._ready = plan, text
            if self._chat.composer.text or len(chat.tui.screen_stack) > 1:
                chat.notify("The summary is ready: /compact shows it.", markup=False)
            else:
                reading = partial(self._read, workspace, *self._ready)
                chat.run_worker(reading, group="dialog", exclusive=True, description="compact")

    async def _read(self, workspace: Workspace, plan: CompactionPlan, text: str) -> None:
        """Show a summary to be edited, and store it; if that fails, it is not lost."""
        counter = counter_for(plan.composed.model)
        tokens = counter.alone(Text.of(text, Origin(OriginKind.DRAFT, "summary")))
        about = f"Replaces {plan.messages:,} messages: {plan.tokens:,} → ~{tokens:,} tokens."
        if tokens > plan.tokens:
            about += " It is longer than they are."
        title = f"Summary of {plan.messages:,} messages"
        app = self._chat.tui
        while (written := await ask_text(app, title, text, about=about, reads=True)) is not None:
            text = written
            if await workspace.compaction.accept(plan, text):
                break
        self._ready = None

    async def continue_message(self, workspace: Workspace, entry_id: str) -> None:
        """Have the model continue the user's last message."""
        composed = None if self.is_writing else await self.compose(workspace, "continue")
        if composed is None:
            return
        status = f"{composed.model} continues your message"
        self._chat.activity.show_status(f"{status} · Esc stop")

        def show(text: str) -> None:
            words = f"{status} · {len(text):,} characters · Esc stop"
            self._chat.activity.show_status(words)

        write = partial(workspace.branches.continue_message, entry_id, composed, show)
        self.run(write, "continue your message")

    async def compose(
        self, workspace: Workspace, kind: GenerationKind, prompt: str = ""
    ) -> Composed | None:
        """Return the request to send, the one that the inspector shows. Return None if the user
        decides not to send one with errors, and, after reporting why, if nothing can be sent now.
        """
        await workspace.sessions.branch_loaded()
        await workspace.requests.prepare()
        if not workspace.replies.may_send():
            return None
        with workspace.reporting():
            composed = workspace.requests.compose_kind(kind, prompt)
            if await confirm_send(self._chat.tui, composed.errors):
                return composed
        return None


def offer(envelope: ChatEnvelope) -> str:
    """Return what no longer fits into the context, and what to do; empty if all does."""
    count = len(envelope.dropped)
    if count == 1:
        return "1 message no longer fits · /compact summarizes it"
    words = f"{count:,} messages no longer fit · /compact summarizes them"
    return words if count else ""

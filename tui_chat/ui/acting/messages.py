"""Messages: versions, edits, forks, pins, and answers to tool calls."""

from __future__ import annotations

from dataclasses import replace

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.models.session import Entry
from tui_chat.ui.acting.drafting import Drafting
from tui_chat.ui.chat.messages import (
    AnswerCallRequested,
    ContinueRequested,
    DeleteMessageRequested,
    EditRequested,
    ForkRequested,
    InspectRequested,
    PinRequested,
    RunCallRequested,
    UndoDeleteRequested,
    VersionRequested,
)


class Messages(Drafting):
    """Answers what is asked about a message of the conversation."""

    @on(VersionRequested)
    @work(group="branch")
    async def _show_sibling(self, event: VersionRequested) -> None:
        if self.workspace is not None:
            await self.workspace.branches.show_version(event.entry_id, event.step)

    @on(EditRequested)
    @work(group="dialog", exclusive=True)
    async def _edit(self, event: EditRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_edit

        entry = self._shown(event.entry_id)
        if self.workspace is None or entry is None:
            return
        message, stored = entry.message, False
        while not stored:  # where it could not be, what was written must not be lost
            written = await ask_edit(self, message)
            if written is None or (not written.send and written.text == entry.message.content):
                return
            stored = await self.workspace.branches.edit(
                event.entry_id, written.text, send=written.send
            )
            message = replace(message, content=written.text)

    @on(ContinueRequested)
    @work(group="send")
    async def _continue(self, event: ContinueRequested) -> None:
        if self.workspace is not None:
            await self.workspace.replies.continue_reply(event.entry_id)

    @on(InspectRequested)
    @work(group="open", exclusive=True)
    async def _inspect(self, event: InspectRequested) -> None:
        """Show the request that produced a reply, until something is typed."""
        sent = (
            await self.workspace.request_history.sent_request(event.entry_id)
            if self.workspace is not None
            else None
        )
        if sent is None:
            return
        if sent.composed is None or self.panes.inspector is None:
            self.show_error(InputError("The request of this reply is gone.", advice=sent.why))
            return
        self.panes.open("inspector")
        self.panes.inspector.show(sent.composed)
        if sent.is_exact:
            words = "This request produced the reply, to the byte."
        else:
            words = f"Composed again, and not the same as what was sent. {sent.why}"
        self.notify(words, timeout=6, markup=False)

    @on(ForkRequested)
    @work(group="open", exclusive=True)
    async def _fork(self, event: ForkRequested) -> None:
        if self.workspace is not None:
            await self.show_session(lambda workspace: workspace.branches.fork(event.entry_id))

    @on(DeleteMessageRequested)
    @work(group="branch")
    async def _delete_message(self, event: DeleteMessageRequested) -> None:
        if self.workspace is not None:
            await self.workspace.branches.delete(event.entry_id)

    @on(UndoDeleteRequested)
    @work(group="branch")
    async def _undo(self) -> None:
        if self.workspace is not None:
            await self.show_session(lambda workspace: workspace.undo())

    @on(PinRequested)
    @work(group="branch")
    async def _pin(self, event: PinRequested) -> None:
        if self.workspace is not None:
            await self.workspace.branches.pin(event.entry_id, event.pinned)

    @on(AnswerCallRequested)
    @work(group="dialog", exclusive=True)
    async def _answer_call(self, event: AnswerCallRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_tool_result

        calls = self.workspace.state.pending_calls if self.workspace is not None else ()
        call = next((c for c in calls if c.call.id == event.call_id), None)
        if self.workspace is not None and call is not None:
            text: str | None = ""
            stored = False
            while not stored and (text := await ask_tool_result(self, call.call, text)) is not None:
                stored = await self.workspace.tools.answer(event.entry_id, event.call_id, text)

    @on(RunCallRequested)
    @work(group="dialog", exclusive=True)
    async def _run_call(self, event: RunCallRequested) -> None:
        from tui_chat.ui.dialogs.questions import confirm_run_tool

        workspace = self.workspace
        calls = workspace.state.pending_calls if workspace is not None else ()
        call = next((c for c in calls if c.call.id == event.call_id), None)
        if workspace is None or call is None:
            return
        # Where there is no command the workspace says so, and how to have one.
        if (
            call.tool is None
            or not call.can_run
            or await confirm_run_tool(self, call.call, call.tool)
        ):
            await workspace.tools.run(event.entry_id, event.call_id)

    def _shown(self, entry_id: str) -> Entry | None:
        entries = self.workspace.state.entries if self.workspace else ()
        return next((e for e in entries if e.message.id == entry_id), None)

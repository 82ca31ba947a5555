"""Tool calls: the question about the one that waits, and what its answer does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.ui.areas.area import Area
from tui_chat.ui.areas.chat import transcript_messages as messages
from tui_chat.ui.areas.chat.tool_question import WaitingCall

if TYPE_CHECKING:
    from tui_chat.ui.areas.chat.area import ChatArea
    from tui_chat.workspace.state import PendingToolCall


class ToolCallArea(Area):
    """Contains the question about the waiting tool call, and answers the call."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("answer_tool_call",))

    def __init__(self, chat: ChatArea) -> None:
        super().__init__(chat.context, "tool-calls")
        self.chat = chat

    def show(self) -> None:
        """Ask about the first tool call that waits, and say which ones run."""
        calls = self.workspace.state.pending_calls if self.workspace is not None else ()
        running = [call for call in calls if call.is_running]
        waiting = [call for call in calls if not call.is_running]
        if self.context.read_only:
            waiting = []
        asked = next(iter(waiting), None)
        command = asked.tool.command if asked is not None and asked.tool is not None else ()
        self.chat.pane.tool_question.show(
            None if asked is None else WaitingCall(asked.entry_id, asked.call, command),
            len(calls) - len(waiting) + 1,
            len(calls),
        )
        names = ", ".join(one_line(call.call.name, 30) for call in (running or waiting)[:3])
        key = self.context.key_labels["tool-call"]
        state = f"Running {names} · Esc stops" if running else f"{names} waits for you · {key}"
        self.chat.pane.activity.tool_state = state if names else ""

    @work(group="dialog", exclusive=True)
    async def answer_call(self, event: messages.AnswerCallRequested) -> None:
        """Ask for the result of a tool call, and store it."""
        from tui_chat.ui.dialogs.questions import ask_tool_result

        call = self._pending_call(event.call_id)
        if self.workspace is None or call is None or not self.may_write:
            return
        text, is_stored = "", False
        while not is_stored:  # if storing fails, the text is not lost
            written = await ask_tool_result(self.tui, call.call, text)
            if written is None:
                return
            text = written
            is_stored = await self.workspace.tools.answer(event.entry_id, event.call_id, text)

    def action_answer_tool_call(self) -> None:
        """Focus the question about the waiting tool call."""
        if self.chat.pane.tool_question.call is None:
            self.show_error(InputError("No tool call waits for a result."))
            return
        self.host.panes.show_conversation()
        self.chat.pane.focus_tool_question()

    @on(messages.RunCallRequested)
    @on(messages.AlwaysRunRequested)
    @work(group="tool")
    async def _run_call(self, event: messages.ToolCallRequest) -> None:
        if self.workspace is not None and self.may_write:
            always = isinstance(event, messages.AlwaysRunRequested)
            await self.workspace.tools.run(event.entry_id, event.call_id, always=always)

    @on(messages.DeclineCallRequested)
    @work(group="tool")
    async def _decline_call(self, event: messages.DeclineCallRequested) -> None:
        if self.workspace is not None and self.may_write:
            await self.workspace.tools.decline(event.entry_id, event.call_id)

    @on(messages.EditArgumentsRequested)
    @work(group="dialog", exclusive=True)
    async def _edit_arguments(self, event: messages.EditArgumentsRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_arguments
        from tui_chat.workspace.tool_runner import argument_fault

        call = self._pending_call(event.call_id)
        if self.workspace is None or call is None or not self.may_write:
            return
        text, fault = call.call.arguments, ""
        while True:
            written = await ask_arguments(self.tui, call, text, fault)
            if written is None:
                return
            text, fault = written, argument_fault(written)
            if not fault:
                break
        await self.workspace.tools.run(event.entry_id, event.call_id, arguments=text)

    async def action_ask_before_tools(self) -> None:
        """Ask again before every run of a tool in this session."""
        if self.workspace is not None:
            self.workspace.tools.forget_permissions()

    def _pending_call(self, call_id: str) -> PendingToolCall | None:
        calls = self.workspace.state.pending_calls if self.workspace is not None else ()
        return next((each for each in calls if each.call.id == call_id), None)

"""Shows the question about the tool call that waits, and acts on the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import work

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.ui.area import Area
from tui_chat.ui.chat.tool_question import OPTIONS, ToolQuestion, WaitingCall
from tui_chat.ui.questions import ask_text
from tui_chat.workspace.tool_grants import definition_changes

if TYPE_CHECKING:
    from tui_chat.ui.area import AreaContext
    from tui_chat.workspace.state import PendingToolCall
    from tui_chat.workspace.tools import Scope

MOST_ARGUMENTS = 2_000
"""Characters of a tool call's arguments that are shown above its result."""


class ToolCallArea(Area):
    """Contains the question about the waiting tool call, and answers the call."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("answer_tool_call",))

    def __init__(self, context: AreaContext, question: ToolQuestion) -> None:
        super().__init__(context, "tool-calls")
        self._question = question

    def show(self) -> str:
        """Ask about the first tool call that waits; return which ones run, in words."""
        calls = self.calls
        running = [call for call in calls if call.is_running]
        waiting = [call for call in calls if not call.is_running]
        if self.context.read_only:
            waiting = []
        first = next(iter(waiting), None)
        self._question.show(
            None if first is None else self._waiting(first),
            len(calls) - len(waiting) + 1,
            len(calls),
        )
        names = ", ".join(
            f"{one_line(call.call.name, 30)} {one_line(call.progress, 60)}".strip()
            for call in running[:3]
        )
        if awaited := self.workspace.state.awaited_sources:
            sources = one_line(", ".join(awaited), 60)
            return f"Waiting for the tools of {sources} before sending · Esc cancel"
        return f"Running {names} · Esc stop" if running else ""

    def _waiting(self, call: PendingToolCall) -> WaitingCall:
        before = self.workspace.state.changed_tools.get(call.call.name)
        changes = ""
        if before is not None and call.tool is not None:
            changes = definition_changes(before, call.tool.definition)
        is_old = not self.workspace.replies.was_requested_here(call.entry_id)
        return WaitingCall(
            call.entry_id, call.index, call.call, call.tool, self.where, is_old, changes
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what answers the call that is asked about."""
        if action in OPTIONS:
            return self._question.offers(action)
        return super().check_action(action, parameters)

    @property
    def _pending(self) -> PendingToolCall | None:
        """The call that is asked about, while it waits."""
        question = self._question.call
        return question and self._pending_call(question.entry_id, question.position)

    where: str = ""
    """Where the calls wait; empty in the conversation."""

    @property
    def calls(self) -> Sequence[PendingToolCall]:
        """The calls that are asked about one after the other."""
        return self.workspace.state.pending_calls

    def _pending_call(self, entry_id: str, index: int) -> PendingToolCall | None:
        key = (entry_id, index)
        return next((each for each in self.calls if (each.entry_id, each.index) == key), None)

    def action_run(self) -> None:
        """Run it once."""
        self._run("call")

    def action_always(self) -> None:
        """Run the command, now and whenever the model calls the tool in this session."""
        self._run("session")

    def action_always_tool(self) -> None:
        """Run it, and whenever a model calls the tool as it is defined now."""
        self._run("tool")

    def action_always_server(self) -> None:
        """Run it, and whenever a model calls one of the tools that its server has now."""
        self._run("server")

    @work(group="tool", description="run a tool")
    async def _run(self, scope: Scope) -> None:
        if call := self._pending:
            await self.workspace.tools.run(call.entry_id, call.index, scope=scope)

    @work(group="tool")
    async def action_decline(self) -> None:
        """Tell the model that the user declined."""
        if call := self._pending:
            await self.workspace.tools.decline(call.entry_id, call.index)

    @work(group="tool")
    async def action_decline_and_stop(self) -> None:
        """Decline all calls of the reply, and leave the next word to the user."""
        if call := self._pending:
            await self.workspace.tools.decline_and_stop(call.entry_id)

    @work(group="dialog", exclusive=True)
    async def action_edit_arguments(self) -> None:
        """Run the command with other arguments."""
        from tui_chat.workspace.tool_runner import argument_fault

        call = self._pending
        if call is None:
            return
        runs = one_line(call.tool.runs) if call.tool is not None else ""
        about = f"{one_line(call.call.name)} will run: {runs}\nwith this input:"
        text, fault = call.call.arguments, ""
        while True:
            written = await ask_text(
                self.tui,
                "Edit arguments",
                text,
                about=f"{fault}\n\n{about}" if fault else about,
                enter="Enter run it",
            )
            if written is None:
                return
            text, fault = written, argument_fault(written)
            if not fault:
                break
        await self.workspace.tools.run(call.entry_id, call.index, arguments=text)

    def action_answer(self) -> None:
        """Enter the result by hand."""
        if call := self._pending:
            self.enter_result(call.entry_id, call.index)

    @work(group="dialog", exclusive=True)
    async def enter_result(self, entry_id: str, index: int) -> None:
        """Ask for the result of a tool call, and store it."""
        call = self._pending_call(entry_id, index)
        if call is None:
            return
        arguments = sanitize(call.call.arguments)
        if len(arguments) > MOST_ARGUMENTS:
            arguments = f"{arguments[:MOST_ARGUMENTS]} … ({len(arguments):,} characters)"
        about = f"{one_line(call.call.name)}\n{arguments}"
        text, is_stored = "", False
        while not is_stored:  # if storing fails, the text is not lost
            written = await ask_text(self.tui, "Tool result", text, about=about)
            if written is None:
                return
            text = written
            is_stored = await self.workspace.tools.answer(entry_id, index, text)

    def action_answer_tool_call(self) -> None:
        """Focus the question about the waiting tool call."""
        if self._question.call is None:
            self.show_error(InputError("No tool call is waiting for a result."))
            return
        self.host.panes.show_conversation()
        self._question.focus()

    @work(group="dialog", exclusive=True)
    async def action_choose_tools(self) -> None:
        """Choose the tools that this session offers, and look at what they are allowed."""
        from tui_chat.ui.dialogs.session_tools import SessionToolsDialog

        workspace = await self.host.opened_workspace()
        await workspace.tool_sources.opened()
        workspace.tool_sources.load()
        if not workspace.state.known_tools and not workspace.state.tool_sources:
            raise InputError("No tools yet.", advice="Add one with /tools.")
        await self.tui.push_screen_wait(SessionToolsDialog(workspace))

    @work(group="tool")
    async def action_ask_before_tools(self) -> None:
        """Ask again before every run of a tool in this session."""
        await (await self.host.opened_workspace()).tools.forget_permissions()

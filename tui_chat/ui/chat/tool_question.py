"""The question about a waiting tool call: what it would run, and the keys that answer it.

1. It takes the focus when the draft is empty, the focus is in the chat, and no key was pressed for
   `QUIET` seconds; F8 focuses it at any time. Esc gives the focus back, and it does not take it
   again for the same call; nor for a call from before the program started.
2. A key typed ahead answers nothing: the keys work once the question has been visible for `SEEN`
   seconds without a key, and a further question after an answer for `QUIET`. A character that is
   typed before that goes to the draft if the question took the focus by itself.
3. Nothing is preselected: Enter does nothing.
4. In the chat it takes the place of the composer while it has the focus; the draft waits behind it.
5. It shows all of the arguments in their exact form. What does not fit is counted on its border,
   and nothing runs before their end was on the screen. Arguments of more than `MOST_SHOWN`
   characters run only after they were opened for editing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.tool import question_text
from tui_chat.ui.area import WorkspaceWidget
from tui_chat.ui.questions import ask_text
from tui_chat.ui.widgets.after_refresh import call_after_refresh

if TYPE_CHECKING:
    from tui_chat.ui.area import AreaContext
    from tui_chat.workspace.state import PendingToolCall
    from tui_chat.workspace.tools import Scope

MOST_ARGUMENTS = 2_000
"""Characters of a tool call's arguments that are shown above its result."""
QUIET = 0.5
"""Seconds without a key before the question takes the focus."""
SEEN = 0.3
"""Seconds without a key, with the focus, before its keys work."""
MOST_SHOWN = 50_000
"""Characters of the longest arguments that are shown."""


class Option(NamedTuple):
    """One way to answer."""

    key: str
    label: str
    runs: bool
    """True if the tool's command runs."""
    is_shown: bool = False
    """True if the row of keys has it."""


OPTIONS: dict[str, Option] = {
    "run": Option("y", "Run once", runs=True, is_shown=True),
    "always": Option("a", "Always", runs=True, is_shown=True),
    "decline": Option("n", "Decline", runs=False, is_shown=True),
    "edit_arguments": Option("e", "Edit arguments", runs=True, is_shown=True),
    "answer": Option("h", "Answer by hand", runs=False, is_shown=True),
    "decline_and_stop": Option("s", "Decline and stop", runs=False),
    "always_tool": Option("t", "This tool always", runs=True),
}
"""By the actions of the question."""


class ToolQuestion(Vertical, WorkspaceWidget, can_focus=True):
    """Asks what to do with a tool call that waits for its result."""

    DEFAULT_CSS = """
    ToolQuestion {
        display: none;
        height: auto;
        max-height: 40vh;
        margin: 0 1;
        padding: 0 1;
        border: round $warning;
        border-title-color: $text-warning;
        border-title-style: bold;
        border-subtitle-color: $label;
        VerticalScroll { height: auto; max-height: 100%; scrollbar-size-vertical: 1; }
        Static { width: 1fr; height: auto; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                option.key,
                f"tool_calls.{action}",
                option.label.lower(),
                show=option.is_shown,
                tooltip=f"{option.label} (tool call)",
            )
            for action, option in OPTIONS.items()
        ),
        Binding("escape", "leave", show=False, tooltip="Back to the draft"),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll_page(-1)", show=False),
        Binding("pagedown", "scroll_page(1)", show=False),
        Binding("home", "scroll(-1000000)", show=False),
        Binding("end", "scroll(1000000)", show=False),
    ]

    @dataclass
    class Left(Message):
        """Give the focus back to the composer, and type this text there."""

        typed: str = ""

    class PlaceTaken(Message):
        """It took the place of the composer, or left it."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("answer_tool_call",))

    def __init__(
        self,
        context: AreaContext,
        may_take_focus: Callable[[], bool],
        replaces: Widget | None = None,
    ) -> None:
        """`may_take_focus` returns True if the focus may leave where it is. While it has the focus,
        it takes the place of `replaces`; without that it is shown while a call waits.
        """
        super().__init__(id="tool-calls")
        self.context = context
        self._may_take_focus, self._replaces = may_take_focus, replaces
        self.clock = context.key_clock
        self.focus_key = "F8"
        """The label of the key that focuses it."""
        self._call: PendingToolCall | None = None
        self._of = (1, 1)
        """The number of the call, and of all waiting calls."""
        self._since = 0.0
        """The time at which the question was shown or focused, by the clock."""
        self._wait = QUIET
        """Seconds without a key since then before it takes the focus, or its keys work."""
        self._is_armed = False
        """True if the keys work."""
        self._took_focus = False
        """True if it took the focus by itself."""
        self._is_left = False
        """True if it must not take the focus: the user gave it back, or the call is old."""
        self._is_seen = False
        """True if the end of the arguments was on the screen."""
        self._timer: Timer | None = None
        self._about = Static(markup=False)
        self._scroll = VerticalScroll(can_focus=False)

    def compose(self) -> ComposeResult:
        with self._scroll:
            yield self._about

    def focus(self, scroll_visible: bool = True) -> Self:
        """Take the place of the composer, and the focus."""
        self._take_place(is_taken=self._call is not None)
        return super().focus(scroll_visible)

    def step_aside(self) -> None:
        """Give the composer its place back."""
        self._take_place(is_taken=False)

    def _take_place(self, *, is_taken: bool) -> None:
        if self._replaces is not None and self.display is not is_taken:
            self.display, self._replaces.display = is_taken, not is_taken
            self.post_message(self.PlaceTaken())

    def on_mount(self) -> None:
        for name in ("scroll_y", "virtual_size"):
            self.watch(self._scroll, name, self.on_resize, init=False)

    @property
    def call(self) -> PendingToolCall | None:
        """The call that is asked about; None if none waits."""
        return self._call

    @property
    def is_armed(self) -> bool:
        """True if its keys answer."""
        return self._is_armed

    def _show(self, call: PendingToolCall | None, of: tuple[int, int]) -> None:
        """Ask about a call; about none with None."""
        before = self._call
        if call == before and self._of == of:
            return
        self._call, self._of = call, of
        if self._replaces is None:
            self.display = call is not None
        if call is None:
            self._disarm()
            if self.has_focus:
                self.post_message(self.Left())
            self.step_aside()
            return
        if before is None or (call.entry_id, call.index) != (before.entry_id, before.index):
            self._disarm()
            self._is_left = not self.workspace.replies.was_requested_here(call.entry_id)
            self._since, self._wait = self.clock.now(), QUIET
            self._watch()
            self._is_seen = False
        shown = call.call
        if len(shown.arguments) > MOST_SHOWN:
            shown = replace(shown, arguments=f"{shown.arguments[:MOST_SHOWN]} …")
        pieces = question_text(shown, call.tool)
        self._about.update(Text.assemble(*((text, "bold" * strong) for text, strong in pieces)))
        self._scroll.scroll_home(animate=False)
        self._draw()
        self.on_resize()

    def on_resize(self) -> None:
        call_after_refresh(self, self._look_at_end)

    def _look_at_end(self) -> None:
        """Say how many lines follow, and note it if none does."""
        left = round(self._scroll.max_scroll_y - self._scroll.scroll_y)
        if self._call is None or not self._scroll.size.height:
            return
        is_seen = self._is_seen or left <= 0
        if (size := len(self._call.call.arguments)) > MOST_SHOWN:
            key = OPTIONS["edit_arguments"].key
            words = f"{size:,} characters, too many to show: {key} opens them"
            is_seen = False
        elif self._scroll.max_scroll_y > 0:
            first, height = round(self._scroll.scroll_y), self._scroll.size.height
            count = height + round(self._scroll.max_scroll_y)
            words = f"lines {first + 1:,}–{first + height:,} of {count:,} · PgDn"
        else:
            words = ""
        self.border_subtitle = Content(words)
        if is_seen != self._is_seen:
            self._is_seen = is_seen
            self._draw()

    def consider_focus(self) -> None:
        """Take the focus soon if what kept it away is gone."""
        if self._call is not None and not self.has_focus and not self._is_left:
            self._watch()

    # --- focus and time ------------------------------------------------------------------

    def _disarm(self) -> None:
        self._is_armed = False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _watch(self) -> None:
        """Look again when there may have been no key for long enough."""
        if self._timer is None and not self._is_armed:
            left = self._wait - self.clock.quiet_seconds(self._since)
            self._timer = self.set_timer(min(max(left, 0.02), QUIET), self._look)

    def _look(self) -> None:
        # Keys that the terminal sent before now are in front of this callback in the app's queue.
        self._timer = None
        self.tui.call_later(self._quiet_or_not)

    def _quiet_or_not(self) -> None:
        """Take the focus, or let the keys work, if no key was pressed meanwhile."""
        if self._call is None or self._is_armed:
            return
        if not self.has_focus and (self._is_left or not self._may_take_focus()):
            return
        if self.clock.quiet_seconds(self._since) < self._wait:
            self._watch()
        elif self.has_focus:
            self._is_armed = True
            self._draw()
        else:
            self._took_focus = True
            self.focus()

    def watch_has_focus(self, value: bool) -> None:
        """Let the keys work once the question has been seen with the focus, and no longer without.
        In `on_focus` and `on_blur`, `has_focus` is not set yet.
        """
        super().watch_has_focus(value)
        if value:
            self._take_place(is_taken=self._call is not None)
            self._since, self._wait = self.clock.now(), SEEN
            self.call_later(self._watch)
        else:
            self._disarm()
            self._took_focus, self._wait = False, QUIET
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Keep a key that was typed ahead from answering."""
        if self._is_armed or not event.is_printable or event.character is None:
            return
        event.stop()
        event.prevent_default()
        if self._took_focus:
            self._is_left = True
            self.post_message(self.Left(event.character))
        else:
            self._watch()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.post_message(self.Left(event.text))

    # --- answers -------------------------------------------------------------------------

    def offers(self, action: str) -> bool:
        """Return True if one of the `OPTIONS` answers the call now."""
        call, runs = self._call, OPTIONS[action].runs
        is_informed = self._is_seen or not runs or action == "edit_arguments"
        return call is not None and is_informed and (not runs or call.can_run)

    def action_leave(self) -> None:
        """Give the focus back."""
        self._is_left = True
        self.post_message(self.Left())

    def action_scroll(self, lines: int) -> None:
        self._scroll.scroll_relative(y=lines, animate=False)

    def action_scroll_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self._scroll.size.height - 1, 1))

    def _draw(self) -> None:
        if (call := self._call) is None:
            return
        where = f"{one_line(self.where, 60)}: " if self.where else ""
        verb, (number, count) = "Run" if call.can_run else "Answer", self._of
        which = f" ({number} of {count})" if count > 1 else ""
        name = one_line(call.call.name, 60)
        self.border_title = Content(f"{where}{verb} “{name}”? The model asks for it.{which}")
        self.refresh_bindings()

    # --- the calls that wait ------------------------------------------------------------

    where: str = ""
    """Where the calls wait; empty in the conversation."""

    @property
    def calls(self) -> Sequence[PendingToolCall]:
        """The calls that are asked about one after the other."""
        return self.workspace.state.pending_calls

    def show_waiting(self) -> str:
        """Ask about the first tool call that waits; return what waits or runs, in words."""
        calls = self.calls
        running = [call for call in calls if call.is_running]
        waiting = [call for call in calls if not (call.is_running or self.context.read_only)]
        first = next(iter(waiting), None)
        self._show(first, (len(calls) - len(waiting) + 1, len(calls)))
        if awaited := self.workspace.state.awaited_sources:
            sources = one_line(", ".join(awaited), 60)
            return f"Waiting for the tools of {sources} · Esc cancel"
        if running:
            names = ", ".join(one_line(call.call.name, 30) for call in running[:3])
            return f"Running {names} · Esc stop"
        if first is None or self.display:
            return ""
        name = one_line(first.call.name, 60)
        return f"{name} is waiting for your answer · {self.focus_key}"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what answers the call that is asked about."""
        if action in OPTIONS:
            return True if self.offers(action) else None
        return super().check_action(action, parameters)

    @property
    def _pending(self) -> PendingToolCall | None:
        """The call that is asked about, while it waits."""
        asked = self._call
        key = asked and (asked.entry_id, asked.index)
        return next((call for call in self.calls if (call.entry_id, call.index) == key), None)

    def action_run(self) -> None:
        """Run it once."""
        self._run("call")

    def action_always(self) -> None:
        """Run the command, now and whenever the model calls the tool in this session."""
        self._run("session")

    def action_always_tool(self) -> None:
        """Run it, and whenever a model calls the tool as it is defined now."""
        self._run("tool")

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
            shown = f"{fault}\n\n{about}" if fault else about
            written = await ask_text(
                self.tui, "Edit arguments", text, about=shown, enter="Enter run it"
            )
            if written is None:
                return
            text, fault = written, argument_fault(written)
            if not fault:
                break
        await self.workspace.tools.run(call.entry_id, call.index, arguments=text)

    @work(group="dialog", exclusive=True)
    async def action_answer(self) -> None:
        """Ask for the result of the call, and store it."""
        call = self._pending
        if call is None:
            return
        arguments = sanitize(call.call.arguments)
        if len(arguments) > MOST_ARGUMENTS:
            arguments = f"{arguments[:MOST_ARGUMENTS]} … ({len(arguments):,} characters)"
        about, text, is_stored = f"{one_line(call.call.name)}\n{arguments}", "", False
        while not is_stored:  # if storing fails, the text is not lost
            written = await ask_text(self.tui, "Tool result", text, about=about)
            if written is None:
                return
            text = written
            is_stored = await self.workspace.tools.answer(call.entry_id, call.index, text)

    def action_answer_tool_call(self) -> None:
        """Focus the question about the waiting tool call."""
        if self._call is None:
            self.show_error(InputError("No tool call is waiting for a result."))
            return
        self.host.panes.close_overlay()
        self.focus()

    @work(group="dialog", exclusive=True)
    async def action_choose_tools(self) -> None:
        """Choose the tools that this session offers, and look at what they are allowed."""
        from tui_chat.ui.dialogs.session_tools import SessionToolsDialog

        workspace = await self.host.opened_workspace()
        await workspace.tool_sources.opened()
        workspace.tool_sources.load()
        await workspace.tool_grants.load()
        if not workspace.state.known_tools and not workspace.state.tool_sources:
            raise InputError("No tools yet.", advice="Add one with /tools.")
        await self.tui.push_screen_wait(SessionToolsDialog(workspace))

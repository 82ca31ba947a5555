"""The screen of a comparison: a column for each slot, and below them one composer.

1. One slot is the current one: it was focused last. Keys act on it; the composer has none of them
   but Esc.
2. As many columns are side by side as fit; the current one is among them, and a strip above has
   all slots where not all fit.
3. One timer draws what has arrived in all columns in sight, at the pace of a single reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.side_by_side.column import MIN_WIDTH, SlotColumn, SlotStrip, state_words
from tui_chat.plugins.side_by_side.panel import Panel, PanelSlot
from tui_chat.plugins.side_by_side.tool_consent import SlotQuestion
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.drafts import confirm_send
from tui_chat.ui.chat.reply_redraw import REDRAW_INTERVAL, ReplyRedraw
from tui_chat.ui.chat.tool_question import ToolQuestion
from tui_chat.ui.commands import parse_command
from tui_chat.ui.notifications import show_error
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.models.blocks import MediaBlock
    from tui_chat.ui.area import AreaContext
    from tui_chat.workspace.exchange import Target
    from tui_chat.workspace.workspace import Workspace

KEYS = "Enter keep · ← → 1-4 slot · i request · Space in or out · r regenerate · y copy · Esc back"
WRITING = "Enter send to all · Tab to the replies · Esc stop, then leave"


class PanelComposer(Composer, inherit_bindings=False):
    """The composer, without what acts on the conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "screen.back", show=False),
        Binding("pageup", "screen.scroll_page(-1)", show=False),
        Binding("pagedown", "screen.scroll_page(1)", show=False),
        *(
            binding
            for binding in Composer.BINDINGS
            if isinstance(binding, Binding) and "." not in binding.action
        ),
    ]

    async def action_home(self) -> None:
        """Move to the start of the line."""
        self.action_cursor_line_start()

    async def action_end(self) -> None:
        """Move to the end of the line."""
        self.action_cursor_line_end()


class ComparisonScreen(ModalScreen[str]):
    """Compares models. The result is the draft that was not sent."""

    DEFAULT_CSS = """
    ComparisonScreen {
        background: $background;
        & > Horizontal { height: 1fr; }
        & > SlotQuestion { height: auto; max-height: 50%; }
        & > .keys { height: auto; padding: 0 1; color: $label; }
    }
    """
    AUTO_FOCUS = "PanelComposer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("tab", "step(1)", show=False, priority=True),
        Binding("shift+tab", "step(-1)", show=False, priority=True),
        *(Binding(str(number), f"slot({number})", show=False) for number in range(1, 5)),
        Binding("enter,k", "keep", show=False),
        Binding("space", "include", show=False),
        Binding("r", "regenerate", show=False),
        Binding("i", "request", show=False),
        Binding("y,ctrl+c", "copy", show=False),
        Binding("f8", "tool_call", show=False),
        Binding("ctrl+q", "leave_and_quit", show=False, id="quit"),
    ]

    def __init__(
        self,
        workspace: Workspace,
        targets: Sequence[Target],
        context: AreaContext,
        draft: str,
        parts: tuple[MediaBlock, ...],
        sent: Callable[[], None],
    ) -> None:
        """`draft` and `parts` are what is sent first; `sent` is called once they are on disk."""
        super().__init__()
        self.workspace = workspace
        self.panel = Panel(workspace, targets, self._show)
        self._columns = [SlotColumn(slot) for slot in self.panel.slots]
        self._current = 0
        self._parts, self._sent = parts, sent
        self._composer = PanelComposer()
        self._strip = SlotStrip()
        self._tools = SlotQuestion(context, self.panel, self._is_focus_free)
        self._keys = Static(WRITING, classes="keys", markup=False)
        self._redraw = ReplyRedraw(self, self._draw_arriving)
        self._clock: Timer | None = None
        self._warned = False
        """True if Esc said that it stops the other replies next."""
        self._first = draft

    def compose(self) -> ComposeResult:
        yield self._strip
        with Horizontal():
            yield from self._columns
        yield self._tools
        yield self._composer
        yield self._keys

    def on_mount(self) -> None:
        self._composer.text = self._first
        self._choose_editing_mode()
        self._clock = self.set_interval(REDRAW_INTERVAL, self._redraw.request, pause=True)
        self._fit()
        self._show()

    def on_unmount(self) -> None:
        self.panel.close()

    @work
    async def _choose_editing_mode(self) -> None:
        """Edit with the keys of the conversation's composer."""
        await self._composer.modal_editing.choose(self.workspace.state.config.editing_mode)

    # --- what is shown -------------------------------------------------------------------

    @property
    def current(self) -> PanelSlot:
        """The slot that keys act on."""
        return self.panel.slots[self._current]

    def on_resize(self, event: events.Resize) -> None:
        del event
        self._fit()

    def _fit(self) -> None:
        """Show as many columns as fit, the current one among them."""
        count = max(1, min(len(self._columns), self.size.width // MIN_WIDTH))
        start = max(0, min(self._current, len(self._columns) - count))
        shown = [c for c in self._columns if c.display and c.is_attached]
        if len(shown) == count and self._columns[self._current] in shown:
            start = self._columns.index(shown[0])
        for number, column in enumerate(self._columns):
            column.display = start <= number < start + count
            column.set_class(number == start, "-first")
            column.set_class(number == self._current, "-current")
        self._strip.set_class(count < len(self._columns), "-needed")

    def _show(self) -> None:
        """Show the slots as they are."""
        if not self.is_attached or self._clock is None:
            return
        for column in self._columns:
            column.show(self.panel)
        arriving = any(slot.is_arriving for slot in self.panel.slots)
        self._redraw.request()
        self._redraw.flush()
        (self._clock.resume if arriving else self._clock.pause)()
        self._tools.show_from(self.current)
        self._show_facts()

    def _draw_arriving(self) -> None:
        for column in self._columns:
            if column.display:
                column.show_progress(self.panel)
        self._show_strip()

    def _show_strip(self) -> None:
        self._strip.show(
            [
                (f"{slot.name} {state_words(self.panel, slot)}".strip(), slot is self.current)
                for slot in self.panel.slots
            ]
        )

    def _show_facts(self) -> None:
        files = f"{len(self._parts)} file{'s' * (len(self._parts) != 1)} · " * bool(self._parts)
        names = ", ".join(str(slot.number) for slot in self.panel.included)
        whole = len(self.panel.included) == len(self.panel.slots)
        to = "to all" if whole else f"to {names}" if names else "to nobody"
        words = f"{files}{to}"
        if awaited := self.workspace.state.awaited_sources:
            words = f"waiting for the tools of {one_line(', '.join(awaited), 60)} · Esc cancel"
        self._composer.show_facts(lambda width: Content(words[:width]))

    # --- the current slot ----------------------------------------------------------------

    @on(SlotColumn.Chosen)
    def _chosen(self, event: SlotColumn.Chosen) -> None:
        self._make_current(event.number - 1)

    def _make_current(self, index: int) -> None:
        if index != self._current:
            self._current = index
            self._fit()
            self._tools.show_from(self.current)
        self._show_strip()

    def on_descendant_focus(self) -> None:
        self._warned = False
        self._show_keys()

    def _show_keys(self) -> None:
        self._keys.update(WRITING if self._composer.has_focus else KEYS)

    def action_slot(self, number: int) -> None:
        """Move to a slot."""
        if number <= len(self._columns):
            self._make_current(number - 1)
            self._columns[number - 1].focus()

    def action_beside(self, step: int) -> None:
        """Move to the slot beside this one, if there is one."""
        self.action_slot(max(self._current + step, 0) + 1)

    def action_step(self, step: int) -> None:
        """Move from slot to slot, and to the composer behind the last one."""
        if self._composer.has_focus and step > 0:
            self.action_slot(1 if self.size.width >= 2 * MIN_WIDTH else self._current + 1)
        elif self._composer.has_focus:
            self.action_slot(len(self._columns))
        elif 0 <= self._current + step < len(self._columns):
            self.action_slot(self._current + step + 1)
        else:
            self._composer.focus()

    def action_scroll_page(self, direction: int) -> None:
        self._columns[self._current].action_scroll_page(direction)

    def action_include(self) -> None:
        """Leave the slot out of the next turns, or no longer."""
        self.current.is_included = not self.current.is_included
        self._show()

    # --- sending -------------------------------------------------------------------------

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        event.stop()
        text = parse_command(event.text.strip() and event.text)
        if isinstance(text, str):
            if text or self._parts:
                self._send(text)
        else:
            advice = "Esc goes back to it. // at the beginning sends a text with a slash."
            show_error(self, InputError("Commands are for the conversation.", advice=advice))

    @work(group="send", exclusive=True)
    async def _send(self, text: str) -> None:
        typed, parts = self._composer.text, self._parts

        def stored() -> None:
            self._parts = ()
            if self._composer.text == typed:
                self._composer.clear_text()
            self._sent()

        faults = self.panel.faults(text, parts)
        if await confirm_send(app_of(self), faults):
            await self.panel.send(text, parts, stored)

    @work(group="send", exclusive=True)
    async def action_regenerate(self) -> None:
        """Request another version of the slot's reply."""
        await self.panel.regenerate(self.current)

    def _is_focus_free(self) -> bool:
        return self.is_current and not (self._composer.has_focus and self._composer.text)

    @on(ToolQuestion.Left)
    def _question_left(self, event: ToolQuestion.Left) -> None:
        self._composer.focus()
        if event.typed:
            self._composer.insert_text(event.typed)

    def action_tool_call(self) -> None:
        """Focus the question about a tool call that waits."""
        if self._tools.call is not None:
            self._tools.focus()

    # --- looking -------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_request(self) -> None:
        """Show the exact request of the slot's reply, or the one that Enter would send."""
        from tui_chat.plugins.side_by_side.request_dialog import RequestDialog

        slot = self.current
        composed = await self.panel.request(slot, self._composer.text)
        if composed is not None:
            await app_of(self).push_screen_wait(RequestDialog(f"Request of {slot.name}", composed))

    def action_copy(self) -> None:
        """Copy the slot's reply."""
        if (reply := self.current.reply) is not None:
            app_of(self).copy_to_clipboard(reply.message.content)
            self.notify(f"Copied the reply of {self.current.name}.", markup=False)

    # --- stopping and leaving ------------------------------------------------------------

    @work(group="leave", exclusive=True)
    async def action_back(self) -> None:
        """Stop what the current slot does, then all others; with nothing to stop, go to the
        composer, and from there leave.
        """
        panel, current = self.panel, self.current
        if await panel.stop([current]):
            return
        busy = [slot for slot in panel.slots if panel.is_busy(slot)]
        if busy and not self._warned:
            self._warned = True
            self.notify("Esc again stops the other replies.")
        elif busy:
            self._warned = False
            await panel.stop(busy)
        elif not self._composer.has_focus:
            self._composer.focus()
        else:
            await panel.leave(current)
            self.dismiss(self._composer.text)
            if current.reply_id:
                model = self.workspace.state.effective_model
                self._say_what_goes_on(f"after the reply of {current.name}, with {model}")

    @work(group="leave", exclusive=True)
    async def action_keep(self) -> None:
        """Go on with the current slot alone, in the conversation."""
        kept = self.current
        if not kept.reply_id:
            self.notify("There is no reply in this slot yet.")
            return
        await self.panel.keep(kept)
        self.dismiss(self._composer.text)
        self._say_what_goes_on(f"with {kept.target.model}")

    def _say_what_goes_on(self, how: str) -> None:
        others = len(self.panel.slots) - 1
        stay = "reply stays as a version" if others == 1 else "replies stay as versions"
        sentence = f"The conversation continues {how}. The other {stay}."
        app_of(self).notify(sentence, markup=False)

    def action_leave_and_quit(self) -> None:
        """Leave, and quit; replies that arrive are asked about there."""
        self.dismiss(self._composer.text)
        app = app_of(self)
        app.call_later(app.run_action, "quit")

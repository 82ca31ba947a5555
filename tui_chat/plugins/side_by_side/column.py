"""A column: the title of a slot, and below it its conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.usage import Timing, short_number
from tui_chat.plugins.side_by_side.targets import described
from tui_chat.ui.chat.rows import ClickAction
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.plugins.side_by_side.panel import Panel, PanelSlot
    from tui_chat.send import PartialReply
    from tui_chat.ui.app import TuiChat

MIN_WIDTH = 48
"""Columns of the terminal that a slot needs."""
_ENDS = {"complete": "✓", "failed": "✗ failed", "stopped": "■ stopped"}


def state_words(panel: Panel, slot: PanelSlot) -> str:
    """Return the state of a slot in a few words, such as `✓ 1.2s`."""
    calls = panel.calls(slot)
    if calls:
        name = one_line(calls[0].call.name, 24)
        return f"runs {name}" if calls[0].is_running else f"? {name} waits"
    reply = slot.reply
    if reply is None:
        return "" if slot.is_included else "left out"
    timing = panel.timing(slot)
    seconds = "" if timing.elapsed is None else f" {timing.elapsed:.1f}s"
    state = "▌" if slot.is_arriving else _ENDS.get(reply.status, reply.status)
    return f"{state}{seconds}"


def fact_words(timing: Timing) -> str:
    """Return tokens and cost of a reply."""
    about = "" if timing.exact else "~"
    tokens = f"{about}{short_number(timing.tokens)} tokens" if timing.tokens else ""
    cost = f"${timing.cost:.4f}" if timing.cost is not None else ""
    return " · ".join(filter(None, (tokens, cost)))


class SlotTranscript(Transcript, can_focus=False):
    """The conversation of a slot. What acts on messages is done in the conversation itself, after
    a slot was kept; here clicks unfold, copy code and open links.
    """

    def draw(self, partial: PartialReply) -> None:
        """Draw what has arrived; the screen says when."""
        if self._layouts.set_reply(partial.entry_id, partial.reply, partial.timing.elapsed):
            self._draw_grown()

    def open_link(self, url: str) -> object:
        """Open a link as the conversation does."""
        return cast("TuiChat", app_of(self)).conversation.open_link(url)

    async def act(self, action: ClickAction) -> None:
        """Do what a click asks for."""
        if action.name == "retry":
            await app_of(self).run_action("screen.regenerate")
        elif action.name == "model":
            self.notify("Leave with Esc; /compare chooses other models.")


class WordsRow(Widget):
    """A row of words, cut at the right."""

    def __init__(self) -> None:
        super().__init__()
        self._words = Text()

    def show_words(self, words: Text) -> None:
        """Show other words."""
        words.no_wrap, words.overflow = True, "ellipsis"
        if words != self._words:
            self._words = words
            self.refresh()

    def render(self) -> Text:
        return self._words


class SlotTitle(WordsRow):
    """The first row of a column: model, state, time, tokens and cost."""

    DEFAULT_CSS = """
    SlotTitle { height: 1; padding: 0 1; background: $panel; }
    """

    def show(self, name: str, state: str, facts: str) -> None:
        """Show a slot's name, state, and tokens with cost."""
        state = f"  {state}" if state else ""
        self.show_words(Text.assemble(name, state, (f"  {facts}", "dim")))


class SlotColumn(Vertical, can_focus=True):
    """A slot on the screen. It has the focus, and scrolls what it shows."""

    DEFAULT_CSS = """
    SlotColumn {
        width: 1fr;
        height: 1fr;
        border-left: vkey $foreground 20%;
        &.-first { border-left: none; }
        &.-current > SlotTitle { background: $primary 25%; text-style: bold; }
        &:focus > SlotTitle { background: $primary 50%; }
        & > SlotTranscript { width: 1fr; height: 1fr; }
        &.-left-out > SlotTranscript { opacity: 60%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_lines(-1)", show=False),
        Binding("down", "scroll_lines(1)", show=False),
        Binding("pageup", "scroll_page(-1)", show=False),
        Binding("pagedown", "scroll_page(1)", show=False),
        Binding("home,g", "scroll_to_begin", show=False),
        Binding("end,G", "scroll_to_last", show=False),
        Binding("left", "screen.beside(-1)", show=False),
        Binding("right", "screen.beside(1)", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """The slot was clicked, or got the focus."""

        number: int

    def __init__(self, slot: PanelSlot) -> None:
        super().__init__()
        self.slot = slot
        self.transcript = SlotTranscript()
        self._title = SlotTitle()

    def compose(self) -> ComposeResult:
        yield self._title
        yield self.transcript

    def show(self, panel: Panel) -> None:
        """Show the slot as it is now."""
        slot = self.slot
        self.set_class(not slot.is_included, "-left-out")
        self.transcript.show(slot.entries, slot.name)
        self.show_progress(panel)

    def show_progress(self, panel: Panel) -> None:
        """Show what has arrived of the reply."""
        slot = self.slot
        if slot.is_arriving and (partial := panel.partial(slot)) is not None:
            self.transcript.draw(partial)
        more = described(slot.target)
        state = state_words(panel, slot)
        left_out = "" if slot.is_included or not slot.reply else " (left out)"
        name = f"{slot.name}{f' · {more}' if more else ''}{left_out}"
        self._title.show(one_line(name, 60), state, fact_words(panel.timing(slot)))

    # --- scrolling -----------------------------------------------------------------------

    def action_scroll_lines(self, lines: int) -> None:
        self.transcript.scroll_by(lines)

    def action_scroll_page(self, direction: int) -> None:
        self.action_scroll_lines(direction * max(self.size.height - 3, 1))

    def action_scroll_to_begin(self) -> None:
        self.transcript.action_begin()

    def action_scroll_to_last(self) -> None:
        self.transcript.action_end()

    def on_focus(self) -> None:
        self.post_message(self.Chosen(self.slot.number))

    def on_click(self, event: events.Click) -> None:
        del event
        self.focus()


class SlotStrip(WordsRow):
    """All slots in one row, where not all of them are in sight."""

    DEFAULT_CSS = """
    SlotStrip { height: 1; padding: 0 1; background: $surface; display: none; }
    SlotStrip.-needed { display: block; }
    """

    def show(self, slots: list[tuple[str, bool]]) -> None:
        """Show names and states of slots, each with whether it is the current one."""
        parts = (
            Text(text, Style(reverse=is_current, bold=is_current, meta={"slot": number}))
            for number, (text, is_current) in enumerate(slots, 1)
        )
        self.show_words(Text(" · ").join(parts))

    def on_click(self, event: events.Click) -> None:
        """Choose the slot that was clicked."""
        if number := event.style.meta.get("slot"):
            app = app_of(self)
            app.call_later(app.run_action, f"screen.slot({number})")

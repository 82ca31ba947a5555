"""The strip beside a long conversation: how many tokens each of its turns took.

A row stands for one turn, or for several if there are more turns than rows; then it shows the
largest. The bar of the turn under the cursor is highlighted, and a click goes to a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.ui.areas.chat.turns import UserTurn, facts_of, tokens_of, turn_at, user_turns
from tui_chat.ui.widgets.component_styles import ComponentStyles

if TYPE_CHECKING:
    from tui_chat.models.session import Entry

LEAST_TURNS = 12
"""Turns from which a conversation has a strip."""
WIDTH = 2
_BLOCKS = "▏▎▍▌▋▊▉█"


class TokenStrip(Widget):
    """Shows the tokens of each turn of a branch."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"token-strip--bar", "token-strip--here"}
    DEFAULT_CSS = f"""
    TokenStrip {{
        width: {WIDTH};
        height: 1fr;
        display: none;
        & .token-strip--bar {{ color: $foreground 30%; }}
        & .token-strip--here {{ color: $accent; }}
    }}
    """

    class TurnChosen(Message):
        """A turn was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index
            """The index of its first message."""

    def __init__(self) -> None:
        super().__init__()
        self._palette = ComponentStyles(self, "token-strip", self)
        self._entries: Sequence[Entry] = ()
        self._turns: list[UserTurn] = []
        self._tokens: list[int] = []
        self._is_reported = False
        self._here = -1

    def show(self, entries: Sequence[Entry]) -> None:
        """Show the turns of a branch; a short one has no strip."""
        if entries is self._entries:
            return
        self._entries = entries
        users = sum(entry.message.role == "user" for entry in entries)
        self.display = users >= LEAST_TURNS
        self._turns = user_turns(entries) if self.display else []
        self._tokens, self._is_reported = tokens_of(self._turns)
        self.refresh()

    def show_cursor(self, message_id: str) -> None:
        """Highlight the turn of a message."""
        if not self._turns:
            return
        ids = (n for n, entry in enumerate(self._entries) if entry.message.id == message_id)
        index = next(ids, None)
        here = -1 if index is None else turn_at(self._turns, index)
        if here != self._here:
            self._here = here
            self.refresh()

    def notify_style_update(self) -> None:
        """Drop the colours of the old theme."""
        self._palette.clear()
        super().notify_style_update()

    def _turns_of(self, row: int) -> range:
        """Return the turns that a row stands for."""
        height, count = self.size.height, len(self._turns)
        if count <= height:
            return range(row, min(row + 1, count))
        return range(row * count // height, (row + 1) * count // height)

    def render_line(self, y: int) -> Strip:
        """Draw a row."""
        numbers = self._turns_of(y)
        if not numbers:
            return Strip.blank(self.size.width, self._palette())
        most = max(self._tokens) or 1
        tokens = max(self._tokens[number] for number in numbers)
        # By the square root: one long turn must not flatten all others.
        eighths = round(sqrt(tokens / most) * WIDTH * len(_BLOCKS))
        full, rest = divmod(max(eighths, 1), len(_BLOCKS))
        bar = "█" * full + (_BLOCKS[rest - 1] if rest else "")
        style = "here" if self._here in numbers else "bar"
        return Strip([Segment(bar.ljust(WIDTH), self._palette(style))], WIDTH)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say what the row under the mouse stands for."""
        numbers = self._turns_of(event.y)
        if numbers:
            tokens = max(self._tokens[number] for number in numbers)
            most = next(number for number in numbers if self._tokens[number] == tokens)
            facts = facts_of(self._turns[most], tokens, is_reported=self._is_reported)
            self.tooltip = f"Turn {most + 1:,} of {len(self._turns):,}: {facts}"

    def on_click(self, event: events.Click) -> None:
        """Go to a turn."""
        if numbers := self._turns_of(event.y):
            self.post_message(self.TurnChosen(self._turns[numbers[0]].first))

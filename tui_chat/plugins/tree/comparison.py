"""The texts of two branches side by side, from where they part."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from tui_chat.interop.readable_parts import arguments
from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import Entry
from tui_chat.plugins.tree.tree_list import WRITERS
from tui_chat.ui.dialogs.base import Dialog, set_title

LONGEST = 20_000
"""Characters of one side that are laid out: more is not read in a box."""


class ComparisonDialog(Dialog[bool | None]):
    """Shows two branches; the answer is True if their requests are to be compared."""

    DEFAULT_CSS = """
    ComparisonDialog > Vertical { width: 150; }
    ComparisonDialog Horizontal { height: auto; max-height: 60vh; }
    ComparisonDialog .side {
        width: 1fr;
        height: auto;
        min-height: 6;
        max-height: 60vh;
        border-top: solid $primary;
        padding: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "scroll(1)", show=False, priority=True),
        Binding("up", "scroll(-1)", show=False, priority=True),
        Binding("pagedown,right", "scroll(10)", show=False, priority=True),
        Binding("pageup,left", "scroll(-10)", show=False, priority=True),
        Binding("d", "dismiss(True)", show=False),
    ]

    def __init__(self, sides: Sequence[tuple[str, Sequence[Entry]]]) -> None:
        """Each of the two `sides` is a title and the messages of a branch."""
        super().__init__()
        self._sides = sides

    def compose(self) -> ComposeResult:
        (_, left), (_, right) = self._sides
        pairs = zip(left, right, strict=False)
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0].message.id == pair[1].message.id, pairs)
        )
        with Vertical() as box:
            set_title(box, f"Two branches: {same:,} message{'s' * (same != 1)} in common")
            with Horizontal():
                for title, entries in self._sides:
                    with VerticalScroll(classes="side") as side:
                        side.can_focus = False
                        side.border_title = title
                        yield Static(_text_of(entries[same:]))
            yield Static(
                "↑ ↓ PgUp PgDn read · d difference of the requests · Esc close", classes="hint"
            )

    def action_scroll(self, lines: int) -> None:
        for side in self.query(".side"):
            side.scroll_relative(y=lines, animate=False)


def _text_of(entries: Sequence[Entry]) -> Text:
    text = Text()
    if not entries:
        text.append("Nothing beyond that.", style="dim")
    for entry in entries:
        writer = WRITERS[entry.message.role] + (f" · {entry.model}" if entry.model else "")
        text.append(f"{sanitize(writer)}\n", style="bold")
        calls = (f"calls {call.name} {arguments(call)}" for call in entry.message.tool_calls)
        content = sanitize("\n\n".join(filter(None, (entry.message.content, *calls))))
        text.append(content[: max(LONGEST - len(text), 0)] or "…")
        text.append("\n\n")
        if len(text) > LONGEST:
            break
    return text

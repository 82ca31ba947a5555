"""A field of a form that is one of a few words."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.widgets.row_list import clipped


class ChoiceField(Widget, can_focus=True):
    """One of a few words: all of them side by side, or the chosen one between arrows if folded."""

    DEFAULT_CSS = """
    ChoiceField {
        height: 1;
        width: auto;
        color: $label;
        &:focus { background: $primary 20%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "step(-1)", show=False),
        Binding("right,down,space", "step(1)", show=False),
    ]

    @dataclass
    class ChoiceMade(Message):
        """The user chose another word."""

        field: ChoiceField
        value: str

    def __init__(self, choices: tuple[tuple[str, str], ...], *, id: str, folded: bool = False):
        super().__init__(id=id)
        self._choices = choices
        self._folded = folded
        self.value = choices[0][0] if choices else ""
        """The value of the chosen word."""

    def offer(self, choices: tuple[tuple[str, str], ...], value: str) -> None:
        """Set the choices and the chosen one; posts nothing."""
        self._choices, self.value = choices, value
        self.refresh(layout=True)

    def choose(self, value: str) -> None:
        """Set the chosen one; posts nothing."""
        self.value = value
        self.refresh(layout=self._folded)

    def _pieces(self) -> list[tuple[str, str]]:
        """Return the texts drawn, each with the value that a click on it chooses."""
        if self._folded:
            label = dict(self._choices).get(self.value, self.value)
            return [("‹ ", "<"), (label, ">"), (" ›", ">")]
        return [(f" {label} ", value) for value, label in self._choices]

    def get_content_width(self, container: object, viewport: object) -> int:
        return sum(cell_len(text) for text, _ in self._pieces())

    def render(self) -> Content:
        """Draw the words, the chosen one highlighted."""
        if self._folded:
            (left, _), (label, _), (right, _) = self._pieces()
            label = clipped(label, max(self.content_size.width - cell_len(left + right), 1))
            return Content.assemble(left, (label, "bold $text-primary"), right)
        return Content.assemble(
            *(
                (text, "bold $text-primary on $primary 25%") if value == self.value else text
                for text, value in self._pieces()
            )
        )

    def action_step(self, by: int) -> None:
        """Choose the next word, the first one after the last."""
        values = [value for value, _ in self._choices]
        if values:
            index = values.index(self.value) + by if self.value in values else 0
            self._take(values[index % len(values)])

    def on_click(self, event: events.Click) -> None:
        end = 0
        for text, value in self._pieces():
            end += cell_len(text)
            if event.x < end:
                if self._folded:
                    self.action_step(-1 if value == "<" else 1)
                else:
                    self._take(value)
                return

    def _take(self, value: str) -> None:
        if value != self.value:
            self.choose(value)
            self.post_message(self.ChoiceMade(self, value))

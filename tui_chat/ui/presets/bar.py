"""What stands over the list: its title, what can be done, and the line that narrows it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tui_chat.library.editing import EditHistory
from tui_chat.models.visible import one_line
from tui_chat.ui.presets.look import clipped
from tui_chat.ui.presets.rows import PresetRows

_BAR = (
    ("+ Add", "add"),
    ("Edit", "open"),
    ("Delete", "delete"),
    ("Undo", "undo"),
    ("Redo", "redo"),
    ("Save", "save"),
    ("Preset", "settings"),
    ("More …", "more"),
)


class Title(Static):
    """What the preset is called, what it costs, and whether it is saved."""

    DEFAULT_CSS = "Title { height: 1; padding: 0 1; background: $panel; color: $foreground; }"

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._rest = ""
        self._mark = ""

    def show(self, name: str, edits: EditHistory | None, tokens: int, *, ours: bool) -> None:
        """Tell of a preset; `ours` is one that came with the program."""
        words: list[str] = []
        if edits is not None:
            count = len(edits.preset.messages)
            words.append(f"{count:,} message{'s' * (count != 1)}, {tokens:,} tokens")
            if edits.preset.system_placement == "in_place":
                words.append("system in place")
            if ours:
                words.append("ours: a save makes your copy")
        self._name, self._rest = one_line(name, 60), "".join(f" · {word}" for word in words)
        self._mark = "● " if edits is not None and edits.is_changed else ""
        self._draw()

    def on_resize(self) -> None:
        """Use the room there is."""
        self._draw()

    def _draw(self) -> None:
        room = max(self.size.width - len(self._mark), 1)
        text = clipped(self._name + self._rest, room)
        name, rest = text[: len(self._name)], text[len(self._name) :]
        self.update(
            Content.assemble(
                (self._mark, "bold $text-warning"),
                (name, "bold $text-primary"),
                (rest, "$foreground 75%"),
            )
        )


class Bar(Static):
    """What can be done, to be clicked."""

    DEFAULT_CSS = """
    Bar {
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $foreground 70%;
        link-style: none;
        link-color: $foreground 75%;
        link-background-hover: $primary 40%;
        link-style-hover: bold;
    }
    """

    def on_mount(self) -> None:
        """Write the words once."""
        words = (f"[@click=want('{what}')]{label}[/]" for label, what in _BAR)
        self.update("  ".join(words))

    def action_want(self, what: str) -> None:
        """Ask for what was clicked."""
        self.post_message(PresetRows.Wanted(what))


class Filter(Input):
    """What messages must contain; Esc clears it and leaves."""

    DEFAULT_CSS = """
    Filter {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $foreground 8%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(True)", show=False),
        Binding("down,enter", "leave(False)", show=False),
    ]

    class Left(Message):
        """The rows are to be focused."""

    def action_leave(self, clear: bool) -> None:
        """Go to the rows."""
        if clear:
            self.value = ""
        self.post_message(self.Left())

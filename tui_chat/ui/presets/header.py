"""The lines above the preset's list: title, toolbar and filter."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui_chat.library.editing.edits import EditHistory
from tui_chat.models.sanitize import one_line
from tui_chat.ui.widgets.safe_text import TextField

_TOOLBAR = (
    ("+ Add", "preset_editor.add"),
    ("Edit", "preset_editor.open"),
    ("Delete", "preset_editor.edit('delete')"),
    ("Undo", "preset_editor.undo"),
    ("Redo", "preset_editor.redo"),
    ("Save", "presets.save"),
    ("Preset", "preset_editor.settings"),
    ("More …", "presets.files"),
)
"""Words and action."""
_GAP = "  "


class PresetTitle(Static):
    """Name and cost of the preset, and a mark if it is not saved."""

    DEFAULT_CSS = """
    PresetTitle {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $foreground;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def show(self, name: str, edits: EditHistory | None, tokens: int | None, *, ours: bool) -> None:
        """Show a preset and its tokens, None if they are not known yet; `ours` is True for one that
        comes with the program.
        """
        words: list[str] = []
        if edits is not None:
            count = sum(not message.is_anchor for message in edits.preset.messages)
            size = "" if tokens is None else f", {tokens:,} tokens"
            words.append(f"{count:,} message{'s' * (count != 1)}{size}")
            if ours:
                words.append("built-in (saving creates your copy)")
        is_changed = edits is not None and edits.is_changed
        self.update(
            Content.assemble(
                ("● " if is_changed else "", "bold $text-warning"),
                (one_line(name, 60), "bold $text-primary"),
                (" not saved" if is_changed else "", "$text-warning"),
                ("".join(f" · {word}" for word in words), "$foreground 75%"),
            )
        )


class PresetToolbar(Static):
    """The actions, to be clicked."""

    DEFAULT_CSS = """
    PresetToolbar {
        height: 1;
        padding: 0 1;
        color: $foreground 70%;
        link-style: none;
        link-color: $foreground 75%;
        link-background-hover: $primary 40%;
        link-style-hover: bold;
    }
    """

    def on_mount(self) -> None:
        self.update(_GAP.join(f"[@click={action}]{label}[/]" for label, action in _TOOLBAR))


class PresetFilterInput(TextField):
    """Filters the messages; Esc clears it and returns to the rows."""

    DEFAULT_CSS = """
    PresetFilterInput {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $foreground 8%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "preset_editor.close_filter(True)", show=False),
        Binding("down,enter", "preset_editor.close_filter(False)", show=False),
    ]

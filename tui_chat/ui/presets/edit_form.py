"""What the editor's forms have in common: they are left with Esc, and tell every change at once."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input


class EditForm(Vertical):
    """A form below the list, or beside it; it changes nothing itself."""

    DEFAULT_CSS = """
    EditForm {
        display: none;
        height: 1fr;
        background: $background;
        border-top: solid $foreground 20%;
        & > Horizontal { height: 1; }
        .label { width: auto; color: $foreground 72%; padding: 0 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "List", show=True)]

    class Left(Message):
        """Esc was pressed."""

    class Changed(Message):
        """Fields of what is shown have other values."""

        def __init__(self, form: EditForm, fields: dict[str, Any], key: str) -> None:
            super().__init__()
            self.form = form
            self.fields = fields
            self.key = key
            """The field that is typed into; empty for what is chosen at once."""

    def tell(self, fields: dict[str, Any], key: str = "") -> None:
        """Say that these fields have other values; `key` where one types into one of them."""
        self.post_message(self.Changed(self, fields, key))

    def action_leave(self) -> None:
        """Go back to the list."""
        self.post_message(self.Left())

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.focus_next()  # pyright: ignore[reportUnknownMemberType] Textual types it Screen[Unknown]

"""A line of text in a form."""

from __future__ import annotations

from textual.widgets import Input


class Field(Input):
    """A line of text in a form; with the class `-number`, a whole number."""

    DEFAULT_CSS = """
    Field {
        height: 1;
        width: 1fr;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $foreground 9%; }
        &.-invalid, &.-invalid:focus { background: $error 30%; }
        &.-number { width: 8; }
    }
    """

    def fill(self, value: str) -> None:
        """Put a value in, unless what is typed there means the same."""
        same = self.value.strip() == value or (
            self.has_class("-number") and self.value in ("", "-") and self.has_focus
        )
        if not same:
            self.value = value
            self.remove_class("-invalid")

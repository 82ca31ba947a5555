"""The files that go with the next message, as chips over the composer."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message

from tui_chat.models.visible import one_line
from tui_chat.ui.chat.lines import clipped
from tui_chat.ui.widgets.one_pass import OnePassWidget

_REMOVE = "✕"


class AttachedLine(OnePassWidget):
    """Chips, each with a mark that takes it off; hidden where nothing is attached."""

    DEFAULT_CSS = """
    AttachedLine { display: none; height: 1; padding: 0 2; background: $background; }
    """

    class RemoveRequested(Message):
        """A file is to be taken off."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__()
        self._labels: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many files are attached."""
        return len(self._labels)

    def show(self, labels: tuple[str, ...]) -> None:
        """Show these."""
        self._labels = tuple(one_line(label, 60) for label in labels)
        self.display = bool(labels)
        self.refresh()

    def _chips(self) -> list[tuple[int, str]]:
        """Return the chips that fit, with the column each begins at."""
        room = self.content_size.width
        chips: list[tuple[int, str]] = []
        at = 0
        for label in self._labels:
            chip = f" {clipped(label, max(room - 5, 1))} {_REMOVE} "
            width = Content(chip).cell_length
            if chips and at + width > room - 5:
                break
            chips.append((at, chip))
            at += width + 1
        return chips

    def render(self) -> Content:
        """Draw the chips."""
        chips = self._chips()
        pieces: list[Content | tuple[str, str] | str] = []
        for _, chip in chips:
            pieces += [(chip, "$text-primary on $primary 20%"), " "]
        if hidden := len(self._labels) - len(chips):
            pieces.append((f"+{hidden}", "$foreground 72%"))
        return Content.assemble(*pieces)

    def on_click(self, event: events.Click) -> None:
        """Take off the chip whose mark was clicked."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        for index, (start, chip) in enumerate(self._chips()):
            end = start + Content(chip).cell_length
            if end - 3 <= offset.x < end:
                self.post_message(self.RemoveRequested(index))

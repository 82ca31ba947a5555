"""The queued messages above the composer: one line each, with a mark to remove it."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from tui_chat.models.sanitize import one_line
from tui_chat.ui.chat.rows import clipped

MAX_LINES = 3
"""Messages that are shown; a line counts the others."""
_REMOVE = "×"


class QueueLines(Widget):
    """The queued messages; hidden if there are none."""

    DEFAULT_CSS = """
    QueueLines { display: none; height: auto; padding: 0 3; background: $background; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._texts: tuple[str, ...] = ()
        self._is_waiting = False
        self._is_saved = True
        self.edit_key = ""
        """The key that takes the last one back into the composer."""

    def show(self, texts: tuple[str, ...], *, is_waiting: bool, is_saved: bool = True) -> None:
        """Show messages, the next one first. `is_waiting` is True if the user has to send them;
        `is_saved` is False while they are in memory only.
        """
        texts = tuple(one_line(text, 200) for text in texts)
        shown = texts, is_waiting, is_saved
        if shown == (self._texts, self._is_waiting, self._is_saved):
            return
        self._texts, self._is_waiting, self._is_saved = texts, is_waiting, is_saved
        self.display = bool(texts)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1 + min(len(self._texts), MAX_LINES)

    def render(self) -> Content:
        count, width = len(self._texts), self.content_size.width
        what = f"{count:,} queued" if count > 1 else "Queued"
        when = "Enter send the next one" if self._is_waiting else "sent after this reply"
        edit = f" · {self.edit_key} edits the last" if self.edit_key else ""
        more = f" · {count - MAX_LINES:,} more below" if count > MAX_LINES else ""
        saved = "" if self._is_saved else " · not saved yet"
        heading = clipped(f"{what}{saved} · {when}{edit}{more}", max(width, 1))
        is_marked = self._is_waiting or not self._is_saved
        tone = "$text-warning" if is_marked else "$label"
        lines: list[Content] = [Content.assemble((heading, tone))]
        for text in self._texts[:MAX_LINES]:
            room = max(width - 4, 1)
            words = clipped(text, room)
            lines.append(Content.assemble(("› ", tone), words.ljust(room), (f" {_REMOVE}", tone)))
        return Content("\n").join(lines)

    async def on_click(self, event: events.Click) -> None:
        """Remove the message whose mark was clicked; edit one that was clicked elsewhere."""
        offset = event.get_content_offset(self)
        if offset is None or not 0 < offset.y <= min(len(self._texts), MAX_LINES):
            return
        is_mark = offset.x >= self.content_size.width - 3
        name = "remove_queued" if is_mark else "edit_queued"
        await self.run_action(f"composer.{name}({offset.y - 1})")

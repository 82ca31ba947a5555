"""The hits of a search, and the preview of the messages around one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from tui_chat.models.media import as_text
from tui_chat.models.message import Message as ChatMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.search import Hit, HitPlace
from tui_chat.models.session import Entry
from tui_chat.ui.ago import ago
from tui_chat.ui.widgets.line_view import LineView
from tui_chat.ui.widgets.marked_text import marked, wrapped
from tui_chat.ui.widgets.row_list import RowList

PLACES: dict[HitPlace, str] = {
    "reasoning": "Reasoning",
    "call": "Tool call",
    "refusal": "Refusal",
    "attachment": "Attachment",
}
"""The part of a message with the words, if it is not its text."""
WRITERS = {"user": "You", "assistant": "Reply", "tool": "Tool", "system": "System", None: "Title"}


class HitList(RowList, can_focus=False):
    """The hits of a search. The screen's keys move the cursor, because the input has the focus."""

    ROW_HEIGHT = 3  # where the hit is, then two lines of its text
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"hit-list--{name}"
        for name in ("title", "detail", "user", "mark", "cursor", "hover", "empty")
    }
    DEFAULT_CSS = """
    HitList {
        & .hit-list--title { text-style: bold; }
        & .hit-list--detail { color: $label; }
        & .hit-list--user { color: $text-primary; }
        & .hit-list--mark { color: $text-warning; text-style: bold underline; }
        & .hit-list--hover { background: $foreground 5%; }
        & .hit-list--cursor { background: $primary 20%; }
        & .hit-list--empty { color: $label; }
    }
    """

    class HitHighlighted(Message):
        """The cursor moved to a hit, or there are no hits."""

    class HitSelected(Message):
        """The hit under the cursor was clicked again."""

    def __init__(self, now: float) -> None:
        super().__init__("hit-list")
        self.hits: tuple[Hit, ...] = ()
        self._now = now

    @property
    def hit(self) -> Hit | None:
        """The hit under the cursor."""
        return self.hits[self.cursor] if self.cursor < len(self.hits) else None

    @property
    def row_count(self) -> int:
        return len(self.hits)

    def show(self, hits: tuple[Hit, ...], empty: str) -> None:
        """Show hits; `empty` is shown if there are none."""
        self.hits, self.empty_text = hits, empty
        self.update_extent()
        self.set_cursor(0)

    def cursor_moved(self) -> None:
        self.post_message(self.HitHighlighted())

    def row_clicked(self, row: int, event: events.Click) -> None:
        """Put the cursor on a hit; select it if the cursor was there already."""
        again = row == self.cursor
        self.set_cursor(row)
        if again or event.chain > 1:
            self.post_message(self.HitSelected())

    def draw_line(self, line: int, width: int) -> Strip:
        index, part = divmod(line, self.ROW_HEIGHT)
        if index >= len(self.hits):
            return Strip.blank(width, self.palette())
        hit, ground = self.hits[index], self.emphasis(index)
        segments = (
            self._heading(hit, width, ground)
            if part == 0
            else self._snippet(hit, width, ground, part - 1)
        )
        return Strip(segments).adjust_cell_length(width, self.palette(ground))

    def _heading(self, hit: Hit, width: int, ground: str) -> list[Segment]:
        who = PLACES.get(hit.place, WRITERS[hit.message_role])
        time = ago(hit.created, self._now)
        age = f" · {time} "
        room = max(width - 1 - cell_len(who) - cell_len(age) - 2, 1)
        title = one_line(hit.title) or "Untitled"
        [title_segments] = wrapped([(title, self.palette(ground, "title"))], room, most=1)
        used = 1 + sum(segment.cell_length for segment in title_segments)
        gap = " " * max(width - used - cell_len(who) - cell_len(age), 1)
        who_style = "user" if hit.message_role == "user" else "detail"
        return [
            Segment(" ", self.palette(ground)),
            *title_segments,
            Segment(gap, self.palette(ground)),
            Segment(who, self.palette(ground, who_style)),
            Segment(age, self.palette(ground, "detail")),
        ]

    def _snippet(self, hit: Hit, width: int, ground: str, line: int) -> list[Segment]:
        plain, mark = self.palette(ground), self.palette(ground, "mark")
        lines = wrapped(marked(hit.snippet, hit.marks, plain, mark), max(width - 4, 8), most=2)
        return [Segment("   ", plain), *(lines[line] if line < len(lines) else ())]


_NEIGHBOR_LINES = 4
"""Most lines shown of a message before or after the hit."""
_BEFORE_MARK, _TEXT_SHOWN = 1500, 6000
"""Characters of the hit shown before its first mark, and in all."""
_LINES_ABOVE_MARK = 3


class HitPreview(LineView, can_focus=False):
    """The messages around a hit, the words found in them marked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"preview--{name}" for name in ("who", "user", "quiet", "mark")
    }
    DEFAULT_CSS = """
    HitPreview {
        & .preview--who { text-style: bold; color: $label; }
        & .preview--user { text-style: bold; color: $text-primary; }
        & .preview--quiet { color: $label; }
        & .preview--mark { color: $text-warning; text-style: bold underline; }
    }
    """

    def __init__(self) -> None:
        super().__init__("preview")
        self._entries: Sequence[Entry] = ()
        self._hit: Hit | None = None
        self._lines: list[list[Segment]] = []

    def show(self, hit: Hit | None, entries: Sequence[Entry]) -> None:
        """Show the messages around a hit; nothing if `hit` is None."""
        self._hit, self._entries = hit, entries
        self._lay_out()

    def resized(self) -> None:
        self._lay_out()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._entries:
            self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width - 2
        hit = self._hit
        self._lines = []
        hit_line = 0
        if hit is not None and width > 8:
            pattern = words_pattern(hit)
            for entry in self._entries:
                message = entry.message
                style = self.palette("user" if message.role == "user" else "who")
                who = WRITERS[message.role]
                if message.id == hit.message_id:
                    if hit.place in PLACES:
                        who += f" · {PLACES[hit.place]}"
                    lines, first = self._hit_lines(_text_at(message, hit.place), pattern, width)
                    hit_line = len(self._lines) + 1 + first
                else:
                    quiet = self.palette("quiet")
                    begin = message.content[: width * _NEIGHBOR_LINES * 2]
                    lines = wrapped(marked(begin, (), quiet, quiet), width, most=_NEIGHBOR_LINES)
                self._lines += [[Segment(who, style)], *lines, []]
        self.set_extent(len(self._lines))
        self.scroll_to(y=max(hit_line - _LINES_ABOVE_MARK, 0))
        self.refresh_changed()

    def _hit_lines(
        self, text: str, pattern: re.Pattern[str] | None, width: int
    ) -> tuple[list[list[Segment]], int]:
        """Return the lines of a hit, and the index of the first line with a mark."""
        plain, mark = self.palette(), self.palette("mark")
        first = pattern.search(text) if pattern is not None else None
        begin = max(first.start() - _BEFORE_MARK, 0) if first is not None else 0
        shown = text[begin : begin + _TEXT_SHOWN]
        spans = [match.span() for match in pattern.finditer(shown)] if pattern is not None else []
        before = "…" if begin else ""
        lines = wrapped(
            [(before, plain), *marked(shown, spans, plain, mark)],
            width,
        )
        if begin + _TEXT_SHOWN < len(text):
            lines.append([Segment("…", plain)])
        marked_at = (n for n, line in enumerate(lines) if any(each.style == mark for each in line))
        return lines, next(marked_at, 0)

    def draw_row(self, y: int) -> Strip:
        width, style = self.scrollable_content_region.width, self.palette()
        index = y + self.scroll_offset.y
        if index >= len(self._lines):
            return Strip.blank(width, style)
        return Strip([Segment(" ", style), *self._lines[index]]).adjust_cell_length(width, style)


def _text_at(message: ChatMessage, place: HitPlace) -> str:
    """Return the text of a message in which words were found."""
    match place:
        case "text":
            return message.content
        case "reasoning":
            return "\n\n".join(block.text for block in message.reasoning)
        case "call":
            return "\n\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
        case "refusal":
            return message.refusal
        case "attachment":
            files = (f"{part.name}\n{as_text(part).text}".strip() for part in message.parts)
            return "\n\n".join(filter(None, files))


def found_words(hit: Hit) -> tuple[str, ...]:
    """Return the words found, as they are written in the message."""
    return tuple(dict.fromkeys(hit.snippet[begin:end] for begin, end in hit.marks))


def words_pattern(hit: Hit) -> re.Pattern[str] | None:
    """Return a pattern for the words found, at any white space; None without words."""
    words = sorted((word for word in found_words(hit) if word.strip()), key=len, reverse=True)
    if not words:
        return None
    joined = "|".join(r"\s+".join(map(re.escape, word.split())) for word in words)
    return re.compile(joined, re.IGNORECASE)

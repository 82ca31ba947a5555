"""The messages around a hit: what was said before it, itself, and what followed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from tui_chat.models.message import Message as ChatMessage
from tui_chat.models.search import Hit, HitPlace
from tui_chat.models.session import Entry
from tui_chat.ui.search.hits import PLACES, WRITERS
from tui_chat.ui.search.lines import marked, wrapped
from tui_chat.ui.widgets.palette import Palette
from tui_chat.ui.widgets.thin_scroll import ThinScrollView

NEIGHBOUR = 4
"""Lines of a message beside the hit that are shown at most."""
BEFORE, MOST = 1500, 6000
"""Characters of the hit that are shown before its first mark, and altogether."""
_ABOVE = 3
"""Lines that are left above the first mark."""


class Preview(ThinScrollView):
    """Part of a conversation, with marks."""

    can_focus = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"preview--{name}" for name in ("who", "user", "quiet", "mark")
    }
    DEFAULT_CSS = """
    Preview {
        & .preview--who { text-style: bold; color: $foreground 70%; }
        & .preview--user { text-style: bold; color: $text-primary; }
        & .preview--quiet { color: $foreground 72%; }
        & .preview--mark { color: $text-warning; text-style: bold underline; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._entries: Sequence[Entry] = ()
        self._hit: Hit | None = None
        self._drawn: list[list[Segment]] = []
        self._palette = Palette(self, "preview")

    def show(self, hit: Hit | None, entries: Sequence[Entry]) -> None:
        """Show the messages around a hit; without a hit, nothing."""
        self._hit, self._entries = hit, entries
        self._draw()

    def on_resize(self) -> None:
        """Wrap anew."""
        self._draw()

    def notify_style_update(self) -> None:
        """Draw in the colours of another theme."""
        self._palette.clear()
        super().notify_style_update()
        if self._entries:
            self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width - 2
        hit = self._hit
        self._drawn = []
        at = 0
        if hit is not None and width > 8:
            wanted = words_of(hit)
            for entry in self._entries:
                message = entry.message
                style = self._palette("user" if message.role == "user" else "who")
                who = WRITERS[message.role]
                if message.id == hit.message_id:
                    if hit.place in PLACES:
                        who += f" · {PLACES[hit.place]}"
                    lines, first = self._found(_text_at(message, hit.place), wanted, width)
                    at = len(self._drawn) + 1 + first
                else:
                    quiet = self._palette("quiet")
                    begin = message.content[: width * NEIGHBOUR * 2]
                    lines = wrapped(marked(begin, (), quiet, quiet), width, most=NEIGHBOUR)
                self._drawn += [[Segment(who, style)], *lines, []]
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._drawn))
        self.scroll_y = self.scroll_target_y = max(at - _ABOVE, 0)
        self.refresh()

    def _found(
        self, text: str, wanted: re.Pattern[str] | None, width: int
    ) -> tuple[list[list[Segment]], int]:
        """Return the hit's lines, and which of them is the first with a mark."""
        plain, mark = self._palette(), self._palette("mark")
        first = wanted.search(text) if wanted is not None else None
        begin = max(first.start() - BEFORE, 0) if first is not None else 0
        shown = text[begin : begin + MOST]
        spans = [match.span() for match in wanted.finditer(shown)] if wanted is not None else []
        before = "…" if begin else ""
        lines = wrapped(
            [(before, plain), *marked(shown, spans, plain, mark)],
            width,
        )
        if begin + MOST < len(text):
            lines.append([Segment("…", plain)])
        marked_at = (n for n, line in enumerate(lines) if any(each.style == mark for each in line))
        return lines, next(marked_at, 0)

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        width, style = self.scrollable_content_region.width, self._palette()
        index = y + round(self.scroll_y)
        if index >= len(self._drawn):
            return Strip.blank(width, style)
        return Strip([Segment(" ", style), *self._drawn[index]]).adjust_cell_length(width, style)


def _text_at(message: ChatMessage, place: HitPlace) -> str:
    """Return the text of a message in which words were found."""
    match place:
        case "text":
            return message.content
        case "reasoning":
            return "\n\n".join(block.text for block in message.semantics.reasoning)
        case "call":
            return "\n\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
        case "refusal":
            return message.semantics.refusal


def found_words(hit: Hit) -> tuple[str, ...]:
    """Return the words that were found, as they stand in the message."""
    return tuple(dict.fromkeys(hit.snippet[begin:end] for begin, end in hit.marks))


def words_of(hit: Hit) -> re.Pattern[str] | None:
    """Return what finds a hit's words in its message."""
    words = sorted((word for word in found_words(hit) if word.strip()), key=len, reverse=True)
    if not words:
        return None
    joined = "|".join(r"\s+".join(map(re.escape, word.split())) for word in words)
    return re.compile(joined, re.IGNORECASE)

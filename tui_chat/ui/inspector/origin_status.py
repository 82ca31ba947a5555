"""What the cursor is on, in words: origin, rule of its place, JSON pointer."""

from __future__ import annotations

from itertools import pairwise

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive

from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.figures import cut, cut_front
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.looking import Under
from tui_chat.ui.inspector.wrap import LEAST, breaks
from tui_chat.ui.widgets.one_pass import OnePassWidget


class OriginStatus(OnePassWidget):
    """Up to three lines below the body."""

    DEFAULT_CSS = """
    OriginStatus {
        height: auto;
        padding: 0 1;
        background: $surface;
        color: $foreground;
    }
    """

    lines: reactive[int] = reactive(2, layout=True)
    """How many lines there is room for, 1 to 3."""
    under: reactive[Under | None] = reactive[Under | None](None)
    """What to tell about."""
    rule: reactive[str] = reactive("")
    """The rule that put its turn where it is, as a sentence; empty where there is none."""

    places: reactive[str] = reactive("")
    """On which of the places of one source the cursor is; empty where none is marked."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there is room for, whatever there is to say: the body stands still."""
        return self.lines

    def render(self) -> Content:
        """Draw the origin, then the place."""
        under = self.under
        width = self.size.width
        if under is None:
            told = _wrapped(self.rule, width, self.lines)
            return Content.styled("\n".join(told), "$foreground 72%")
        label = cut(phrase(under), width - 2)
        kind = under.origin.kind
        parts = [("▍ ", f"$origin-{kind}"), (label, f"bold $origin-{kind}")]
        room = width - 2 - cell_len(label)
        if self.lines == 1 and self.rule and not self.places and room >= 10:
            parts.append((f"  {cut(self.rule, room - 2)}", "$foreground 72%"))
        elif room >= 10:
            place = self.places or under.pointer or "/" * bool(under.line)
            place = cut_front(place, room - 2)
            parts += [(" " * (room - cell_len(place)), ""), (place, "$foreground 72%")]
        told = f"hides {under.hidden}" if under.hidden else self.rule
        style = "$text-warning" if under.hidden else "$foreground 72%"
        for row in _wrapped(told, width - 2, self.lines - 1):
            parts.append((f"\n  {row}", style))
        return Content.assemble(*parts)


def _wrapped(text: str, width: int, lines: int) -> list[str]:
    """Break a sentence into so many lines at most; the last is cut."""
    text = shown(text)
    room = max(width, LEAST)
    at = [0, *breaks(text, room, room)][:lines]
    rows = [text[start:end].rstrip() for start, end in pairwise(at)]
    return [*rows, cut(text[at[-1] :], width)] if at else []


def phrase(under: Under) -> str:
    """Say where something came from: `macro “date” in preset message “Style”`."""
    words = [under.origin.label]
    around: Origin | None = under.origin.within
    while around is not None:
        words.append(around.label)
        around = around.within
    if under.origin.kind is OriginKind.GLUE and under.owner.kind is not OriginKind.GLUE:
        words.append(under.owner.label)
    return " in ".join(words)

"""What the cursor is on, in words: origin, rule of its place, JSON pointer."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_chat.model.text import Origin, OriginKind
from tui_chat.ui.inspector.figures import cut, cut_front
from tui_chat.ui.inspector.looking import Under


class OriginStatus(Widget):
    """One or two lines below the body."""

    DEFAULT_CSS = """
    OriginStatus {
        height: 2;
        padding: 0 1;
        background: $surface;
        color: $foreground;
        &.-one { height: 1; }
    }
    """

    under: reactive[Under | None] = reactive[Under | None](None)
    """What to tell about."""
    rule: reactive[str] = reactive("")
    """The rule that put its turn where it is, as a sentence; empty where there is none."""

    places: reactive[str] = reactive("")
    """On which of the places of one source the cursor is; empty where none is marked."""

    def render(self) -> Content:
        """Draw the origin, then the place."""
        under = self.under
        width = self.size.width
        if under is None:
            return Content.styled(cut(self.rule, width), "$foreground-muted")
        label = cut(phrase(under), width - 2)
        kind = under.origin.kind
        parts = [("▍ ", f"$origin-{kind}"), (label, f"bold $origin-{kind}")]
        room = width - 2 - cell_len(label)
        if room >= 10:
            place = self.places or under.pointer or "/" * bool(under.line)
            place = cut_front(place, room - 2)
            parts += [(" " * (room - cell_len(place)), ""), (place, "$foreground-muted")]
        if self.size.height > 1:
            told = f"hides {under.hidden}" if under.hidden else self.rule
            style = "$text-warning" if under.hidden else "$foreground-muted"
            parts.append((f"\n  {cut(told, width - 2)}", style))
        return Content.assemble(*parts)


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

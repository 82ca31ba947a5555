"""The lines around a view of the request: what can be switched to, what the cursor is on, the worst
note and the cache forecast.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from tui_chat.models.envelope import Level, Note
from tui_chat.models.sanitize import sanitize
from tui_chat.models.usage import short_number
from tui_chat.ui.inspector.drawn_row import CursorTarget
from tui_chat.ui.inspector.origins import origin_phrase
from tui_chat.ui.inspector.rows_view import STYLES, styled
from tui_chat.ui.widgets.plain_links import PlainLinks

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast

SYMBOLS = {Level.ERROR: "✗", Level.WARNING: "▲", Level.INFO: "●"}
LEVEL_STYLES = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "link"}
NO_NOTES = "✓ No notes"


class Switch(NamedTuple):
    """Something that a line of switches leads to."""

    label: str
    short: str
    """The same in a narrow pane."""
    action: str
    """The action of a click."""
    is_on: bool
    key: str = ""
    """Its key, before the label."""
    number: str = ""
    """What stands behind the label."""
    number_style: str = ""
    """The name of its style."""

    def content(self, *, is_short: bool) -> Content:
        """Return the switch as it is drawn."""
        look = "bold $foreground" if self.is_on else STYLES["muted"]
        parts = [(f"{self.key} ", "$text-accent")] if self.key else []
        parts.append((self.short if is_short else self.label, look))
        parts += [(f" {self.number}", STYLES[self.number_style])] if self.number else []
        return clickable(Content.assemble(*parts), self.action)


class Line(PlainLinks, Static):
    """One line of text, cut at the end of the pane."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Line {
        height: 1;
        padding: 0 1;
        color: $foreground;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, pane: Widget, *, id: str) -> None:
        super().__init__(id=id)
        self._pane = pane

    def show(self, content: Content) -> None:
        """Show another text."""
        self.update(content, layout=False)

    async def action_in_pane(self, action: str) -> None:
        """Run an action of the pane, which a click on a part of the text does."""
        await self._pane.run_action(action)


def clickable(content: Content, action: str) -> Content:
    """Return the text of a line with an action of the pane."""
    return content.stylize(Style.from_meta({"@click": ("in_pane", (action,))}))


class Switches(Line):
    """One line of switches, in full words where they fit."""

    switches: reactive[tuple[Switch, ...]] = reactive[tuple[Switch, ...]](())

    def render(self) -> Content:
        content, width = Content(), self.content_size.width
        for is_short, gap in ((False, 2), (False, 1), (True, 1)):
            between = Content(" " * gap)
            content = between.join(each.content(is_short=is_short) for each in self.switches)
            if content.cell_length <= width:
                break
        return content.truncate(width, ellipsis=True)


_QUOTED = re.compile("“([^”]{12})[^”]{3,}”")


def origin_line(under: CursorTarget | None, rule: str, places: str, width: int) -> Content:
    """Return what the cursor is on, and why it is there; `places` is which of several places. In
    too small a width in cells, names are cut.
    """
    if under is None:
        return styled((rule, "muted"))
    color = f"$origin-{under.origin.kind}"
    words = sanitize(origin_phrase(under), "exact")
    if sum(map(cell_len, (words, places, rule))) + 8 > width:
        words = _QUOTED.sub(r"“\1…”", words)
    parts = [("▌ ", color), (words, f"bold {color}")]
    if under.hidden:
        parts.append((f" · hides {under.hidden}", STYLES["warning"]))
    for more in filter(None, (places, rule)):
        parts.append((f" · {sanitize(more, 'exact')}", STYLES["muted"]))
    return Content.assemble(*parts)


def note_line(notes: Sequence[Note]) -> Content:
    """Return the worst note, or that there is none."""
    worst = ((NO_NOTES, "muted"),)
    if notes:
        style = LEVEL_STYLES[notes[0].level]
        worst = ((f"{SYMBOLS[notes[0].level]} ", style), (notes[0].sentence, style))
    return clickable(styled(*worst), "notes")


def cache_line(forecast: Forecast) -> Content:
    """Return what a cache can serve of a request."""
    is_most = forecast.total and forecast.common / forecast.total > 0.5
    words = f"Cache: {short_number(forecast.served)} of {short_number(forecast.total)} tokens"
    return clickable(styled((words, "good" if is_most else "warning")), "difference")


def forecast_sentences(forecast: Forecast) -> str:
    """Return a forecast as sentences."""
    if not forecast.compares:
        return forecast.sentence
    served = ""
    if forecast.served < forecast.common:
        served = f" The provider's cache can serve {forecast.served:,} of them."
    common = f"{forecast.common:,} of {forecast.total:,} tokens match the last request."
    return f"{common}{served} {forecast.sentence}"

"""The summary of a request: model and address, tokens and size, budget bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Budget
from tui_chat.ui.areas.inspector.text_fitting import (
    counted,
    cut,
    fitting,
    shares,
    short_number,
    short_url,
    size_in_words,
)
from tui_chat.ui.widgets.one_pass import OnePassWidget

if TYPE_CHECKING:
    from tui_chat.compose import Composed


class RequestSummary(OnePassWidget):
    """Up to three lines above the body."""

    DEFAULT_CSS = """
    RequestSummary {
        height: auto;
        padding: 0 1;
        background: $surface;
        color: $foreground;
    }
    """

    lines: reactive[int] = reactive(3, layout=True)
    """Lines there is room for, 1 to 3."""

    def __init__(self) -> None:
        super().__init__()
        self._composed: Composed | None = None
        self._bytes: int | None = None
        self._own: Protocol | None = None
        self.own_words = "Enter sends"
        """Words before the session's own protocol if another one is shown."""

    def show(self, composed: Composed | None, size: int | None, own: Protocol | None) -> None:
        """Show a request whose body has `size` bytes; None if not known yet."""
        had = self._height()
        self._composed, self._bytes, self._own = composed, size, own
        self.refresh(layout=had != self._height())
        if composed is not None:
            self.tooltip = Content(f"{composed.method} {composed.url}")

    def _height(self) -> int:
        if self._composed is None:
            return 0
        budget = self._composed.envelope.budget
        return min(self.lines, 3 if budget is not None and budget.limit else 2)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the lines needed, at most the room there is."""
        return self._height()

    def render(self) -> Content:
        """Draw the lines."""
        if self._composed is None:
            return Content("")
        width = self.size.width
        lines = [self._figures(self._composed, width)]
        if self.lines > 1:
            lines.insert(0, self._request(self._composed, width))
        budget = self._composed.envelope.budget
        if self.lines > 2 and budget is not None and budget.limit:
            lines.append(_bar(budget, budget.limit, width))
        return Content("\n").join(lines)

    def _request(self, composed: Composed, width: int) -> Content:
        """Draw the model on the left and the address on the right."""
        model = cut(composed.model, max(width // 2, 10))
        room = width - cell_len(model) - 1
        if self._own is not None and self._own is not composed.protocol:
            sends = f"{self.own_words} {self._own.label}"
            text = next((t for t in (f"preview, {sends}", sends, "preview") if len(t) <= room), "")
            style = "$text-warning"
        else:
            url = short_url(composed.url, room - 5)
            text, style = (f"{composed.method} {url}" if room > 12 else ""), "$foreground 72%"
        gap = " " * (width - cell_len(model) - cell_len(text))
        return Content.assemble((model, "bold"), gap, (text, style))

    def _figures(self, composed: Composed, width: int) -> Content:
        budget = composed.envelope.budget
        turns = counted(len(composed.envelope.turns), "turn")
        rest = [turns, "… bytes" if self._bytes is None else size_in_words(self._bytes)]
        if self.lines == 1:
            rest.insert(0, cut(composed.model, 20))
        if budget is None:
            return Content(fitting(rest, width))
        if budget.counter:
            rest.append(budget.counter)
        tokens, style = _tokens(budget, width)
        dropped = len(composed.envelope.dropped)
        if dropped:
            rest.insert(0, f"{dropped:,} left out")
        others = fitting(["", *rest], width - cell_len(tokens))
        return Content.assemble((tokens, style), (others, "$foreground 72%"))


def _tokens(budget: Budget, width: int) -> tuple[str, str]:
    """Return the token count, exact or estimated, and its style."""
    about = "" if budget.exact else "~"
    over = budget.free is not None and budget.free < 0
    style = "bold $text-error" if over else "bold"
    if not budget.limit:
        return f"{about}{counted(budget.total, 'token')}", style
    if width < 56:
        return f"{about}{short_number(budget.total)} of {short_number(budget.limit)} tokens", style
    return f"{about}{budget.total:,} of {budget.limit:,} tokens", style


def _bar(budget: Budget, limit: int, width: int) -> Content:
    """Draw the fixed tokens, the history, the free tokens and the reply reserve."""
    free = limit - budget.reserve - budget.total
    text = f" {short_number(free)} free" if free >= 0 else f" {short_number(-free)} over"
    fixed, history, open_, reserve = shares(
        (budget.fixed, budget.history, max(free, 0), budget.reserve), width - len(text)
    )
    used = "$text-error" if free < 0 else "$origin-system"
    return Content.assemble(
        ("━" * fixed, used),
        ("━" * history, "$text-error" if free < 0 else "$origin-history"),
        ("─" * open_, "$foreground-disabled"),
        ("╌" * reserve, "$origin-setting"),
        (text, "$text-error" if free < 0 else "$foreground 72%"),
    )

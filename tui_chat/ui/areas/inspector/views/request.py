"""The request view: method, URL and headers with the key masked, and the size of the body."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tui_chat.ui.areas.inspector.row_wrapping import size_in_words
from tui_chat.ui.areas.inspector.views.rows_view import (
    BLANK,
    Part,
    RowsView,
    ViewRow,
    ViewRows,
    line,
    text_part,
)

if TYPE_CHECKING:
    from tui_chat.compose import Composed

MASK = "••••••••"
SETTLED = 0.25
"""Seconds without a keystroke after which the body is encoded for its size and digest."""

COPY_CURL, COPY_HTTP = "copy as curl", "copy as HTTP"


class RequestView(RowsView):
    """Method, URL, headers with the key masked, size of the body, and what can be copied."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "offer('copy as curl')", "Copy as curl", show=False)
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._composed: Composed | None = None
        self._body: tuple[int, str] | None = None
        """Size and digest of the body; None until typing pauses."""

    def show(self, composed: Composed) -> None:
        """Show a request; size and digest follow when typing pauses."""
        if composed is self._composed and self._body is not None:
            return
        self._composed, self._body = composed, None
        self.rebuild()
        self.set_timer(SETTLED, lambda: self._show_encoded_size(composed))

    def forget(self) -> None:
        """Drop the request."""
        super().forget()
        self._composed = self._body = None

    def _show_encoded_size(self, composed: Composed) -> None:
        if composed is self._composed and self.is_attached:
            payload = composed.payload
            self._body = len(payload.body), payload.sha256
            self.rebuild()

    def action_offer(self, what: str) -> None:
        """Post an action as a row would."""
        self.post_message(self.RowSelected(ViewRow((), action=what)))

    def build(self, width: int) -> ViewRows:
        """Lay out the request's lines."""
        composed = self._composed
        if composed is None:
            return ViewRows()
        parts: list[Part] = [
            line((f"{composed.method} ", "strong"), ("to ", "muted"), (composed.endpoint.name, "")),
            text_part(composed.url, width, "  "),
            BLANK,
            line(("Headers", "heading")),
        ]
        for name, value in composed.headers:
            parts.append(text_part(f"{name}: {value}", width, "  "))
        if composed.key_header is not None:
            name, prefix = composed.key_header
            key = (f"  {name}: {prefix}", ""), (MASK, "warning")
            parts.append(line(*key, hint="The key is added when it is sent, and never shown."))
        size, digest = self._body or (0, "")
        size_text = size_in_words(size) if self._body else "…"
        parts += [
            BLANK,
            line(("Body", "heading")),
            line((f"  {size_text}", ""), (" of JSON", "muted")),
            text_part(f"SHA-256 {digest or '…'}", width, "  ", "muted"),
            BLANK,
            line(("  y ", "strong"), ("Copy as curl", "link"), action=COPY_CURL, hint=_CURL),
            line(("  Y ", "strong"), ("Copy as HTTP", "link"), action=COPY_HTTP, hint=_HTTP),
        ]
        return ViewRows(parts)


_CURL = "A shell command that sends the same bytes; the key is a variable."
_HTTP = "Request line, headers with the key masked, and the body."

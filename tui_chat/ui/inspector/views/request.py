"""The request around the body: what is asked of whom, with which headers; the key never."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tui_chat.ui.inspector.text_fitting import size_in_words
from tui_chat.ui.inspector.views.rows_view import BLANK, Part, Row, Rows, RowsView, line, many, said

if TYPE_CHECKING:
    from tui_chat.compose import Composed

MASK = "••••••••"
SETTLED = 0.25
"""Seconds without a keystroke after which the bytes are made for their size and digest."""

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
        """Show a request; its size and digest follow when nothing else comes."""
        if composed is self._composed and self._body is not None:
            return
        self._composed, self._body = composed, None
        self.rebuild()
        self.set_timer(SETTLED, lambda: self._weigh(composed))

    def forget(self) -> None:
        """Let go of the request."""
        super().forget()
        self._composed = self._body = None

    def _weigh(self, composed: Composed) -> None:
        if composed is self._composed and self.is_attached:
            payload = composed.payload
            self._body = len(payload.body), payload.sha256
            self.rebuild()

    def action_offer(self, what: str) -> None:
        """Ask for one of the things a row offers."""
        self.post_message(self.Chosen(Row((), does=what)))

    def build(self, width: int) -> Rows:
        """Lay out the request's lines."""
        composed = self._composed
        if composed is None:
            return Rows()
        parts: list[Part] = [
            line((f"{composed.method} ", "strong"), ("to ", "muted"), (composed.endpoint.name, "")),
            many(said(composed.url, width, "  ")),
            BLANK,
            line(("Headers", "heading")),
        ]
        for name, value in composed.headers:
            parts.append(many(said(f"{name}: {value}", width, "  ")))
        if composed.key_header is not None:
            name, prefix = composed.key_header
            key = (f"  {name}: {prefix}", ""), (MASK, "warning")
            parts.append(line(*key, says="The key is put in when the request leaves; never shown."))
        size, digest = self._body or (0, "")
        told = size_in_words(size) if self._body else "…"
        parts += [
            BLANK,
            line(("Body", "heading")),
            line((f"  {told}", ""), (" of JSON", "muted")),
            many(said(f"SHA-256 {digest or '…'}", width, "  ", "muted")),
            BLANK,
            line(("  y ", "strong"), ("Copy as curl", "link"), does=COPY_CURL, says=_CURL),
            line(("  Y ", "strong"), ("Copy as HTTP", "link"), does=COPY_HTTP, says=_HTTP),
        ]
        return Rows(parts)


_CURL = "A shell command that sends the same bytes; the key is a variable."
_HTTP = "Request line, headers with the key masked, and the body."

"""The request view: method, URL and headers with the key masked, and the size of the body.

Of a recorded request these are what was sent; what had to be rebuilt is called so.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.ui.inspector.row_wrapping import size_in_words
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    RowsView,
    ViewRows,
    line,
    text_part,
)
from tui_chat.ui.inspector.views import InspectorState, copy_text
from tui_chat.ui.widgets.pane_key import pane_key

if TYPE_CHECKING:
    from tui_chat.compose import Composed

MASK = "••••••••"
SETTLED = 0.25
"""Seconds without a keystroke after which the body is encoded for its size and digest."""

COPY_CURL, COPY_HTTP = "copy('curl')", "copy('http')"


class RequestView(RowsView):
    """Method, URL, headers with the key masked, size of the body, and what can be copied."""

    BINDINGS: ClassVar[list[BindingType]] = [pane_key("y", COPY_CURL, "copy", "Copy as curl")]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._composed: Composed | None = None
        self._body: tuple[int, str] | None = None
        """Size and digest of the body; None until typing pauses."""

    def show_state(self, state: InspectorState) -> None:
        """Show a request; size and digest follow when typing pauses."""
        composed = state.composed
        if composed is None or (composed is self._composed and self._body is not None):
            return
        self._composed, self._body = composed, None
        self.rebuild()
        self.set_timer(SETTLED, lambda: self._show_encoded_size(composed))

    def forget(self) -> None:
        super().forget()
        self._composed = self._body = None

    def _show_encoded_size(self, composed: Composed) -> None:
        if composed is self._composed and self.is_attached:
            self._body = len(composed.body), sha256(composed.body).hexdigest()
            self.rebuild()

    def action_copy(self, form: str) -> None:
        copy_request(self, self._composed, form)

    def build(self, width: int) -> ViewRows:
        composed = self._composed
        if composed is None:
            return ViewRows()
        parts: list[Part] = [
            line((f"{composed.method} ", "strong"), ("to ", "muted"), (composed.endpoint.name, "")),
            text_part(composed.shown_url, width, "  "),
            *_remark(_url_remark(composed)),
            BLANK,
            _heading("Headers", _headers_remark(composed)),
        ]
        for name, value in composed.shown_headers:
            parts.append(text_part(f"{name}: {value}", width, "  "))
        if composed.key_header is not None:
            name, prefix = composed.key_header
            key = (f"  {name}: {prefix}", ""), (MASK, "warning")
            parts.append(line(*key, hint="The key is added on sending, and never shown."))
        size, digest = self._body or (0, "")
        size_text = size_in_words(size) if self._body else "…"
        parts += [
            BLANK,
            _heading("Body", _body_remark(composed)),
            line((f"  {size_text}", ""), (" of JSON", "muted")),
            text_part(f"SHA-256 {digest or '…'}", width, "  ", "muted"),
            BLANK,
            line(("  y ", "strong"), ("Copy as curl", "link"), action=COPY_CURL, hint=_CURL),
            line(("  Y ", "strong"), ("Copy as HTTP", "link"), action=COPY_HTTP, hint=_HTTP),
        ]
        return ViewRows(parts)


def copy_request(widget: Widget, composed: Composed | None, form: str) -> None:
    """Copy a request as `curl` or `http`; nothing happens without one."""
    if composed is not None and form == "curl":
        copy_text(widget, as_curl(composed), "the request as curl")
    elif composed is not None:
        copy_text(widget, as_http(composed), "the request")


def _remark(words: str) -> list[Part]:
    return [line((f"  {words}", "muted"))] if words else []


def _heading(words: str, remark: str) -> Part:
    return line((words, "heading"), *([(remark, "muted")] if remark else []))


def _url_remark(composed: Composed) -> str:
    recorded = composed.recorded
    return "rebuilt: it was not recorded" if recorded is not None and not recorded.url else ""


def _headers_remark(composed: Composed) -> str:
    recorded = composed.recorded
    if recorded is None:
        return ""
    if recorded.headers is None:
        return "  rebuilt: they were not recorded"
    return "  those recorded" if recorded.missing else "  as sent, credentials masked"


def _body_remark(composed: Composed) -> str:
    recorded = composed.recorded
    if recorded is None:
        return ""
    if recorded.missing:
        return f"  rebuilt, without {recorded.missing}"
    return "  as kept: credentials are masked" if recorded.is_masked else "  as sent"


_CURL = "A shell command that sends the same bytes; the key is a variable."
_HTTP = "Request line, headers with the key masked, and the body."

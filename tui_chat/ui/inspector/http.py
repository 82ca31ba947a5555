"""The HTTP view: method, URL and headers with the key masked, and the size of the body.

Of a recorded request these are what was sent; what had to be rebuilt is called so.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import ClassVar

from textual.binding import BindingType

from tui_chat.analysis.http_text import as_http
from tui_chat.compose import Composed
from tui_chat.ui.inspector.row_wrapping import size_in_words
from tui_chat.ui.inspector.rows_view import BLANK, Part, RowsView, line, text_rows
from tui_chat.ui.inspector.views import copy_text
from tui_chat.ui.widgets.pane_key import pane_key

MASK = "••••••••"


class HttpView(RowsView):
    """Method, URL, headers with the key masked, size of the body, and what can be copied."""

    BINDINGS: ClassVar[list[BindingType]] = [pane_key("y", "copy_http", "copy", "Copy as HTTP")]

    def action_copy_http(self) -> None:
        """Copy request line, headers with the key masked, and body."""
        if self.state.composed is not None:
            copy_text(self, as_http(self.state.composed), "the request")

    def build(self, width: int) -> Iterator[Part]:
        if (composed := self.state.composed) is None:
            return
        url, headers, body = _remarks(composed)
        to = (f"{composed.method} ", "strong"), ("to ", "muted"), (composed.endpoint.name, "")
        yield line(*to)
        yield text_rows(composed.shown_url, width, "  ")
        if url:
            yield line((f"  {url}", "muted"))
        yield BLANK
        yield line(("Headers", "heading"), (headers, "muted"))
        for name, value in composed.shown_headers:
            yield text_rows(f"{name}: {value}", width, "  ")
        if composed.key_header is not None:
            name, prefix = composed.key_header
            hint = "The key is added on sending, and never shown."
            yield line((f"  {name}: {prefix}", ""), (MASK, "warning"), hint=hint)
        yield BLANK
        yield line(("Body", "heading"), (body, "muted"))
        yield line((f"  {size_in_words(len(composed.body))} of JSON", ""))
        yield text_rows(f"SHA-256 {sha256(composed.body).hexdigest()}", width, "  ", "muted")
        yield BLANK
        yield line(("  y ", "strong"), ("Copy as HTTP", "link"), action="copy_http")
        yield line(("  Y ", "strong"), ("Copy as curl", "link"), action="inspector_pane.copy_curl")


def _remarks(composed: Composed) -> tuple[str, str, str]:
    """Return what is said of URL, headers and body of a recorded request."""
    recorded = composed.recorded
    if recorded is None:
        return "", "", ""
    url = "" if recorded.url else "rebuilt: it was not recorded"
    headers = "  those recorded" if recorded.missing else "  as sent, credentials masked"
    if recorded.headers is None:
        headers = "  rebuilt: they were not recorded"
    body = "  as kept: credentials are masked" if recorded.is_masked else "  as sent"
    if recorded.missing:
        body = f"  rebuilt, without {recorded.missing}"
    return url, headers, body

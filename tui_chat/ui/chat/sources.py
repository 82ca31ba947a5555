"""The sources of a reply on the screen: a list below its text."""

from __future__ import annotations

from itertools import islice

from textual.content import Content

from tui_chat.models.message import References
from tui_chat.models.sanitize import one_line
from tui_chat.ui.chat.rows import (
    Row,
    clipped,
    joined,
    one_row,
    safe,
    styled,
)

LISTED_AT_ONCE = 5
"""Sources that are listed without being unfolded."""
_STYLE = "citation"


def sources_label(references: References, width: int, *, is_open: bool) -> str:
    """Return the words on the row that folds the list: how many sources, and of whom."""
    count = len(references.sources)
    if is_open:
        return f"{count} sources"
    hosts = dict.fromkeys(source.host or source.label for source in references.sources)
    return clipped(f"{count} sources: {', '.join(islice(hosts, 20))}", width)


def source_rows(references: References, width: int) -> list[Row]:
    """Lay out the list of sources, a row each."""
    rows: list[Row] = []
    digits = len(str(len(references.sources)))
    for number, source in enumerate(references.sources, 1):
        head = styled(f"[{number}]".ljust(digits + 3), _STYLE, link=source.url)
        host = source.host if source.title and source.host != source.title else ""
        host = safe(clipped(host, max(width // 3, 8)), "url", link=source.url)
        room = max(width - head.cell_length - (host.cell_length + 2 if host else 0), 8)
        label = clipped(one_line(source.label), room)
        text = safe(label, "link" if source.url else "quiet", link=source.url)
        more = (Content("  "), host) if host else ()
        rows.append(one_row(joined(head, text, *more), width))
    return rows

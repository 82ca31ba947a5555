"""A text as the rows of a message."""

from __future__ import annotations

from tui_chat.ui.chat.markdown import section_rows
from tui_chat.ui.chat.rows import Row
from tui_chat.ui.chat.sections import SectionSplitter


def drawn(source: str, width: int = 30) -> list[str]:
    """Lay a text out as a message does, and return its rows."""
    rows: list[Row] = []
    for section in SectionSplitter(source).all():
        if rows and section.gap:
            rows.append(Row())
        rows += section_rows(section, width)
    return [row.text.rstrip() for row in rows]

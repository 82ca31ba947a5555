"""A text as the lines of a message."""

from __future__ import annotations

from tui_chat.ui.chat.markdown import section_lines
from tui_chat.ui.chat.sections import SectionSplitter
from tui_chat.ui.chat.text_lines import TextLine


def drawn(source: str, width: int = 30) -> list[str]:
    """Lay a text out as a message does, and return its lines."""
    lines: list[TextLine] = []
    for section in SectionSplitter(source).all():
        if lines and section.gap:
            lines.append(TextLine())
        lines += section_lines(section, width)
    return [line.text.rstrip() for line in lines]

"""Draws a reply as Markdown on a terminal while it arrives.

The text is laid out by the app's own modules, which make every hostile character visible; only the
styles and the cursor movements of this module reach the terminal. A section that can still change
is drawn at the bottom, as far as it fits, and drawn again until it is settled.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.ui.chat.markdown import section_rows
from tui_chat.ui.chat.rows import Row, runs_of
from tui_chat.ui.chat.sections import Section, SectionSplitter

WIDEST = 100
"""Maximum cells of a line; longer lines are hard to read."""

_STYLES = {
    **dict.fromkeys(("strong", "table-head"), "1"),
    **dict.fromkeys(("code-label", "url", "quote", "quote-bar", "rule", "table-line"), "2"),
    **dict.fromkeys(("emphasis",), "3"),
    **dict.fromkeys(("code-inserted", "code-string"), "32"),
    **dict.fromkeys(("code", "code-number", "warning"), "33"),
    **dict.fromkeys(("citation", "list-mark", "maths"), "36"),
    **dict.fromkeys(("heading", "heading-second"), "1;36"),
    "quiet": "2",
    "strike": "9",
    "code-comment": "2;3",
    "code-keyword": "35",
    "code-name": "34",
    "code-class": "1;34",
    "code-builtin": "36",
    "code-deleted": "31",
    "link": "4;34",
    "heading-first": "1;4;36",
}
"""SGR parameters of the styles of the layout; those that are not here have none."""
_COLORS = frozenset(str(number) for number in range(30, 38))
_UNUSED = "code-copy"
"""The style of what is only there to be clicked."""


class MarkdownOutput:
    """Writes the sections of a growing text to a terminal."""

    def __init__(self, columns: int, rows: int, *, color: bool) -> None:
        self._width = max(min(columns - 1, WIDEST), 12)
        self._room = max(rows - 2, 1)
        self._color = color
        self._splitter = SectionSplitter()
        self._settled = 0
        """Sections that are written for good."""
        self._drawn = 0
        """Lines of the open section on the screen."""

    def feed(self, text: str) -> str:
        """Return what to write to the terminal after more text."""
        self._splitter.feed(text)
        pieces = [self._erase(), self._settle(self._splitter.settled)]
        arriving = enumerate(self._splitter.open, self._settled)
        lines = [line for number, section in arriving for line in self._lines(section, number)]
        self._drawn = len(lines[-self._room :])
        pieces += (f"{line}\n" for line in lines[-self._room :])
        return "".join(pieces)

    def end(self) -> str:
        """Return what to write to the terminal at the end of the text."""
        text = self._erase() + self._settle(self._splitter.all())
        self._splitter, self._settled = SectionSplitter(), 0
        return text

    def whole(self, text: str) -> str:
        """Return what to write to the terminal for a text that is complete."""
        self._splitter.feed(text)
        return self.end()

    def _erase(self) -> str:
        drawn, self._drawn = self._drawn, 0
        return f"\x1b[{drawn}A\r\x1b[J" if drawn else ""

    def _settle(self, sections: Sequence[Section]) -> str:
        new = [
            line
            for number, section in enumerate(sections[self._settled :], self._settled)
            for line in self._lines(section, number)
        ]
        self._settled = len(sections)
        return "".join(f"{line}\n" for line in new)

    def _lines(self, section: Section, number: int) -> list[str]:
        """Lay out a section; `number` counts from 0."""
        lines = [""] if section.gap and number else []
        return lines + [self.painted(row) for row in section_rows(section, self._width)]

    def painted(self, row: Row) -> str:
        """Return a laid-out row with the escape sequences of its styles."""
        text = "".join(
            self._styled(run.text, run.styles)
            for run in runs_of(row.content)
            if _UNUSED not in run.styles
        )
        return text.rstrip()

    def _styled(self, text: str, styles: Sequence[str]) -> str:
        codes = [code for style in styles for code in _STYLES.get(style, "").split(";") if code]
        if not self._color:
            codes = [code for code in codes if code not in _COLORS]
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes else text

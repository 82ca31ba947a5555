"""Parts of a message: lines that are laid out when they are looked at, and texts that grow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui_chat.ui.chat.code_blocks import WRAPPED, CodeView, cut_code, spaced_code
from tui_chat.ui.chat.header_footer import count_words
from tui_chat.ui.chat.markdown import code_in, plain_lines, section_lines
from tui_chat.ui.chat.sections import Section, SectionSplitter
from tui_chat.ui.chat.sources import linked_marks, without_marks
from tui_chat.ui.chat.text_lines import BLANK, StyleNames, TextLine, TextRun, indented

if TYPE_CHECKING:
    from tui_chat.models.citations import Source
    from tui_chat.models.reply import Rope

COUNTED = 400_000
"""Characters of a text whose words are counted; the rest is extrapolated."""


class LayoutPart:
    """Some lines of a message, laid out when they are looked at."""

    __slots__ = ("_draw", "_lines", "height")

    def __init__(self, draw: Callable[[], list[TextLine]], estimate: int) -> None:
        self._draw = draw
        self._lines: list[TextLine] | None = None
        self.height = estimate
        """Lines of the part; exact after `lines` was read."""

    @property
    def lines(self) -> list[TextLine]:
        """The part's lines."""
        if self._lines is None:
            self._lines = self._draw()
            self.height = len(self._lines)
        return self._lines


def finished_part(lines: list[TextLine]) -> LayoutPart:
    """Return a part of lines that are laid out already."""
    part = LayoutPart(lambda: lines, len(lines))
    _ = part.lines
    return part


def barred_part(part: LayoutPart, bar: Sequence[TextRun]) -> LayoutPart:
    """Return a part with a bar at its left."""
    return LayoutPart(lambda: indented(part.lines, bar, bar), part.height)


class CodeBlock(NamedTuple):
    """A block of code in a text."""

    part: int
    """Index of the part in which it begins."""
    number: int
    """Its index among the blocks of that part."""
    language: str
    """The word after the fence."""
    source: str


class GrowingText:
    """The sections of a text that may still grow, and their parts."""

    def __init__(
        self,
        width: int,
        styles: StyleNames = (),
        *,
        verbatim: bool = False,
        sources: Sequence[Source] = (),
        code: CodeView = WRAPPED,
    ) -> None:
        """`sources` are those of the marks in the text; `code` is the width of lines of code."""
        self.parts: list[LayoutPart] = []
        self._sections = SectionSplitter()
        self._settled = 0
        self._counted_sections = 0
        self._words = self._characters = 0
        self._width, self._styles, self._verbatim = width, styles, verbatim
        self._sources, self._code = sources, code
        self._chunks = 0
        self._offset = 0

    def follow(self, rope: Rope) -> int:
        """Add what the rope gained since the last call; return the first part that changed."""
        new = "".join((*rope.chunks[self._chunks :], rope.tail))[self._offset :]
        self._chunks, self._offset = len(rope.chunks), len(rope.tail)
        return self.feed(new)

    def follow_next_rope(self) -> None:
        """Expect another rope in the next call of `follow`."""
        self._chunks = self._offset = 0

    def feed(self, text: str) -> int:
        """Add text at the end; return the first part that changed."""
        if not text:
            return len(self.parts)
        self._sections.feed(text)
        settled, first = self._sections.settled, self._settled
        del self.parts[first:]
        for section in settled[first:]:
            self.parts.append(self._part(section))
        self._settled = len(settled)
        if last := self._sections.open:
            self.parts.append(self._part(last))
        return first

    @property
    def words(self) -> int:
        """The number of words, where a wide character is one; an estimate beyond `COUNTED`."""
        for section in self._sections.settled[self._counted_sections :]:
            size = len(section.source)
            if self._characters < COUNTED:
                self._words += count_words(section.source)
            else:
                self._words += round(size * self._words / self._characters)
            self._characters += size
        self._counted_sections = len(self._sections.settled)
        last = self._sections.open
        return self._words + (count_words(last.source) if last else 0)

    @property
    def code_blocks(self) -> list[CodeBlock]:
        """The blocks of code, each whole even if it was cut into sections."""
        blocks: list[CodeBlock] = []
        for part, section in enumerate(self._sections.all()):
            if section.kind == "code" and section.opens:
                blocks.append(CodeBlock(part, 0, section.lead, section.source))
            elif section.kind == "code" and blocks:
                begun = blocks[-1]
                blocks[-1] = begun._replace(source=f"{begun.source}\n{section.source}")
            elif section.kind == "markdown" and not self._verbatim:
                code_blocks = enumerate(code_in(section))
                blocks += [
                    CodeBlock(part, number, language, without_marks(code))
                    for number, (language, code) in code_blocks
                ]
        return blocks

    def _part(self, section: Section) -> LayoutPart:
        verbatim = self._verbatim and section.kind != "code"
        gap = bool(self.parts) and (section.blank if verbatim else section.gap)
        # `draw` must not hold `self`, which holds it.
        width, styles, sources = self._width, self._styles, self._sources
        code = self._code

        def draw() -> list[TextLine]:
            try:
                lines = section_lines(section, width, styles, verbatim=verbatim)
            except Exception:  # a bug in the Markdown or Pygments library must not hide the text
                lines = plain_lines(section.source, width, styles)
            if not code.wraps:
                lines = cut_code(lines, width, code.offset)
            if code.has_space:
                lines = spaced_code(lines, closes=section.closes)
            if sources:
                lines = linked_marks(lines, sources)
            return [BLANK, *lines] if gap else lines

        estimate = section.source.count("\n") + 1 + len(section.source) // max(width, 1)
        return LayoutPart(draw, estimate + gap)

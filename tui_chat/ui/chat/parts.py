"""Parts of a message: lines that are laid out when they are looked at, and texts that grow."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tui_chat.models.reply import Rope
from tui_chat.ui.chat import label
from tui_chat.ui.chat.lines import BLANK, Line, Run, Styles, indented
from tui_chat.ui.chat.markdown import codes_of, plain_lines, section_lines
from tui_chat.ui.chat.sections import Section, Sections

COUNTED = 400_000
"""Characters of a text whose words are counted one by one."""


class Part:
    """Some lines of a message, laid out when they are looked at."""

    __slots__ = ("_draw", "_lines", "height")

    def __init__(self, draw: Callable[[], list[Line]], estimate: int) -> None:
        self._draw = draw
        self._lines: list[Line] | None = None
        self.height = estimate
        """In lines; exact once `lines` was asked for."""

    @property
    def lines(self) -> list[Line]:
        """The part's lines."""
        if self._lines is None:
            self._lines = self._draw()
            self.height = len(self._lines)
        return self._lines


def ready(lines: list[Line]) -> Part:
    """Make a part of lines that are laid out already."""
    part = Part(lambda: lines, len(lines))
    _ = part.lines
    return part


def framed(part: Part, bar: Sequence[Run]) -> Part:
    """Put a bar at the left of a part."""
    return Part(lambda: indented(part.lines, bar, bar), part.height)


def guess(text: str, width: int) -> int:
    """Return how many lines a text takes at a width, roughly: it is not read word by word."""
    return text.count("\n") + 1 + len(text) // max(width, 1)


class Guesses:
    """How many lines texts take, roughly, at any width: each is looked at once for all of them."""

    def __init__(self) -> None:
        self._lines = array("q")
        self._characters = array("q")

    def __len__(self) -> int:
        return len(self._lines)

    def read(self, texts: Iterable[str]) -> None:
        """Look at more texts."""
        for text in texts:
            self._lines.append(text.count("\n") + 1)
            self._characters.append(len(text))

    def forget(self, first: int) -> None:
        """Forget the texts from `first` on."""
        del self._lines[first:], self._characters[first:]

    def heights(self, width: int, more: int) -> list[int]:
        """Return their lines at a width, and so many more each."""
        both = zip(self._lines, self._characters, strict=True)
        return [more + lines + characters // width for lines, characters in both]


class Code(NamedTuple):
    """A block of code in a text."""

    part: int
    """Where it begins among the parts of the text."""
    number: int
    """Which one of that part."""
    language: str
    """The word after the fence."""
    source: str


class Growing:
    """The sections of a text that may still grow, and their parts."""

    def __init__(self, width: int, styles: Styles = (), *, verbatim: bool = False) -> None:
        self.parts: list[Part] = []
        self._sections = Sections()
        self._settled = 0
        self._counted = 0
        self._words = self._characters = 0
        self._width, self._styles, self._verbatim = width, styles, verbatim
        self._chunks = 0
        self._offset = 0

    def follow(self, rope: Rope) -> int:
        """Take what the rope has more than the last time; return the first part that changed."""
        new = "".join((*rope.chunks[self._chunks :], rope.tail))[self._offset :]
        self._chunks, self._offset = len(rope.chunks), len(rope.tail)
        return self.feed(new)

    def next_rope(self) -> None:
        """Expect the beginning of another rope."""
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
        """Words, where a wide character counts as one; after `COUNTED` characters an estimate."""
        for section in self._sections.settled[self._counted :]:
            size = len(section.source)
            if self._characters < COUNTED:
                self._words += label.count_words(section.source)
            else:
                self._words += round(size * self._words / self._characters)
            self._characters += size
        self._counted = len(self._sections.settled)
        last = self._sections.open
        return self._words + (label.count_words(last.source) if last else 0)

    @property
    def codes(self) -> list[Code]:
        """The blocks of code; one that was cut for its length is whole here."""
        made: list[Code] = []
        for part, section in enumerate(self._sections.all()):
            if section.kind == "code" and section.opens:
                made.append(Code(part, 0, section.lead, section.source))
            elif section.kind == "code" and made:
                begun = made[-1]
                made[-1] = begun._replace(source=f"{begun.source}\n{section.source}")
            elif section.kind == "markdown" and not self._verbatim:
                found = enumerate(codes_of(section))
                made += [Code(part, number, *code) for number, code in found]
        return made

    def _part(self, section: Section) -> Part:
        verbatim = self._verbatim and section.kind != "code"
        gap = bool(self.parts) and (section.blank if verbatim else section.gap)
        width, styles = self._width, self._styles  # a part does not hold the one that holds it

        def draw() -> list[Line]:
            try:
                lines = section_lines(section, width, styles, verbatim=verbatim)
            except Exception:  # Markdown and colours are others' code; the words must be there
                lines = plain_lines(section.source, width, styles)
            return [BLANK, *lines] if gap else lines

        return Part(draw, guess(section.source, width) + gap)

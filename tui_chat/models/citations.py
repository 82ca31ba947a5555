"""The sources of a reply, and the places of its text that cite them.

1. `Source` is a page or a file that the provider read; `Citation` says which characters of a text
   rest on which source. Providers count in bytes, blocks or characters of a part; protocols convert
   that, so that every place counts characters of the text block that has it.
2. The list of sources stays valid when the text is edited; see `edited_citations`.
3. Everything here comes from a provider or a file: `found_source` and the other functions cut it
   and make it safe, and only web addresses become links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.sanitize import one_line, sanitize

MOST_SOURCES = 200
"""Maximum sources of a message."""
MOST_CITATIONS = 1_000
"""Maximum citations of a message."""
MOST_SEARCHES = 50
"""Maximum search queries, and maximum failures of searches, of a message."""
URL_LENGTH = 2_000
"""Maximum characters of an address. Part of one leads elsewhere, so a longer one is dropped."""
TITLE_LENGTH = 300
"""Maximum characters of a title, a file's name, a query and a failure; the rest is cut."""
QUOTE_LENGTH = 500
"""Maximum characters of a quotation; the rest is cut."""

_WEB = re.compile(r"https?://[^\s<>\"\\^`{|}]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A page or file that a reply rests on."""

    title: str = ""
    url: str = ""
    """Its address on the web; empty if it has none."""
    file: str = ""
    """The provider's name or id of a file or document."""

    @property
    def host(self) -> str:
        """The host of its address without `www.`; empty if it has none."""
        try:
            return (urlsplit(self.url).hostname or "").removeprefix("www.")
        except ValueError:
            return ""

    @property
    def label(self) -> str:
        """The name for a reader: its title, else its host or file."""
        return self.title or self.host or self.file or "untitled"


@dataclass(frozen=True, slots=True)
class Citation:
    """A place of a text that rests on a source."""

    source: int
    """Index in `References.sources`."""
    start: int = 0
    end: int = 0
    """Characters of the text; `end` is exclusive, and 0 if the place is unknown."""
    quote: str = ""
    """The quoted words of the source."""
    where: str = ""
    """The place in the source: `page 3`."""

    def shifted(self, by: int) -> Citation:
        """Return the citation in a text with `by` more characters in front."""
        return replace(self, start=self.start + by, end=self.end + by) if self.end else self


@dataclass(frozen=True, slots=True)
class References:
    """The sources and searches of a reply."""

    sources: tuple[Source, ...] = ()
    """Numbered from 1 for the reader."""
    queries: tuple[str, ...] = ()
    """The provider's search queries."""
    failures: tuple[str, ...] = ()
    """The searches that failed, a sentence each."""
    cut: bool = False
    """True if there were more sources or citations than are kept."""


NO_REFERENCES = References()


def edited_citations(
    citations: tuple[Citation, ...], before: str, after: str
) -> tuple[Citation, ...]:
    """Return the citations of a text that was edited. Those in front of the edit and behind it keep
    their words; the places of others become unknown.
    """
    if not citations:
        return ()
    head = common_prefix(before, after)
    tail = common_prefix(before[head:][::-1], after[head:][::-1])
    behind, shift = len(before) - tail, len(after) - len(before)
    return tuple(
        citation
        if citation.end <= head
        else citation.shifted(shift)
        if citation.start >= behind
        else replace(citation, start=0, end=0)
        for citation in citations
    )


def web_address(url: str) -> str:
    """Return an address if it is one of the web and safe to show, else an empty string."""
    url = url.strip()
    safe = len(url) <= URL_LENGTH and _WEB.fullmatch(url) and sanitize(url) == url
    return url if safe and Source(url=url).host else ""


def found_source(title: str = "", url: str = "", file: str = "") -> Source:
    """Return a source with safe, cut texts. An address outside of the web is no link."""
    address = web_address(url)
    name = one_line(file or ("" if address else url), TITLE_LENGTH)
    return Source(one_line(title, TITLE_LENGTH), address, name)


def with_marks(text: str, citations: Sequence[Citation], mark: Callable[[int], str]) -> str:
    """Return Markdown with `mark(number)` where citations end; `number` counts sources from 1.

    A place beyond the end of the text is unknown. Marks are
    not put where they would be read as something else: behind code, links and formulas instead of
    within, before the bar of a table, before white space, and not at all in code blocks and rules.
    """
    if not citations:
        return text
    numbers: dict[int, dict[int, None]] = {}
    for citation in citations:
        offset = citation.end if citation.end <= len(text) else 0
        while offset and text[offset - 1].isspace():
            offset -= 1
        if offset:
            numbers.setdefault(offset, {})[citation.source + 1] = None
    pieces: list[str] = []
    done = 0
    for offset, marks in sorted(_moved(text, numbers).items()):
        pieces += (text[done:offset], *map(mark, sorted(marks)))
        done = offset
    return "".join((*pieces, text[done:]))


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_RULE = re.compile(r"[-=|:*_ \t]*")
"""Lines that take no mark: rules, and the line under a table's head."""
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_INDENTED = ("    ", "\t")
_WHOLE = re.compile(
    r"(?P<ticks>`+).*?(?P=ticks)|!?\[[^\]]*\]\([^()]*(?:\([^()]*\)[^()]*)*\)"
    r"|<?https?://[^\s<>]+>?|\$[^$]+\$|\\.",
    re.IGNORECASE,
)
"""Text that a mark may not divide."""
_LONGEST_LINE = 4_000
"""Characters of a line that takes marks."""


def _moved(text: str, numbers: dict[int, dict[int, None]]) -> dict[int, dict[int, None]]:
    """Return where the marks may stand, by their wanted offsets."""
    moved: dict[int, dict[int, None]] = {}
    ordered = sorted(numbers)
    first, fence, formula, listed, index = 0, "", False, False, 0
    for line in text.split("\n"):
        after = first + len(line) + 1
        fence_mark = _FENCE.match(line)
        is_code = bool(fence or fence_mark) or (line.startswith(_INDENTED) and not listed)
        in_block = is_code or formula or "$$" in line
        listed = bool(_ITEM.match(line)) or (listed and line[:1] in ("", " ", "\t"))
        if fence_mark and not fence:
            fence = fence_mark[1]
        elif fence_mark and fence_mark[1].startswith(fence) and line.strip() == fence_mark[1]:
            fence = ""
        if not fence and line.count("$$") % 2:
            formula = not formula
        here = list[int]()
        while index < len(ordered) and ordered[index] < after:
            here.append(ordered[index])
            index += 1
        if here and not in_block and len(line) <= _LONGEST_LINE and not _RULE.fullmatch(line):
            spans = [whole.span() for whole in _WHOLE.finditer(line)]
            for offset in here:
                at = _mark_offset(line, min(offset - first, len(line)), spans)
                if line[:at].strip(" \t>|#*+-"):
                    moved.setdefault(first + at, {}).update(numbers[offset])
        first = after
    return moved


def _mark_offset(line: str, offset: int, wholes: list[tuple[int, int]]) -> int:
    """Return the offset in a line where a mark wanted at `at` may stand."""
    if line.lstrip().startswith("|") and line[:offset].endswith("|"):
        offset = len(line[: offset - 1].rstrip())
    return next((end for start, end in wholes if start < offset < end), offset)

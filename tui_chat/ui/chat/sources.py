"""The sources of a reply on the screen: marks in its text, and a list below it.

A mark stands in the text that is laid out and not in the stored one. It is written as a character
that no stored text has, between brackets that Markdown takes for punctuation, so that emphasis
beside it is read as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from textual.content import Content
from textual.style import Style

from tui_chat.models.citations import Citation, References, Source, with_marks
from tui_chat.models.sanitize import one_line
from tui_chat.ui.chat.rows import (
    BLANK,
    Row,
    StyleNames,
    clipped,
    indented,
    joined,
    one_row,
    safe,
    styled,
    wrap,
)

LISTED_AT_ONCE = 5
"""Sources that are listed without being unfolded."""
_FIRST = 0xDC00  # a lone surrogate: the store takes none, and `clean` replaces those of a provider
MARK_START = "\u2045"
_MARK_END = "\u2046"
_MARK = re.compile(f"{MARK_START}([\udc00-\udfff]){_MARK_END}")
_STYLE = "citation"


def marked_text(text: str, citations: Sequence[Citation]) -> str:
    """Return a text with marks where citations end, for `split_marks` to find."""
    return with_marks(text, citations, _mark)


def _mark(number: int) -> str:
    return f"{MARK_START}{chr(_FIRST + number)}{_MARK_END}"


def without_marks(text: str) -> str:
    """Return a text without marks."""
    return _MARK.sub("", text) if MARK_START in text else text


def split_marks(text: str, styles: StyleNames) -> Iterator[str | Content]:
    """Yield the pieces of a text: strings, and the marks between them as they are drawn."""
    end = 0
    for match in _MARK.finditer(text):
        yield text[end : match.start()]
        yield styled(f"[{ord(match[1]) - _FIRST}]", *styles, _STYLE)
        end = match.end()
    yield text[end:]


def linked_marks(row: Row, sources: tuple[Source, ...]) -> Row:
    """Return a row whose marks lead to their sources."""
    content = row.content
    for span in row.content.spans:
        number = row.text[span.start : span.end].strip("[]") if span.style == _STYLE else ""
        if number.isdecimal() and 0 < int(number) <= len(sources):
            url = Style.from_meta({"link": sources[int(number) - 1].url})
            content = content.stylize(url, span.start, span.end)
    return row if content is row.content else replace(row, content=content)


def sources_label(references: References, width: int, *, is_open: bool) -> str:
    """Return the words on the row that folds the list: how many sources, and of whom."""
    count = len(references.sources)
    if is_open:
        return f"{count} sources"
    hosts = dict.fromkeys(source.host or source.label for source in references.sources)
    return clipped(f"{count} sources: {', '.join(islice(hosts, 20))}", width)


def source_rows(references: References, width: int) -> list[Row]:
    """Lay out the list of sources, a row each, and what was searched for."""
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
    if references.cut:
        rows += wrap(styled("There were more; only the first ones were kept.", "quiet"), width)
    if references.queries:
        words = ", ".join(f"“{query}”" for query in references.queries)
        wrapped = wrap(safe(f"Searched for {words}", "quiet"), width - 2)
        rows += indented(wrapped, Content(""), Content("  "))
    return rows


def failure_rows(references: References, width: int) -> list[Row]:
    """Lay out the searches that failed."""
    rows: list[Row] = []
    for failure in references.failures:
        rows += indented(wrap(safe(failure, "warning"), width - 2), styled("! ", "warning"))
    return [BLANK, *rows] if rows else []

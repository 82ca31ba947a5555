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

from rich.cells import cell_len

from tui_chat.models.citations import References, Source, with_marks
from tui_chat.models.sanitize import one_line
from tui_chat.ui.chat.text_lines import (
    BLANK,
    StyleNames,
    TextLine,
    TextRun,
    clipped,
    indented,
    safe_run,
    width_of,
    wrap,
)

LISTED_AT_ONCE = 5
"""Sources that are listed without being unfolded."""
_FIRST = 0xDC00  # a lone surrogate: the store takes none, and `clean` replaces those of a provider
MARK_START = "\u2045"
_MARK_END = "\u2046"
_MARK = re.compile(f"{MARK_START}([\udc00-\udfff]){_MARK_END}")
_STYLE = "citation"


def marked_text(text: str, references: References) -> str:
    """Return a text with marks where citations end, for `split_marks` to find."""
    return with_marks(text, references, _mark)


def _mark(number: int) -> str:
    return f"{MARK_START}{chr(_FIRST + number)}{_MARK_END}"


def without_marks(text: str) -> str:
    """Return a text without marks."""
    return _MARK.sub("", text) if MARK_START in text else text


def split_marks(text: str, styles: StyleNames) -> Iterator[str | TextRun]:
    """Yield the pieces of a text: strings, and runs for the marks between them."""
    end = 0
    for match in _MARK.finditer(text):
        if match.start() > end:
            yield text[end : match.start()]
        yield TextRun(f"[{ord(match[1]) - _FIRST}]", (*styles, _STYLE))
        end = match.end()
    if end < len(text):
        yield text[end:]


def linked_marks(lines: list[TextLine], sources: Sequence[Source]) -> list[TextLine]:
    """Return lines whose marks lead to their sources."""
    return [
        replace(line, runs=tuple(_linked(run, sources) for run in line.runs))
        if any(_STYLE in run.styles for run in line.runs)
        else line
        for line in lines
    ]


def _linked(run: TextRun, sources: Sequence[Source]) -> TextRun:
    number = run.text.strip("[]")
    if _STYLE not in run.styles or not number.isdecimal() or not 0 < int(number) <= len(sources):
        return run
    return run._replace(link=sources[int(number) - 1].url)


def sources_label(references: References, width: int, *, is_open: bool) -> str:
    """Return the words on the line that folds the list: how many sources, and of whom."""
    count = len(references.sources)
    if is_open:
        return f"{count} sources"
    hosts = dict.fromkeys(source.host or source.label for source in references.sources)
    return clipped(f"{count} sources: {', '.join(islice(hosts, 20))}", width)


def source_lines(references: References, width: int) -> list[TextLine]:
    """Lay out the list of sources, a line each, and what was searched for."""
    lines: list[TextLine] = []
    digits = len(str(len(references.sources)))
    for number, source in enumerate(references.sources, 1):
        head = TextRun(f"[{number}]".ljust(digits + 3), (_STYLE,), source.url)
        host = source.host if source.title and source.host != source.title else ""
        host = clipped(host, max(width // 3, 8))
        room = max(width - width_of((head,)) - (cell_len(host) + 2 if host else 0), 8)
        label = clipped(one_line(source.label), room)
        runs = [head, safe_run(label, "link" if source.url else "quiet", link=source.url)]
        if host:
            runs += [TextRun("  "), safe_run(host, "url", link=source.url)]
        lines.append(TextLine(wrap(runs, width)[0].runs))
    if references.cut:
        lines += wrap(
            (TextRun("There were more; only the first ones were kept.", ("quiet",)),), width
        )
    if references.queries:
        words = ", ".join(f"“{query}”" for query in references.queries)
        wrapped = wrap((safe_run(f"Searched for {words}", "quiet"),), width - 2)
        lines += indented(wrapped, (), (TextRun("  "),))
    return lines


def failure_lines(references: References, width: int) -> list[TextLine]:
    """Lay out the searches that failed."""
    lines: list[TextLine] = []
    for failure in references.failures:
        wrapped = wrap((safe_run(failure, "warning"),), width - 2)
        lines += indented(wrapped, (TextRun("! ", ("warning",)),), (TextRun("  "),))
    return [BLANK, *lines] if lines else []

"""Lays out Markdown as lines of runs.

The grammar is CommonMark with tables and strikethrough. It differs where a conversation is read as
it grows, or is not trusted:

1. HTML is text.
2. Reference links (`[a]: url`) are text: a late definition would change what is on the screen.
3. A newline in a paragraph stays a newline: models and people mean it.
4. A link shows its address, and bare addresses are links.
5. Plugins add rules for more, such as formulas. What is drawn is the content of their tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from tui_chat import hooks
from tui_chat.hooks import PluginFailed, failed, guard, report
from tui_chat.ui.chat.code_blocks import code_lines
from tui_chat.ui.chat.sources import MARK_START, split_marks
from tui_chat.ui.chat.text_lines import (
    BLANK,
    StyleNames,
    TextLine,
    TextRun,
    indented,
    safe_run,
    width_of,
    wrap,
)

if TYPE_CHECKING:  # markdown-it is loaded with the first Markdown
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

    from tui_chat.ui.chat.sections import Section

NARROWEST = 12
"""Minimum cells of text in quotes and lists; nested deeper, they no longer indent."""

NARROWEST_COLUMN = 4
"""Minimum cells of a table's column; a table with more columns is drawn as lists."""

Align = Literal["left", "right", "center"]
Cell = Sequence[TextRun]

_COLUMN_GAP = "  "
_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}*_]")
_STYLED = {"strong": "strong", "em": "emphasis", "s": "strike"}
_UNSPACED = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_SOFT, _SPACE = TextRun("\n"), TextRun(" ")
_BULLETS = "•◦▪"
_QUOTED = re.compile(r"^(?: {0,3}> ?)+")
_ALWAYS_APART = {"heading", "fence", "code_block", "table", "hr", "blockquote", "added_block"}


def section_lines(
    section: Section, width: int, styles: StyleNames = (), *, verbatim: bool = False
) -> list[TextLine]:
    """Lay out one section, without the blank line before it.

    With `verbatim`, everything but fenced code is drawn as it was written.
    """
    if section.kind == "code":
        return code_lines(section.source, section.lead, width, opens=section.opens)
    if section.kind == "plain" or verbatim:
        return plain_lines(section.source, width, styles)
    if section.kind == "inline":
        return _inline_lines(section.source, width, styles)
    return markdown_lines(_source_of(section), width, styles)


def markdown_lines(source: str, width: int, styles: StyleNames = ()) -> list[TextLine]:
    """Lay out a text as Markdown, all of it at once."""
    from markdown_it.tree import SyntaxTreeNode

    tree = SyntaxTreeNode(_parse(source))
    for node in tree.walk():  # break the cycles, else trees would stay until a garbage collection
        node.parent = None
    return _BlockLayout(source.split("\n")).blocks(tree.children, width, styles)


def _inline_lines(source: str, width: int, styles: StyleNames) -> list[TextLine]:
    """Lay out a piece of a line, in which no block begins."""
    from markdown_it.tree import SyntaxTreeNode

    node = SyntaxTreeNode(_parse(source, inline=True))
    return [piece for line in _lines(_inline_runs(node, styles)) for piece in wrap(line, width)]


def _source_of(section: Section) -> str:
    return f"{section.lead}\n{section.source}" if section.lead else section.source


def _parse(source: str, *, inline: bool = False) -> list[Token]:
    """Return the tokens of a text. A plugin whose rule raises is reported, and has none after."""
    while True:
        parser = _parser()
        try:
            return parser.parseInline(source) if inline else parser.parse(source)
        except Exception as error:  # a plugin's code may raise anything
            plugin = hooks.plugin_in(error)
            if plugin is None or plugin.name in _without_rules:
                raise
            report(failed(plugin.name, "Markdown rule", error).fault)
            _without_rules.add(plugin.name)
            _parser.cache_clear()


_without_rules: set[str] = set()
"""The plugins whose rules failed."""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .disable(["reference", "html_block", "html_inline"])
    )
    for plugin, add_rules in hooks.loaded_parts("Markdown rule"):
        if plugin.name not in _without_rules:
            try:
                with guard(plugin.name, "Markdown rule"):
                    parser.use(add_rules)
            except PluginFailed as error:
                report(error.fault)
    return parser


def code_in(section: Section) -> list[tuple[str, str]]:
    """Return the code blocks in a section of Markdown, as pairs of language and text."""
    if "```" not in section.source and "~~~" not in section.source and "    " not in section.source:
        return []
    return [
        (token.info.strip(), token.content.removesuffix("\n"))
        for token in _parse(_source_of(section))
        if token.type in ("fence", "code_block")
    ]


def plain_lines(
    text: str, width: int, styles: StyleNames = (), *, links: bool = True
) -> list[TextLine]:
    """Lay out text as it was written, with its lines wrapped."""
    lines: list[TextLine] = []
    for line in text.split("\n"):
        bare = line.expandtabs(4)
        body = bare.lstrip(" ")
        margin = min(len(bare) - len(body), max(width - NARROWEST, 0))
        space = (TextRun(" " * margin),) if margin else ()
        runs = list(_linked(body, styles)) if links else [safe_run(body, *styles)]
        lines += indented(wrap(runs, width - margin), space, space)
    return lines


class _BlockLayout:
    """Lays out the blocks of one source, whose lines show where its author left blank lines."""

    def __init__(self, source: list[str]) -> None:
        self._source = source
        self._code_blocks = 0

    def blocks(
        self, nodes: Iterable[SyntaxTreeNode], width: int, styles: StyleNames, depth: int = 0
    ) -> list[TextLine]:
        made: list[TextLine] = []
        blocks = list(nodes)
        for before, node in pairwise([None, *blocks]):
            if node is None:
                continue
            if before is not None and self._apart(before, node):
                made.append(BLANK)
            made += self.block(node, width, styles, depth)
        return made

    def _apart(self, before: SyntaxTreeNode, node: SyntaxTreeNode) -> bool:
        if before.type in _ALWAYS_APART or node.type in _ALWAYS_APART:
            return True
        return self._blank_before(node)

    def _blank_before(self, node: SyntaxTreeNode) -> bool:
        start = node.map[0] if node.map else 0
        return 0 < start <= len(self._source) and not self._source[start - 1].strip(" \t>")

    def block(
        self, node: SyntaxTreeNode, width: int, styles: StyleNames, depth: int
    ) -> list[TextLine]:
        match node.type:
            case "paragraph":
                joined = depth > 0 and self._goes_on_indented(node)
                return self._paragraph(node, width, styles, joined=joined)
            case "heading":
                level = {"h1": "heading-first", "h2": "heading-second"}.get(node.tag, "heading")
                return self._paragraph(node, width, (*styles, level))
            case "bullet_list" | "ordered_list":
                return self._list(node, width, styles, depth)
            case "blockquote":
                bar = TextRun("▎ ", ("quote-bar",))
                room = width - 2
                inner = self.blocks(node.children, max(room, NARROWEST), (*styles, "quote"), depth)
                return indented(inner or [BLANK], (bar,), (bar,)) if room >= NARROWEST else inner
            case "fence" | "code_block":
                self._code_blocks += 1
                code = node.content.removesuffix("\n")
                return code_lines(code, node.info, width, number=self._code_blocks - 1)
            case "added_block":
                return plain_lines(node.content, width, (*styles, "added"), links=False)
            case "hr":
                return [TextLine((TextRun("─" * width, ("rule",)),))]
            case "table":
                return self._table(node, width, styles)
            case _:
                return plain_lines(node.content, width, styles)

    def _paragraph(
        self, node: SyntaxTreeNode, width: int, styles: StyleNames, *, joined: bool = False
    ) -> list[TextLine]:
        made: list[TextLine] = []
        for line in _lines(_inline_runs(node, styles), joined=joined):
            made += wrap(line, width)
        return made

    def _goes_on_indented(self, node: SyntaxTreeNode) -> bool:
        """Return True if all later lines of a paragraph are indented: it was wrapped by hand."""
        first, end = node.map or (0, 0)
        later = (_QUOTED.sub("", line) for line in self._source[first + 1 : end])
        return all(line[:1] in " \t" for line in later)

    def _list(
        self, node: SyntaxTreeNode, width: int, styles: StyleNames, depth: int
    ) -> list[TextLine]:
        ordered = node.type == "ordered_list"
        first = int(node.attrs.get("start", 1)) if ordered else 0
        items = node.children
        size = len(str(first + len(items) - 1)) + 2 if ordered else 2
        if width - size < NARROWEST:
            size = 0
        made: list[TextLine] = []
        for index, item in enumerate(items):
            if index and self._blank_before(item):
                made.append(BLANK)
            label = f"{first + index}." if ordered else _BULLETS[depth % len(_BULLETS)]
            lines = self.blocks(item.children, width - size, styles, depth + 1) or [BLANK]
            if not size:
                made += lines
                continue
            mark = TextRun(label.rjust(size - 1) + " ", ("list-mark",))
            made += indented(_checked(lines), (mark,), (TextRun(" " * size),))
        return made

    def _table(self, node: SyntaxTreeNode, width: int, styles: StyleNames) -> list[TextLine]:
        rows = [
            [
                [
                    piece
                    for line in _lines(_inline_runs(cell, self._cell(cell, styles)))
                    for piece in line
                ]
                for cell in row.children
            ]
            for part in node.children
            for row in part.children
        ]
        aligns: list[Align] = [_align(cell) for cell in node.children[0].children[0].children]
        return table_lines(rows[0], rows[1:], aligns, width)

    @staticmethod
    def _cell(cell: SyntaxTreeNode, styles: StyleNames) -> StyleNames:
        return (*styles, "table-head") if cell.type == "th" else styles


def _align(cell: SyntaxTreeNode) -> Align:
    style = str(cell.attrs.get("style", ""))
    if style.endswith("right"):
        return "right"
    return "center" if style.endswith("center") else "left"


def _checked(lines: list[TextLine]) -> list[TextLine]:
    """Draw the checkbox of a task list's item."""
    first = lines[0]
    if not first.runs or first.runs[0].text[:4] not in ("[ ] ", "[x] ", "[X] "):
        return lines
    head = first.runs[0]
    box = "☐" if head.text[1] == " " else "☑"
    runs = (
        TextRun(f"{box} ", ("list-mark",)),
        head._replace(text=head.text[4:]),
        *first.runs[1:],
    )
    return [TextLine(runs, first.fill), *lines[1:]]


# Within a line


def _lines(runs: Iterable[TextRun | None], *, joined: bool = False) -> Iterator[list[TextRun]]:
    """Group runs into lines. None ends a line, and so does `_SOFT` unless lines are joined."""
    line: list[TextRun] = []
    for piece in runs:
        if piece is None or (piece is _SOFT and not joined):
            yield line
            line = []
        elif piece is _SOFT:
            line.append(_SPACE)
        elif piece.text:
            if len(line) > 1 and line[-1] is _SPACE and _are_unspaced(line[-2].text, piece.text):
                line.pop()
            line.append(piece)
    yield line


def _are_unspaced(before: str, after: str) -> bool:
    """Return True if both sides of a line's end are in scripts without spaces, as Chinese."""
    return bool(_UNSPACED.match(before[-1:]) and _UNSPACED.match(after))


def _inline_runs(
    node: SyntaxTreeNode, styles: StyleNames, link: str = ""
) -> Iterator[TextRun | None]:
    """Yield the runs of inline nodes, None for a line break, `_SOFT` for a soft one."""
    for child in node.children:
        match child.type:
            case "inline":
                yield from _inline_runs(child, styles, link)
            case "text":
                yield from _linked(child.content, styles, link)
            case "softbreak":
                yield _SOFT
            case "hardbreak":
                yield None
            case "added":
                for index, piece in enumerate(child.content.split("\n")):
                    if index:
                        yield None
                    yield safe_run(piece, *styles, "added", link=link)
            case "code_inline":
                yield safe_run(child.content, *styles, "code", link=link)
            case "strong" | "em" | "s":
                yield from _inline_runs(child, (*styles, _STYLED[child.type]), link)
            case "link" | "image":
                yield from _link(child, styles)
            case _:
                yield safe_run(child.content, *styles, link=link)


def _link(node: SyntaxTreeNode, styles: StyleNames) -> Iterator[TextRun | None]:
    target = str(node.attrs.get("href") or node.attrs.get("src") or "")
    if node.type == "image":
        yield safe_run("image: ", *styles, "url")
    shown = list(_inline_runs(node, (*styles, "link"), target))
    yield from shown
    text = "".join(run.text for run in shown if run and run is not _SOFT)
    if text and text != target:
        yield safe_run(f" ({target})", *styles, "url", link=target)
    elif not text:
        yield safe_run(target, *styles, "link", link=target)


def _linked(text: str, styles: StyleNames, link: str = "") -> Iterator[TextRun]:
    """Yield the runs of plain text, with links for the addresses in it, and marks of citations."""
    if MARK_START in text:
        for piece in split_marks(text, styles):
            if isinstance(piece, TextRun):
                yield piece
            else:
                yield from _with_addresses(piece, styles, link)
    else:
        yield from _with_addresses(text, styles, link)


def _with_addresses(text: str, styles: StyleNames, link: str) -> Iterator[TextRun]:
    end = 0
    if not link and "://" in text:
        for match in _ADDRESS.finditer(text):
            if match.start() > end:
                yield safe_run(text[end : match.start()], *styles)
            yield safe_run(match.group(), *styles, "link", link=match.group())
            end = match.end()
    if end < len(text):
        yield safe_run(text[end:], *styles, link=link)


# Tables


def table_lines(
    head: Sequence[Cell], rows: Sequence[Sequence[Cell]], aligns: Sequence[Align], width: int
) -> list[TextLine]:
    """Lay out a table. If the columns do not fit, each row becomes a list of its cells."""
    natural = [
        max((width_of(row[column]) for row in (head, *rows) if column < len(row)), default=0)
        for column in range(len(head))
    ]
    columns = _column_widths(natural, width - len(_COLUMN_GAP) * (len(head) - 1))
    if columns is None:
        return _as_lists(head, rows, width)
    made = _table_row(head, columns, aligns)
    rule = _COLUMN_GAP.join("─" * size for size in columns)
    made.append(TextLine((TextRun(rule, ("table-line",)),)))
    tall = False
    for index, row in enumerate(rows):
        lines = _table_row(row, columns, aligns)
        # Once a cell is wrapped, rows need a blank line between them to be told apart.
        if index and (tall or len(lines) > 1):
            made.append(TextLine())
        tall = len(lines) > 1
        made += lines
    return made


def _column_widths(natural: Sequence[int], room: int) -> list[int] | None:
    """Return column widths of at most `room` in all, the widest reduced first; None if too many."""
    columns = [max(size, 1) for size in natural]
    floor = [min(size, NARROWEST_COLUMN) for size in columns]
    if sum(floor) > room:
        return None
    excess = sum(columns) - room
    while excess > 0:
        widest = max(columns)
        below = max((size for size in columns if size < widest), default=0)
        tops = [index for index, size in enumerate(columns) if size == widest]
        step = max(1, min(widest - max(below, NARROWEST_COLUMN), excess // len(tops)))
        for index in tops:
            if excess <= 0:
                break
            columns[index] -= min(step, excess)
            excess -= min(step, excess)
    return columns


def _table_row(
    cells: Sequence[Cell], columns: Sequence[int], aligns: Sequence[Align]
) -> list[TextLine]:
    wrapped = [
        wrap(cells[index] if index < len(cells) else (), size) for index, size in enumerate(columns)
    ]
    made: list[TextLine] = []
    for level in range(max(map(len, wrapped), default=0)):
        runs: list[TextRun] = []
        for index, size in enumerate(columns):
            content = wrapped[index][level].runs if level < len(wrapped[index]) else ()
            room = size - width_of(content)
            left = {"left": 0, "right": room, "center": room // 2}[aligns[index]]
            if index:
                runs.append(TextRun(_COLUMN_GAP))
            runs += [TextRun(" " * left), *content]
            if index < len(columns) - 1:
                runs.append(TextRun(" " * (room - left)))
        made.append(TextLine(tuple(piece for piece in runs if piece.text)))
    return made


def _as_lists(head: Sequence[Cell], rows: Sequence[Sequence[Cell]], width: int) -> list[TextLine]:
    made: list[TextLine] = []
    for index, row in enumerate(rows or [()]):
        if index:
            made.append(TextLine((TextRun("─" * min(8, width), ("table-line",)),)))
        for column, title in enumerate(head):
            cell = row[column] if column < len(row) else ()
            made += wrap((*title, TextRun(": ", ("table-line",)), *cell), width)
    return made

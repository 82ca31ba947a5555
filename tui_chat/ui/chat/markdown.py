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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from textual.content import Content

from tui_chat import hooks
from tui_chat.hooks import PluginFailed, failed, guard, report
from tui_chat.ui.chat.code_blocks import code_rows
from tui_chat.ui.chat.rows import (
    BLANK,
    Row,
    StyleNames,
    indented,
    joined,
    safe,
    styled,
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

_COLUMN_GAP = "  "
_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}*_]")
_STYLED = {"strong": "strong", "em": "emphasis", "s": "strike"}
_BULLETS = "•◦▪"
APART = {"heading", "fence", "code_block", "table", "hr", "blockquote", "added_block"}
"""Blocks that a blank row sets off from others, also where the author left none."""


def section_rows(section: Section, width: int, *styles: str, verbatim: bool = False) -> list[Row]:
    """Lay out one section, without the blank row before it.

    With `verbatim`, everything but fenced code is drawn as it was written.
    """
    if section.kind == "code":
        return code_rows(section.source, section.lead, width, opens=section.opens)
    if section.kind == "plain" or verbatim:
        return plain_rows(section.source, width, *styles)
    from markdown_it.tree import SyntaxTreeNode

    if section.kind == "inline":  # a piece of a line, in which no block begins
        node = SyntaxTreeNode(_parse(section.source, inline=True))
        return _paragraph_rows(_inline(node, styles), width)
    source = _source_of(section)
    tree = SyntaxTreeNode(_parse(source))
    for node in tree.walk():  # break the cycles, else trees would stay until a garbage collection
        node.parent = None
    return _BlockLayout(source.split("\n")).blocks(tree.children, width, styles)


def _source_of(section: Section) -> str:
    return f"{section.lead}\n{section.source}" if section.lead else section.source


def block_tokens(source: str) -> list[Token]:
    """Return the tokens of the blocks of a text; what is in their lines is not read."""

    def read(parser: MarkdownIt) -> list[Token]:
        tokens: list[Token] = []
        parser.block.parse(source, parser, {}, tokens)
        return tokens

    return _guarded(read)


def _parse(source: str, *, inline: bool = False) -> list[Token]:
    """Return the tokens of a text."""
    return _guarded(lambda md: md.parseInline(source) if inline else md.parse(source))


def _guarded(read: Callable[[MarkdownIt], list[Token]]) -> list[Token]:
    """Read with a parser. A plugin whose rule raises is reported, and has none after."""
    while True:
        try:
            return read(_parser())
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


def code_in(section: Section) -> list[str]:
    """Return the code in the blocks of a section of Markdown."""
    if "```" not in section.source and "~~~" not in section.source and "    " not in section.source:
        return []
    return [
        token.content.removesuffix("\n")
        for token in _parse(_source_of(section))
        if token.type in ("fence", "code_block")
    ]


def plain_rows(text: str, width: int, *styles: str, links: bool = True) -> list[Row]:
    """Lay out text as it was written, with its lines wrapped."""
    rows: list[Row] = []
    for line in text.split("\n"):
        bare = line.expandtabs(4)
        body = bare.lstrip(" ")
        margin = min(len(bare) - len(body), max(width - NARROWEST, 0))
        content = joined(*_linked(body, styles)) if links else safe(body, *styles)
        wrapped = wrap(content, width - margin)
        rows += indented(wrapped, Content(" " * margin)) if margin else wrapped
    return rows


class _BlockLayout:
    """Lays out the blocks of one source, whose lines show where its author left blank lines."""

    def __init__(self, source: list[str]) -> None:
        self._source = source

    def blocks(
        self, nodes: Iterable[SyntaxTreeNode], width: int, styles: StyleNames, depth: int = 0
    ) -> list[Row]:
        rows: list[Row] = []
        for before, node in pairwise([None, *nodes]):
            if node is None:
                continue
            if before is not None and self._is_apart(before, node):
                rows.append(BLANK)
            rows += self.block(node, width, styles, depth)
        return rows

    def _is_apart(self, before: SyntaxTreeNode, node: SyntaxTreeNode) -> bool:
        is_apart = before.type in APART or node.type in APART
        return is_apart or self._is_blank_before(node)

    def _is_blank_before(self, node: SyntaxTreeNode) -> bool:
        start = node.map[0] if node.map else 0
        return 0 < start <= len(self._source) and not self._source[start - 1].strip(" \t>")

    def block(self, node: SyntaxTreeNode, width: int, styles: StyleNames, depth: int) -> list[Row]:
        match node.type:
            case "paragraph":
                return _paragraph_rows(_inline(node, styles), width)
            case "heading":
                level = {"h1": "heading-first", "h2": "heading-second"}.get(node.tag, "heading")
                return _paragraph_rows(_inline(node, (*styles, level)), width)
            case "bullet_list" | "ordered_list":
                return self._list(node, width, styles, depth)
            case "blockquote":
                bar, room = styled("▎ ", "quote-bar"), width - 2
                inner = self.blocks(node.children, max(room, NARROWEST), (*styles, "quote"), depth)
                return indented(inner or [BLANK], bar, bar) if room >= NARROWEST else inner
            case "fence" | "code_block":
                return code_rows(node.content.removesuffix("\n"), node.info, width)
            case "added_block":
                return plain_rows(node.content, width, *styles, "added", links=False)
            case "hr":
                return [Row(styled("─" * width, "rule"))]
            case "table":
                return self._table(node, width, styles)
            case _:
                return plain_rows(node.content, width, *styles)

    def _list(self, node: SyntaxTreeNode, width: int, styles: StyleNames, depth: int) -> list[Row]:
        is_ordered = node.type == "ordered_list"
        first = int(node.attrs.get("start", 1)) if is_ordered else 0
        items = node.children
        size = len(str(first + len(items) - 1)) + 2 if is_ordered else 2
        if width - size < NARROWEST:
            size = 0
        rows: list[Row] = []
        for index, item in enumerate(items):
            if index and self._is_blank_before(item):
                rows.append(BLANK)
            label = f"{first + index}." if is_ordered else _BULLETS[depth % len(_BULLETS)]
            laid_out = self.blocks(item.children, width - size, styles, depth + 1) or [BLANK]
            if size:
                mark = styled(label.rjust(size - 1) + " ", "list-mark")
                laid_out = indented(_checked(laid_out), mark)
            rows += laid_out
        return rows

    def _table(self, node: SyntaxTreeNode, width: int, styles: StyleNames) -> list[Row]:
        rows = [row for part in node.children for row in part.children]
        cells = [[self._cell(cell, styles) for cell in row.children] for row in rows]
        aligns: list[Align] = [_align(cell) for cell in node.children[0].children[0].children]
        return table_rows(cells[0], cells[1:], aligns, width)

    @staticmethod
    def _cell(cell: SyntaxTreeNode, styles: StyleNames) -> Content:
        styles = (*styles, "table-head") if cell.type == "th" else styles
        lines = _lines(_inline(cell, styles))
        return joined(*(piece for line in lines for piece in line))


def _align(cell: SyntaxTreeNode) -> Align:
    style = str(cell.attrs.get("style", ""))
    if style.endswith("right"):
        return "right"
    return "center" if style.endswith("center") else "left"


def _checked(rows: list[Row]) -> list[Row]:
    """Draw the checkbox of a task list's item."""
    first = rows[0]
    if first.text[:4] not in ("[ ] ", "[x] ", "[X] "):
        return rows
    box = styled("☐ " if first.text[1] == " " else "☑ ", "list-mark")
    return [replace(first, content=joined(box, first.content[4:])), *rows[1:]]


# Within a line


def _paragraph_rows(pieces: Iterable[Content | None], width: int) -> list[Row]:
    return [row for line in _lines(pieces) for row in wrap(joined(*line), width)]


def _lines(pieces: Iterable[Content | None]) -> Iterator[list[Content]]:
    """Group pieces into lines; None ends a line."""
    line: list[Content] = []
    for piece in pieces:
        if piece is None:
            yield line
            line = []
        elif piece.plain:
            line.append(piece)
    yield line


def _inline(node: SyntaxTreeNode, styles: StyleNames, link: str = "") -> Iterator[Content | None]:
    """Yield the text of inline nodes, None for a line break."""
    for child in node.children:
        match child.type:
            case "inline":
                yield from _inline(child, styles, link)
            case "text":
                yield from _linked(child.content, styles, link)
            case "softbreak" | "hardbreak":
                yield None
            case "added":
                for index, piece in enumerate(child.content.split("\n")):
                    if index:
                        yield None
                    yield safe(piece, *styles, "added", link=link)
            case "code_inline":
                yield safe(child.content, *styles, "code", link=link)
            case "strong" | "em" | "s":
                yield from _inline(child, (*styles, _STYLED[child.type]), link)
            case "link" | "image":
                yield from _link(child, styles)
            case _:
                yield safe(child.content, *styles, link=link)


def _link(node: SyntaxTreeNode, styles: StyleNames) -> Iterator[Content | None]:
    target = str(node.attrs.get("href") or node.attrs.get("src") or "")
    if node.type == "image":
        yield safe("image: ", *styles, "url")
    shown = list(_inline(node, (*styles, "link"), target))
    yield from shown
    text = "".join(piece.plain for piece in shown if piece)
    if text and text != target:
        yield safe(f" ({target})", *styles, "url", link=target)
    elif not text:
        yield safe(target, *styles, "link", link=target)


def _linked(text: str, styles: StyleNames, link: str = "") -> Iterator[Content]:
    """Yield plain text, with links for the addresses in it."""
    end = 0
    for match in _ADDRESS.finditer(text) if not link and "://" in text else ():
        yield safe(text[end : match.start()], *styles)
        yield safe(match.group(), *styles, "link", link=match.group())
        end = match.end()
    yield safe(text[end:], *styles, link=link)


# Tables


def table_rows(
    head: Sequence[Content],
    body: Sequence[Sequence[Content]],
    aligns: Sequence[Align],
    width: int,
) -> list[Row]:
    """Lay out a table. If the columns do not fit, each row becomes a list of its cells."""
    natural = [
        max((row[column].cell_length for row in (head, *body) if column < len(row)), default=0)
        for column in range(len(head))
    ]
    columns = _column_widths(natural, width - len(_COLUMN_GAP) * (len(head) - 1))
    if columns is None:
        return _as_lists(head, body, width)
    rule = styled(_COLUMN_GAP.join("─" * size for size in columns), "table-line")
    rows = [*_table_row(head, columns, aligns), Row(rule)]
    is_tall = False
    for index, cells in enumerate(body):
        laid_out = _table_row(cells, columns, aligns)
        # Once a cell is wrapped, rows need a blank one between them to be told apart.
        if index and (is_tall or len(laid_out) > 1):
            rows.append(BLANK)
        is_tall = len(laid_out) > 1
        rows += laid_out
    return rows


def _column_widths(natural: Sequence[int], room: int) -> list[int] | None:
    """Return column widths of at most `room` in all, the widest reduced first; None if too many."""
    columns = [max(size, 1) for size in natural]
    if sum(min(size, NARROWEST_COLUMN) for size in columns) > room:
        return None
    low, high = NARROWEST_COLUMN, max(columns)  # the widest that all columns may be
    while low < high:
        middle = (low + high + 1) // 2
        fits = sum(min(size, middle) for size in columns) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return [min(size, low) for size in columns]


def _table_row(
    cells: Sequence[Content], columns: Sequence[int], aligns: Sequence[Align]
) -> list[Row]:
    wrapped = [
        wrap(cells[index] if index < len(cells) else Content(""), size)
        for index, size in enumerate(columns)
    ]
    rows: list[Row] = []
    for level in range(max(map(len, wrapped), default=0)):
        pieces: list[Content] = []
        for laid_out, size, align in zip(wrapped, columns, aligns, strict=False):
            cell = laid_out[level].content if level < len(laid_out) else Content("")
            room = size - cell.cell_length
            left = {"left": 0, "right": room, "center": room // 2}[align]
            pieces.append(cell.pad(left, room - left))
        rows.append(Row(Content(_COLUMN_GAP).join(pieces)))
    return rows


def _as_lists(head: Sequence[Content], body: Sequence[Sequence[Content]], width: int) -> list[Row]:
    rows: list[Row] = []
    for index, cells in enumerate(body or [()]):
        if index:
            rows.append(Row(styled("─" * min(8, width), "table-line")))
        for column, title in enumerate(head):
            cell = cells[column] if column < len(cells) else Content("")
            rows += wrap(joined(title, styled(": ", "table-line"), cell), width)
    return rows

"""Markdown as lines of runs.

The grammar is CommonMark with tables and strikethrough, and these differences, each because
a conversation is read as it grows and is not trusted:

1. HTML is text.
2. Reference links (`[a]: url`) are text: a late definition would change what was read.
3. A newline in a paragraph stays a newline; models and people both mean it.
4. A link shows where it leads, and bare addresses are links.
5. Formulas are left as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from tui_chat.ui.chat.code import code_lines
from tui_chat.ui.chat.inline import grouped, inline_runs, linked
from tui_chat.ui.chat.lines import BLANK, Line, Run, Styles, indented, run, wrap
from tui_chat.ui.chat.sections import Section
from tui_chat.ui.chat.tables import Align, table_lines

if TYPE_CHECKING:  # loading the grammar can wait for the first Markdown
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

NARROWEST = 12
"""Cells that quotes and lists leave for their text; nested deeper, they no longer indent."""

_BULLETS = "•◦▪"
_QUOTED = re.compile(r"^(?: {0,3}> ?)+")
_ALWAYS_APART = {"heading", "fence", "code_block", "table", "hr", "blockquote", "maths_block"}


def section_lines(
    section: Section, width: int, styles: Styles = (), *, verbatim: bool = False
) -> list[Line]:
    """Lay one section out, without the blank line before it.

    `verbatim` shows everything but fenced code as it was written.
    """
    if section.kind == "code":
        return code_lines(section.source, section.lead, width, opens=section.opens)
    if section.kind == "plain" or verbatim:
        return plain_lines(section.source, width, styles)
    if section.kind == "inline":
        return _line_lines(section.source, width, styles)
    source = f"{section.lead}\n{section.source}" if section.lead else section.source
    tree = _tree(source)
    return _Layout(source.split("\n")).blocks(tree.children, width, styles)


def _line_lines(source: str, width: int, styles: Styles) -> list[Line]:
    """Lay out a piece of a line: nothing in it begins a block."""
    from markdown_it.tree import SyntaxTreeNode

    node = SyntaxTreeNode(_parser().parseInline(source))
    return [piece for line in grouped(inline_runs(node, styles)) for piece in wrap(line, width)]


def markdown_lines(source: str, width: int) -> list[Line]:
    """Lay a short text out at once."""
    tree = _tree(source)
    return _Layout(source.split("\n")).blocks(tree.children, width, ())


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    from tui_chat.ui.chat.maths import maths

    return (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .disable(["reference", "html_block", "html_inline"])
        .use(maths)
    )


def _tree(source: str) -> SyntaxTreeNode:
    from markdown_it.tree import SyntaxTreeNode

    tree = SyntaxTreeNode(_parser().parse(source))
    for node in tree.walk():  # else a tree would stay until the garbage collector finds it
        node.parent = None
    return tree


def codes_of(section: Section) -> list[tuple[str, str]]:
    """Return the code in a section, in the order of its numbers: language and text."""
    if "```" not in section.source and "~~~" not in section.source and "    " not in section.source:
        return []
    source = f"{section.lead}\n{section.source}" if section.lead else section.source
    return [
        (token.info.strip(), token.content.removesuffix("\n"))
        for token in _parser().parse(source)
        if token.type in ("fence", "code_block")
    ]


def plain_lines(text: str, width: int, styles: Styles = (), *, links: bool = True) -> list[Line]:
    """Lay text out as it was written, its lines wrapped."""
    made: list[Line] = []
    for line in text.split("\n"):
        bare = line.expandtabs(4)
        body = bare.lstrip(" ")
        margin = min(len(bare) - len(body), max(width - NARROWEST, 0))
        space = (Run(" " * margin),) if margin else ()
        runs = list(linked(body, styles)) if links else [run(body, *styles)]
        made += indented(wrap(runs, width - margin), space, space)
    return made


class _Layout:
    """Lays out the blocks of one source, whose lines tell where its author left blanks."""

    def __init__(self, source: list[str]) -> None:
        self._source = source
        self._codes = 0

    def blocks(
        self, nodes: Iterable[SyntaxTreeNode], width: int, styles: Styles, depth: int = 0
    ) -> list[Line]:
        made: list[Line] = []
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

    def block(self, node: SyntaxTreeNode, width: int, styles: Styles, depth: int) -> list[Line]:
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
                bar = Run("▎ ", ("quote-bar",))
                room = width - 2
                inner = self.blocks(node.children, max(room, NARROWEST), (*styles, "quote"), depth)
                return indented(inner or [BLANK], (bar,), (bar,)) if room >= NARROWEST else inner
            case "fence" | "code_block":
                self._codes += 1
                code = node.content.removesuffix("\n")
                return code_lines(code, node.info, width, number=self._codes - 1)
            case "maths_block":
                return plain_lines(node.content, width, (*styles, "maths"), links=False)
            case "hr":
                return [Line((Run("─" * width, ("rule",)),))]
            case "table":
                return self._table(node, width, styles)
            case _:
                return plain_lines(node.content, width, styles)

    def _paragraph(
        self, node: SyntaxTreeNode, width: int, styles: Styles, *, joined: bool = False
    ) -> list[Line]:
        made: list[Line] = []
        for line in grouped(inline_runs(node, styles), joined=joined):
            made += wrap(line, width)
        return made

    def _goes_on_indented(self, node: SyntaxTreeNode) -> bool:
        """Whether a paragraph's later lines are indented: who does that has wrapped them by hand.
        Other lines are kept as lines, since models mean them.
        """
        first, end = node.map or (0, 0)
        later = (_QUOTED.sub("", line) for line in self._source[first + 1 : end])
        return all(line[:1] in " \t" for line in later)

    def _list(self, node: SyntaxTreeNode, width: int, styles: Styles, depth: int) -> list[Line]:
        ordered = node.type == "ordered_list"
        first = int(node.attrs.get("start", 1)) if ordered else 0
        items = node.children
        size = len(str(first + len(items) - 1)) + 2 if ordered else 2
        if width - size < NARROWEST:
            size = 0
        made: list[Line] = []
        for index, item in enumerate(items):
            if index and self._blank_before(item):
                made.append(BLANK)
            label = f"{first + index}." if ordered else _BULLETS[depth % len(_BULLETS)]
            lines = self.blocks(item.children, width - size, styles, depth + 1) or [BLANK]
            if not size:
                made += lines
                continue
            mark = Run(label.rjust(size - 1) + " ", ("list-mark",))
            made += indented(_checked(lines), (mark,), (Run(" " * size),))
        return made

    def _table(self, node: SyntaxTreeNode, width: int, styles: Styles) -> list[Line]:
        rows = [
            [
                [
                    piece
                    for line in grouped(inline_runs(cell, self._cell(cell, styles)))
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
    def _cell(cell: SyntaxTreeNode, styles: Styles) -> Styles:
        return (*styles, "table-head") if cell.type == "th" else styles


def _align(cell: SyntaxTreeNode) -> Align:
    style = str(cell.attrs.get("style", ""))
    if style.endswith("right"):
        return "right"
    return "center" if style.endswith("center") else "left"


def _checked(lines: list[Line]) -> list[Line]:
    """Draw the box of a task list's item."""
    first = lines[0]
    if not first.runs or first.runs[0].text[:4] not in ("[ ] ", "[x] ", "[X] "):
        return lines
    head = first.runs[0]
    box = "☐" if head.text[1] == " " else "☑"
    runs = (Run(f"{box} ", ("list-mark",)), head._replace(text=head.text[4:]), *first.runs[1:])
    return [Line(runs, first.fill), *lines[1:]]

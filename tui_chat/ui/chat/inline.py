"""What stands within a line of Markdown: runs of characters, and where lines end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tui_chat.ui.chat.lines import Run, Styles, run

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}*_]")
_STYLED = {"strong": "strong", "em": "emphasis", "s": "strike"}
_UNSPACED = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_SOFT, _SPACE = Run("\n"), Run(" ")


def grouped(runs: Iterable[Run | None], *, joined: bool = False) -> Iterator[list[Run]]:
    """Group runs into lines; None ends one, and so does a soft break if they are not joined."""
    line: list[Run] = []
    for piece in runs:
        if piece is None or (piece is _SOFT and not joined):
            yield line
            line = []
        elif piece is _SOFT:
            line.append(_SPACE)
        elif piece.text:
            if len(line) > 1 and line[-1] is _SPACE and _meet_wide(line[-2].text, piece.text):
                line.pop()
            line.append(piece)
    yield line


def _meet_wide(before: str, after: str) -> bool:
    """Whether neither side of a line's end is written with spaces, as in Chinese."""
    return bool(_UNSPACED.match(before[-1:]) and _UNSPACED.match(after))


def inline_runs(node: SyntaxTreeNode, styles: Styles, link: str = "") -> Iterator[Run | None]:
    """Walk inline nodes; None stands for a line's end, `_SOFT` for one that is none in Markdown."""
    for child in node.children:
        match child.type:
            case "inline":
                yield from inline_runs(child, styles, link)
            case "text":
                yield from linked(child.content, styles, link)
            case "softbreak":
                yield _SOFT
            case "hardbreak":
                yield None
            case "maths":
                pieces = child.content.split("\n")
                for index, piece in enumerate(pieces):
                    if index:
                        yield None
                    yield run(piece, *styles, "maths", link=link)
            case "code_inline":
                yield run(child.content, *styles, "code", link=link)
            case "strong" | "em" | "s":
                yield from inline_runs(child, (*styles, _STYLED[child.type]), link)
            case "link" | "image":
                yield from _link(child, styles)
            case _:
                yield run(child.content, *styles, link=link)


def _link(node: SyntaxTreeNode, styles: Styles) -> Iterator[Run | None]:
    target = str(node.attrs.get("href") or node.attrs.get("src") or "")
    if node.type == "image":
        yield run("image: ", *styles, "url")
    shown = list(inline_runs(node, (*styles, "link"), target))
    yield from shown
    said = "".join(piece.text for piece in shown if piece and piece is not _SOFT)
    if said and said != target:
        yield run(f" ({target})", *styles, "url", link=target)
    elif not said:
        yield run(target, *styles, "link", link=target)


def linked(text: str, styles: Styles, link: str = "") -> Iterator[Run]:
    """Make runs of plain text, and links of the addresses in it."""
    at = 0
    if not link and "://" in text:
        for found in _ADDRESS.finditer(text):
            if found.start() > at:
                yield run(text[at : found.start()], *styles)
            yield run(found.group(), *styles, "link", link=found.group())
            at = found.end()
    if at < len(text):
        yield run(text[at:], *styles, link=link)

"""White space of expanded texts: the line breaks that `{{trim}}` removes, and indents of blocks."""

from __future__ import annotations

from collections.abc import Iterable

from tui_chat.models.text import Span, Text

_BREAKS = "\r\n"


def trimmed(pieces: Iterable[Span | object]) -> list[Span]:
    """Return the spans. What is no span is a trim: it removes the line breaks next to it."""
    result: list[Span] = []
    trimming = False
    for piece in pieces:
        if not isinstance(piece, Span):
            trimming = True
            while result:
                last = result.pop()
                if rest := last.text.rstrip(_BREAKS):
                    result.append(Span(rest, last.origin, last.start))
                    break
        elif not trimming:
            result.append(piece)
        elif rest := piece.text.lstrip(_BREAKS):
            skipped = len(piece.text) - len(rest)
            result.append(Span(rest, piece.origin, piece.start + skipped))
            trimming = False
    return result


def dedented(text: Text) -> Text:
    """Return a text stripped, its lines without the indent of the first one that is not blank."""
    lines = text.plain.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip(" \t"))
    if not indent or len(lines) == 1:
        return text.stripped()
    parts: list[Text] = []
    at = 0
    for line in lines:
        own = min(len(line) - len(line.lstrip(" \t")), indent)
        parts.append(text[at + own : at + len(line)])
        at += len(line) + 1
    return Text.join("\n", parts).stripped()

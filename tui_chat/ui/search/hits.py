"""A hit of a search as text: a line of the list, and the messages around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from textual.content import Content

from tui_chat.models.media import as_text
from tui_chat.models.message import Message as ChatMessage
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.search import Hit, HitPlace
from tui_chat.models.session import Entry
from tui_chat.ui.ago import ago
from tui_chat.ui.widgets.content_list import LABEL

PLACES: dict[HitPlace, str] = {
    "reasoning": "Reasoning",
    "call": "Tool call",
    "refusal": "Refusal",
    "attachment": "Attachment",
}
"""The part of a message with the words, if it is not its text."""
WRITERS = {"user": "You", "assistant": "Reply", "tool": "Tool", "system": "System", None: "Title"}
MARK = "bold underline $text-warning"
"""The style of words that were found."""
_NEIGHBOR = 300
"""Characters shown of a message before or after the hit."""
_LINES_BEFORE, _BEFORE, _SHOWN = 4, 300, 6_000
"""Lines and characters of the hit shown before its first mark, and characters in all."""


def hit_content(hit: Hit, now: float) -> Content:
    """Return title, writer and age of a hit, and below them its words."""
    who, title = PLACES.get(hit.place, WRITERS[hit.message_role]), one_line(hit.title, 50)
    facts = f" · {who} · {ago(hit.created, now)}"
    head = Content.assemble((title or "Untitled", "bold"), (facts, LABEL))
    return Content.assemble(head, "\n  ", _marked(hit.snippet, hit.marks))


def preview_content(hit: Hit, entries: Sequence[Entry]) -> Content:
    """Return the messages around a hit, with the words found marked."""
    parts: list[Content] = []
    for entry in entries:
        message = entry.message
        who = WRITERS[message.role]
        if message.id != hit.message_id:
            text = Content.styled(sanitize(message.content[:_NEIGHBOR]).strip(), LABEL)
        else:
            who += f" · {PLACES[hit.place]}" if hit.place in PLACES else ""
            text = _found_text(_text_at(message, hit.place), words_pattern(hit))
        parts.append(Content.assemble((f"{who}\n", f"bold {LABEL}"), text))
    return Content("\n\n").join(parts)


def _found_text(text: str, pattern: re.Pattern[str] | None) -> Content:
    """Return a text from a little before the first place that matches, with all marked."""
    first = pattern.search(text) if pattern is not None else None
    start = max(first.start() - _BEFORE, 0) if first is not None else 0
    if first is not None:
        lines = text[start : first.start()].split("\n")
        start = first.start() - len("\n".join(lines[-_LINES_BEFORE:]))
    shown = text[start : start + _SHOWN]
    spans = [match.span() for match in pattern.finditer(shown)] if pattern is not None else []
    more = "…" if start + _SHOWN < len(text) else ""
    return Content.assemble("…" if start else "", _marked(shown, spans), more)


def _marked(text: str, marks: Iterable[tuple[int, int]]) -> Content:
    """Return a text in which those of `marks` (start, end) are marked."""
    pieces: list[tuple[str, str]] = []
    end_before = 0
    for start, end in marks:
        if end_before <= start < end <= len(text):
            pieces += [(sanitize(text[end_before:start]), ""), (sanitize(text[start:end]), MARK)]
            end_before = end
    return Content.assemble(*pieces, sanitize(text[end_before:]))


def _text_at(message: ChatMessage, place: HitPlace) -> str:
    """Return the text of a message in which words were found."""
    match place:
        case "text":
            return message.content
        case "reasoning":
            return "\n\n".join(block.text for block in message.reasoning)
        case "call":
            return "\n\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
        case "refusal":
            return message.refusal
        case "attachment":
            files = (f"{part.name}\n{as_text(part).text}".strip() for part in message.parts)
            return "\n\n".join(filter(None, files))


def found_words(hit: Hit) -> tuple[str, ...]:
    """Return the words found, as they are written in the message."""
    return tuple(dict.fromkeys(hit.snippet[start:end] for start, end in hit.marks))


def words_pattern(hit: Hit) -> re.Pattern[str] | None:
    """Return a pattern for the words found, at any white space; None without words."""
    words = sorted((word for word in found_words(hit) if word.strip()), key=len, reverse=True)
    if not words:
        return None
    joined = "|".join(r"\s+".join(map(re.escape, word.split())) for word in words)
    return re.compile(joined, re.IGNORECASE)

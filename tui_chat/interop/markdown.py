"""A session as Markdown, for reading: the shown branch, with reasoning and tools folded.

What a message says is Markdown already and stays it. It is kept from breaking out of its place: a
code fence that was left open is closed, tags that would hide or fold what follows are escaped,
and what a terminal would obey is spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, tzinfo

from tui_chat.interop import readable_parts
from tui_chat.interop.readable_parts import shown_branch, siblings
from tui_chat.models.message import Message, Part
from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import Entry
from tui_chat.models.transcript import Transcript

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BREAKING_OUT = re.compile(
    r"<(?=!--|[?!]|/?(?:details|summary|script|style|iframe|object|embed|textarea|title|xmp|"
    r"plaintext|template|pre|svg|math|base|meta|link|form)\b)",
    re.IGNORECASE,
)
_HEADING = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>#"})


def markdown(transcript: Transcript, zone: tzinfo = UTC) -> Iterator[str]:
    """Write the session; times are told in `zone`."""
    shown = shown_branch(transcript)
    beside = siblings(transcript)
    yield f"# {readable_parts.title(transcript).translate(_HEADING)}\n\n"
    for name, fact in readable_parts.about(transcript, len(shown), zone):
        yield f"- {name}: {fact.translate(_HEADING)}\n"
    for entry in shown:
        among = beside[entry.parent_id]
        yield _heading(entry, among.index(entry), len(among), transcript, zone)
        yield from _body(entry)


def _heading(entry: Entry, place: int, count: int, transcript: Transcript, zone: tzinfo) -> str:
    words = [
        readable_parts.speaker(entry.message, transcript),
        *readable_parts.beside(entry, place, count, zone),
    ]
    return f"\n---\n\n## {' · '.join(words).translate(_HEADING)}\n"


def _body(entry: Entry) -> Iterator[str]:
    message = entry.message
    if thought := readable_parts.thoughts(message):
        yield _folded("Reasoning", _kept_in(sanitize(thought)))
    if message.content:
        text = sanitize(message.content)
        yield f"\n{_code(text) if message.role == 'tool' else _kept_in(text)}\n"
    if message.semantics.refusal:
        yield f"\n{_kept_in(sanitize(message.semantics.refusal))}\n"
    yield from map(_part, message.parts)
    yield from _calls(message)
    if entry.error:
        yield f"\n> {' '.join(sanitize(entry.error).split()).translate(_HEADING)}\n"


def _calls(message: Message) -> Iterator[str]:
    for call in message.tool_calls:
        name = " ".join(sanitize(call.name).split()).translate(_HEADING)
        yield _folded(f"Tool call: {name}", _code(sanitize(readable_parts.arguments(call)), "json"))


def _part(part: Part) -> str:
    words = readable_parts.part_words(part).translate(_HEADING)
    if part.text:
        return _folded(words, _code(sanitize(part.text)))
    if part.url.startswith(("http://", "https://")) and not re.search(r"[\s<>()]", part.url):
        return f"\n[{words}]({sanitize(part.url)})\n"
    return f"\n[{words}]\n"


def _folded(summary: str, text: str) -> str:
    return f"\n<details><summary>{summary}</summary>\n\n{text}\n\n</details>\n"


def _code(text: str, language: str = "") -> str:
    """Fence a text with more backticks than it has in a row."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _kept_in(text: str) -> str:
    """Keep a text from breaking out of its place."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        else:
            line = _BREAKING_OUT.sub(r"\\<", line)
        lines.append(line)
    if fence:
        lines.append(fence)
    return "\n".join(lines)

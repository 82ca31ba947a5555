"""A session as Markdown for reading: the active branch, with reasoning and tools folded.

The text of a message is Markdown already and is kept, but cannot affect what follows: open code
fences are closed, tags that would hide or fold other text are escaped, and control characters are
replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, tzinfo

from tui_chat.interop import readable_parts
from tui_chat.interop.readable_parts import active_branch, siblings
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.message import Message
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.session import Entry
from tui_chat.models.sources import References
from tui_chat.models.transcript import SessionTranscript

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HARMFUL_TAG = re.compile(
    r"<(?=!--|[?!]|/?(?:details|summary|script|style|iframe|object|embed|textarea|title|xmp|"
    r"plaintext|template|pre|svg|math|base|meta|link|form)\b)",
    re.IGNORECASE,
)
_HEADING = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>#"})


def markdown(transcript: SessionTranscript, zone: tzinfo = UTC) -> Iterator[str]:
    """Yield the session as text, with times in `zone`."""
    shown = active_branch(transcript)
    versions = siblings(transcript)
    yield f"# {readable_parts.title(transcript).translate(_HEADING)}\n\n"
    for name, fact in readable_parts.about(transcript, len(shown), zone):
        yield f"- {name}: {fact.translate(_HEADING)}\n"
    for entry in shown:
        among = versions[entry.parent_id]
        yield _heading(entry, among.index(entry), len(among), transcript, zone)
        yield from _body(entry)


def _heading(
    entry: Entry, place: int, count: int, transcript: SessionTranscript, zone: tzinfo
) -> str:
    words = [
        readable_parts.sender(entry.message, transcript),
        *readable_parts.captions(entry, place, count, zone),
    ]
    return f"\n---\n\n## {' · '.join(words).translate(_HEADING)}\n"


def _body(entry: Entry) -> Iterator[str]:
    message = entry.message
    if thought := message.thought:
        yield _folded("Reasoning", _contained(sanitize(thought)))
    if message.content:
        text = sanitize(message.content)
        yield f"\n{_code(text) if message.role == 'tool' else _contained(text)}\n"
    if message.refusal:
        yield f"\n{_contained(sanitize(message.refusal))}\n"
    yield from _sources(message.about.references)
    yield from map(_part, message.parts)
    yield from _calls(message)
    if entry.error:
        yield f"\n> {' '.join(sanitize(entry.error).split()).translate(_HEADING)}\n"


def _sources(references: References) -> Iterator[str]:
    lines: list[str] = []
    for number, source in enumerate(references.sources, 1):
        label = one_line(source.label).translate(_HEADING)
        url = source.url.replace("(", "%28").replace(")", "%29")
        host = f" · {source.host.translate(_HEADING)}" if source.title and source.host else ""
        lines.append(f"{number}. [{label}]({url}){host}" if url else f"{number}. {label}")
    if lines:
        yield _folded(f"Sources ({len(lines)})", "\n".join(lines))


def _calls(message: Message) -> Iterator[str]:
    for call in message.tool_calls:
        name = " ".join(sanitize(call.name).split()).translate(_HEADING)
        yield _folded(f"Tool call: {name}", _code(sanitize(readable_parts.arguments(call)), "json"))


def _part(part: MediaBlock) -> str:
    words = readable_parts.part_words(part).translate(_HEADING)
    if part.text:
        return _folded(words, _code(sanitize(part.text)))
    if part.url.startswith(("http://", "https://")) and not re.search(r"[\s<>()]", part.url):
        return f"\n[{words}]({sanitize(part.url)})\n"
    return f"\n[{words}]\n"


def _folded(summary: str, text: str) -> str:
    return f"\n<details><summary>{summary}</summary>\n\n{text}\n\n</details>\n"


def _code(text: str, language: str = "") -> str:
    """Return a code block with a longer fence than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _contained(text: str) -> str:
    """Return a text that cannot affect the Markdown after it."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
        else:
            line = _HARMFUL_TAG.sub(r"\\<", line)
        lines.append(line)
    if fence:
        lines.append(fence)
    return "\n".join(lines)

"""Exports for people to read: a session as Markdown, and what other such exports share with it.

Markdown is the active branch, with reasoning and tools folded. The text of a message is Markdown
already and is kept, but cannot affect what follows: open code fences are closed, tags that would
hide or fold other text are escaped, and control characters are replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo

from tui_chat.models.blocks import CallBlock, MediaBlock, ReasoningBlock
from tui_chat.models.media import describe
from tui_chat.models.message import Message, References
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.session import Entry, SessionTranscript

_NAMES = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}
_ENDINGS = {
    "stopped": "stopped",
    "failed": "failed",
    "interrupted": "interrupted",
    "streaming": "still arriving",
}


def title(transcript: SessionTranscript) -> str:
    """Return the session's title on one line."""
    return one_line(transcript.session.title) or "Chat"


def about(transcript: SessionTranscript, shown: int, zone: tzinfo) -> list[tuple[str, str]]:
    """Return facts about a session with their names; `shown` is the length of the active branch."""
    session = transcript.session
    model = session.model or (transcript.role.model if transcript.role else "")
    count = len(transcript.entries)
    messages = str(shown) if shown == count else f"{shown}, and {count - shown} on other branches"
    facts = [
        ("Role", transcript.role.name if transcript.role else ""),
        ("Model", model),
        ("Endpoint", session.endpoint),
        ("Tags", ", ".join(session.tags)),
        ("Created", format_time(session.created, zone)),
        ("Updated", format_time(session.updated, zone)),
        ("Messages", messages),
    ]
    return [(name, one_line(value)) for name, value in facts if value]


def sender(message: Message, transcript: SessionTranscript) -> str:
    """Return the name of the sender."""
    settings, name = transcript.session.settings, message.name or message.tool_name
    if message.role == "assistant":
        by_role = transcript.role.name if transcript.role else ""
        name = name or settings.char_name or by_role or transcript.character
    elif message.role == "user":
        name = name or settings.user_name or transcript.user
    name = one_line(name, 80)
    if message.role == "tool":
        return f"Tool: {name}" if name else "Tool"
    return name or _NAMES[message.role]


def captions(entry: Entry, place: int, siblings: int, zone: tzinfo) -> list[str]:
    """Return the facts beside the sender; `place` is the index among `siblings` versions."""
    brought, summary = entry.message.about.brought, entry.message.about.summary
    off = ", off" if summary and not summary.enabled else ""
    facts = [
        one_line(entry.model, 80) if entry.message.role == "assistant" else "",
        format_time(entry.message.timestamp, zone),
        f"{place + 1} of {siblings}" if siblings > 1 else "",
        "pinned" if entry.message.pinned else "",
        muted_words(entry.message),
        f"summary of {summary.messages:,} messages{off}" if summary else "",
        one_line(brought.words) if brought else "",
        _ENDINGS.get(entry.status, ""),
    ]
    return [fact for fact in facts if fact]


def muted_words(message: Message) -> str:
    """Return what of a message is muted; empty for nothing."""
    muted = message.muted
    if muted.whole:
        return "muted, not sent"
    blocks = message.muted_blocks
    names = ["reasoning"] * any(isinstance(block, ReasoningBlock) for block in blocks)
    names += [one_line(part_words(b), 80) for b in blocks if isinstance(b, MediaBlock)]
    return f"muted: {', '.join(names)}" if names else ""


def format_time(seconds: float | None, zone: tzinfo) -> str:
    """Return a time to the minute; empty if there is none."""
    if not seconds:
        return ""
    try:
        return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


def arguments(call: CallBlock) -> str:
    """Return the arguments of a call as indented JSON, or unchanged if they are not JSON."""
    try:
        return json.dumps(json.loads(call.arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return call.arguments


def part_words(part: MediaBlock) -> str:
    """Describe an image or file: its kind, name or type, and size."""
    about = one_line(describe(part), 120)
    return f"{part.media}: {about}" if about else part.media


def active_branch(transcript: SessionTranscript) -> tuple[Entry, ...]:
    """Return the entries from the first one to the head."""
    by_id = {entry.message.id: entry for entry in transcript.entries}
    last = transcript.entries[-1].message.id if transcript.entries else None
    entry_id = transcript.session.head_id or last
    branch: list[Entry] = []
    while entry_id is not None and entry_id in by_id:
        entry = by_id.pop(entry_id)
        branch.append(entry)
        entry_id = entry.parent_id
    return tuple(reversed(branch))


def siblings(transcript: SessionTranscript) -> dict[str | None, list[Entry]]:
    """Return the children of each entry in their order; under None the first entries."""
    children: dict[str | None, list[Entry]] = {}
    for entry in transcript.entries:
        children.setdefault(entry.parent_id, []).append(entry)
    return children


# --- Markdown ----------------------------------------------------------------------------

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
    yield f"# {title(transcript).translate(_HEADING)}\n\n"
    for name, fact in about(transcript, len(shown), zone):
        yield f"- {name}: {fact.translate(_HEADING)}\n"
    for entry in shown:
        among = versions[entry.parent_id]
        words = captions(entry, among.index(entry), len(among), zone)
        heading = " · ".join((sender(entry.message, transcript), *words))
        yield f"\n---\n\n## {heading.translate(_HEADING)}\n"
        yield from _body(entry)


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
    for call in message.tool_calls:
        name = " ".join(sanitize(call.name).split()).translate(_HEADING)
        yield _folded(f"Tool call: {name}", _code(sanitize(arguments(call)), "json"))
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


def _part(part: MediaBlock) -> str:
    words = part_words(part).translate(_HEADING)
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

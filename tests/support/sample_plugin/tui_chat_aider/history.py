"""aider's chat history: Markdown that grows with each session.

1. `# aider chat started at TIME` begins a conversation.
2. Lines after `#### ` are the user's; what follows, up to the next of them, is the reply.
3. Lines after `> ` are aider's own reports: they are no part of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import groupby

from tui_chat.api import FoundConversation, ImportSource, Message, TextFormat, TranscriptBuilder

MOST_BYTES = 64 * 2**20
START = "# aider chat started at "


def is_history(head: bytes) -> bool:
    """Return True for the beginning of a history."""
    return head.lstrip().startswith(START.encode())


def read(pieces: Iterable[bytes], source: ImportSource) -> Iterator[FoundConversation]:
    """Yield the conversations of a history."""
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > MOST_BYTES:
            yield FoundConversation("", fault=f"is larger than {MOST_BYTES // 2**20} MiB")
            return
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        yield FoundConversation("", fault=f"is not UTF-8 text (byte {error.start})")
        return
    for started, conversation in re.findall(rf"^{START}(.*)\n((?:(?!{START}).*\n?)*)", text, re.M):
        yield read_conversation(started.strip(), conversation, source)


def read_conversation(started: str, text: str, source: ImportSource) -> FoundConversation:
    """Return the conversation that was started at a time."""
    builder = TranscriptBuilder("aider", source.name, started)
    parent_id: str | None = None
    lines = [line for line in text.splitlines() if not line.startswith("> ")]
    for is_user, group in groupby(lines, lambda line: line.startswith("#### ")):
        content = "\n".join(line.removeprefix("#### ") if is_user else line for line in group)
        if content.strip():
            role = "user" if is_user else "assistant"
            message = Message.of(role, content.strip(), id=builder.id_of(str(len(builder.entries))))
            builder.add(message, parent_id)
            parent_id = message.id
    created = None
    with suppress(ValueError):
        created = datetime.fromisoformat(started).timestamp()  # local time
    title = f"aider, {started}"
    transcript = builder.transcript(title=title, head_id=parent_id, created=created)
    if not transcript.entries:
        return FoundConversation("", ignored=True)
    return FoundConversation("", transcript, notes=tuple(builder.notes))


FORMATS = (TextFormat(is_history, read),)

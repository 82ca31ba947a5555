"""Reading files in tests."""

from __future__ import annotations

import json

from tui_chat.interop.readable_parts import active_branch
from tui_chat.interop.reader import read_conversations
from tui_chat.interop.transcript_builder import FoundConversation
from tui_chat.models.message import Message
from tui_chat.models.transcript import SessionTranscript


def read(value: object) -> list[FoundConversation]:
    """Everything found in a file: bytes as they are, anything else as JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return list(read_conversations([data]))


def only(value: object) -> SessionTranscript:
    """The one conversation of a file."""
    [found] = read(value)
    assert found.transcript is not None, f"{found.place}: {found.fault}"
    return found.transcript


def shown(transcript: SessionTranscript) -> list[Message]:
    """The messages of the shown branch."""
    return [entry.message for entry in active_branch(transcript)]


def said(transcript: SessionTranscript) -> list[tuple[str, str]]:
    """Role and text along the shown branch."""
    return [(message.role, message.content) for message in shown(transcript)]

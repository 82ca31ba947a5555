"""Reading files of conversations in tests, as the plugin `transcripts` does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.plugins import is_deleted
from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.interop.readable import active_branch
from tui_chat.models.message import Message
from tui_chat.models.session import SessionTranscript
from tui_chat.workspace.workspace import Workspace


def read(value: object) -> list[FoundConversation]:
    """Everything found in a file: bytes as they are, anything else as JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read_pieces([data])


def read_pieces(
    pieces: Iterable[bytes], source: ImportSource | None = None
) -> list[FoundConversation]:
    """Everything found in a file in pieces; skips the test if nothing reads files."""
    if is_deleted("transcripts"):
        pytest.skip("The plugin that reads files was deleted.")
    from tui_chat.plugins.transcripts.reader import read_conversations

    return list(read_conversations(pieces, source=source))


async def import_into(workspace: Workspace, paths: Iterable[Path], **options: Any) -> Any:
    """Import files as the app does; skips the test if nothing imports."""
    if is_deleted("transcripts"):
        pytest.skip("The plugin that imports files was deleted.")
    from tui_chat.plugins.transcripts import importer

    return await importer.import_into(workspace, paths, **options)


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

"""Writes sessions from the store as text, one session at a time in memory.

Each format's module is imported when it is used, and nothing else of the workspace: commands
export without it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_chat import __version__
from tui_chat.errors import InputError
from tui_chat.files import open_for_replacement

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.transcript import SessionTranscript
    from tui_chat.store import Store

Format: TypeAlias = Literal["json", "shared", "jsonl", "markdown", "html", "sillytavern"]
"""`shared` is our JSON without requests and drafts, to be given to others."""

ENDINGS: dict[Format, str] = {
    "json": ".json",
    "shared": ".json",
    "jsonl": ".jsonl",
    "markdown": ".md",
    "html": ".html",
    "sillytavern": ".jsonl",
}
"""File name endings."""

MULTI_SESSION_FORMATS: frozenset[Format] = frozenset(("json", "shared"))
"""Formats of which one file can hold many sessions."""


async def exported_texts(
    store: Store,
    session_ids: Sequence[str],
    kind: Format,
    zone: tzinfo,
    library: Library | None = None,
) -> AsyncIterator[str]:
    """Yield the text of a file with these sessions; only our JSON can hold more than one.
    `library` has the profiles, whose names are those of the users in a text to be read.

    `zone` is the time zone of the times in the file. A session that is deleted meanwhile is
    skipped. One session at a time is in memory.
    """
    from tui_chat.interop import own_json

    is_ours = kind in MULTI_SESSION_FORMATS
    if is_ours:
        yield own_json.begin(f"tui-chat {__version__}")
    first = True
    for session_id in session_ids:
        transcript = await store.transcripts.get(session_id, requests=kind == "json")
        if transcript is not None:
            profile = transcript.session.profile
            if library is not None and profile and not is_ours:
                with suppress(InputError):  # it is gone or damaged: the user has no name
                    transcript = replace(transcript, user=library.profile(profile).name)
            for text in _texts(transcript, kind, zone, first):
                yield text
            first = False
    if is_ours:
        yield own_json.end()


def _texts(transcript: SessionTranscript, kind: Format, zone: tzinfo, first: bool) -> Iterator[str]:
    match kind:
        case "json" | "shared":
            from tui_chat.interop.own_json import session_text

            return session_text(transcript, first=first)
        case "jsonl":
            from tui_chat.interop.messages import message_lines

            return message_lines(transcript)
        case "markdown":
            from tui_chat.interop.markdown import markdown

            return markdown(transcript, zone)
        case "sillytavern":
            from tui_chat.interop.sillytavern_chat import chat_lines

            return chat_lines(transcript)
        case "html":
            from tui_chat.interop.html import page

            return page(transcript, zone)


def transcript_texts(transcript: SessionTranscript, kind: Format, zone: tzinfo) -> Iterator[str]:
    """Yield the text of a file with one conversation that need not be stored."""
    from tui_chat.interop import own_json

    is_ours = kind in MULTI_SESSION_FORMATS
    if is_ours:
        yield own_json.begin(f"tui-chat {__version__}")
    yield from _texts(transcript, kind, zone, True)
    if is_ours:
        yield own_json.end()


async def write_file(chunks: AsyncIterator[str], path: Path) -> None:
    """Write a file with conversations, which only its owner can read; see `open_for_replacement`.
    Raises InputError.
    """
    with open_for_replacement(path, "private") as file:
        async for text in chunks:
            file.write(text)

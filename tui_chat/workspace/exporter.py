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
from typing import TYPE_CHECKING

from tui_chat import __version__, hooks
from tui_chat.api import Format
from tui_chat.errors import InputError
from tui_chat.files import open_for_replacement

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.transcript import SessionTranscript
    from tui_chat.store import Store

_OWN = (
    Format(
        "markdown",
        "tui_chat.interop.markdown:markdown",
        ending=".md",
        summary="For reading and editing",
    ),
    Format(
        "json",
        "tui_chat.interop.own_json:session_text",
        ending=".json",
        summary="Everything, with all branches; can be imported again",
    ),
    Format(
        "shared",
        "tui_chat.interop.own_json:session_text",
        ending=".json",
        summary="The same without requests, presets, profiles and draft, for sharing",
    ),
    Format(
        "jsonl",
        "tui_chat.interop.messages:message_lines",
        ending=".jsonl",
        summary="The active branch, one message a line, for programs",
    ),
)

MULTI_SESSION_FORMATS = frozenset(("json", "shared"))
"""Formats of which one file can hold many sessions."""


def export_formats() -> dict[str, Format]:
    """Return the formats of the core and of plugins by their names, as lists show them."""
    added = (entry for _, entry in hooks.parts("exports", {entry.name for entry in _OWN}))
    return {entry.name: entry for entry in (*_OWN, *added)}


async def exported_texts(
    store: Store,
    session_ids: Sequence[str],
    kind: str,
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


def _texts(transcript: SessionTranscript, kind: str, zone: tzinfo, first: bool) -> Iterator[str]:
    write = hooks.load_named("exports", kind) or hooks.load(export_formats()[kind].path)
    if kind in MULTI_SESSION_FORMATS:
        return write(transcript, first=first)
    return write(transcript, zone)


def transcript_texts(transcript: SessionTranscript, kind: str, zone: tzinfo) -> Iterator[str]:
    """Yield the text of a file with one conversation that need not be stored."""
    from tui_chat.interop import own_json

    is_ours = kind in MULTI_SESSION_FORMATS
    if is_ours:
        yield own_json.begin(f"tui-chat {__version__}")
    yield from _texts(transcript, kind, zone, True)
    if is_ours:
        yield own_json.end()


async def write_file(chunks: AsyncIterator[str], path: Path) -> None:
    """Write a private file of conversations; see `open_for_replacement`. Raises InputError."""
    with open_for_replacement(path, "private") as file:
        async for text in chunks:
            file.write(text)

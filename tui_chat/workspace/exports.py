"""Exports: sessions from the store as text and into files, one session at a time in memory.

Each format's module is imported when it is used, and nothing else of the workspace: commands
export without it.
"""

from __future__ import annotations

import asyncio
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
from tui_chat.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.session import Entry, SessionTranscript
    from tui_chat.store import Store
    from tui_chat.workspace.core import WorkspaceCore

_OWN = (
    Format(
        "markdown",
        "tui_chat.interop.readable:markdown",
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

CHUNK = 64 * 1024
"""Characters of an export after which other tasks get a turn."""

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


@dataclass(eq=False)
class Exports:
    """Exports while the user chats."""

    core: WorkspaceCore

    async def export(
        self, session_id: str, kind: str, path: Path, *, overwrite: bool = False
    ) -> bool:
        """Write a session to a file, whole or not at all. Return False, reported, if it fails."""
        store = self.core.store_of(session_id)
        library = self.core.library
        texts = exported_texts(store, [session_id], kind, self._zone, library)
        return await self._write(texts, path, overwrite=overwrite)

    async def export_part(
        self, entries: Sequence[Entry], kind: str, path: Path, *, overwrite: bool = False
    ) -> bool:
        """Write consecutive messages as a conversation. Return False, reported, if that fails."""
        from tui_chat.models.session import SessionTranscript

        session = self.core.state.session
        if session is None or not entries:
            return False
        first, last, names = entries[0], entries[-1], self.core.state.speakers
        part = SessionTranscript(
            replace(session, role_id=None, head_id=last.message.id),
            (replace(first, parent_id=None), *entries[1:]),
            character=names.character,
            user=names.user,
        )
        return await self.export_transcript(part, kind, path, overwrite=overwrite)

    async def export_transcript(
        self, transcript: SessionTranscript, kind: str, path: Path, *, overwrite: bool = False
    ) -> bool:
        """Write a conversation, stored or not, to a file. Return False, reported, if that fails."""

        async def texts() -> AsyncIterator[str]:
            for text in transcript_texts(transcript, kind, self._zone):
                yield text

        return await self._write(texts(), path, overwrite=overwrite)

    @property
    def _zone(self) -> tzinfo:
        zone = self.core.now().tzinfo
        assert zone is not None  # `Workspace.now` is in the zone that times are shown in
        return zone

    async def _write(self, texts: AsyncIterator[str], path: Path, *, overwrite: bool) -> bool:
        from tui_chat.workspace.events import Done

        with self.core.reporting():
            if not overwrite and await asyncio.to_thread(path.exists):
                raise InputError(f"{path} exists already.", advice="Choose another name.")
            if await asyncio.to_thread(_is_pipe_or_device, path):  # writing could wait for ever
                raise InputError(f"{path} is not a regular file.", advice="Choose another name.")
            await write_file(_yielding_to_others(texts), path)
            self.core.publish(Done(f"Exported to {path}."))
            return True
        return False


def _is_pipe_or_device(path: Path) -> bool:
    return path.exists() and not (path.is_file() or path.is_dir())


async def _yielding_to_others(texts: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield the texts, and let other tasks run now and then."""
    written = 0
    async for text in texts:
        yield text
        written += len(text)
        if written >= CHUNK:
            written = 0
            await asyncio.sleep(0)

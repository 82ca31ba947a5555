"""Exports: sessions into files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Done

if TYPE_CHECKING:
    from tui_chat.models.session import Entry
    from tui_chat.models.transcript import SessionTranscript

CHUNK = 64 * 1024
"""Characters of an export after which other tasks get a turn."""


@dataclass(eq=False)
class Exports:
    """Exports while the user chats."""

    core: WorkspaceCore

    async def export(
        self, session_id: str, kind: str, path: Path, *, overwrite: bool = False
    ) -> bool:
        """Write a session to a file, whole or not at all. Return False, reported, if it fails."""
        from tui_chat.workspace.exporter import exported_texts

        store = self.core.store_of(session_id)
        library = self.core.library
        texts = exported_texts(store, [session_id], kind, self._zone, library)
        return await self._write(texts, path, overwrite=overwrite)

    async def export_part(
        self, entries: Sequence[Entry], kind: str, path: Path, *, overwrite: bool = False
    ) -> bool:
        """Write consecutive messages as a conversation. Return False, reported, if that fails."""
        from tui_chat.models.transcript import SessionTranscript

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
        from tui_chat.workspace.exporter import transcript_texts

        async def texts() -> AsyncIterator[str]:
            for text in transcript_texts(transcript, kind, self._zone):
                yield text

        return await self._write(texts(), path, overwrite=overwrite)

    @property
    def _zone(self) -> tzinfo:
        zone = self.core.now().tzinfo
        assert zone is not None  # `Workspace.now` is in the zone that times are shown in
        return zone

    @reported(False)
    async def _write(self, texts: AsyncIterator[str], path: Path, *, overwrite: bool) -> bool:
        from tui_chat.workspace.exporter import write_file

        core = self.core
        if not overwrite and await asyncio.to_thread(path.exists):
            raise InputError(f"{path} exists already.", advice="Choose another name.")
        if await asyncio.to_thread(_is_pipe_or_device, path):  # writing could wait for ever
            raise InputError(f"{path} is not a regular file.", advice="Choose another name.")
        await write_file(_yielding_to_others(texts), path)
        core.publish(Done(f"Exported to {path}."))
        return True


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

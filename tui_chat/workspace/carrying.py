"""Carrying conversations in and out: files into the store, and sessions into files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.workspace.changes import Done
from tui_chat.workspace.opening import Opening
from tui_chat.workspace.outside import Outside

if TYPE_CHECKING:
    from tui_chat.exporting import Format
    from tui_chat.importing import Report

PIECE = 64 * 1024
"""Characters of an export after which keys and frames have their turn."""


class Carrying:
    """Imports and exports while one chats."""

    def __init__(self, outside: Outside, opening: Opening) -> None:
        self._outside = outside
        self._opening = opening

    async def import_files(
        self, paths: Iterable[Path], progress: Callable[[Report], object] | None, dry_run: bool
    ) -> tuple[Report, ...]:
        """Take the conversations of files in; see `Desk.import_files`."""
        from tui_chat.importing import import_files

        with self._outside.telling():
            store = self._outside.store
            reports = await import_files(store, paths, dry_run=dry_run, progress=progress)
            if not dry_run:
                await self._opening.list_sessions()
            return reports
        return ()

    async def export(self, session_id: str, kind: Format, path: Path, *, overwrite: bool) -> bool:
        """Write a session into a file; see `Desk.export`."""
        from tui_chat.exporting import exported, write_file

        with self._outside.telling():
            if not overwrite and await asyncio.to_thread(path.exists):
                raise InputError(f"{path} exists already.", advice="Choose another name.")
            if await asyncio.to_thread(_is_pipe_or_device, path):  # writing could wait for ever
                raise InputError(f"{path} is not a regular file.", advice="Choose another name.")
            zone = self._outside.now().tzinfo
            assert zone is not None  # `Outside.now` is in the zone that times are told in
            texts = exported(self._outside.store, [session_id], kind, zone)
            await write_file(_giving_way(texts), path)
            self._outside.tell(Done(f"Exported to {path}."))
            return True
        return False


def _is_pipe_or_device(path: Path) -> bool:
    return path.exists() and not (path.is_file() or path.is_dir())


async def _giving_way(texts: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield the texts, and let others run now and then."""
    written = 0
    async for text in texts:
        yield text
        written += len(text)
        if written >= PIECE:
            written = 0
            await asyncio.sleep(0)

"""Import and export: conversations from files into the store, and sessions into files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.context import Settings
from tui_chat.errors import InputError
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import Transcript
from tui_chat.workspace.events import Done
from tui_chat.workspace.sessions import default_title

if TYPE_CHECKING:
    from tui_chat.exporting import Format
    from tui_chat.importing import Report
    from tui_chat.workspace.workspace import Workspace

CHUNK = 64 * 1024
"""Characters of an export after which other tasks get a turn."""


class ImportExport:
    """Imports and exports while the user chats."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def import_files(
        self,
        paths: Iterable[Path],
        progress: Callable[[Report], object] | None = None,
        *,
        dry_run: bool = False,
    ) -> tuple[Report, ...]:
        """Import the conversations of files and folders, or with `dry_run` only report what that
        would do; `progress` is called with the current report now and then. Return a report for
        each path; none if the store cannot take them, which is reported.
        """
        from tui_chat.importing import import_files

        workspace = self._workspace
        with workspace.reporting():
            reports = await import_files(workspace.store, paths, dry_run=dry_run, progress=progress)
            if not dry_run:
                await workspace.sessions.refresh_list()
            return reports
        return ()

    async def import_captured(
        self,
        name: str,
        messages: tuple[Message, ...],
        preset: Preset,
        settings: Settings,
        reply: Entry | None = None,
    ) -> None:
        """Create a session of captured messages, with a preset of its own, and open it.

        `reply` describes how one of the messages was received, if that is known.
        """
        workspace = self._workspace
        with workspace.reporting():
            preset_name = workspace.library.add_preset(preset)
            entries: list[Entry] = []
            for message in messages:
                parent = entries[-1].message.id if entries else None
                is_reply = reply is not None and reply.message is message
                entry = reply if reply is not None and is_reply else Entry(message)
                stored = replace(message, id=workspace.new_id())
                entries.append(replace(entry, message=stored, parent_id=parent))
            endpoint = workspace.state.endpoint
            session = Session(
                workspace.new_id(),
                default_title(name),
                endpoint=endpoint.name,
                model=settings.model if settings.model in endpoint.models else "",
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                preset=preset_name,
                head_id=entries[-1].message.id if entries else None,
            )
            await workspace.store.transcripts.add(Transcript(session, tuple(entries)))
            await workspace.sessions.refresh_list()
            await workspace.sessions.activate(session.session_id)

    async def export(
        self, session_id: str, kind: Format, path: Path, *, overwrite: bool = False
    ) -> bool:
        """Write a session with all its branches to a file, completely or not at all. Return False
        if that is not possible, which is reported.
        """
        from tui_chat.exporting import exported, write_file

        workspace = self._workspace
        with workspace.reporting():
            if not overwrite and await asyncio.to_thread(path.exists):
                raise InputError(f"{path} exists already.", advice="Choose another name.")
            if await asyncio.to_thread(_is_pipe_or_device, path):  # writing could wait for ever
                raise InputError(f"{path} is not a regular file.", advice="Choose another name.")
            zone = workspace.now().tzinfo
            assert zone is not None  # `Workspace.now` is in the zone that times are shown in
            texts = exported(workspace.store, [session_id], kind, zone)
            await write_file(_yielding_to_others(texts), path)
            workspace.publish(Done(f"Exported to {path}."))
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

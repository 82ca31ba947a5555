"""Sessions that are in files of other programs: listed at once, read when they are opened.

The store is a temporary one, in which what was opened is kept for as long as the viewer runs. The
files are only read.

1. Every file is listed as a session, by the time when it changed, and by its messages' own time as
   soon as that is read. Opening it reads the file and adds its messages.
2. The file of the active session is followed as it grows: what is new is added, and what changed is
   replaced. New files of the folders are listed.
3. A search looks through the bytes of the files that were not read yet. Those that may match are
   read, so that the store's own search finds the messages.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError, located
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.models.transcript import SessionTranscript
from tui_chat.plugins.transcripts.file_index import (
    FileContent,
    FileHeading,
    ListedFile,
    find_files,
    heading_of,
    holds_words,
    read_listed,
    require_transcript,
    spellings,
)
from tui_chat.plugins.transcripts.subagents import (
    FileSubagents,
    call_of_file,
    session_of,
    subagent_files,
)
from tui_chat.workspace.events import Failed, FilesProgress, SessionsChanged, WorkspaceEvent

if TYPE_CHECKING:
    from tui_chat.store.sessions import SessionChanges
    from tui_chat.workspace.workspace import Workspace

FIRST_FILES, FIRST_TITLES = 200, 20
"""Files that are listed, and whose titles are read, before the list is shown."""
_BATCH = 500
"""Sessions that are added or given titles in one transaction."""
_MOST_OPENED = 32 * 2**20
"""Bytes of a file that is opened at the start."""
_SHOWN_FAULTS = 3
MOST_FOUND = 200
"""Files that one search reads."""
_PAUSE_FACTOR = 10
"""A file that grows is read again at the earliest after so many times the seconds it took."""
_RESCAN = 10.0
"""Seconds between two looks for new files, at least."""


class SessionFiles:
    """The files that are listed as sessions."""

    def __init__(self, workspace: Workspace, roots: Sequence[Path]) -> None:
        self._workspace = workspace
        self._roots = tuple(roots)
        self._files: dict[str, ListedFile] = {}
        """By the id of the session."""
        self._paths: set[Path] = set()
        self.subagents = FileSubagents()
        self._own_ids: dict[str, str] = {}
        """Sessions by the ids that importers give them, of the files that were read."""
        self._started_by: dict[str, tuple[str, str]] = {}
        """By session: the importer's id of the session that started it, and the call."""
        self._known: dict[str, int] = {}
        """Hashes of the messages of the session that was read last, by id."""
        self._known_session = ""
        self._reading = asyncio.Lock()
        self._listing: asyncio.Task[None] | None = None
        self._unlisted: Sequence[ListedFile] = ()
        """All files, until listing them begins."""
        self._next_read = self._next_scan = 0.0
        self._is_stopped = False
        """True if nothing more is to be read: a thread that reads is awaited at the end."""

    @property
    def count(self) -> int:
        """The number of files."""
        return len(self._files)

    # --- listing -------------------------------------------------------------------------

    async def start(self) -> None:
        """List the newest files, and the others soon. Raises InputError and StoreError."""
        files = await asyncio.to_thread(find_files, self._roots)
        self._take(files)
        first, titled = files[:FIRST_FILES], files[:FIRST_TITLES]
        await self._add(first)
        headings = await asyncio.to_thread(_headings, titled)
        await self._name(titled, headings)
        known = [file for file, heading in zip(titled, headings, strict=True) if heading.is_known]
        of_subagents = [f for f in known if self.subagents.started_by(f.session_id) is not None]
        candidates = [file for file in known if file not in of_subagents] or known
        to_open = next((file for file in candidates if file.size <= _MOST_OPENED), None)
        if to_open is not None:
            await self._workspace.store.settings.set("session", to_open.session_id)
        self._unlisted = files if len(files) > len(titled) else ()
        self._workspace.subscribe(self._list_once_shown)

    def _list_once_shown(self, event: WorkspaceEvent) -> None:
        """List the other files once the first ones are shown."""
        if isinstance(event, SessionsChanged) and self._unlisted:
            files, self._unlisted = self._unlisted, ()
            self._listing = asyncio.create_task(self._list_others(files))

    def _take(self, files: Sequence[ListedFile]) -> None:
        self._files |= {file.session_id: file for file in files}
        self._paths |= {file.path for file in files}
        for file in files:
            self.subagents.add_file(file.session_id, file.path)

    async def _add(self, files: Sequence[ListedFile]) -> None:
        transcripts = [SessionTranscript(file.session()) for file in files]
        await self._workspace.store.transcripts.add_many(transcripts)

    async def _list_others(self, files: Sequence[ListedFile]) -> None:
        """List the files after the first ones, then read the titles of all."""
        workspace = self._workspace
        with workspace.reporting():
            for start in range(FIRST_FILES, len(files), 4 * _BATCH):
                await self._add(files[start : start + 4 * _BATCH])
            await workspace.catalog.refresh()
            for start in range(FIRST_TITLES, len(files), _BATCH):
                batch = files[start : start + _BATCH]
                await self._name(batch, await asyncio.to_thread(_headings, batch))
                await workspace.catalog.refresh()

    async def _name(self, files: Sequence[ListedFile], headings: Sequence[FileHeading]) -> None:
        """Give sessions the titles of their files; drop the files that hold no conversation."""
        changes: dict[str, SessionChanges] = {}
        unknown: list[str] = []
        for file, heading in zip(files, headings, strict=True):
            if not heading.is_known:
                unknown.append(file.session_id)
                self._files.pop(file.session_id, None)
            elif file.read_as is None and heading.title:
                file.folder = _project(heading.project) or file.folder or heading.program
                changes[file.session_id] = {
                    "title": heading.title,
                    "model": heading.model,
                    "folder": file.folder,
                    "tags": _tags(file.session().tags, heading.program),
                    **self._own_time(heading.created, heading.updated),
                }
        store = self._workspace.store
        await store.sessions.update_many(changes)
        if unknown:
            await store.sessions.delete(unknown)

    def _own_time(self, created: float, updated: float) -> SessionChanges:
        """Return the change to the times that a file itself gives. The file's own time says when
        it was last written, and nothing of when the conversation began.
        """
        now = self._workspace.now().timestamp()
        begun: SessionChanges = {"created": created if 0 < created <= now else 0.0}
        return {**begun, "updated": updated} if 0 < updated <= now else begun

    async def stop(self) -> None:
        """Stop listing and reading."""
        self._is_stopped = True
        if self._listing is not None:
            self._listing.cancel()
            with suppress(asyncio.CancelledError):
                await self._listing

    # --- reading -------------------------------------------------------------------------

    async def read(self, session_id: str) -> None:
        """Read the file of a session, unless that is done. Raises InputError and StoreError."""
        file = self._files.get(session_id)
        if file is None or file.read_as is not None:
            return
        async with self._reading:
            if file.read_as is None:
                await self._read(file)

    async def _read(self, file: ListedFile) -> None:
        workspace = self._workspace
        loop = asyncio.get_running_loop()
        name = one_line(file.path.name, 60)
        shown = 0

        def progress(done: int) -> None:
            nonlocal shown
            percent = done * 100 // max(file.size, 1)
            if percent > shown and file.size > 4 * 2**20:
                shown = percent
                loop.call_soon_threadsafe(
                    workspace.publish, FilesProgress(f"Reading {name}: {min(percent, 100)} %")
                )

        try:
            file.refresh()
            content = await asyncio.to_thread(
                read_listed, file, self._paths, progress, lambda: self._is_stopped
            )
        except OSError as error:
            raise InputError(f"{file.path} cannot be read: {error.strerror}.") from error
        finally:
            workspace.publish(FilesProgress(""))
        require_transcript(file, content)
        is_first = file.read_as is None
        await self._store(file, content)
        await self._note_subagents(file, content)
        file.read_as = file.state
        if is_first and content.faults:
            workspace.publish(Failed(_faults(name, content)))

    async def _store(self, file: ListedFile, content: FileContent) -> None:
        store = self._workspace.store
        for session in content.sessions:
            if self._is_stopped:
                raise InputError(f"{file.path} was not read to its end.")
            for changed in self._changed(session.transcript):
                status = "interrupted" if changed.status == "streaming" else changed.status
                await store.replies.end(
                    changed.message.id,
                    message=changed.message,
                    status=status,
                    error=changed.error,
                    usage=changed.usage,
                    finish=changed.finish,
                    seconds=changed.seconds,
                )
            await store.transcripts.add(session.transcript)
        first = content.sessions[0].transcript
        self._known_session = file.session_id
        self._known = {entry.message.id: _hash(entry) for entry in first.entries}
        changes: dict[str, SessionChanges] = {}
        for listed in content.sessions:
            session, source = listed.transcript.session, listed.source
            changes[session.session_id] = {
                "title": session.title or file.path.name,
                "model": session.model,
                "folder": _project(source.project) or file.folder or source.program,
                "tags": _tags(session.tags, source.program),
                **self._own_time(session.created, session.updated),
            }
        await store.sessions.update_many(changes)
        if first.session.head_id is not None:
            head_id = first.session.head_id  # what was taken back follows it
            await store.branches.activate(file.session_id, head_id, ends_there=True)
        await self._workspace.catalog.refresh()

    async def _note_subagents(self, file: ListedFile, content: FileContent) -> None:
        """Note the subagents that a file tells of, and the calls that started those beside it."""
        calls_of_agents: dict[str, str] = {}
        for listed in content.sessions:
            session_id, source = listed.transcript.session.session_id, listed.source
            self._own_ids[listed.own_id] = session_id
            if source.parent_id:
                self._started_by[session_id] = source.parent_id, source.call_id
            calls_of_agents |= dict(source.subagents)
        for session_id, (parent, call_id) in self._started_by.items():
            if parent in self._own_ids:
                self.subagents.add(session_id, self._own_ids[parent], call_id)
        for call_id, agent in calls_of_agents.items():
            for place in subagent_files(file.path, agent):
                if place in self._paths:
                    self.subagents.add(session_of(place), file.session_id, call_id)
        started_by = self.subagents.started_by(file.session_id)
        beside = self.subagents.without_call(file.session_id)
        if started_by is not None and not started_by.call_id:
            beside.append(file.session_id)
        paths = {child: self._files[child].path for child in beside if child in self._files}
        calls = await asyncio.to_thread(
            lambda: {child: call_of_file(path) for child, path in paths.items()}
        )
        for session_id, call_id in calls.items():
            parent = self.subagents.started_by(session_id)
            if parent is not None:
                self.subagents.add(session_id, parent.session_id, call_id)

    def _changed(self, transcript: SessionTranscript) -> list[Entry]:
        """Return the messages that were read before and are different now."""
        if transcript.session.session_id != self._known_session:
            return []
        return [
            entry
            for entry in transcript.entries
            if self._known.get(entry.message.id, hashed := _hash(entry)) != hashed
        ]

    # --- following -----------------------------------------------------------------------

    async def check(self) -> None:
        """Read the file of the active session again if it grew, and list new files. What cannot be
        read is not reported here. Raises StoreError.
        """
        workspace, clock = self._workspace, self._workspace.clock
        now = clock()
        file = self._files.get(workspace.state.session_id)
        if file is not None and file.read_as is not None and now >= self._next_read:
            with suppress(OSError, InputError):
                if await asyncio.to_thread(file.refresh):
                    async with self._reading:
                        await self._read(file)
                    await workspace.active.reload_branch()
                    ended = clock()
                    self._next_read = ended + _PAUSE_FACTOR * (ended - now)
        if now >= self._next_scan:
            self._next_scan = now + _RESCAN
            with suppress(InputError):
                await self._find_new()
            ended = clock()
            self._next_scan = ended + _RESCAN + _PAUSE_FACTOR * (ended - now)

    def read_again_at_once(self) -> None:
        """Do not wait until the file of the active session may be read again."""
        self._next_read = 0.0

    async def _find_new(self) -> None:
        files = await asyncio.to_thread(find_files, self._roots)
        new = [file for file in files if file.path not in self._paths]
        if new:
            self._take(new)
            await self._add(new)
            await self._name(new, await asyncio.to_thread(_headings, new))
            await self._workspace.catalog.refresh()

    # --- searching -----------------------------------------------------------------------

    async def search(self, text: str, progress: Callable[[int, int, int], bool]) -> None:
        """Read the files that may have all words of a search.

        `progress` is called with the files looked through, their number, and how many were read;
        it returns False to stop. At most `MOST_FOUND` files are read. Raises StoreError.
        """
        words = tuple(spellings(word) for word in _words(text))
        waiting = [file for file in self._files.values() if file.read_as is None]
        if not words or not waiting:
            return
        read = 0
        for done, file in enumerate(waiting):
            if done % 20 == 0 and not progress(done, len(waiting), read):
                break
            try:
                if not await asyncio.to_thread(holds_words, file, words):
                    continue
                await self.read(file.session_id)
            except (OSError, InputError):
                continue
            read += 1
            if read == MOST_FOUND:
                break
        progress(len(waiting), len(waiting), read)


def _headings(files: Sequence[ListedFile]) -> list[FileHeading]:
    return [_heading(file) for file in files]


def _heading(file: ListedFile) -> FileHeading:
    try:
        return heading_of(file)
    except (OSError, ValueError):
        return FileHeading()


def _tags(own: tuple[str, ...], program: str) -> tuple[str, ...]:
    """Return the tags of a session, the program that wrote it among them."""
    return (*own, program) if program and program not in own else own


def _project(folder: str) -> str:
    """Return a folder as it is listed: within the home with a tilde."""
    if not folder:
        return ""
    try:
        return str(Path("~", Path(folder).relative_to(Path.home())))
    except (ValueError, RuntimeError):
        return folder[:200]


def _faults(name: str, content: FileContent) -> InputError:
    shown = [located(fault.place, fault.sentence) for fault in content.faults[:_SHOWN_FAULTS]]
    more = len(content.faults) + content.more_faults - len(shown)
    rest = f", and {more:,} more" if more else ""
    advice = "The rest was read. `tui-chat import --dry-run` lists all faults." if more else ""
    return InputError(f"{name}: {'; '.join(shown)}{rest}.", advice=advice or "The rest was read.")


def _hash(entry: Entry) -> int:
    message = entry.message
    return hash((message.content, message.tool_calls, message.semantics.reasoning, entry.status))


def _words(text: str) -> list[str]:
    """Return the words of a query that must occur."""
    return [word for word in re.split(r'[\s"*]+', text) if word]

"""Sessions that are in files of other programs, for the viewer.

The store is a temporary one, into which files are imported; the files themselves are only read.

1. The newest files are read before the list is shown, unless that takes long, the others while the
   user reads. Of folders the newest files are taken, up to `MOST_BYTES` together; files that are
   named are read whatever their size.
2. Files that grew and new ones are read every few seconds, that of the active session more often.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError, TuiChatError, located
from tui_chat.interop.formats import FoundConversation
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import SessionSummary
from tui_chat.plugins.transcripts.files import ENDINGS, FileReader
from tui_chat.plugins.transcripts.importer import import_files
from tui_chat.plugins.transcripts.reader import known_formats
from tui_chat.plugins.transcripts.report import Report
from tui_chat.plugins.transcripts.steps import SUBAGENT
from tui_chat.workspace.events import Done, Failed, FilesProgress
from tui_chat.workspace.session_source import StartingCall

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

MOST_BYTES = 256 * 2**20
"""Bytes of the files in folders that are read."""
_MOST_FILES = 200_000
FIRST_FILES, _FIRST_BYTES = 20, 8 * 2**20
"""The files, and about the bytes of them, that are read before the list is shown."""
_FIRST_SECONDS = 2.0
"""Seconds that the list waits for the first files."""
_BATCH = 50
"""Files that are read between two updates of the list."""
_RESCAN = 10.0
"""Seconds between two looks for new files and those that grew, at least."""
_PAUSE_FACTOR = 10
"""A file that grows is read again at the earliest after so many times the seconds it took."""


@dataclass(frozen=True, slots=True)
class ViewedFile:
    """A file as it is found."""

    path: Path
    folder: str
    """Its place within the listed folder; empty for a file that was named itself."""
    size: int
    modified: float
    """Seconds since the epoch, UTC."""
    is_named: bool = False

    @property
    def state(self) -> tuple[int, float]:
        """Its size and time: others mean that it changed."""
        return self.size, self.modified


def find_files(roots: Iterable[Path]) -> list[ViewedFile]:
    """Return the files in folders, and those that are named themselves, the newest first. Hidden
    folders are passed over, and links are not followed. Raises InputError for a root that cannot
    be read.
    """
    files: dict[Path, ViewedFile] = {}
    for root in roots:
        try:
            if root.is_dir():
                os.listdir(root)  # `os.walk` would say nothing of a folder that cannot be read
                files |= {file.path: file for file in _in_folder(root)}
            else:
                facts = root.stat()
                files[root] = ViewedFile(root, "", facts.st_size, facts.st_mtime, True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{root} cannot be read: {reason}.") from error
    return sorted(files.values(), key=lambda file: file.modified, reverse=True)


def _in_folder(root: Path) -> Iterator[ViewedFile]:
    left = _MOST_FILES
    for name, below, names in os.walk(root):
        below[:] = [inner for inner in below if not inner.startswith(".")]
        folder = " / ".join(Path(name).relative_to(root).parts)
        for path in (Path(name, file) for file in names):
            is_read = path.name.lower().endswith((*ENDINGS, ".zip"))
            if not is_read or path.name.endswith(".meta.json") or path.is_symlink():
                continue
            with suppress(OSError):
                facts = path.stat()
                yield ViewedFile(path, folder, facts.st_size, facts.st_mtime)
                left -= 1
        if left < 0:
            return


def require_conversations(roots: Sequence[Path]) -> None:
    """Raise InputError if a path cannot be read, or the only file holds no conversation."""
    files = find_files(roots)
    if not files:
        raise InputError("There is no conversation in the folder.", advice=known_formats())
    if len(files) > 1 or not files[0].is_named:
        return
    fault: FoundConversation | None = None
    path = files[0].path
    for found in FileReader(Report(path)).read():
        if isinstance(found, FoundConversation):
            if found.transcript is not None:
                return
            fault = fault or (found if found.fault else None)
    sentence = located(fault.place, fault.fault) if fault is not None else "has no message"
    advice = fault.advice if fault is not None else ""
    raise InputError(f"{located(one_line(str(path), 200), sentence)}.", advice=advice)


class FileSubagents:
    """The sessions of subagents, and the calls that started them."""

    def __init__(self) -> None:
        self._started: dict[str, StartingCall] = {}

    def add(self, found: FoundConversation) -> None:
        """Note what a conversation says of the subagents that it started, and of its own start."""
        assert found.transcript is not None
        session_id = found.transcript.session.session_id
        if found.parent_id and not self._call_of(session_id):
            self._started[session_id] = StartingCall(found.parent_id, found.call_id)
        for call_id, child in found.subagents:
            self._started[child] = StartingCall(session_id, call_id)

    def _call_of(self, session_id: str) -> str:
        call = self._started.get(session_id)
        return call.call_id if call is not None else ""

    def calls_of(self, session_id: str) -> dict[str, str]:
        """Return the sessions of subagents by the ids of the session's calls that started them."""
        own = ((call, child) for child, call in self._started.items())
        return {call.call_id: child for call, child in own if call.session_id == session_id}

    def started_by(self, session_id: str) -> StartingCall | None:
        """Return what started a session; None if that is not known."""
        return self._started.get(session_id)

    def nested(self, sessions: tuple[SessionSummary, ...]) -> tuple[SessionSummary, ...]:
        """Return sessions, each subagent behind its starter; the same object without any."""
        if not self._started:
            return sessions
        listed = {summary.session_id for summary in sessions}
        below: dict[str, list[SessionSummary]] = {}
        for summary in sessions:
            call = self._started.get(summary.session_id)
            parent = call.session_id if call is not None and call.session_id in listed else ""
            below.setdefault(parent, []).append(summary)
        nested: list[SessionSummary] = []
        waiting = below.pop("", [])[::-1]
        while waiting:
            nested.append(waiting.pop())
            waiting += below.pop(nested[-1].session_id, [])[::-1]
        return (*nested, *chain(*below.values()))  # those in a circle last


class ViewedFiles:
    """The files whose sessions are viewed."""

    def __init__(self, workspace: Workspace, roots: Sequence[Path]) -> None:
        self._workspace = workspace
        self._roots = tuple(roots)
        self.subagents = FileSubagents()
        self._states: dict[Path, tuple[int, float]] = {}
        """The size and time of each file when it was read."""
        self._files: dict[str, ViewedFile] = {}
        """By session."""
        self._untold: dict[Path, InputError] = {}
        """Faults of files that are not reported yet."""
        self._lock = asyncio.Lock()
        self._first: asyncio.Task[None] | None = None
        """Reads the first files."""
        self._rest: asyncio.Task[None] | None = None
        self._next_read = self._next_scan = 0.0

    async def start(self) -> None:
        """Read the newest files, and the others soon. Raises InputError and StoreError."""
        files = await asyncio.to_thread(find_files, self._roots)
        count, size = 0, 0
        while count < min(len(files), FIRST_FILES) and (not count or size < _FIRST_BYTES):
            size += files[count].size
            count += 1
        self._first = asyncio.create_task(self._read(files[:count]))
        await asyncio.wait((self._first,), timeout=_FIRST_SECONDS)
        if self._first.done():
            await self._first
            if newest := self._newest_session:
                await self._workspace.store.settings.set("session", newest)
        self._rest = asyncio.create_task(
            self._read_rest(self._first, files[count:], MOST_BYTES - size)
        )

    @property
    def _newest_session(self) -> str:
        """The session that was read first and is no subagent's; empty if there is none."""
        own = (id for id in self._files if self.subagents.started_by(id) is None)
        return next(own, "")

    async def _read_rest(
        self, first: asyncio.Task[None], files: Sequence[ViewedFile], left: int
    ) -> None:
        publish = self._workspace.publish
        with self._workspace.reporting():
            if not first.done():
                publish(FilesProgress("Reading the newest file"))
                await first
                if self._workspace.state.session is None and (newest := self._newest_session):
                    await self._workspace.sessions.open(newest)
            taken: list[ViewedFile] = []
            for file in files:
                left -= 0 if file.is_named else file.size
                if left < 0 and not file.is_named:  # also of the older ones
                    self._states[file.path] = file.state
                else:
                    taken.append(file)
            for start in range(0, len(taken), _BATCH):
                publish(FilesProgress(f"Reading {start:,} of {len(taken):,} files"))
                await self._read(taken[start : start + _BATCH])
            publish(FilesProgress(""))
            if more := len(files) - len(taken):
                publish(Done(f"{more:,} older files are not listed: name one, or its folder."))

    async def _read(self, files: Sequence[ViewedFile]) -> None:
        """Import files, and list what they hold."""
        workspace, by_path = self._workspace, {file.path: file for file in files}

        def listed(report: Report, found: FoundConversation) -> FoundConversation:
            self.subagents.add(found)
            return _listed(by_path[report.path], found)

        async with self._lock:
            reports = await import_files(workspace.store, by_path, watch=listed)
            for report, file in zip(reports, files, strict=True):
                self._states[file.path] = file.state
                self._files |= dict.fromkeys(report.session_ids, file)
        for report in reports:
            if report.faults:
                self._untold[report.path] = _faults(report)
        await workspace.session_list.refresh()
        self._tell_faults()

    def _tell_faults(self) -> None:
        """Report what could not be read of the active session's file, and of a named one."""
        file = self._files.get(self._workspace.state.session_id)
        named = set(self._roots)
        for path in list(self._untold):
            if path in named or (file is not None and file.path == path):
                self._workspace.publish(Failed(self._untold.pop(path)))

    async def stop(self) -> None:
        """Stop reading."""
        for task in (self._rest, self._first):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, TuiChatError):
                    await task

    async def check(self) -> None:
        """Read what changed and what is new. What cannot be read is not reported here. Raises
        StoreError.
        """
        workspace, clock = self._workspace, self._workspace.clock
        if self._rest is not None and not self._rest.done():
            return
        now = clock()
        self._tell_faults()
        file = self._files.get(workspace.state.session_id)
        with suppress(OSError, InputError):
            if file is not None and now >= self._next_read:
                facts = await asyncio.to_thread(file.path.stat)
                file = replace(file, size=facts.st_size, modified=facts.st_mtime)
                await self._read_changed([file])
                self._next_read = clock() + _PAUSE_FACTOR * (clock() - now)
            if now >= self._next_scan:
                await self._read_changed(await asyncio.to_thread(find_files, self._roots))
                self._next_scan = clock() + _RESCAN + _PAUSE_FACTOR * (clock() - now)

    def read_again_at_once(self) -> None:
        """Do not wait until files may be read again."""
        self._next_read = self._next_scan = 0.0

    async def _read_changed(self, files: Sequence[ViewedFile]) -> None:
        changed = [file for file in files if self._states.get(file.path) != file.state]
        if changed:
            await self._read(changed)
            await self._workspace.sessions.reload_branch()


def _listed(file: ViewedFile, found: FoundConversation) -> FoundConversation:
    """Return a conversation with folder, tags and times as the list has them."""
    assert found.transcript is not None
    session = found.transcript.session
    tags = (*session.tags, found.program) if found.program else session.tags
    if found.parent_id and SUBAGENT not in tags:
        tags = (SUBAGENT, *tags)
    session = replace(
        session,
        title=session.title or file.path.name,
        folder=_project(found.project) or file.folder or found.program,
        tags=tags,
        created=session.created or file.modified,
        updated=session.updated or file.modified,
    )
    return replace(found, transcript=replace(found.transcript, session=session))


def _project(folder: str) -> str:
    """Return a folder as it is listed: within the home with a tilde."""
    try:
        return str(Path("~", Path(folder).relative_to(Path.home()))) if folder else ""
    except (ValueError, RuntimeError):
        return folder[:200]


def _faults(report: Report) -> InputError:
    shown = [located(fault.place, fault.sentence) for fault in report.faults[:3]]
    more = len(report.faults) + report.more_faults - len(shown)
    rest = f", and {more:,} more" if more else ""
    advice = "The rest was read. `tui-chat import --dry-run` lists all faults." if more else ""
    name = one_line(report.path.name, 60)
    return InputError(f"{name}: {'; '.join(shown)}{rest}.", advice=advice or "The rest was read.")

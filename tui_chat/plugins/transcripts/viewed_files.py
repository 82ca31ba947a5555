"""Sessions that are in files of other programs, for the viewer.

The store is a temporary one, into which files are imported; the files themselves are only read.

1. The newest files are read before the list is shown, unless that takes long, the others while the
   user reads. Of folders the newest files are taken, up to `MOST_BYTES` together; files that are
   named are read whatever their size.
2. Files that grew and new ones are read every few seconds.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError, TuiChatError, located
from tui_chat.interop.formats import FoundConversation
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import SessionSummary
from tui_chat.plugins.transcripts.files import ENDINGS, FileReader, files_in
from tui_chat.plugins.transcripts.importer import import_files
from tui_chat.plugins.transcripts.reader import known_formats
from tui_chat.plugins.transcripts.report import Report
from tui_chat.plugins.transcripts.steps import SUBAGENT
from tui_chat.workspace.events import Done, Failed, FilesProgress, WorkspaceEvent
from tui_chat.workspace.session_source import StartingCall

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

MOST_BYTES = 256 * 2**20
"""Bytes of the files in folders that are read."""
_MOST_FILES = 200_000
FIRST_FILES = 20
"""The files that are read before the list is shown."""
_FIRST_SECONDS = 2.0
"""Seconds that the list waits for the first files."""
_BATCH = 50
"""Files that are read between two updates of the list."""
_RESCAN = 2.0
"""Seconds between two looks for new files and those that grew, at least."""
_PAUSE_FACTOR = 10
"""They are looked for again at the earliest after so many times the seconds it took."""
_MOST_TOLD = 5
"""Files whose faults are told."""


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
    for path in islice(files_in(root), _MOST_FILES):
        is_read = path.name.lower().endswith((*ENDINGS, ".zip"))
        if is_read and not path.name.endswith(".meta.json"):
            folder = " / ".join(path.parent.relative_to(root).parts)
            with suppress(OSError):
                facts = path.stat()
                yield ViewedFile(path, folder, facts.st_size, facts.st_mtime)


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
        known = self._started.get(session_id)
        if found.parent_id and (known is None or not known.call_id):
            self._started[session_id] = StartingCall(found.parent_id, found.call_id)
        for call_id, child in found.subagents:
            self._started[child] = StartingCall(session_id, call_id)

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
        self._untold: list[WorkspaceEvent] = []
        """What is to be said once the app listens: faults, and files that are not listed."""
        self._reading: asyncio.Task[None] | None = None
        """Reads what there was at the start."""
        self._next_scan = 0.0

    async def start(self) -> None:
        """Read the newest files, and the others soon. Raises InputError and StoreError."""
        files = await asyncio.to_thread(find_files, self._roots)
        taken = list(_newest(files))
        if more := len(files) - len(taken):
            sentence = f"{more:,} older files are not listed: name one, or its folder."
            self._untold.append(Done(sentence))
            self._states = {file.path: file.state for file in files}
        first = asyncio.create_task(self._read(taken[:FIRST_FILES]))
        await asyncio.wait((first,), timeout=_FIRST_SECONDS)
        if first.done():
            await first
            if newest := self._newest_session:
                await self._workspace.store.settings.set("session", newest)
        self._reading = asyncio.create_task(self._read_rest(first, taken[FIRST_FILES:]))

    @property
    def _newest_session(self) -> str:
        """The session that was read first and is no subagent's; empty if there is none."""
        own = (id for id in self._files if self.subagents.started_by(id) is None)
        return next(own, "")

    async def _read_rest(self, first: asyncio.Task[None], files: Sequence[ViewedFile]) -> None:
        publish = self._workspace.publish
        with self._workspace.reporting():
            await first
            for start in range(0, len(files), _BATCH):
                publish(FilesProgress(f"Reading {start:,} of {len(files):,} files"))
                await self._read(files[start : start + _BATCH])
        publish(FilesProgress(""))

    async def _read(self, files: Sequence[ViewedFile]) -> None:
        """Import files, and list what they hold."""
        workspace, by_path = self._workspace, {file.path: file for file in files}

        def listed(report: Report, found: FoundConversation) -> FoundConversation:
            self.subagents.add(found)
            return _listed(by_path[report.path], found)

        reports = await import_files(workspace.store, by_path, watch=listed)
        for report, file in zip(reports, files, strict=True):
            self._states[file.path] = file.state
            self._files |= dict.fromkeys(report.session_ids, file)
        self._untold += (Failed(_fault(report)) for report in reports if report.faults)
        await workspace.session_list.refresh()

    async def stop(self) -> None:
        """Stop reading."""
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError, TuiChatError):
                await self._reading

    async def check(self) -> None:
        """Read what changed and what is new, every few seconds. Raises StoreError."""
        workspace, clock = self._workspace, self._workspace.clock
        if workspace.state.session is None and self._newest_session:
            await workspace.sessions.open(self._newest_session)
        started = clock()
        if self._reading is None or not self._reading.done() or started < self._next_scan:
            return
        for event in self._untold[:_MOST_TOLD]:
            workspace.publish(event)
        self._untold.clear()
        with suppress(InputError):
            files = await asyncio.to_thread(find_files, self._roots)
            changed = [file for file in files if self._states.get(file.path) != file.state]
            if changed:
                await self._read(changed)
                self._untold.clear()  # the end of a file that grows may be half a line
                await workspace.sessions.reload_branch()
        self._next_scan = clock() + _RESCAN + _PAUSE_FACTOR * (clock() - started)

    def read_again_at_once(self) -> None:
        """Do not wait until files may be read again."""
        self._next_scan = 0.0


def _newest(files: Iterable[ViewedFile]) -> Iterator[ViewedFile]:
    """Yield the newest files up to the limit of bytes, and those that are named themselves."""
    left = MOST_BYTES
    for file in files:
        left -= 0 if file.is_named else file.size
        if left >= 0 or file.is_named:
            yield file


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


def _fault(report: Report) -> InputError:
    shown = [located(fault.place, fault.sentence) for fault in report.faults[:3]]
    more = len(report.faults) + report.more_faults - len(shown)
    rest = f", and {more:,} more" if more else ""
    advice = "The rest was read. `tui-chat import --dry-run` lists all faults." if more else ""
    name = one_line(report.path.name, 60)
    return InputError(f"{name}: {'; '.join(shown)}{rest}.", advice=advice or "The rest was read.")

"""Conversations from files into the store, as fast as both allow and no more at once than needed.

1. Files are read piece by piece in a thread; what came of them goes to the store in batches, each
   one transaction, so a person who chats meanwhile waits for no more than one batch. A batch may
   hold the conversations of many small files.
2. A broken conversation costs the others nothing: it is told, with its place, and the rest goes
   in. What is in stays in when the import is stopped.
3. An archive (ZIP) is read without unpacking it, and a folder with all that lies in it; what is
   there beside conversations is left alone.
"""

from __future__ import annotations

import asyncio
import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from tui_chat.errors import InputError
from tui_chat.files import open_file
from tui_chat.interop.format_detection import KNOWN, read_conversations
from tui_chat.interop.transcript_builder import FoundConversation

if TYPE_CHECKING:
    from tui_chat.models.transcript import ImportResult, Transcript
    from tui_chat.store import Store

_PIECE = 2**20
_BATCH = 2_000
"""Messages that go to the store in one transaction."""
_BOMB_SIZE, _BOMB_RATIO = 64 * 2**20, 200
"""Bytes that a file may unpack to whatever it weighs, and how many times its weight beyond that.
Exports shrink to a tenth."""
_MOST_FAULTS = 100
"""Faults of one file that are told in full; the others are counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What could not be read or taken in."""

    place: str
    """Where in the file; empty for all of it."""
    sentence: str
    advice: str = ""


@dataclass(slots=True)
class Report:
    """What came of one file or folder, so far."""

    path: Path
    size: int = 0
    """Bytes of the file, unpacked; 0 until it is known."""
    read: int = 0
    """Bytes of it that were read."""
    new: int = 0
    """Sessions that were not there before."""
    grown: int = 0
    """Sessions that were there and got more messages."""
    known: int = 0
    """Sessions that were there already with all their messages."""
    added: int = 0
    """Messages that were not there before."""
    faults: list[Fault] = field(default_factory=list[Fault])
    more_faults: int = 0
    """Faults beyond those that are told."""
    notes: Counter[str] = field(default_factory=Counter[str])
    """What has no place here, and how often."""
    session_ids: list[str] = field(default_factory=list[str])
    """The sessions of the file, in its order."""

    @property
    def failed(self) -> bool:
        """Whether anything could not be read or taken in."""
        return bool(self.faults)

    def fault(self, place: str, sentence: str, advice: str = "") -> None:
        """Note a fault."""
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(Fault(place, sentence, advice))
        else:
            self.more_faults += 1


async def import_files(
    store: Store,
    paths: Iterable[Path],
    *,
    dry_run: bool = False,
    progress: Callable[[Report], object] | None = None,
) -> tuple[Report, ...]:
    """Take all conversations of the files in, and of folders' files; return a report for each path.

    `progress` is told the state after every batch. With `dry_run` nothing is changed, and the
    reports say what would be. Raises StoreError.
    """
    reports = tuple(map(Report, paths))
    batches = _batches(reports)
    batch = await asyncio.to_thread(next, batches, None)
    while batch is not None:
        # The next batch is read while this one is written.
        reading = asyncio.create_task(asyncio.to_thread(next, batches, None))
        taken = await store.transcripts.add_many([each[2] for each in batch], dry_run=dry_run)
        for (report, found, _), imported in zip(batch, taken, strict=True):
            _count(report, found, imported)
        if progress is not None:
            progress(batch[-1][0])
        batch = await reading
    return reports


def _count(report: Report, found: FoundConversation, imported: ImportResult) -> None:
    if imported.fault:
        report.fault(found.place, imported.fault)
        return
    report.session_ids.append(imported.session_id)
    report.added += imported.added
    if imported.is_new:
        report.new += 1
    elif imported.added:
        report.grown += 1
    else:
        report.known += 1
    if imported.is_new or imported.added:
        report.notes.update(found.notes)


_Batch: TypeAlias = "list[tuple[Report, FoundConversation, Transcript]]"


def _batches(reports: Iterable[Report]) -> Iterator[_Batch]:
    """Read the files; yield what can be taken in, never nothing, and report what cannot."""
    batch: _Batch = []
    weight = 0
    for report in reports:
        try:
            for found in _found(report):
                if found.transcript is None:
                    if not found.passed_over:
                        report.fault(found.place, found.fault, found.advice)
                    continue
                batch.append((report, found, found.transcript))
                weight += len(found.transcript.entries) + 1
                if weight >= _BATCH:
                    yield batch
                    batch, weight = [], 0
        except InputError as error:
            report.fault("", str(error), error.advice)
    if batch:
        yield batch


def _found(report: Report) -> Iterator[FoundConversation]:
    try:
        if report.path.is_dir():
            yield from _lying_in(report.path, report)
            return
        with open_file(report.path) as file:
            if file.read(4) == b"PK\x03\x04":
                yield from _archived(file, report)
                return
            report.size = file.seek(0, 2)
            file.seek(0)
            yield from read_conversations(_pieces(file, report))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(f"cannot be read: {_reason(error)}") from error


def _reason(error: OSError | ValueError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _lying_in(folder: Path, report: Report) -> Iterator[FoundConversation]:
    """Read the conversations of a folder's files, one after the other; links are not followed."""
    files: list[Path] = []
    for name, below, names in os.walk(folder):
        below[:] = sorted(each for each in below if not each.startswith("."))
        files += [Path(name, each) for each in sorted(names) if _may_hold(each)]
    files = [file for file in files if file.is_file() and not file.is_symlink()]
    report.size = sum(file.stat().st_size for file in files)
    held = False
    for file in files:
        place = file.relative_to(folder).as_posix()
        try:
            with open_file(file) as opened:
                for found in _conversations(place, opened, report):
                    held = True
                    yield found
        except OSError as error:
            held = True
            yield FoundConversation(place, fault=f"cannot be read: {_reason(error)}")
    if not held:
        raise InputError("there are no conversations in the folder", advice=KNOWN)


def _archived(file: IO[bytes], report: Report) -> Iterator[FoundConversation]:
    """Read the conversations of an archive's files, one after the other."""
    held = False
    try:
        with zipfile.ZipFile(file) as archive:
            members = [each for each in archive.infolist() if _may_hold(each.filename)]
            report.size = sum(member.file_size for member in members)
            _refuse_bomb(report.size, sum(member.compress_size for member in members))
            for member in members:
                with archive.open(member) as inner:
                    for found in _conversations(member.filename, inner, report):
                        held = True
                        yield found
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputError(f"the archive cannot be read: {error}") from error
    if not held:
        raise InputError("there are no conversations in the archive", advice=KNOWN)


def _refuse_bomb(unpacked: int, packed: int) -> None:
    """Refuse an archive that is made to keep its reader busy; no member gives more than it says."""
    if unpacked > _BOMB_SIZE and unpacked > _BOMB_RATIO * packed:
        raise InputError(
            f"the archive would grow from {packed / 1e6:,.1f} MB to {unpacked / 1e6:,.0f} MB, "
            "which no export does",
            advice="If you trust it, unpack it and import the folder.",
        )


def _may_hold(name: str) -> bool:
    return name.lower().endswith((".json", ".jsonl"))


def _conversations(name: str, file: IO[bytes], report: Report) -> Iterator[FoundConversation]:
    """Read one of many files; accounts, feedback and lists lie beside the conversations."""
    for found in read_conversations(_pieces(file, report)):
        if not (found.unknown or found.passed_over):
            yield _within(name, found)


def _within(name: str, found: FoundConversation) -> FoundConversation:
    place = f"{name}: {found.place}" if found.place else name
    return FoundConversation(place, found.transcript, found.fault, found.notes, found.advice)


def _pieces(file: IO[bytes], report: Report) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        report.read += len(piece)
        yield piece

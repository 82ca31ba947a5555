"""Finds what can be imported in files, folders and archives: conversations and character cards.

1. Files are read in pieces. A broken conversation is yielded with its place and fault, and what
   follows it is read.
2. An archive (ZIP) is read without unpacking it, and a folder with all files in it. Files that are
   neither conversations nor character cards are skipped there, and counted.
3. Cards are read before the other files of a folder, so that its chats find their characters.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from tui_chat.errors import InputError
from tui_chat.files import open_file
from tui_chat.interop.formats import ImportSource
from tui_chat.interop.reader import known_formats, read_conversations
from tui_chat.interop.transcript_builder import FoundConversation
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import NoCard, card_files, has_card_files
from tui_chat.workspace.attachments import LARGEST
from tui_chat.workspace.export_files import ExportFiles
from tui_chat.workspace.import_report import Report
from tui_chat.workspace.library_import import LibraryImport

if TYPE_CHECKING:
    from tui_chat.models.role import Role

_PIECE = 2**20
_BOMB_SIZE, _BOMB_RATIO = 64 * 2**20, 200
"""Bytes that any archive may unpack to, and the maximum compression ratio beyond that. Exports
compress to about a tenth."""
ZIP_SIGNATURE = b"PK\x03\x04"
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class FoundCard:
    """A character card in a file."""

    role: Role
    picture: bytes
    place: str = ""
    """Its path in the folder or archive."""


Importable: TypeAlias = FoundConversation | FoundCard


@dataclass(frozen=True, slots=True)
class ImportReader:
    """Reads one file or folder that is imported, and reports on it."""

    report: Report
    taker: LibraryImport | None
    """Adds presets and lorebooks to the library; None skips them."""
    reads_files: bool = True
    """False if the content of pictures and files beside the conversations is not needed."""

    def read(self) -> Iterator[Importable]:
        """Yield the file's conversations and cards; report the rest. Raises InputError."""
        report = self.report
        try:
            if report.path.is_dir():
                yield from self._in_folder(report.path)
                return
            with open_file(report.path) as file:
                start = file.read(len(_PNG))
                name = report.path.name
                if start == _PNG or (start.startswith(ZIP_SIGNATURE) and _has_card(file)):
                    yield _read_card(file, name)
                    return
                if start.startswith(ZIP_SIGNATURE):
                    yield from self.read_archive(file)
                    return
                report.size = file.seek(0, 2)
                file.seek(0)
                source = ImportSource(report.path, name)
                for conversation in read_conversations(self._pieces(file), source=source):
                    if conversation.unknown and not conversation.place and _may_be_card(file):
                        yield _read_card(file, name)
                        return
                    if conversation.unknown and self._takes(name, file):
                        return
                    yield conversation
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise InputError(f"cannot be read: {fault_reason(error)}") from error

    def _in_folder(self, folder: Path) -> Iterator[Importable]:
        """Yield the conversations and cards of all files in a folder; links are not followed."""
        report, files = self.report, list[Path]()
        beside = ExportFiles(_read_beside)
        for name, below, names in os.walk(folder):
            below[:] = sorted(folder for folder in below if not folder.startswith("."))
            beside.add(Path(name, file).as_posix() for file in sorted(names))
            files += [Path(name, file) for file in sorted(names) if _may_hold(file) or is_zip(file)]
        referred = beside.of_messages(file.as_posix() for file in files)
        files = [file for file in files if file.is_file() and not file.is_symlink()]
        files = [file for file in files if file.as_posix() not in referred]
        files.sort(key=lambda file: not _is_named_as_card(file.name))
        report.size = sum(file.stat().st_size for file in files)
        is_empty = True
        companions = set[Path]()
        for file in files:
            if file in companions:
                continue
            place = file.relative_to(folder).as_posix()
            try:
                with open_file(file) as opened:
                    if is_zip(file.name):
                        of_file = self._archive_of_many(place, opened)
                    else:
                        source = ImportSource(file, file.name, companions)
                        of_file = self.read_one_of_many(place, opened, source)
                    for conversation in of_file:
                        is_empty = False
                        yield self._completed(conversation, beside)
            except OSError as error:
                is_empty = False
                yield FoundConversation(place, fault=f"cannot be read: {fault_reason(error)}")
        if is_empty and not report.files:
            raise InputError(
                "the folder contains no conversations or character cards", advice=known_formats()
            )

    def _archive_of_many(self, name: str, file: IO[bytes]) -> Iterator[Importable]:
        """Yield what an archive in a folder contains; one without anything is no error."""
        report, inner = self.report, Report(self.report.path)
        try:
            for item in ImportReader(inner, self.taker, self.reads_files).read_archive(file):
                yield _in_file(name, item) if isinstance(item, FoundConversation) else item
        except _NoConversations:
            report.skip(name)
        except InputError as error:
            yield FoundConversation(name, fault=str(error), advice=error.advice)
        else:
            for skipped in inner.skipped:
                report.skip(f"{name}: {skipped}")
            report.more_skipped += inner.more_skipped
        report.files |= inner.files
        report.notes.update(inner.notes)
        report.read += file.seek(0, 2)

    def read_archive(self, file: IO[bytes]) -> Iterator[Importable]:
        """Yield the conversations and cards of all files in an archive."""
        report, is_empty = self.report, True
        with _archive_faults(), zipfile.ZipFile(file) as archive:
            beside = ExportFiles(lambda name: _read_member(archive, name))
            beside.add(archive.namelist())
            referred = beside.of_messages(archive.namelist())
            members = [
                entry
                for entry in archive.infolist()
                if _may_hold(entry.filename) and entry.filename not in referred
            ]
            members.sort(key=lambda member: not _is_named_as_card(member.filename))
            report.size = sum(member.file_size for member in members)
            _refuse_bomb(report.size, sum(member.compress_size for member in members))
            for member in members:
                with archive.open(member) as inner:
                    source = ImportSource(name=member.filename.rpartition("/")[2])
                    for conversation in self.read_one_of_many(member.filename, inner, source):
                        is_empty = False
                        yield self._completed(conversation, beside)
        if is_empty and not report.files:
            sentence = "the archive contains no conversations or character cards"
            raise _NoConversations(sentence, advice=known_formats())

    def read_one_of_many(
        self, name: str, file: IO[bytes], source: ImportSource
    ) -> Iterator[Importable]:
        """Yield what one of many files contains; others among them are no error."""
        if _is_named_as_card(name):
            self.report.read += file.seek(0, 2)
            file.seek(0)
            if file.read(len(_PNG)).startswith((_PNG, ZIP_SIGNATURE)):
                yield from self._card_of_many(name, file)
            else:
                self.report.skip(name)
            return
        unknown: list[FoundConversation] = []
        has_known = False
        for conversation in read_conversations(self._pieces(file), source=source):
            if conversation.unknown and not conversation.place and _may_be_card(file):
                yield from self._card_of_many(name, file)
            elif conversation.unknown and self._takes(name, file):
                return
            elif conversation.unknown and not has_known:
                unknown.append(conversation)
            elif not conversation.ignored:
                yield from (_in_file(name, fault) for fault in unknown)
                unknown.clear()
                has_known = True
                yield _in_file(name, conversation)
        if unknown:  # nothing in the file is known: it is another file, and no fault
            self.report.skip(name)

    def _card_of_many(self, name: str, file: IO[bytes]) -> Iterator[Importable]:
        try:
            yield replace(_read_card(file, name.rpartition("/")[2]), place=name)
        except NoCard:
            self.report.skip(name)
        except InputError as error:
            yield FoundConversation(name, fault=str(error), advice=error.advice)

    def _completed(self, item: Importable, beside: ExportFiles) -> Importable:
        """Return a conversation with the files beside it; anything else as it is."""
        if isinstance(item, FoundConversation) and self.reads_files:
            return beside.completed(item)
        return item

    def _takes(self, name: str, file: IO[bytes]) -> bool:
        """Add a file of the library; return False if it is none."""
        return self.taker is not None and self.taker.take(name, file, self.report)

    def _pieces(self, file: IO[bytes]) -> Iterator[bytes]:
        while piece := file.read(_PIECE):
            self.report.read += len(piece)
            yield piece


def _in_file(name: str, conversation: FoundConversation) -> FoundConversation:
    """Return a conversation whose place begins with the name of its file."""
    place = f"{name}: {conversation.place}" if conversation.place else name
    return replace(conversation, place=place)


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the beginning of a file in an archive; nothing if it cannot be read."""
    try:
        with archive.open(name) as member:
            return member.read(LARGEST + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError):
        return b""


def _read_beside(path: str) -> bytes:
    """Return the beginning of a regular file; nothing if it cannot be read."""
    try:
        file = Path(path)
        if file.is_symlink() or not file.is_file():
            return b""
        with open_file(file) as opened:
            return opened.read(LARGEST + 1)
    except (OSError, ValueError):
        return b""


def _has_card(file: IO[bytes]) -> bool:
    """Return True if an archive is a CharX card."""
    with suppress(zipfile.BadZipFile, NotImplementedError), zipfile.ZipFile(file) as archive:
        return "card.json" in archive.namelist()
    return False


def _may_be_card(file: IO[bytes]) -> bool:
    if not has_card_files():
        return False
    cards = card_files()
    file.seek(0)
    content = file.read(cards.largest + 1)
    return len(content) <= cards.largest and cards.detect(content)


def _read_card(file: IO[bytes], source: str) -> FoundCard:
    cards = card_files()
    file.seek(0)
    return FoundCard(*cards.read(file.read(cards.largest + 1), source))


def fault_reason(error: OSError | ValueError) -> str:
    """Return why a file cannot be read."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def is_zip(name: str) -> bool:
    """Return True for the name of an archive."""
    return name.lower().endswith(".zip")


def conversations_in_archive(file: IO[bytes]) -> Iterator[FoundConversation]:
    """Yield the conversations of all files in an archive. Raises InputError if it has none."""
    for item in ImportReader(Report(Path()), None, reads_files=False).read_archive(file):
        if isinstance(item, FoundConversation):
            yield item


def archive_members(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield an archive's files that may hold conversations, open. Raises InputError."""
    with _archive_faults(), zipfile.ZipFile(file) as archive:
        members = [entry for entry in archive.infolist() if _may_hold(entry.filename)]
        _refuse_bomb(sum(m.file_size for m in members), sum(m.compress_size for m in members))
        for member in members:
            with archive.open(member) as inner:
                yield inner


class _NoConversations(InputError):
    """An archive that can be read has nothing to import."""


@contextmanager
def _archive_faults() -> Generator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputError(f"the archive cannot be read: {error}") from error


def _refuse_bomb(unpacked: int, packed: int) -> None:
    """Raise InputError for a decompression bomb. No member unpacks to more than it declares."""
    if unpacked > _BOMB_SIZE and unpacked > _BOMB_RATIO * packed:
        raise InputError(
            f"the archive would unpack from {packed / 1e6:,.1f} MB to {unpacked / 1e6:,.0f} MB, "
            "unlike any export",
            advice="If you trust it, unpack it and import the folder.",
        )


def _may_hold(name: str) -> bool:
    """Return True for the name of a file that a format may be in; its content decides."""
    return name.lower().endswith(ENDINGS) or _is_named_as_card(name)


def _is_named_as_card(name: str) -> bool:
    """Return True for the name of a file that may be a card, and not a conversation."""
    return name.lower().endswith((".png", ".charx"))


ENDINGS = (".json", ".jsonl", ".har", ".db", ".sqlite")
"""The suffixes of files with conversations, for a folder or an archive."""

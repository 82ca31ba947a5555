"""Finds what can be imported in files, folders and archives: conversations and character cards.

1. Files are read in pieces. A broken conversation is yielded with its place and fault, and what
   follows it is read.
2. An archive (ZIP) is read without unpacking it, and a folder with all files in it but archives.
   Files that are neither conversations nor character cards are skipped there, and counted.
3. Cards are read before the other files of a folder, so that its chats find their characters.
4. ChatGPT names a picture or file of its export after the id by which messages refer to it:
   `file-AbC123` is `file-AbC123-photo.png`, in a folder of any name. A part that has such an id
   gets the content of the file; what is too large stays a placeholder.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from tui_chat.errors import InputError
from tui_chat.files import open_file
from tui_chat.hooks import load_all
from tui_chat.interop.formats import FoundConversation, ImportSource, NoCard
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.media import detect_mime, kind_of
from tui_chat.models.session import Entry
from tui_chat.models.text import clean
from tui_chat.plugins.transcripts.reader import known_formats, read_conversations
from tui_chat.plugins.transcripts.report import Report
from tui_chat.plugins.transcripts.steps import FILE_BESIDE
from tui_chat.workspace.attachments import LARGEST, LARGEST_TEXT

if TYPE_CHECKING:
    from tui_chat.models.role import Role

ENDINGS = (".json", ".jsonl", ".har", ".db", ".sqlite")
"""The suffixes of files with conversations, for a folder or an archive."""
_PIECE = 2**20
BOMB_SIZE, BOMB_RATIO = 64 * 2**20, 200
"""Bytes that any archive may unpack to, and the maximum compression ratio beyond that. Exports
compress to about a tenth."""
_ZIP = b"PK\x03\x04"
_PNG = b"\x89PNG\r\n\x1a\n"
_FILE_ID = re.compile(r"file[-_][A-Za-z0-9]{6,}")
_CONVERSATIONS = re.compile(r"conversations.*\.json")
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
"""Errors that reading a damaged archive raises."""


@dataclass(frozen=True, slots=True)
class FoundCard:
    """A character card in a file."""

    role: Role
    picture: bytes
    place: str = ""
    """Its path in the folder or archive."""


Importable: TypeAlias = FoundConversation | FoundCard


@dataclass(frozen=True, slots=True)
class _Member:
    """A file in a folder or an archive."""

    name: str
    """Its path there."""
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    path: Path | None = None
    """None in an archive."""

    @property
    def file_id(self) -> str:
        """The id by which messages refer to it, or empty."""
        return _id_in(self.name)

    @property
    def is_read(self) -> bool:
        """True for the name of a file that may be imported; its content decides."""
        return self.name.lower().endswith(ENDINGS) or _is_named_as_card(self.name)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads one file or folder that is imported, and reports on it."""

    report: Report

    def read(self) -> Iterator[Importable]:
        """Yield the file's conversations and cards; report the rest. Raises InputError."""
        path = self.report.path
        try:
            if path.is_dir():
                yield from self._members(list(_in_folder(path)), "folder")
                return
            with open_file(path) as file:
                if _start(file).startswith(_ZIP) and not _begins_as_card(path.name, file):
                    yield from self._archive(file)
                    return
                self.report.size = file.seek(0, 2)
                file.seek(0)
                yield from self._file(path.name, file, ImportSource(path, path.name))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise InputError(f"cannot be read: {fault_reason(error)}") from error

    def read_file(self, name: str, path: Path) -> Iterator[Importable]:
        """Yield what one of many files contains. Raises OSError."""
        with open_file(path) as file:
            yield from self._one_of_many(name, file, ImportSource(path, path.name))

    def _archive(self, file: IO[bytes]) -> Iterator[Importable]:
        try:
            with zipfile.ZipFile(file) as archive:
                infos = archive.infolist()
                read = [info for info in infos if _member(archive, info).is_read]
                _refuse_bomb(sum(i.file_size for i in read), sum(i.compress_size for i in read))
                yield from self._members([_member(archive, info) for info in infos], "archive")
        except _DAMAGED as error:
            raise InputError(f"the archive cannot be read: {error}") from error

    def _members(self, members: list[_Member], what: str) -> Iterator[Importable]:
        """Yield what the files of a folder or archive contain. Raises InputError if nothing."""
        report, companions = self.report, set[Path]()
        beside = {member.file_id: member for member in reversed(members) if member.file_id}
        # Beside a file of conversations, those with an id belong to messages.
        names = (member.name.rpartition("/")[2] for member in members)
        is_export = any(_CONVERSATIONS.fullmatch(name) for name in names)
        files = [each for each in members if each.is_read and not (is_export and each.file_id)]
        files.sort(key=lambda file: not _is_named_as_card(file.name))
        report.size = sum(file.size for file in files)
        is_empty = True
        for member in files:
            if member.path in companions:
                continue
            try:
                with member.open() as file:
                    source = ImportSource(member.path, member.name.rpartition("/")[2], companions)
                    for item in self._one_of_many(member.name, file, source):
                        is_empty = False
                        is_talk = isinstance(item, FoundConversation)
                        yield _with_files(item, beside) if is_talk else item
            except OSError as error:
                is_empty = False
                fault = f"cannot be read: {fault_reason(error)}"
                yield FoundConversation(member.name, fault=fault)
        if is_empty and not report.files:
            sentence = f"the {what} contains no conversations or character cards"
            raise InputError(sentence, advice=known_formats())

    def _one_of_many(
        self, name: str, file: IO[bytes], source: ImportSource
    ) -> Iterator[Importable]:
        """Yield what one of many files contains; others among them are no error."""
        if _is_named_as_card(name) and not _begins_as_card(name, file):
            self.report.read += file.seek(0, 2)
            self.report.skip(name)
            return
        unknown: list[FoundConversation] = []
        has_known = False
        try:
            for item in self._file(source.name, file, source):
                if isinstance(item, FoundCard):
                    yield replace(item, place=name)
                elif item.unknown and not has_known:
                    unknown.append(item)
                elif not item.ignored:
                    yield from (_in_file(name, fault) for fault in unknown)
                    unknown.clear()
                    has_known = True
                    yield _in_file(name, item)
        except NoCard:
            self.report.skip(name)
        except InputError as error:  # a damaged card
            yield FoundConversation(name, fault=str(error), advice=error.advice)
        if unknown:  # nothing in the file is known: it is another file, and no fault
            self.report.skip(name)

    def _file(self, name: str, file: IO[bytes], source: ImportSource) -> Iterator[Importable]:
        """Yield what a file contains. Raises InputError for a card that cannot be read."""
        if _begins_as_card(name, file):
            self.report.read += file.seek(0, 2)
            yield _read_card(file, name)
            return
        for conversation in read_conversations(self._pieces(file), source=source):
            if conversation.unknown and not conversation.place:
                if _may_be_card(file):
                    yield _read_card(file, name)
                    return
                adder = self.report.adder
                if adder is not None and adder.take(name, file, self.report):
                    return
            yield conversation

    def _pieces(self, file: IO[bytes]) -> Iterator[bytes]:
        while piece := file.read(_PIECE):
            self.report.read += len(piece)
            yield piece


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder; hidden folders are passed over, links are not followed."""
    for name, below, names in os.walk(folder):
        below[:] = sorted(inner for inner in below if not inner.startswith("."))
        for file in (Path(name, file) for file in sorted(names)):
            if file.is_file() and not file.is_symlink():
                yield file


def _in_folder(folder: Path) -> Iterator[_Member]:
    for file in files_in(folder):
        place = file.relative_to(folder).as_posix()
        yield _Member(place, file.stat().st_size, lambda file=file: open_file(file), file)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    return _Member(info.filename, info.file_size, lambda: archive.open(info))


def _in_file(name: str, conversation: FoundConversation) -> FoundConversation:
    """Return a conversation whose place begins with the name of its file."""
    place = f"{name}: {conversation.place}" if conversation.place else name
    return replace(conversation, place=place)


def fault_reason(error: OSError | ValueError) -> str:
    """Return why a file cannot be read."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _refuse_bomb(unpacked: int, packed: int) -> None:
    """Raise InputError for a decompression bomb. No member unpacks to more than it declares."""
    if unpacked > BOMB_SIZE and unpacked > BOMB_RATIO * packed:
        raise InputError(
            f"the archive would unpack from {packed / 1e6:,.1f} MB to {unpacked / 1e6:,.0f} MB, "
            "unlike any export",
            advice="If you trust it, unpack it and import the folder.",
        )


# --- cards ----------------------------------------------------------------------------------


def _is_named_as_card(name: str) -> bool:
    """Return True for the name of a file that may be a card, and not a conversation."""
    return name.lower().endswith((".png", ".charx"))


def _start(file: IO[bytes]) -> bytes:
    file.seek(0)
    start = file.read(len(_PNG))
    file.seek(0)
    return start


def _begins_as_card(name: str, file: IO[bytes]) -> bool:
    """Return True for a picture, and for an archive that is a CharX card, or is named as one."""
    start = _start(file)
    if not start.startswith(_ZIP) or _is_named_as_card(name):
        return start == _PNG or start.startswith(_ZIP)
    with suppress(*_DAMAGED), zipfile.ZipFile(file) as archive:
        return "card.json" in archive.namelist()
    return False


def _may_be_card(file: IO[bytes]) -> bool:
    cards = next(load_all("card reader"), None)
    return cards is not None and cards.detect(_content(file, cards.largest))


def _read_card(file: IO[bytes], name: str) -> FoundCard:
    """Return the card in a file. Raises InputError."""
    cards = next(load_all("card reader"), None)
    if cards is None:
        raise InputError("No plugin that is installed reads character cards.")
    return FoundCard(*cards.read(_content(file, cards.largest), name))


def _content(file: IO[bytes], largest: int) -> bytes:
    file.seek(0)
    return file.read(largest + 1)


# --- files of messages ------------------------------------------------------------------------


def _id_in(name: str) -> str:
    """Return the id that an exported file's name begins with, or that a pointer has; or empty."""
    match = _FILE_ID.match(name.rpartition("/")[2])
    return match[0] if match else ""


def _with_files(found: FoundConversation, beside: dict[str, _Member]) -> FoundConversation:
    """Return a conversation with the content of its files, and without the notes on them."""
    transcript = found.transcript
    if transcript is None or not beside:
        return found
    entries, count = list[Entry](), 0
    for entry in transcript.entries:
        message = entry.message
        blocks = tuple(
            _filled(block, beside) if isinstance(block, MediaBlock) else block
            for block in message.blocks
        )
        filled = sum(new is not old for new, old in zip(blocks, message.blocks, strict=True))
        if filled:
            entry = replace(entry, message=replace(message, blocks=blocks))
        entries.append(entry)
        count += filled
    notes = list(found.notes)
    for _ in range(min(count, notes.count(FILE_BESIDE))):
        notes.remove(FILE_BESIDE)
    transcript = replace(transcript, entries=tuple(entries))
    return replace(found, transcript=transcript, notes=tuple(notes))


def _filled(part: MediaBlock, beside: dict[str, _Member]) -> MediaBlock:
    """Return a part with the content of its file; the same part if that is not there."""
    member = beside.get(_id_in(part.file_id)) if part.file_id else None
    if member is None or part.data or part.text:
        return part
    data, name = b"", part.name or member.name.rpartition("/")[2]
    with suppress(*_DAMAGED, OSError, ValueError), member.open() as file:
        data = file.read(LARGEST + 1)
    if mime := detect_mime(data):
        if len(data) > LARGEST:
            return part
        return MediaBlock(kind_of(mime), mime, data=b64encode(data).decode(), name=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return part
    if not text or "\0" in text or len(data) > LARGEST_TEXT:
        return part
    return MediaBlock("file", "text/plain", text=clean(text), name=name)

"""Imports conversations from files into the store.

1. Files are read in pieces on a thread. Their conversations are stored in batches, each in one
   transaction, so a user who chats meanwhile waits for one batch at most. A batch may contain the
   conversations of many small files.
2. A broken conversation is reported with its place, and the rest is imported. What is stored
   remains when the import is stopped.
3. An archive (ZIP) is read without unpacking it, and a folder with all files in it. Files that are
   neither conversations nor character cards are skipped there, and counted.
4. A character card (a picture, JSON or a CharX archive) becomes a role. A newer version of a card
   replaces the older one, with the model, the settings and the preset that were chosen for the role
   meanwhile.
   Cards are read before the other files of a folder, so that its chats find their characters.
5. Lorebooks and the presets of other programs become files of the library. The folder of another
   program's user is imported as a whole, see `library_import`.
"""

from __future__ import annotations

import asyncio
import os
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from tui_chat.errors import InputError
from tui_chat.files import open_file
from tui_chat.interop.formats import ImportSource
from tui_chat.interop.reader import known_formats, read_conversations
from tui_chat.interop.transcript_builder import FoundConversation
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import NoCard, card_files, has_card_files
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.import_report import Report
from tui_chat.workspace.library_import import FolderImport, LibraryImport, folder_import

if TYPE_CHECKING:
    from tui_chat.library.library import Kind, Library
    from tui_chat.models.role import Role
    from tui_chat.models.transcript import ImportResult, SessionTranscript
    from tui_chat.store import Store
    from tui_chat.workspace.chat_participants import ChatParticipants

_PIECE = 2**20
_BATCH = 2_000
"""Messages that are stored in one transaction, about."""
_BOMB_SIZE, _BOMB_RATIO = 64 * 2**20, 200
"""Bytes that any archive may unpack to, and the maximum compression ratio beyond that. Exports
compress to about a tenth."""
_MESSAGE_BYTES = 10_000
"""Bytes of a card's picture that count as a message."""
ZIP_SIGNATURE = b"PK\x03\x04"
_PNG = b"\x89PNG\r\n\x1a\n"


async def import_files(
    store: Store,
    paths: Iterable[Path],
    *,
    dry_run: bool = False,
    progress: Callable[[Report], object] | None = None,
    participants: ChatParticipants | None = None,
    library: Library | None = None,
) -> tuple[Report, ...]:
    """Import all conversations of files and folders; return a report for each path. Presets and
    lorebooks go into `library`, and are skipped without one.

    `progress` is called with the current report after every batch. With `dry_run` nothing is
    stored, and the reports say what would be. `participants` finds the roles and profiles of new
    chats with a character. Raises StoreError.
    """
    reports = tuple(map(Report, paths))
    batches = _batches(reports, library and LibraryImport(library, write=not dry_run))
    batch = await asyncio.to_thread(next, batches, None)
    while batch is not None:
        # The next batch is read while this one is written.
        next_batch = asyncio.create_task(asyncio.to_thread(next, batches, None))
        for report, card in batch.cards:
            role = await _as_chosen(store, card.role)
            report.cards.append(role)
            if not dry_run:
                await store.roles.save(role, card.picture)
        cards = [role for report in reports for role in report.cards]
        transcripts = [
            await _with_participants(
                store, transcript, participants, cards, conversation.place, user
            )
            for _, conversation, transcript, user in batch.conversations
        ]
        results = await store.transcripts.add_many(transcripts, dry_run=dry_run)
        for (report, conversation, _, _), imported in zip(
            batch.conversations, results, strict=True
        ):
            _count(report, conversation, imported)
        if progress is not None:
            progress(batch.report)
        batch = await next_batch
    if not dry_run:
        await _choose_profile(store, reports)
    return reports


async def _choose_profile(store: Store, reports: Iterable[Report]) -> None:
    """Have new chats begin with the profile of a user's folder, unless one was chosen here."""
    report = next((report for report in reports if report.profile), None)
    if report is not None and await store.settings.get("profile") is None:
        await store.settings.set("profile", report.profile)
        report.notes[f"New chats begin with the profile “{one_line(report.profile, 60)}”."] += 1


async def _as_chosen(store: Store, role: Role) -> Role:
    """Return the role of a card with what was chosen for it if it is there already."""
    stored = await store.roles.get(role.role_id)
    if stored is None:
        return role
    chosen = {"model": stored.model, "settings": stored.settings, "status": stored.status}
    return replace(role, preset=stored.preset or role.preset, **chosen)


async def _with_participants(
    store: Store,
    transcript: SessionTranscript,
    participants: ChatParticipants | None,
    cards: Sequence[Role],
    place: str,
    user: _UserFolder | None,
) -> SessionTranscript:
    is_chat = user is not None or transcript.character or transcript.user
    if not is_chat or await store.sessions.get(transcript.session.session_id) is not None:
        return transcript
    if user is not None and (participants is None or participants.role_id is None):
        return user.importer.session(place, transcript, user.roles)
    return transcript if participants is None else await participants.assign(transcript, cards)


def _count(report: Report, conversation: FoundConversation, imported: ImportResult) -> None:
    if imported.fault:
        report.fault(conversation.place, imported.fault)
        return
    report.session_ids.append(imported.session_id)
    report.added += imported.added
    report.notes[COMPLETED] += imported.completed
    report.notes[DIFFERENT] += imported.different
    report.notes = +report.notes  # without those that are 0
    if imported.is_new:
        report.new += 1
    elif imported.added or imported.completed:
        report.grown += 1
    else:
        report.known += 1
    if imported.is_new or imported.added:
        report.notes.update(conversation.notes)


@dataclass(frozen=True, slots=True)
class _FoundCard:
    role: Role
    picture: bytes
    place: str = ""
    """Its path in the folder or archive."""


@dataclass(slots=True)
class _UserFolder:
    """The folder of another program's user while it is imported."""

    importer: FolderImport
    roles: dict[str, Role] = field(default_factory=dict[str, "Role"])
    """The roles of its cards by their paths in it."""


_Conversation: TypeAlias = "tuple[Report, FoundConversation, SessionTranscript, _UserFolder | None]"


@dataclass(slots=True)
class _Batch:
    """Conversations that are stored together."""

    report: Report
    """The report of the last file in it."""
    conversations: list[_Conversation] = field(default_factory=list["_Conversation"])
    cards: list[tuple[Report, _FoundCard]] = field(default_factory=list[tuple[Report, _FoundCard]])
    size: int = 0
    """About the number of messages that take as long to store."""


def _batches(reports: Iterable[Report], taker: LibraryImport | None) -> Iterator[_Batch]:
    """Read the files; yield non-empty batches of conversations and cards, and report the rest."""
    batch: _Batch | None = None
    for report in reports:
        user: _UserFolder | None = None
        try:
            if taker is not None and report.path.is_dir():
                importer = folder_import(report.path, taker, report)
                user = None if importer is None else _UserFolder(importer)
            for item in _found_in(report, taker) if user is None else _in_user_folder(user, report):
                if isinstance(item, FoundConversation) and item.transcript is None:
                    if not item.ignored:
                        report.fault(item.place, item.fault, item.advice)
                    continue
                batch = batch or _Batch(report)
                batch.report = report
                if isinstance(item, _FoundCard):
                    if user is not None:
                        role = user.importer.card(item.place, item.role)
                        item = replace(item, role=role)
                        user.roles[item.place] = role
                    batch.cards.append((report, item))
                    batch.size += len(item.picture) // _MESSAGE_BYTES + 1
                elif item.transcript is not None:
                    batch.conversations.append((report, item, item.transcript, user))
                    batch.size += len(item.transcript.entries) + 1
                if batch.size >= _BATCH:
                    yield batch
                    batch = None
        except InputError as error:
            report.fault("", str(error), error.advice)
    if batch is not None:
        yield batch


def _in_user_folder(user: _UserFolder, report: Report) -> Iterator[FoundConversation | _FoundCard]:
    """Yield the cards and chats of a user's folder, and take the rest."""

    def read_file(place: str, path: Path) -> Iterator[FoundConversation | _FoundCard]:
        with open_file(path) as file:
            source = ImportSource(path, path.name)
            yield from _read_one_of_many(place, file, report, source, None)

    try:
        yield from user.importer.read(read_file)
    except OSError as error:
        raise InputError(f"cannot be read: {_reason(error)}") from error


def _found_in(
    report: Report, taker: LibraryImport | None
) -> Iterator[FoundConversation | _FoundCard]:
    try:
        if report.path.is_dir():
            yield from _in_folder(report.path, report, taker)
            return
        with open_file(report.path) as file:
            start = file.read(len(_PNG))
            name = report.path.name
            if start == _PNG or (start.startswith(ZIP_SIGNATURE) and _has_card(file)):
                yield _read_card(file, name)
                return
            if start.startswith(ZIP_SIGNATURE):
                yield from _in_archive(file, report, taker)
                return
            report.size = file.seek(0, 2)
            file.seek(0)
            source = ImportSource(report.path, name)
            for conversation in read_conversations(_pieces(file, report), source=source):
                if conversation.unknown and not conversation.place and _may_be_card(file):
                    yield _read_card(file, name)
                    return
                if conversation.unknown and taker is not None and taker.take(name, file, report):
                    return
                yield conversation
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(f"cannot be read: {_reason(error)}") from error


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


def _read_card(file: IO[bytes], source: str) -> _FoundCard:
    cards = card_files()
    file.seek(0)
    return _FoundCard(*cards.read(file.read(cards.largest + 1), source))


def _reason(error: OSError | ValueError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _in_folder(
    folder: Path, report: Report, taker: LibraryImport | None
) -> Iterator[FoundConversation | _FoundCard]:
    """Yield the conversations and cards of all files in a folder; links are not followed."""
    files: list[Path] = []
    for name, below, names in os.walk(folder):
        below[:] = sorted(folder for folder in below if not folder.startswith("."))
        files += [Path(name, file) for file in sorted(names) if _may_hold(file) or is_zip(file)]
    files = [file for file in files if file.is_file() and not file.is_symlink()]
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
                    of_file = _archive_of_many(place, opened, report, taker)
                else:
                    source = ImportSource(file, file.name, companions)
                    of_file = _read_one_of_many(place, opened, report, source, taker)
                for conversation in of_file:
                    is_empty = False
                    yield conversation
        except OSError as error:
            is_empty = False
            yield FoundConversation(place, fault=f"cannot be read: {_reason(error)}")
    if is_empty and not report.files:
        raise InputError(
            "the folder contains no conversations or character cards", advice=known_formats()
        )


def is_zip(name: str) -> bool:
    """Return True for the name of an archive."""
    return name.lower().endswith(".zip")


def _archive_of_many(
    name: str, file: IO[bytes], report: Report, taker: LibraryImport | None
) -> Iterator[FoundConversation | _FoundCard]:
    """Yield the conversations and cards of an archive in a folder; one without any is no error."""
    inner = Report(report.path)
    try:
        for item in _in_archive(file, inner, taker):
            if isinstance(item, FoundConversation):
                item = replace(item, place=f"{name}: {item.place}" if item.place else name)
            yield item
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


def conversations_in_archive(file: IO[bytes]) -> Iterator[FoundConversation]:
    """Yield the conversations of all files in an archive. Raises InputError if it has none."""
    for item in _in_archive(file, Report(Path()), None):
        if isinstance(item, FoundConversation):
            yield item


def archive_members(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield the files in an archive that may hold conversations, open for reading. Raises
    InputError for an archive that cannot be read.
    """
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


def _in_archive(
    file: IO[bytes], report: Report, taker: LibraryImport | None
) -> Iterator[FoundConversation | _FoundCard]:
    """Yield the conversations and cards of all files in an archive."""
    is_empty = True
    with _archive_faults(), zipfile.ZipFile(file) as archive:
        members = [entry for entry in archive.infolist() if _may_hold(entry.filename)]
        members.sort(key=lambda member: not _is_named_as_card(member.filename))
        report.size = sum(member.file_size for member in members)
        _refuse_bomb(report.size, sum(member.compress_size for member in members))
        for member in members:
            with archive.open(member) as inner:
                source = ImportSource(name=member.filename.rpartition("/")[2])
                for conversation in _read_one_of_many(
                    member.filename, inner, report, source, taker
                ):
                    is_empty = False
                    yield conversation
    if is_empty and not report.files:
        sentence = "the archive contains no conversations or character cards"
        raise _NoConversations(sentence, advice=known_formats())


def _refuse_bomb(unpacked: int, packed: int) -> None:
    """Raise InputError for a decompression bomb. A member never unpacks to more than its
    declared size.
    """
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


ENDINGS = (".json", ".jsonl", ".har", ".db", ".sqlite", ".yaml", ".yml")
"""The suffixes of files with conversations, for a folder or an archive."""


def _read_one_of_many(
    name: str, file: IO[bytes], report: Report, source: ImportSource, taker: LibraryImport | None
) -> Iterator[FoundConversation | _FoundCard]:
    """Yield the conversations or the card of one of many files; others among them are no error."""
    if _is_named_as_card(name):
        report.read += file.seek(0, 2)
        file.seek(0)
        if file.read(len(_PNG)).startswith((_PNG, ZIP_SIGNATURE)):
            yield from _card_of_many(name, file, report)
        else:
            report.skip(name)
        return
    for conversation in read_conversations(_pieces(file, report), source=source):
        if conversation.unknown and not conversation.place and _may_be_card(file):
            yield from _card_of_many(name, file, report)
        elif conversation.unknown and taker is not None and taker.take(name, file, report):
            return
        elif conversation.unknown:
            report.skip(name)
        elif not conversation.ignored:
            yield replace(
                conversation, place=f"{name}: {conversation.place}" if conversation.place else name
            )


def _card_of_many(
    name: str, file: IO[bytes], report: Report
) -> Iterator[FoundConversation | _FoundCard]:
    try:
        yield replace(_read_card(file, name.rpartition("/")[2]), place=name)
    except NoCard:
        report.skip(name)
    except InputError as error:
        yield FoundConversation(name, fault=str(error), advice=error.advice)


FILE_KINDS: tuple[Kind, ...] = ("presets", "lorebooks", "profiles")
"""The kinds of files of the library that are imported."""
COMPLETED = "A message that was not complete at the last import is complete now."
DIFFERENT = "A message has another text than at the last import; the one that is stored stays."


def _pieces(file: IO[bytes], report: Report) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        report.read += len(piece)
        yield piece

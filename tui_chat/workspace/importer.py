"""Imports conversations from files into the store.

1. Files are read in pieces on a thread. Their conversations are stored in batches, each in one
   transaction, so a user who chats meanwhile waits for one batch at most. A batch may contain the
   conversations of many small files.
2. A broken conversation is reported with its place, and the rest is imported. What is stored
   remains when the import is stopped.
3. A character card (a picture, JSON or a CharX archive) becomes a role, with a preset that sends
   it. A newer version of a card replaces the older one, with the model, the settings and the preset
   that were chosen for the role meanwhile. The report says what that preset does not send.
4. Lorebooks and the presets of other programs become files of the library. The folder of another
   program's user is imported as a whole, see `library_import`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tui_chat.context import Inputs, build
from tui_chat.errors import InputError
from tui_chat.files import open_file
from tui_chat.interop.formats import ImportSource
from tui_chat.interop.transcript_builder import FoundConversation
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.role import CARD_PRESET
from tui_chat.models.sanitize import one_line
from tui_chat.tokens import Counter
from tui_chat.workspace.import_reader import FoundCard, Importable, ImportReader, fault_reason
from tui_chat.workspace.import_report import Report
from tui_chat.workspace.library_import import FolderImport, LibraryImport, folder_import

if TYPE_CHECKING:
    from tui_chat.library.library import Kind, Library
    from tui_chat.models.role import Role
    from tui_chat.models.transcript import ImportResult, SessionTranscript
    from tui_chat.store import Store
    from tui_chat.workspace.chat_participants import ChatParticipants

_BATCH = 2_000
"""Messages that are stored in one transaction, about."""
_MESSAGE_BYTES = 10_000
"""Bytes of a card's picture that count as a message."""


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
    try:
        batch = await asyncio.to_thread(next, batches, None)
        while batch is not None:
            for report, card in batch.cards:
                role = await _as_chosen(store, card.role)
                report.cards.append(role)
                if library is not None:
                    report.notes.update(_unsent_notes(role, library))
                if not dry_run:
                    await store.roles.save(role, card.picture)
            cards = [role for report in reports for role in report.cards]
            transcripts = [
                await _with_participants(
                    store, transcript, participants, cards, conversation.place, user
                )
                for _, conversation, transcript, user in batch.conversations
            ]
            # The next batch is read while this one is written. Reading changes the reports: nothing
            # else does meanwhile.
            reading = asyncio.create_task(asyncio.to_thread(next, batches, None))
            try:
                results = await store.transcripts.add_many(transcripts, dry_run=dry_run)
            finally:
                await asyncio.wait((reading,))
            for (report, conversation, _, _), imported in zip(
                batch.conversations, results, strict=True
            ):
                _count(report, conversation, imported)
            if progress is not None:
                progress(batch.report)
            batch = await reading
    finally:
        batches.close()  # and the file that is being read
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
    """Return the role of a card with what was chosen for it if it is there already, and with a
    preset that sends the card if none was.
    """
    stored = await store.roles.get(role.role_id)
    if stored is None:
        return replace(role, preset=role.preset or CARD_PRESET)
    chosen = {"model": stored.model, "settings": stored.settings, "status": stored.status}
    return replace(role, preset=stored.preset or role.preset or CARD_PRESET, **chosen)


def _unsent_notes(role: Role, library: Library) -> Iterator[str]:
    """Yield what requests with a card's role and its preset do not carry, as sentences."""
    try:
        preset = library.preset(role.preset)
    except InputError as error:
        yield f"“{one_line(role.name, 60)}” has a preset that cannot be read: {error}"
        return
    inputs = Inputs(Endpoint("", Protocol.OPENAI_CHAT, ""), preset, role=role)
    nothing_counted = Counter("", exact=False, count=lambda _: 0)
    for note in build(inputs, lambda _: nothing_counted).notes:
        if note.code in ("character-not-sent", "role-prompt-skipped"):
            yield note.sentence
    world = role.character.world if role.character is not None else ""
    if world and world not in library.names("lorebooks"):
        yield (
            f"The lorebook “{one_line(world, 60)}”, to which “{one_line(role.name, 60)}” is "
            "linked, is not in your library. Import it before you start a session."
        )


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
    cards: list[tuple[Report, FoundCard]] = field(default_factory=list[tuple[Report, FoundCard]])
    size: int = 0
    """About the number of messages that take as long to store."""


def _batches(
    reports: Iterable[Report], taker: LibraryImport | None
) -> Generator[_Batch, None, None]:
    """Read the files; yield non-empty batches of conversations and cards, and report the rest."""
    batch: _Batch | None = None
    for report in reports:
        user: _UserFolder | None = None
        reader = ImportReader(report, taker)
        try:
            if taker is not None and report.path.is_dir():
                importer = folder_import(report.path, taker, report)
                user = None if importer is None else _UserFolder(importer)
            for item in reader.read() if user is None else _in_user_folder(user, reader):
                if isinstance(item, FoundConversation) and item.transcript is None:
                    if not item.ignored:
                        report.fault(item.place, item.fault, item.advice)
                    continue
                batch = batch or _Batch(report)
                batch.report = report
                if isinstance(item, FoundCard):
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


def _in_user_folder(user: _UserFolder, reader: ImportReader) -> Iterator[Importable]:
    """Yield the cards and chats of a user's folder, and take the rest."""

    def read_file(place: str, path: Path) -> Iterator[Importable]:
        with open_file(path) as file:
            source = ImportSource(path, path.name)
            yield from replace(reader, taker=None).read_one_of_many(place, file, source)

    try:
        yield from user.importer.read(read_file)
    except OSError as error:
        raise InputError(f"cannot be read: {fault_reason(error)}") from error


FILE_KINDS: tuple[Kind, ...] = ("presets", "lorebooks", "profiles")
"""The kinds of files of the library that are imported."""
COMPLETED = "A message that was incomplete at the last import is complete now."
DIFFERENT = "A message has changed since the last import; the stored one stays."

"""Imports conversations from files into the store.

1. Files are read in pieces on a thread. Their conversations are stored in batches, each in one
   transaction, so a user who chats meanwhile waits for one batch at most. A batch may contain the
   conversations of many small files.
2. A broken conversation is reported with its place, and the rest is imported. What is stored
   remains when the import is stopped.
3. A character card (a picture, JSON or a CharX archive) becomes a role, with a preset that sends
   it. A newer version of a card replaces the older one, with the model, the settings and the preset
   that were chosen for the role meanwhile.
4. Lorebooks and the presets of other programs become files of the library. The folder of another
   program's user is imported as a whole, see `FolderFormat`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tui_chat.errors import InputError
from tui_chat.interop.formats import FolderImport, FoundConversation, folder_import
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.role import CARD_PRESET
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.transcripts.added_files import LibraryImport
from tui_chat.plugins.transcripts.files import FileReader, FoundCard, Importable, fault_reason
from tui_chat.plugins.transcripts.participants import ChatParticipants, profile_files
from tui_chat.plugins.transcripts.report import Report

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.role import Role
    from tui_chat.models.session import ImportResult, SessionTranscript
    from tui_chat.store import Store
    from tui_chat.workspace.workspace import Workspace

COMPLETED = "A message that was incomplete at the last import is complete now."
DIFFERENT = "A message has changed since the last import; the stored one stays."
_BATCH = 2_000
"""Messages that are stored in one transaction, about."""
_MESSAGE_BYTES = 10_000
"""Bytes of a card's picture that count as a message."""


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


async def import_files(
    store: Store,
    paths: Iterable[Path],
    *,
    dry_run: bool = False,
    progress: Callable[[Report], object] | None = None,
    library: Library | None = None,
    watch: Callable[[Report, FoundConversation], FoundConversation] | None = None,
) -> tuple[Report, ...]:
    """Import all conversations of files and folders; return a report for each path. Presets and
    lorebooks go into `library`, and are skipped without one.

    `progress` is called with the current report after every batch. With `dry_run` nothing is
    stored, and the reports say what would be. New chats with a character get the role and the
    profile of the names in them if there is a library. `watch` is called in a thread with each
    conversation that was read, and returns the one that is stored. Raises StoreError.
    """
    adder = participants = None
    if library is not None:
        adder = LibraryImport(library, write=not dry_run)
        profiles = await asyncio.to_thread(profile_files, library)
        participants = ChatParticipants(await store.roles.list(), profiles)
    reports = tuple(Report(path, adder) for path in paths)
    batches = _batches(reports, watch or (lambda _, found: found))
    try:
        batch = await _next_batch(batches)
        while batch is not None:
            for report, card in batch.cards:
                role = await _as_chosen(store, card.role)
                report.cards.append(role)
                if adder is not None:
                    report.notes.update(adder.unsent_notes(role))
                if not dry_run:
                    await store.roles.save(role, card.picture)
            cards = [role for report in reports for role in report.cards]
            transcripts = [
                await _with_participants(store, conversation, participants, cards)
                for conversation in batch.conversations
            ]
            # The next batch is read while this one is written. Reading changes the reports: nothing
            # else does meanwhile.
            reading = asyncio.create_task(_next_batch(batches))
            try:
                results = await store.transcripts.add_many(transcripts, dry_run=dry_run)
            finally:
                await asyncio.wait((reading,))
            for (report, found, *_), imported in zip(batch.conversations, results, strict=True):
                _count(report, found, imported)
            if progress is not None:
                progress(batch.report)
            batch = await reading
    finally:
        batches.close()  # and the file that is being read
    if not dry_run:
        await _choose_profile(store, reports)
    return reports


async def _next_batch(batches: Generator[_Batch]) -> _Batch | None:
    """Read the next batch in a thread. If the caller is cancelled, the thread ends first."""
    reading = asyncio.create_task(asyncio.to_thread(next, batches, None))
    try:
        return await asyncio.shield(reading)
    except asyncio.CancelledError:
        await asyncio.wait((reading,))
        raise


async def import_into(
    workspace: Workspace,
    paths: Iterable[Path],
    *,
    dry_run: bool = False,
    progress: Callable[[Report], object] | None = None,
) -> tuple[Report, ...]:
    """Import files and folders while the user chats, and list what is new; see `import_files`.
    Raises StoreError.
    """
    store, library = workspace.store, workspace.library
    reports = await import_files(store, paths, dry_run=dry_run, progress=progress, library=library)
    if not dry_run:
        await workspace.session_list.refresh()
        await workspace.roles.refresh()
        await workspace.settings.take_chosen_profile()
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


async def _with_participants(
    store: Store,
    conversation: _Conversation,
    participants: ChatParticipants | None,
    cards: Sequence[Role],
) -> SessionTranscript:
    report, found, transcript, user = conversation
    is_chat = user is not None or transcript.character or transcript.user
    if not is_chat or await store.sessions.get(transcript.session.session_id) is not None:
        return transcript
    if user is not None:
        return user.importer.session(found.place, transcript, user.roles)
    if participants is None:
        return transcript
    transcript = participants.assign(transcript, cards)
    if transcript.character and transcript.session.role_id is None:
        name = one_line(transcript.character, 60)
        advice = "Import its card first to use the character's texts."
        report.notes[f"No role is called “{name}”, which {{{{char}}}} is. {advice}"] += 1
    return transcript


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


def _batches(
    reports: Iterable[Report], watch: Callable[[Report, FoundConversation], FoundConversation]
) -> Generator[_Batch]:
    """Read the files; yield non-empty batches of conversations and cards, and report the rest."""
    batch: _Batch | None = None
    for report in reports:
        try:
            user = _user_folder(report)
            for item in FileReader(report).read() if user is None else _in_folder(user, report):
                if isinstance(item, FoundConversation) and item.transcript is None:
                    if not item.ignored:
                        report.fault(item.place, item.fault, item.advice)
                    continue
                batch = batch or _Batch(report)
                batch.report = report
                if isinstance(item, FoundCard):
                    batch.cards.append((report, _as_in_folder(item, user)))
                    batch.size += len(item.picture) // _MESSAGE_BYTES + 1
                else:
                    found = watch(report, item)
                    assert found.transcript is not None
                    batch.conversations.append((report, found, found.transcript, user))
                    batch.size += len(found.transcript.entries) + 1
                if batch.size >= _BATCH:
                    yield batch
                    batch = None
        except InputError as error:
            report.fault("", str(error), error.advice)
    if batch is not None:
        yield batch


def _user_folder(report: Report) -> _UserFolder | None:
    if report.adder is None or not report.path.is_dir():
        return None
    importer = folder_import(report.path, report)
    return None if importer is None else _UserFolder(importer)


def _as_in_folder(card: FoundCard, user: _UserFolder | None) -> FoundCard:
    """Return a card as the user of a folder has it."""
    if user is None:
        return card
    user.roles[card.place] = role = user.importer.card(card.place, card.role)
    return replace(card, role=role)


def _in_folder(user: _UserFolder, report: Report) -> Iterator[Importable]:
    """Yield the cards and chats of a user's folder, and take the rest."""
    try:
        yield from user.importer.read(FileReader(report).read_file)
    except OSError as error:
        raise InputError(f"cannot be read: {fault_reason(error)}") from error

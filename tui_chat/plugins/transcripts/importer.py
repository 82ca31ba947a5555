"""Imports conversations, character cards and files of the library from files.

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
5. The speakers of a chat are found by name: roles by theirs, of several the newest enabled one;
   profiles by theirs or their file's. Where there is none, the names are settings of the session,
   so that `{{char}}` and `{{user}}` are right all the same. Chats that are in the database already
   keep what they have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from tui_chat.context import Inputs, build
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, decode_text
from tui_chat.interop.formats import FolderImport, FoundConversation, folder_import
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import ImportNote, preset_reader
from tui_chat.library.presets import dump_preset
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.json_text import object_or_none, parse_json
from tui_chat.models.role import CARD_PRESET
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.transcripts.files import FileReader, FoundCard, Importable, fault_reason
from tui_chat.plugins.transcripts.report import Report
from tui_chat.tokens import Counter

if TYPE_CHECKING:
    from tui_chat.library.library import Kind, Library
    from tui_chat.models.role import Role
    from tui_chat.models.session import ImportResult, SessionTranscript
    from tui_chat.store import Store
    from tui_chat.workspace.workspace import Workspace


def profile_files(library: Library) -> dict[str, str]:
    """Return the files of profiles by the names in them and by their own, in lower case; files
    that cannot be read have only their own.
    """
    files: dict[str, str] = {}
    for file in library.names("profiles"):
        with suppress(InputError):
            files.setdefault(library.profile(file).name.casefold(), file)
    return {**files, **{file.casefold(): file for file in library.names("profiles")}}


@dataclass(slots=True)
class ChatParticipants:
    """Finds the role and the profile of each imported chat."""

    roles: Sequence[Role]
    profiles: Mapping[str, str]
    """See `profile_files`."""

    def assign(self, transcript: SessionTranscript, cards: Sequence[Role]) -> SessionTranscript:
        """Return a new chat with role, profile and names; `cards` are roles imported with it."""
        character, user = transcript.character, transcript.user
        if not (character or user):
            return transcript
        session, settings = transcript.session, transcript.session.settings
        role_id = self._role(character, cards)
        profile = self.profiles.get(user.casefold())
        if role_id is None:
            settings = replace(settings, char_name=character or None)
        if profile is None:
            settings = replace(settings, user_name=user or None)
        role = next((card for card in cards if card.role_id == role_id), None)
        session = replace(session, role_id=role_id, profile=profile or "", settings=settings)
        return replace(transcript, session=session, role=role)

    def _role(self, name: str, cards: Sequence[Role]) -> str | None:
        for role in reversed((*self.roles, *cards)):
            if name and role.name.casefold() == name.casefold() and role.status == "enabled":
                return role.role_id
        return None


class LibraryImport:
    """Adds files to the library."""

    def __init__(self, library: Library, *, write: bool) -> None:
        """Without `write` nothing is stored, and the report says what would be."""
        self._library = library
        self._write = write

    def add(self, kind: Kind, name: str, text: str, report: Report) -> str:
        """Add a file and return its name; an equal file is reused. Raises InputError."""
        name_there, is_new = self._library.add_file(kind, name, text, write=self._write)
        report.take(kind, name_there, is_new=is_new)
        return name_there

    def take(self, path: str, file: IO[bytes], report: Report) -> bool:
        """Add another program's preset, or a lorebook; return False if the file is neither."""
        file.seek(0)
        content = file.read(MAX_BYTES + 1)
        name = Path(path).stem
        try:
            text = decode_text(content, Path(path))
            value = object_or_none(parse_json(text, path)) if len(content) <= MAX_BYTES else None
        except InputError:
            return False
        if value is None:
            return False
        if (presets := preset_reader(value)) is not None:
            try:
                imported = presets.parse(text, path, name)
            except InputError:
                return False
            report.notes.update(worth_telling(imported.notes))
            self.add("presets", name, dump_preset(imported.preset), report)
            return True
        if not isinstance(value.get("entries"), dict | list):
            return False
        from tui_chat.library.lorebooks import read_lorebook

        if read_lorebook(text, name).book is None:
            return False
        self.add("lorebooks", name, text, report)
        return True

    def unsent_notes(self, role: Role) -> Iterator[str]:
        """Yield what requests with a card's role and its preset do not carry, as sentences."""
        name = one_line(role.name, 60)
        try:
            preset = self._library.preset(role.preset)
        except InputError as error:
            yield f"“{name}” has a preset that cannot be read: {error}"
            return
        inputs = Inputs(Endpoint("", Protocol.OPENAI_CHAT, ""), preset, role=role)
        nothing_counted = Counter("", exact=False, count=lambda _: 0)
        for note in build(inputs, lambda _: nothing_counted).notes:
            if note.code in ("character-not-sent", "role-prompt-skipped"):
                yield note.sentence
        world = role.character.world if role.character is not None else ""
        if world and world not in self._library.names("lorebooks"):
            yield (
                f"The lorebook “{one_line(world, 60)}”, to which “{name}” is linked, is not in "
                "your library. Import it before you start a session."
            )


def worth_telling(notes: Iterable[ImportNote]) -> Iterator[str]:
    """Yield the sentences about what is lost or changed in a preset, not those that explain."""
    return (note.sentence for note in notes if note.is_loss)


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
            user: _UserFolder | None = None
            if report.adder is not None and report.path.is_dir():
                folder = folder_import(report.path, report)
                user = None if folder is None else _UserFolder(folder)
            for item in FileReader(report).read() if user is None else _in_folder(user, report):
                if isinstance(item, FoundConversation) and item.transcript is None:
                    if not item.ignored:
                        report.fault(item.place, item.fault, item.advice)
                    continue
                batch = batch or _Batch(report)
                batch.report = report
                if isinstance(item, FoundCard):
                    if user is not None:
                        role = user.importer.card(item.place, item.role)
                        user.roles[item.place] = role
                        item = replace(item, role=role)
                    batch.cards.append((report, item))
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


def _in_folder(user: _UserFolder, report: Report) -> Iterator[Importable]:
    """Yield the cards and chats of a user's folder, and take the rest."""
    try:
        yield from user.importer.read(FileReader(report).read_file)
    except OSError as error:
        raise InputError(f"cannot be read: {fault_reason(error)}") from error

"""The files of other programs that a viewer lists: found at once, read when they are opened.

1. A folder is walked for names and sizes only: 10,000 files take a tenth of a second.
2. What a file is called comes from its first and last few kilobytes; the rest is read when it is
   opened. A file that is of no known format is dropped then.
3. A file that holds several conversations is listed as one session until it is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO

from tui_chat.errors import InputError, located
from tui_chat.files import open_file
from tui_chat.interop.formats import ImportSource
from tui_chat.interop.reader import known_formats, read_conversations
from tui_chat.interop.transcript_builder import FoundConversation, stable_id
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.plugins.transcripts.foreign_database import MAGIC
from tui_chat.plugins.transcripts.subagents import FOLDER, session_of
from tui_chat.workspace.import_reader import (
    ENDINGS,
    ZIP_SIGNATURE,
    archive_members,
    conversations_in_archive,
    is_zip,
)
from tui_chat.workspace.import_report import Fault

_MOST_FILES = 200_000
_PIECE = 2**20
_HEADS, _TAIL = (8 * 2**10, 128 * 2**10, 2 * 2**20), 4 * 2**10
"""Bytes that are read to learn a title: a larger number where no title is found."""
_MOST_MEMBERS = 20
"""Files of an archive that are looked at to learn whether it has conversations."""
_LARGEST_WHOLE = 256 * 2**10
"""Bytes of a file that is no JSON lines and is read as a whole to learn its title."""
_MOST_FAULTS = 100


@dataclass(slots=True)
class ListedFile:
    """A file as it is listed."""

    path: Path
    folder: str
    """Its place within the listed folder; the project, once that is known."""
    size: int
    modified: float
    """Seconds since the epoch, UTC."""
    session_id: str
    read_as: tuple[int, float] | None = None
    """Its size and time when it was read; None if it was not."""

    @property
    def state(self) -> tuple[int, float]:
        """Its size and time: others mean that it changed."""
        return self.size, self.modified

    def refresh(self) -> bool:
        """Look at the file again; return True if it is not as it was read. Raises OSError."""
        status = self.path.stat()
        self.size, self.modified = status.st_size, status.st_mtime
        return self.state != self.read_as

    def session(self) -> Session:
        """Return the session that stands for it before anything is read."""
        return Session(
            self.session_id,
            self.path.stem[:200],
            folder=self.folder,
            created=self.modified,
            updated=self.modified,
            tags=("subagent",) if self.path.parent.name == FOLDER else (),
        )


@dataclass(frozen=True, slots=True)
class FileHeading:
    """The facts of a conversation that the beginning and end of its file state."""

    title: str = ""
    model: str = ""
    project: str = ""
    created: float = 0.0
    updated: float = 0.0
    """The times of its beginning and of its last message, in seconds since the epoch; 0 if it does
    not say."""
    program: str = ""
    """The program that wrote it."""
    is_known: bool = True
    """False if it is of no known format, or holds no conversation."""


def find_files(roots: Iterable[Path]) -> list[ListedFile]:
    """Return the files in folders, and those that are named themselves, the newest first.

    Links within folders are not followed. Raises InputError for a root that cannot be read.
    """
    files: dict[Path, ListedFile] = {}
    roots = list(roots)
    for root in roots:
        try:
            if not root.is_dir():
                facts = root.stat()
                files[root] = _listed(root, "", facts)
                continue
            prefix = _program(root) if len(roots) > 1 else ""
            for path, facts in islice(_walk(root), _MOST_FILES):
                files[path] = _listed(path, _folder(root, path, prefix), facts)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{root} cannot be read: {reason}.") from error
    return sorted(files.values(), key=lambda file: file.modified, reverse=True)


def _listed(path: Path, folder: str, facts: os.stat_result) -> ListedFile:
    return ListedFile(path, folder, facts.st_size, facts.st_mtime, session_of(path))


def _walk(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                files = list(entries)
        except OSError:
            if here == folder:
                raise
            continue
        for entry in files:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith("."):
                        waiting.append(Path(entry.path))
                elif _may_hold(entry.name) and entry.is_file(follow_symlinks=False):
                    yield Path(entry.path), entry.stat(follow_symlinks=False)
            except OSError:
                continue


def _may_hold(name: str) -> bool:
    return (name.lower().endswith(ENDINGS) or is_zip(name)) and not name.endswith(".meta.json")


def _folder(root: Path, path: Path, prefix: str) -> str:
    parts = path.relative_to(root).parent.parts
    if parts[-1:] == (FOLDER,):
        parts = parts[:-2]
    return " / ".join(filter(None, (prefix, *parts)))


def _program(root: Path) -> str:
    """Return a name for a root: of the folder in the home that it is in."""
    named = next((part for part in root.parts if part.startswith(".")), root.name)
    return named.lstrip(".")


def heading_of(file: ListedFile) -> FileHeading:
    """Return what the beginning and end of a file say of it. Raises OSError."""
    source = ImportSource(name=file.path.name)
    with open_file(file.path) as opened:
        for size in _HEADS:
            opened.seek(0)
            head = opened.read(size)
            if head.startswith(MAGIC):
                return FileHeading(file.path.name)
            if head.startswith(ZIP_SIGNATURE):
                opened.seek(0)
                return _heading_of_archive(file.path.name, opened)
            is_whole = len(head) < size
            if not is_whole:
                head += _tail(opened, head)
            conversations = list(islice(read_conversations([head], source=source), 50))
            first = next(filter(_is_read, conversations), None)
            # The first lines may be what the program puts in front of the user's words.
            is_titled = first is not None and (is_whole or size == _HEADS[-1] or _title(first))
            if first is not None and is_titled:
                return _heading(first)
            if is_whole:
                return FileHeading(is_known=False)
    if file.size > _LARGEST_WHOLE:
        return FileHeading()
    conversations = list(filter(_is_read, _read(file)))
    return _heading(conversations[0]) if conversations else FileHeading(is_known=False)


def _is_read(conversation: FoundConversation) -> bool:
    return conversation.transcript is not None


def _title(conversation: FoundConversation) -> str:
    return conversation.transcript.session.title if conversation.transcript is not None else ""


def _heading(conversation: FoundConversation) -> FileHeading:
    assert conversation.transcript is not None
    session = conversation.transcript.session
    return FileHeading(
        session.title,
        session.model,
        conversation.project,
        session.created,
        session.updated,
        conversation.program,
    )


def _heading_of_archive(name: str, opened: IO[bytes]) -> FileHeading:
    """Return what the first conversation in an archive says; its title is the archive's name."""
    try:
        for member in islice(archive_members(opened), _MOST_MEMBERS):
            conversations = islice(read_conversations([member.read(_HEADS[1])]), 50)
            first = next(filter(_is_read, conversations), None)
            if first is not None:
                return replace(_heading(first), title=name, model="", created=0.0, updated=0.0)
    except InputError:
        return FileHeading(name)  # opening it says what is wrong
    return FileHeading(is_known=False)


def require_conversations(roots: Sequence[Path]) -> None:
    """Raise InputError if no path can be read or holds conversations of a known format."""
    if any(_has_files(root) for root in roots if root.is_dir()):
        return
    files = find_files([root for root in roots if not root.is_dir()])
    if not files:
        raise InputError("There is no conversation in the folder.", advice=known_formats())
    if len(files) > 1:
        return
    try:
        if not heading_of(files[0]).is_known:
            require_transcript(files[0], read_listed(files[0], set(), lambda _: None))
    except OSError as error:
        raise InputError(f"{files[0].path} cannot be read: {error.strerror}.") from error


def _has_files(folder: Path) -> bool:
    try:
        return next(_walk(folder), None) is not None
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}.") from error


def require_transcript(file: ListedFile, content: FileContent) -> None:
    """Raise InputError if there is no conversation in what was read."""
    if not content.sessions:
        fault = content.faults[0] if content.faults else Fault("", "has no message")
        sentence = located(fault.place, fault.sentence)
        raise InputError(
            f"{located(one_line(str(file.path), 200), sentence)}.", advice=fault.advice
        )


def _tail(opened: IO[bytes], head: bytes) -> bytes:
    """Return the last lines of a file, to follow its first lines."""
    cut = len(head) - (head.rfind(b"\n") + 1)
    opened.seek(-_TAIL, os.SEEK_END)
    tail = opened.read(_TAIL)
    _, _, lines = tail.partition(b"\n")
    return (b"\n" if cut else b"") + lines


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A conversation of a file, with the ids that it has in the list."""

    transcript: SessionTranscript
    own_id: str
    """The id of the session as the importer gives it."""
    source: FoundConversation
    """The conversation as it was read; `parent_id` there is an id of the importer's, too."""


@dataclass(slots=True)
class FileContent:
    """The conversations and faults of a file."""

    sessions: list[ListedSession] = field(default_factory=list[ListedSession])
    """The first has the id of the file's session."""
    faults: list[Fault] = field(default_factory=list[Fault])
    more_faults: int = 0


def read_listed(
    file: ListedFile,
    others: set[Path],
    progress: Callable[[int], object],
    is_stopped: Callable[[], bool] = lambda: False,
) -> FileContent:
    """Read a file, unless `is_stopped` returns True within; those in `others` are not read with it.
    Raises InputError.

    `progress` is called with the bytes that were read so far.
    """
    content = FileContent()
    for conversation in _read(file, others, progress):
        if is_stopped():
            raise InputError(f"{file.path} was not read to its end.")
        _take(content, file, conversation)
    return content


def _read(
    file: ListedFile,
    others: set[Path] | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> Iterator[FoundConversation]:
    """Yield the conversations of a file. Raises InputError."""
    source = ImportSource(file.path, file.path.name, set() if others is None else others)
    try:
        with open_file(file.path) as opened:
            is_archive = opened.read(len(ZIP_SIGNATURE)) == ZIP_SIGNATURE
            opened.seek(0)
            if is_archive:
                yield from conversations_in_archive(opened)
            else:
                yield from read_conversations(_pieces(opened, progress), source=source)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{file.path} cannot be read: {reason}.") from error


def _take(content: FileContent, file: ListedFile, conversation: FoundConversation) -> None:
    if conversation.transcript is not None:
        own_id = conversation.transcript.session.session_id
        session_id = stable_id(file.session_id, own_id) if content.sessions else file.session_id
        transcript = _renamed(conversation.transcript, session_id)
        content.sessions.append(ListedSession(transcript, own_id, conversation))
    elif conversation.fault and len(content.faults) < _MOST_FAULTS:
        content.faults.append(Fault(conversation.place, conversation.fault, conversation.advice))
    elif conversation.fault:
        content.more_faults += 1


def _renamed(transcript: SessionTranscript, session_id: str) -> SessionTranscript:
    """Return a transcript with ids of this session: two files may hold the same conversation."""
    begun = session_id[:12]

    def renamed(message_id: str) -> str:
        kept = message_id[12:] if len(message_id) == 32 else ""
        return begun + (kept or sha256(message_id.encode()).hexdigest()[:20])

    entries = tuple(
        replace(
            entry,
            message=replace(entry.message, id=renamed(entry.message.id)),
            parent_id=None if entry.parent_id is None else renamed(entry.parent_id),
        )
        for entry in transcript.entries
    )
    head_id = transcript.session.head_id
    session = replace(
        transcript.session,
        session_id=session_id,
        head_id=None if head_id is None else renamed(head_id),
    )
    recorded = tuple(
        replace(stored, message_id=renamed(stored.message_id))
        for stored in transcript.requests
        if stored.request.is_recorded
    )
    return replace(transcript, session=session, entries=entries, requests=recorded, revisions=())


def _pieces(opened: IO[bytes], progress: Callable[[int], object]) -> Iterator[bytes]:
    done = 0
    while piece := opened.read(_PIECE):
        done += len(piece)
        progress(done)
        yield piece


def holds_words(file: ListedFile, words: tuple[tuple[bytes, ...], ...]) -> bool:
    """Return True if a file has a spelling of each word. Raises OSError and InputError."""
    missing = set(range(len(words)))
    overlap = max((len(spelling) for word in words for spelling in word), default=0)
    before = b""
    with open_file(file.path) as opened:
        is_archive = opened.read(len(ZIP_SIGNATURE)) == ZIP_SIGNATURE
        opened.seek(0)
        for member in archive_members(opened) if is_archive else [opened]:
            while missing and (piece := member.read(_PIECE)):
                text = before + piece.lower()
                missing -= {n for n in missing if any(spelling in text for spelling in words[n])}
                before = text[-overlap:]
    return not missing


def spellings(word: str) -> tuple[bytes, ...]:
    """Return how a word may be written in a file, in lower case: plain, and escaped as in JSON."""
    forms = {word, word.casefold(), word.lower(), word.upper(), word.capitalize()}
    plain = {form.encode("utf-8", "replace").lower() for form in forms}
    escaped = {
        "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in form).encode().lower()
        for form in forms
        if all(ord(c) < 0x10000 for c in form)
    }
    return tuple(plain | escaped)

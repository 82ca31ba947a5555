"""Descriptions of the formats in which other programs keep conversations, and results of reading.

A `Format` of a plugin's manifest names a tuple of these. Each is detected by content. What a reader
returns is a `FoundConversation` for each conversation and each fault: a broken one of thousands
does not affect the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar, cast

from tui_chat.errors import InputError, located
from tui_chat.files import open_file
from tui_chat.hooks import load_all
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import JsonObject, type_name
from tui_chat.models.role import Role
from tui_chat.models.session import SessionTranscript

T = TypeVar("T")

_PIECE = 2**20


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """One conversation of a file, or the reason why it cannot be read."""

    place: str
    """The place in the file: a JSON path (`$[3].mapping`) or a line (`line 4`); empty for the
    whole file."""
    transcript: SessionTranscript | None = None
    fault: str = ""
    """The reason why it cannot be read; empty if it could."""
    notes: tuple[str, ...] = ()
    """A sentence for each loss, so that equal ones can be counted."""
    advice: str = ""
    """Advice on the fault."""
    unknown: bool = False
    """True if its format is unknown."""
    ignored: bool = False
    """True if it is not a conversation but an account or a project, or a conversation without
    messages."""
    parent_id: str = ""
    """The id of the session that it is a subagent of; empty for any other conversation."""
    call_id: str = ""
    """The tool call there that started it, if it is known."""
    program: str = ""
    """The program that wrote it; empty for our own files and plain lists of messages."""
    project: str = ""
    """The folder that the program worked in, if it is known."""
    subagents: tuple[tuple[str, str], ...] = ()
    """The calls that started subagents whose files are elsewhere, and the ids of their sessions."""


class UnreadableConversation(InputError):
    """A conversation cannot be read."""

    def __init__(self, place: str, fault: str, *, advice: str = "") -> None:
        super().__init__(located(place, fault), advice=advice)
        self.place = place
        """The place within the conversation: `.mapping`."""
        self.fault = fault


class NoCard(InputError):
    """A file is not a character card, though it may be a picture or an archive."""


Reading: TypeAlias = "tuple[SessionTranscript, list[str]]"
"""A conversation, and sentences on what it does not hold."""


def readable(
    place: str,
    value: object,
    read: Callable[[JsonObject], Reading],
    *,
    may_be_empty: bool = False,
) -> FoundConversation:
    """Return the result of reading a value, which must be an object.

    A conversation without messages is ignored, or an error if it had something unreadable; with
    `may_be_empty` it is accepted.
    """
    if not isinstance(value, dict):
        return FoundConversation(place, fault=f"must be an object, not {type_name(value)}")
    try:
        transcript, notes = read(cast("JsonObject", value))
    except UnreadableConversation as error:
        return FoundConversation(place + error.place, fault=error.fault, advice=error.advice)
    except RecursionError:
        return FoundConversation(place, fault="is nested too deeply")
    if transcript.entries or may_be_empty:
        return FoundConversation(place, transcript, notes=tuple(notes))
    if notes:
        return FoundConversation(place, fault=f"has no readable message. {notes[0]}")
    return FoundConversation(place, ignored=True)


@dataclass(slots=True)
class ImportSource:
    """The file that is read, for what a format keeps beside it or in its name."""

    path: Path | None = None
    """None for a file in an archive, or a text that is not in a file."""
    name: str = ""
    """The name of the file, without folder."""
    companions: set[Path] = field(default_factory=set[Path])
    """Other files that were read with it, and are not read again on their own."""

    def pieces(self, path: Path) -> Iterator[bytes]:
        """Yield the content of another file that belongs to this one. Raises InputError."""
        self.companions.add(path)
        try:
            with open_file(path) as file:
                while piece := file.read(_PIECE):
                    yield piece
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot be read: {reason}") from error


@dataclass(frozen=True, slots=True)
class ObjectFormat:
    """A conversation that is one JSON object, in an array, in JSON lines, or alone."""

    detect: Callable[[JsonObject], bool]
    read: Callable[[JsonObject], Reading] | None
    """Raises UnreadableConversation. None for other objects between conversations."""


@dataclass(frozen=True, slots=True)
class ListFormat:
    """A JSON object with a list that is read element by element."""

    keys: tuple[str, ...]
    """The keys that lead to the list: one or two."""
    detect: Callable[[JsonObject], bool]
    """True for the members before the list, or before the object that has it."""
    read: Callable[[Iterable[tuple[str, object]], JsonObject], Iterator[FoundConversation]]
    """Gets the elements with their places, and these members. Raises UnreadableConversation."""


class RecordReader(Protocol):
    """Reads the records of one file."""

    def take(self, record: JsonObject, /) -> str:
        """Take in a record; return why it cannot be used, an empty text if it can."""
        ...

    def conversations(self) -> Iterator[FoundConversation]:
        """Yield what the records hold, at the end of the file."""
        ...


@dataclass(frozen=True, slots=True)
class LinesFormat:
    """A conversation of one JSON object a line."""

    detect: Callable[[JsonObject], bool]
    """True for a record of this format that no other format has."""
    open: Callable[[ImportSource], RecordReader]


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A text that is not JSON, read as a whole."""

    detect: Callable[[bytes], bool]
    """True for the beginning of such a text."""
    read: Callable[[Iterable[bytes], ImportSource], Iterator[FoundConversation]]


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file that is read where it lies, such as a database."""

    magic: bytes
    """The beginning of the file."""
    detect: Callable[[Path], bool]
    """Raises InputError for a file that cannot be read."""
    read: Callable[[Path, ImportSource], Iterator[FoundConversation]]


Format: TypeAlias = ObjectFormat | ListFormat | LinesFormat | TextFormat | FileFormat


# --- folders of other programs' users ---------------------------------------------------------

FileKind = Literal["presets", "lorebooks", "profiles"]
"""A kind of files of the library that an import adds."""


class ImportSink(Protocol):
    """Takes what is found in the folder of another program's user."""

    notes: Counter[str]
    """Sentences about what could not be imported unchanged, and how often each applies."""
    profile: str
    """The name of the profile that new chats have."""

    def add(self, kind: FileKind, name: str, text: str) -> str:
        """Add a file to the library; return its name there. Raises InputError."""
        ...

    def fault(self, place: str, sentence: str, advice: str = "") -> None:
        """Report something that could not be imported, with its path in the folder."""
        ...


class FolderImport(Protocol):
    """Imports the folder of another program's user as a whole: presets, lorebooks, profiles and
    cards become files and roles of the library, and its chats sessions that use them. Runs in a
    thread.
    """

    def read(self, read_file: Callable[[str, Path], Iterator[T]]) -> Iterator[T]:
        """Add what goes into the library, then yield what `read_file` returns for the files of
        cards and chats, by their paths in the folder.
        """
        ...

    def card(self, place: str, role: Role) -> Role:
        """Return the role of a card in the folder as this user has it."""
        ...

    def session(
        self, place: str, transcript: SessionTranscript, roles: Mapping[str, Role]
    ) -> SessionTranscript:
        """Return a chat in the folder with its role, profile, preset and lorebooks; `roles` are
        those of the cards by their paths in the folder.
        """
        ...


@dataclass(frozen=True, slots=True)
class FolderFormat:
    """The folder of a user of another program."""

    detect: Callable[[Path], bool]
    """True for such a folder; blocks."""
    open: Callable[[Path, ImportSink], FolderImport]


def folder_import(folder: Path, sink: ImportSink) -> FolderImport | None:
    """Return what imports a folder as a whole; None for one that is no user's folder; blocks."""
    formats: Iterator[FolderFormat] = load_all("folder reader", FolderFormat)
    fitting = (form for form in formats if form.detect(folder))
    return next((form.open(folder, sink) for form in fitting), None)

"""How a format is described: what it looks like, and the function that reads it.

A module for a format defines one or several of these, and `reader` lists them. Each is
detected by content. What a reader returns is a `FoundConversation` for each conversation and each
fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from tui_chat.errors import InputError
from tui_chat.files import open_file
from tui_chat.interop.foreign_database import ForeignDatabase
from tui_chat.interop.json_stream import JsonLines, JsonStream
from tui_chat.interop.transcript_builder import FoundConversation
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import JsonObject
from tui_chat.models.transcript import SessionTranscript

_PIECE = 2**20


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


Reading: TypeAlias = "tuple[SessionTranscript, list[str]]"
"""A conversation, and sentences on what it does not hold."""


@dataclass(frozen=True, slots=True)
class ObjectFormat:
    """A conversation that is one JSON object, in an array, in JSON lines, or alone."""

    label: str
    """What error messages call it."""
    detect: Callable[[JsonObject], bool]
    read: Callable[[JsonObject], Reading]
    """Raises UnreadableConversation."""
    program: str = ""
    """What the program is called that writes it; empty for none in particular."""


@dataclass(frozen=True, slots=True)
class StreamedFormat:
    """A JSON object whose conversations are in one of its members, read one by one."""

    label: str
    detect: Callable[[str, JsonObject], bool]
    """True if the member with this key holds them; the object has the members before it."""
    read: Callable[[JsonStream, JsonObject], Iterator[FoundConversation]]
    """Reads the value of that member."""
    opening: str = "["
    """How that value begins."""


@dataclass(frozen=True, slots=True)
class LinesFormat:
    """A conversation of one record a line."""

    label: str
    detect: Callable[[JsonObject], bool]
    """True for a record of this format that no other format has."""
    read: Callable[[JsonLines, ImportSource], Iterator[FoundConversation]]
    program: str = ""
    """What the program is called that writes it; empty for none in particular."""


@dataclass(frozen=True, slots=True)
class DatabaseFormat:
    """An SQLite database."""

    label: str
    detect: Callable[[frozenset[str]], bool]
    """True for the names of its tables."""
    read: Callable[[ForeignDatabase, ImportSource], Iterator[FoundConversation]]
    program: str = ""
    """What the program is called that writes it; empty for none in particular."""


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A text that is not JSON, read as a whole."""

    label: str
    detect: Callable[[bytes], bool]
    """True for the beginning of such a text."""
    read: Callable[[Iterable[bytes], ImportSource], Iterator[FoundConversation]]
    program: str = ""
    """What the program is called that writes it; empty for none in particular."""


Format: TypeAlias = ObjectFormat | StreamedFormat | LinesFormat | DatabaseFormat | TextFormat

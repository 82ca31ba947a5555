"""Descriptions of formats: how each is detected, and the function that reads it.

A module for a format defines `FORMATS`, one or several of these, and a `Format` of the manifest
(`reader`) or of a plugin names it. Each is detected by content. What a reader returns is a
`FoundConversation` for each conversation and each fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from tui_chat.errors import InputError
from tui_chat.files import open_file
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

    detect: Callable[[JsonObject], bool]
    read: Callable[[JsonObject], Reading] | None
    """Raises UnreadableConversation. None for other objects between conversations."""


@dataclass(frozen=True, slots=True)
class StreamedFormat:
    """A JSON object whose conversations are in one of its members, read one by one."""

    detect: Callable[[str, JsonObject], bool]
    """True if the member with this key holds them; the object has the members before it."""
    read: Callable[[JsonStream, JsonObject], Iterator[FoundConversation]]
    """Reads the value of that member."""
    opening: str = "["
    """The beginning of that value."""


@dataclass(frozen=True, slots=True)
class LinesFormat:
    """A conversation of one record a line."""

    detect: Callable[[JsonObject], bool]
    """True for a record of this format that no other format has."""
    read: Callable[[JsonLines, ImportSource], Iterator[FoundConversation]]


@dataclass(frozen=True, slots=True)
class DatabaseFormat:
    """A database, which is read where it lies."""

    magic: bytes
    """The beginning of the file."""
    detect: Callable[[Path], bool]
    """Raises InputError for a file that cannot be read."""
    read: Callable[[Path, ImportSource], Iterator[FoundConversation]]


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A text that is not JSON, read as a whole."""

    detect: Callable[[bytes], bool]
    """True for the beginning of such a text."""
    read: Callable[[Iterable[bytes], ImportSource], Iterator[FoundConversation]]


Format: TypeAlias = ObjectFormat | StreamedFormat | LinesFormat | DatabaseFormat | TextFormat

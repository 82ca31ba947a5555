"""Files of the library that an import adds, and the folders of other programs' users.

A plugin names a `FolderFormat` in its manifest. The folder of a user is imported as a whole:
presets, lorebooks, profiles and cards become files and roles of the library, and its chats sessions
that use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, TypeVar

from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, decode_text
from tui_chat.hooks import load_all
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import ImportNote, preset_reader
from tui_chat.library.presets import dump_preset
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import object_or_none, parse_json

if TYPE_CHECKING:
    from tui_chat.library.library import Kind, Library
    from tui_chat.models.role import Role
    from tui_chat.models.transcript import SessionTranscript
    from tui_chat.workspace.import_report import Report

T = TypeVar("T")


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


def worth_telling(notes: Iterable[ImportNote]) -> Iterator[str]:
    """Yield the sentences about what is lost or changed in a preset, not those that explain."""
    for note in notes:
        if note.lost or note.level is not Level.INFO:
            yield note.sentence


class FolderImport(Protocol):
    """Imports one user's folder of another program; runs in a thread."""

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
    open: Callable[[Path, LibraryImport, Report], FolderImport]


def folder_import(folder: Path, taker: LibraryImport, report: Report) -> FolderImport | None:
    """Return what imports a folder as a whole; None for one that is no user's folder; blocks."""
    formats: Iterator[FolderFormat] = load_all("folder reader", FolderFormat)
    fitting = (format for format in formats if format.detect(folder))
    return next((format.open(folder, taker, report) for format in fitting), None)

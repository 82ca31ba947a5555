"""Presets, character cards and lorebooks as other programs write them: what a plugin provides.

A plugin names a `PresetFiles`, a `CardFiles` or a `LoreForm` in its manifest. The core finds the
reader of a file by its content. What the reader cannot take over is named in notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_chat.errors import InputError
from tui_chat.hooks import load_all
from tui_chat.interop.formats import NoCard as NoCard
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, read_file_text
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import JsonObject
from tui_chat.models.preset import Preset
from tui_chat.models.role import Character, Role
from tui_chat.models.sanitize import sanitize

if TYPE_CHECKING:
    from tui_chat.library.typed_fields import FieldRows, Values


@dataclass(frozen=True, slots=True)
class ImportNote:
    """A note on what an import changed or could not take over."""

    level: Level
    sentence: str
    lost: bool = False
    """True for a key whose value has no effect here."""

    @property
    def is_loss(self) -> bool:
        """True if it says what is lost or changed, and does not explain."""
        return self.lost or self.level is not Level.INFO


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file as another program reads it."""

    json: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    """A sentence for each thing that the file cannot express."""

    @property
    def text(self) -> str:
        """The file; characters that a terminal would obey are escaped."""
        return sanitize(dumps(self.json, indent=4, ensure_ascii=False), "json") + "\n"


# --- presets -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImportedPreset:
    """An imported preset with its notes."""

    preset: Preset
    notes: tuple[ImportNote, ...]


@dataclass(frozen=True, slots=True)
class PresetFiles:
    """A program's form of presets."""

    program: str
    detect: Callable[[object], bool]
    """True for the JSON value of such a file."""
    parse: Callable[[str, str, str], ImportedPreset]
    """Reads a text; the source is what errors call it, then the preset's name. Raises InputError.
    """
    write: Callable[[Preset], ExportedFile]
    report: Callable[[Preset], Sequence[ImportNote]]
    """The notes of the import that a preset came from."""


def preset_files() -> Iterator[PresetFiles]:
    """Yield the readers of all plugins."""
    return load_all("preset reader", PresetFiles)


def first_preset_files() -> PresetFiles:
    """Return the reader and writer of another program's presets. Raises InputError without one."""
    return _first(preset_files(), "presets of other programs")


def import_preset_file(path: Path) -> ImportedPreset:
    """Import another program's preset under the file's name. Raises InputError."""
    text = read_file_text(path)
    files = preset_reader(JsonFile(text).value) or first_preset_files()
    return files.parse(text, str(path), path.stem)


def preset_reader(value: object) -> PresetFiles | None:
    """Return what reads the JSON value of another program's preset."""
    return next((files for files in preset_files() if files.detect(value)), None)


# --- character cards ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CardFiles:
    """The forms of character cards: JSON, pictures, archives."""

    largest: int
    """Bytes of a card file."""
    detect: Callable[[bytes], bool]
    """True for the content of a file that may be a card."""
    holds: Callable[[bytes], bool]
    """True for the content of a file that is a card."""
    read: Callable[[bytes, str], tuple[Role, bytes]]
    """The role of a card and its picture; the source is what errors call the file. Raises
    InputError, NoCard for another file."""
    write: Callable[[Role, bytes, str], bytes]
    """The file of a role with its picture, by the ending of its name. Raises InputError."""
    character: Callable[[JsonObject, str], Character]
    """The character in the JSON of a card; the source is what errors call it. Raises InputError."""
    fields: Callable[[Character], FieldRows]
    """The fields of a character as people edit them."""
    values: Callable[[Character], Values]
    """The contents of these fields."""
    edit: Callable[[Role, Values], JsonObject]
    """The JSON of the role's card with the typed values. Raises FieldError."""


def card_files() -> CardFiles:
    """Return what reads character cards. Raises InputError without a plugin for them."""
    return _first(load_all("card reader", CardFiles), "character cards")


# --- lorebooks ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EntryIssue:
    """Something of a lore entry that could not be imported unchanged."""

    level: Level
    code: str
    sentence: str
    path: tuple[str, ...] = ()
    """The path within the entry."""


@dataclass(frozen=True, slots=True)
class ForeignEntry:
    """A lore entry of another program."""

    fields: dict[str, Any]
    """By the field names of `LorebookEntry`."""
    extras: dict[str, Any]
    issues: list[EntryIssue] = field(default_factory=list[EntryIssue])


@dataclass(frozen=True, slots=True)
class LoreForm:
    """A program's form of lore entries, which the library keeps."""

    is_entry: Callable[[Mapping[str, Any]], bool]
    """True for an entry that only this program writes so."""
    read: Callable[[str | None, Mapping[str, Any]], ForeignEntry]
    """Reads an entry with its id."""


def lore_forms() -> tuple[LoreForm, ...]:
    """Return the forms of all plugins."""
    return tuple(load_all("lorebook reader", LoreForm))


def _first(values: Iterator[Any], what: str) -> Any:
    value = next(values, None)
    if value is None:
        raise InputError(f"No plugin that is installed reads {what}.")
    return value

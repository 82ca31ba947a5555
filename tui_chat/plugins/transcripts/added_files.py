"""Files of the library that an import adds: other programs' presets and lorebooks, and all that is
in the folder of another program's user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tui_chat.context import Inputs, build
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, decode_text
from tui_chat.library.foreign_files import ImportNote, preset_reader
from tui_chat.library.presets import dump_preset
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.json_text import object_or_none, parse_json
from tui_chat.models.sanitize import one_line
from tui_chat.tokens import Counter

if TYPE_CHECKING:
    from tui_chat.library.library import Kind, Library
    from tui_chat.models.role import Role
    from tui_chat.plugins.transcripts.report import Report


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

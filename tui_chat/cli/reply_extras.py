"""What a reply has besides its text: sources, pictures and other files, and blocks of code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_chat.errors import InputError
from tui_chat.files import write_new_file
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.citations import NO_REFERENCES, References
from tui_chat.models.json_values import pack
from tui_chat.models.media import describe, file_of
from tui_chat.models.message import Message, Part
from tui_chat.models.sanitize import one_line


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A picture, sound or file of a reply."""

    part: Part
    path: Path | None
    """Where it was saved; None if it was not."""
    why: str = ""
    """Why it was not saved, as the end of a sentence."""

    @property
    def sentence(self) -> str:
        """Say where it is, or why it is nowhere."""
        what = f"{self.part.kind} ({one_line(describe(self.part), 120) or 'of unknown type'})"
        if self.path is not None:
            return f"Saved the {what} to {self.path}."
        if self.part.url:
            return f"The {what} is at {one_line(self.part.url, 2000)}."
        return f"The {what} was not saved: {self.why}"

    def json(self) -> dict[str, Any]:
        """Return it as `ask --json` prints it."""
        return {
            "kind": self.part.kind,
            "mime": self.part.mime or None,
            "path": None if self.path is None else str(self.path),
            "url": self.part.url or None,
        }


def save_files(message: Message, folder: Path | None) -> list[SavedFile]:
    """Write the pictures and files of a reply to a folder, without overwriting anything; None for
    no folder.
    """
    return [_save(message, number, folder) for number in range(1, len(message.parts) + 1)]


def _save(message: Message, number: int, folder: Path | None) -> SavedFile:
    part = message.parts[number - 1]
    file = file_of(part, number)
    if file is None:
        return SavedFile(part, None, "the reply has no content of it.")
    if folder is None:
        return SavedFile(part, None, "of a temporary session nothing is, without --save-to.")
    name, content = file
    try:
        return SavedFile(part, write_new_file(folder / f"{message.id[:12]}-{name}", content))
    except InputError as error:
        return SavedFile(part, None, str(error))


def source_lines(references: References) -> Iterator[str]:
    """Yield the sources of a reply, numbered as its citations are, and what was searched for."""
    for number, source in enumerate(references.sources, 1):
        place = source.url or (source.file if source.title else "")
        yield one_line(f"[{number}] {source.label}{f' · {place}' if place else ''}", 5000)
    for failure in references.failures:
        yield one_line(failure, 5000)


def references_json(references: References) -> Any:
    """Return the references of a reply as `read` prints them; None if it has none."""
    return json.loads(pack(references)) if references != NO_REFERENCES else None


def first_code_block(markdown: str) -> str | None:
    """Return the content of the first fenced code block of a text; None if it has none."""
    from markdown_it import MarkdownIt  # only needed here

    tokens = MarkdownIt("commonmark").parse(markdown)
    return next((token.content for token in tokens if token.type == "fence"), None)

"""`tui-chat sillytavern build`: the request that SillyTavern would build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tui_chat.cli.output import write_json
from tui_chat.compose import Composed, compose
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.sillytavern_cases import read_case
from tui_chat.library.sillytavern_settings import ImportNote
from tui_chat.models.endpoint import Endpoint, Protocol

_ENDPOINT = Endpoint("sillytavern", Protocol.OPENAI_CHAT, "https://sillytavern.invalid/v1")


def run_build_case(path: Path) -> None:
    """Build a case and print its messages and notes. Raises InputError with file and fault."""
    messages, notes = build_case(read_file_text(path), str(path))
    write_json({"messages": messages, "notes": notes})


def build_case(text: str, source: str) -> tuple[list[Any], list[dict[str, str]]]:
    """Return the messages of a case's request, and the notes of import and request."""
    case = read_case(text, source, _ENDPOINT)
    composed = compose(case.inputs)
    messages: list[Any] = json.loads(composed.payload.body).get("messages", [])
    return messages, [*map(_import_note, case.notes), *_notes(composed)]


def _import_note(note: ImportNote) -> dict[str, str]:
    return {"level": note.level.value, "code": "import", "sentence": note.sentence}


def _notes(composed: Composed) -> list[dict[str, str]]:
    return [
        {"level": note.level.value, "code": note.code, "sentence": note.sentence}
        for note in composed.notes
    ]

"""Golden cases of all that is found in files of other programs; they are written anew by

    python -m tests.support.found_conversations FOLDER

A case has a `file` as JSON, its `lines`, or its `text`; the expected result is all that is
found in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.golden import differences, update
from tests.support.reading import read_pieces
from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.models.boundary import plain
from tui_chat.models.transcript import SessionTranscript


def found_in(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the conversations and the faults of a file, without what is empty."""
    lines = "\n".join(json.dumps(line, ensure_ascii=False) for line in case.get("lines", ()))
    text = json.dumps(case["file"]) if "file" in case else case.get("text", lines)
    source = ImportSource(name=case.get("name", ""))
    found = read_pieces([text.encode()], source)
    ids = [each.transcript.session.session_id if each.transcript else "" for each in found]
    return [_without_empty(_conversation(each, ids)) for each in found]


def check(case: dict[str, Any], expected: Any) -> None:
    """Fail if something else is found in a file than is expected."""
    wrong = [*differences(json.loads(json.dumps(found_in(case))), expected)]
    assert not wrong, "\n".join([*wrong, "`found_conversations` writes them anew."])


def _conversation(found: FoundConversation, ids: list[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "fault": found.fault and f"{found.place}: {found.fault}",
        "notes": found.notes,
        "ignored": found.ignored,
        "program": found.program,
        "project": found.project,
        "call": found.call_id,
        "started_in": ids.index(found.parent_id) if found.parent_id else None,
    }
    return facts | (_told(found.transcript) if found.transcript else {})


def _told(transcript: SessionTranscript) -> dict[str, Any]:
    session = transcript.session
    places = {entry.message.id: at for at, entry in enumerate(transcript.entries)}
    messages = [
        {
            "after": None if entry.parent_id is None else places[entry.parent_id],
            "status": "" if entry.status == "complete" else entry.status,
            "by": entry.model,
            "seconds": entry.seconds,
            **_said(plain(entry.message)),
        }
        for entry in transcript.entries
    ]
    return {
        "title": session.title,
        "model": session.model,
        "created": session.created or None,
        "updated": session.updated or None,
        "archived": session.archived,
        "system": transcript.role.system_prompt if transcript.role else "",
        "settings": plain(session.settings),
        "lorebooks": session.lorebooks,
        "variables": transcript.variables,
        "character": transcript.character,
        "user": transcript.user,
        "shown": places.get(session.head_id or ""),
        "messages": [_without_empty(each) for each in messages],
    }


def _said(message: dict[str, Any]) -> dict[str, Any]:
    """A message without its id, and without the line of which it was made."""
    semantics = {k: v for k, v in message.get("semantics", {}).items() if k != "source"}
    return {key: value for key, value in message.items() if key != "id"} | {"semantics": semantics}


def _without_empty(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in facts.items() if value not in ("", None, False, [], (), {})
    }


if __name__ == "__main__":
    update(Path(sys.argv[1]), found_in)

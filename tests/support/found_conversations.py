"""Golden cases of all that is found in files of other programs; they are written anew by

    python -m tests.support.found_conversations FOLDER

A case has a `file` as JSON, its `lines`, or its `text`; the expected result is all that is
found in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.golden import differences, update
from tests.support.reading import read_pieces
from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.models.blocks import Block
from tui_chat.models.boundary import plain
from tui_chat.models.message import Message
from tui_chat.models.session import SessionTranscript


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
            **_said(entry.message),
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


_USUAL = ("result", "reasoning", "text", "media", "call")
"""The order of blocks that is not said, with one text at most."""


def _said(message: Message) -> dict[str, Any]:
    """A message without its id, and without the line of which it was made."""
    facts = plain(message)
    about = {k: v for k, v in facts.get("about", {}).items() if k != "source"}
    order = [block.kind for block in message.blocks]
    is_usual = order == sorted(order, key=_USUAL.index) and order.count("text") < 2
    return {
        "role": message.role,
        "content": message.content,
        "refusal": message.refusal,
        "tool_calls": _blocks(message.tool_calls),
        "tool_call_id": message.tool_call_id,
        "name": message.name or message.tool_name,
        "parts": _blocks(message.parts),
        **{key: facts.get(key) for key in ("timestamp", "pinned", "muted", "extras")},
        "reasoning": _blocks(message.reasoning),
        "failed": message.failed,
        "about": about,
        "order": None if is_usual else order,
    }


def _blocks(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in plain(block, Block).items() if key != "kind"}
        for block in blocks
    ]


def _without_empty(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in facts.items() if value not in ("", None, False, [], (), {})
    }


if __name__ == "__main__":
    update(Path(sys.argv[1]), found_in)

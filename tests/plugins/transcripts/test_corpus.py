"""Transcripts of other programs, each with what must be found in it.

They are not part of this project. They are looked for beside it, or where `TUI_CHAT_CORPUS` says.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.tables import each_row
from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.models.session import Entry, SessionTranscript
from tui_chat.plugins.transcripts.reader import read_conversations

CORPUS = Path(os.environ.get("TUI_CHAT_CORPUS", Path(__file__).parents[4] / "shared" / "corpus"))
ROOT = CORPUS / "transcripts"
NOT_READ = ("aichat", "gptme")
"""Formats that the corpus has and the program does not read."""
CASES = [
    case for case in sorted(ROOT.glob("*/*.expected.json")) if case.parent.name not in NOT_READ
]


def plain(transcript: SessionTranscript) -> list[dict[str, Any]]:
    """The messages in reading order, in the form of the expectations."""
    place = {entry.message.id: at for at, entry in enumerate(transcript.entries)}
    return [_plain(entry, place) for entry in transcript.entries]


def _plain(entry: Entry, place: dict[str, int]) -> dict[str, Any]:
    message = entry.message
    facts = {
        "reasoning": message.thought,
        "images": sum(part.media == "image" for part in message.parts),
        "kind": "summary" if message.about.summary else "",
        "error": entry.status == "failed" or message.failed is True,
        "unfinished": entry.status in ("stopped", "interrupted"),
    }
    return {
        "role": message.role,
        "text": message.content,
        "tool_calls": [call.name for call in message.tool_calls],
        "parent": None if entry.parent_id is None else place[entry.parent_id],
    } | {key: value for key, value in facts.items() if value}


def read_file(path: Path) -> list[FoundConversation]:
    """Everything found in a file and beside it."""
    return list(read_conversations([path.read_bytes()], source=ImportSource(path, path.name)))


@pytest.mark.skipif(not CASES, reason=f"there are no transcripts in {ROOT}")
@each_row(
    "case",
    CASES,
    ids=lambda case: f"{case.parent.name}/{case.stem[:-9]}",
    absent="there is no corpus here",
)
def test_what_is_expected_is_found(case: Path):
    wanted = json.loads(case.read_text())
    found = read_file(case.parent / wanted["file"])
    faults = [each for each in found if each.fault]
    assert len(faults) == wanted["damaged"], faults
    assert all(fault.place for fault in faults)
    main, *others = [each for each in found if each.transcript is not None]
    transcript = main.transcript
    assert transcript is not None
    assert plain(transcript) == wanted["messages"]
    if wanted["title"] is not None:
        assert transcript.session.title == wanted["title"]
    ids = [entry.message.id for entry in transcript.entries]
    assert transcript.session.head_id == ids[wanted["active"]]
    assert len({*ids} - {entry.parent_id for entry in transcript.entries}) == wanted["branches"]
    assert (transcript.role.system_prompt if transcript.role else "") == wanted.get("system", "")
    sides = [each for each in others if each.transcript and each.parent_id]
    for side, expected in zip(sides, wanted.get("side", []), strict=False):
        assert side.transcript is not None
        assert plain(side.transcript) == expected["messages"]
        assert (side.parent_id, side.call_id) == (
            transcript.session.session_id,
            expected["tool_use_id"],
        )
    more = [each.transcript for each in others if each.transcript]
    told = [each for each in wanted.get("others", []) if each["messages"]]
    assert len(more) == len(told) + len(wanted.get("side", []))
    for expected in told:
        [same] = [each for each in more if each.session.title == expected["title"]]
        assert plain(same) == expected["messages"]

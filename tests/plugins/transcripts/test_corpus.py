"""Conversations of the corpus are read, and come back."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.databases import provide_database
from tests.support.tables import each_row
from tests.support.transcripts import transcripts
from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.models.session import Entry, SessionTranscript
from tui_chat.plugins.transcripts.importer import import_files
from tui_chat.plugins.transcripts.reader import read_conversations
from tui_chat.store import Store
from tui_chat.workspace.exports import exported_texts, write_file

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


# --- Export and import with the real store: without loss, and without duplicates ----------


numbers = count()


async def opened(path: Path) -> Store:
    return await Store.open(
        provide_database(path), now=lambda: 1e9, new_id=lambda: f"id-{next(numbers)}"
    )


def as_told(transcript: SessionTranscript | None) -> SessionTranscript | None:
    """Without what entries know of their tree: a file has no need to say it."""
    if transcript is None:
        return None
    entries = tuple(replace(each, sibling=0, siblings=1) for each in transcript.entries)
    return replace(transcript, entries=entries)


async def there_and_back(folder: Path, told: Sequence[SessionTranscript]) -> None:
    file = folder / "out.json"
    ids = [each.session.session_id for each in told]
    async with await opened(folder / "one.db") as one, await opened(folder / "two.db") as two:
        taken = await one.transcripts.add_many(told)
        assert [(each.fault, each.is_new) for each in taken] == [("", True)] * len(told)
        before = [as_told(await one.transcripts.get(each)) for each in ids]
        assert before == list(told)
        await write_file(exported_texts(one, ids, "json", UTC), file)
        [report] = await import_files(two, [file])
        assert (report.faults, report.new) == ([], len(told))
        assert report.added == sum(len(each.entries) for each in told)
        assert [as_told(await two.transcripts.get(each)) for each in ids] == before
        await write_file(exported_texts(one, ids, "shared", UTC), folder / "shared.json")
        async with await opened(folder / "three.db") as three:
            await import_files(three, [folder / "shared.json"])
            for whole in before:
                assert whole is not None
                shared = await three.transcripts.get(whole.session.session_id)
                assert as_told(shared) == replace(whole, requests=(), revisions=(), draft="")
        [again] = await import_files(two, [file])
        assert (again.new, again.grown, again.added, again.known) == (0, 0, 0, len(told))
        assert [as_told(await two.transcripts.get(each)) for each in ids] == before


@settings(max_examples=30)
@given(st.lists(transcripts(), max_size=3, unique_by=lambda each: each.session.session_id))
def test_exports_are_imported_without_loss_and_only_once(told: list[SessionTranscript]):
    with TemporaryDirectory() as folder:
        asyncio.run(there_and_back(Path(folder), told))

"""Export and import with the real store: without loss, and without duplicates."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.databases import provide_database
from tests.support.transcripts import transcripts
from tui_chat.models.session import SessionTranscript
from tui_chat.plugins.transcripts.importer import import_files
from tui_chat.store import Store
from tui_chat.workspace.exports import exported_texts, write_file

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

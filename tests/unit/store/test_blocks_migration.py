"""Migration 21, by which messages become blocks: a database of version 20 gives the same
conversations, mutes and requests as that version did. `old_files/make_flat.py` tells how the files
were made.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import signal
import sqlite3
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import plain
from tests.support.plugins import is_deleted
from tests.support.reading import read
from tests.support.stores import Opener
from tests.unit.store.conftest import Run
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import InputError, StoreDamaged, TuiChatError
from tui_chat.models.blocks import MediaBlock, ReasoningBlock
from tui_chat.models.boundary import plain as as_json
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import About, Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.request_recipe import read_recipe, rebuilt_inputs
from tui_chat.store import Store, schema
from tui_chat.workspace.attachments import stored_attachment

FOLDER = Path(__file__).parent / "old_files"
MODELS = {
    Protocol.OPENAI_CHAT: "gpt-4o",
    Protocol.OPENAI_RESPONSES: "gpt-5",
    Protocol.ANTHROPIC: "claude-sonnet-4-5",
    Protocol.GEMINI: "gemini-3-pro",
    Protocol.OLLAMA: "m",
}
PRESET = Preset("plain", (PresetMessage("history", role="user", type="chat_history"),))
NOW = datetime(2026, 1, 2, tzinfo=UTC)
RESPELLED = {
    "captured.whole.414": Protocol.OPENAI_CHAT,
    "captured.settings.348": Protocol.GEMINI,
    "captured.captured.60": Protocol.GEMINI,
}
"""Captured conversations with what another program spelled otherwise than we do, and their
protocol, to which they are sent in our spelling."""


@cache
def known() -> dict[str, Any]:
    """What version 20 read, sent and exported."""
    return json.loads(gzip.decompress((FOLDER / "flat.json.gz").read_bytes()))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The database of version 20."""
    path = tmp_path / "chat.db"
    path.write_bytes(gzip.decompress((FOLDER / "flat.db.gz").read_bytes()))
    return path


def facts_of(message: Message) -> dict[str, Any]:
    """What everybody reads of a message, as the file has it."""
    about = message.about
    references = about.references
    muted = message.muted_blocks
    facts = {
        "muted": [
            message.muted.whole,
            [block.text for block in muted if isinstance(block, ReasoningBlock)],
            [block.data or block.name for block in muted if isinstance(block, MediaBlock)],
        ],
        **{name: getattr(message, name) for name in ("role", "content", "id", "tool_call_id")},
        "name": message.name or message.tool_name,
        **{name: getattr(message, name) for name in ("timestamp", "pinned")},
        "tool_calls": [[call.id, call.name, call.arguments] for call in message.tool_calls],
        "parts": [_part(part) for part in message.parts],
        "reasoning": [block.text for block in message.reasoning],
        "sources": [as_json(source) for source in references.sources],
        **{name: getattr(message, name) for name in ("refusal", "failed")},
        **{name: getattr(about, name) for name in ("source", "tokens")},
        "is_speaker_chosen": about.is_speaker_chosen,
        **{name: _optional(about, name) for name in ("summary", "brought")},
    }
    return json.loads(json.dumps(facts, default=str))


def _part(part: MediaBlock) -> list[Any]:
    values = asdict(part)
    names = ("media", "mime", "data", "url", "file_id", "text", "owner", "name", "detail")
    return [values[name] for name in names]


def _optional(about: About, name: str) -> Any:
    value = getattr(about, name)
    return value and as_json(value)


def hash_of(inputs: Inputs) -> str:
    return hashlib.sha256(compose(inputs).payload.body).hexdigest()[:16]


def sent_of(history: tuple[Message, ...]) -> dict[str, str]:
    sent: dict[str, str] = {}
    for protocol, model in MODELS.items():
        endpoint = Endpoint("here", protocol, "https://here.invalid/v1", models=(model,))
        try:
            sent[protocol] = hash_of(Inputs(endpoint, PRESET, history, "And then?", now=NOW))
        except TuiChatError as error:
            sent[protocol] = str(error)
    return sent


async def rebuilt(store: Store, session_id: str, history: tuple[Message, ...]) -> list[str]:
    bodies: list[str] = []
    for stored in await store.requests.list(session_id):
        if stored.request.recipe:
            recipe = read_recipe(stored.request.recipe)
            names = (recipe.endpoint, recipe.preset)
            texts = {name: await store.revisions.get(name) or "" for name in names}
            before, sent = history[: recipe.messages], history[recipe.messages]
            bodies.append(hash_of(rebuilt_inputs(recipe, texts, before, sent)))
    return bodies


async def test_conversations_and_requests_are_those_of_the_version_before(
    old: Path, open_store: Opener
) -> None:
    store = await open_store(old)
    sessions = {session.title: session.session_id for session in await store.sessions.list()}
    assert sessions.keys() == known()["sessions"].keys()
    for title, expected in known()["sessions"].items():
        if "rebuilt" not in expected:
            continue
        entries = await store.branches.load(sessions[title])
        history = tuple(entry.message for entry in entries)
        assert [entry.status for entry in entries] == expected["status"], title
        for message, facts in zip(history, expected["messages"], strict=True):
            found = facts_of(message)
            assert found == {name: facts[name] for name in found}, title
        sent = sent_of(history)
        if title in RESPELLED:
            assert sent.pop(RESPELLED[title]) != expected["sent"].pop(RESPELLED[title])
        assert sent == expected["sent"], title
        assert await rebuilt(store, sessions[title], history) == expected["rebuilt"], title


async def test_a_reply_that_was_cut_off_is_recovered(old: Path, open_store: Opener) -> None:
    store = await open_store(old)
    [session] = [each for each in await store.sessions.list() if each.title == "cut off"]
    question, reply = await store.branches.load(session.session_id)
    assert (question.status, reply.status) == ("complete", "interrupted")
    assert reply.message.content == "Edited Two"
    assert reply.message.reasoning[0].text == "Hm."
    assert reply.message.tool_calls[0].arguments == '{"a":1}'


async def test_what_was_damaged_is_reported_as_before(old: Path, open_store: Opener) -> None:
    with plain(old) as connection:
        before = connection.execute(
            "SELECT message_id, CAST(semantics AS BLOB), parts, tool_calls, muted FROM messages"
        ).fetchall()
    store = await open_store(old)
    errors = {title: each.get("error", "") for title, each in known()["sessions"].items()}
    damaged = [title for title, error in errors.items() if error.startswith("StoreDamaged")]
    assert len(damaged) > 10
    sessions = {session.title: session.session_id for session in await store.sessions.list()}
    for title in damaged:
        # Behind these words stand those of the parser. Where JSON was not UTF-8, the whole
        # database was called damaged, and now it is the message.
        words = errors[title].split(": ", 2)[1]
        with pytest.raises(StoreDamaged) as caught:
            assert await store.transcripts.get(sessions[title]) is None, title
        if title != "not_UTF-8":
            assert str(caught.value).startswith(words.split(" /")[0]), title
    with closing(sqlite3.connect(old)) as connection:  # nothing of them is lost
        after = connection.execute(
            "SELECT message_id, CAST(semantics AS BLOB), parts, tool_calls, muted FROM messages "
            "WHERE CAST(blocks AS BLOB) = CAST('unreadable' AS BLOB) AND status = 'complete'"
        ).fetchall()
    assert len(after) > 5
    assert set(after) <= set(before)


async def test_a_damaged_recipe_is_reported_as_before(old: Path, open_store: Opener) -> None:
    store = await open_store(old)
    sessions = {session.title: session.session_id for session in await store.sessions.list()}
    refused = {title: each.get("error", "") for title, each in known()["sessions"].items()}
    refused = {title: error for title, error in refused.items() if error.startswith("InputError")}
    assert len(refused) > 1
    for title, error in refused.items():
        expected = known()["sessions"][title]
        history = tuple(e.message for e in await store.branches.load(sessions[title]))
        assert sent_of(history) == expected["sent"]
        with pytest.raises(InputError) as caught:
            await rebuilt(store, sessions[title], history)
        assert f"InputError: {caught.value}" == error, title


async def test_only_the_order_of_a_message_was_damaged(old: Path, open_store: Opener) -> None:
    """Version 20 showed it, and could not send it."""
    store = await open_store(old)
    [session] = [each for each in await store.sessions.list() if each.title == "layout"]
    assert "unsendable" in known()["sessions"]["layout"]
    message = (await store.branches.load(session.session_id))[0].message
    assert message.content == "Hello"
    with closing(sqlite3.connect(old)) as connection:
        sql = "SELECT semantics FROM messages WHERE message_id = ?"
        assert '"pieces"' in connection.execute(sql, (message.id,)).fetchone()[0]


async def test_a_repair_keeps_what_can_be_read(old: Path, open_store: Opener) -> None:
    if is_deleted("maintenance"):
        pytest.skip("The plugin that repairs was deleted.")
    from tui_chat.plugins.maintenance.check import check
    from tui_chat.plugins.maintenance.upkeep import repair

    with plain(old) as connection:  # text that is not UTF-8 cannot be repaired, only recovered
        connection.execute(
            "UPDATE messages SET content = 'A', semantics = '{' "
            "WHERE instr(CAST(content AS BLOB), x'ff') OR instr(CAST(semantics AS BLOB), x'ff')"
        )
    store = await open_store(old)
    await store.close()
    repair(old)
    assert [fault for each in check(old, lambda _: None) for fault in each.faults] == []
    store = await open_store(old)
    sessions = {session.title: session.session_id for session in await store.sessions.list()}
    reply = (await store.branches.load(sessions["cut off and damaged"]))[1].message
    assert (reply.content, reply.tool_calls[0].name) == ("Edited Two", "look")
    for title in known()["sessions"]:
        await store.branches.load(sessions[title])


async def test_an_export_of_the_version_before_gives_the_same(
    old: Path, open_store: Opener
) -> None:
    store = await open_store(old)
    sessions = {session.title: session.session_id for session in await store.sessions.list()}
    for found in read(known()["export"].encode()):
        assert found.transcript is not None, found.fault
        title = found.transcript.session.title
        stored = await store.transcripts.get(sessions[title])
        assert stored is not None
        told = {entry.message.id: entry for entry in found.transcript.entries}
        for entry in stored.entries:
            assert told[entry.message.id].message == entry.message, title
        if not title.startswith("recipe"):
            assert found.transcript.requests == stored.requests, title


async def test_drafts_with_files_and_queues_are_kept(old: Path, open_store: Opener) -> None:
    store = await open_store(old)
    [session] = [each for each in await store.sessions.list() if each.title == "draft"]
    assert await store.drafts.get(session.session_id) == "a draft"
    [queued] = json.loads(await store.queues.get(session.session_id))
    for file in (await store.draft_files.get(session.session_id), queued["files"][0]):
        with pytest.raises(InputError, match="was no file, and is gone"):
            stored_attachment(file)


@pytest.mark.parametrize("rows", [1, 300])
async def test_a_migration_that_is_killed_changes_nothing(
    old: Path, open_store: Opener, run: Run, rows: int
) -> None:
    before = contents(old)
    child = run("child_migrates.py", old, rows)
    assert child.stdout is not None
    assert child.stdout.readline() == "half\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert contents(old) == before
    with plain(old) as connection:
        assert schema.version_of(connection) == 20
    store = await open_store(old)
    assert len(await store.sessions.list()) == len(known()["sessions"])


def contents(path: Path) -> str:
    """A hash of all rows of messages, changes and requests."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        for table in ("messages", "reply_changes", "requests", "sessions"):
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY seq"):
                digest.update(repr(row).encode())
    return digest.hexdigest()

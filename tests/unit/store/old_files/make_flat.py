"""Creates `flat.db.gz` and `flat.json.gz` beside it with the code of version 20, the last one whose
messages were flat; run it in a checkout of that version, with its `tests` on the path.

    PYTHONPATH=. python make_flat.py

The database has the replies and captured requests of the cases in `tests/protocols`, random
conversations, a reply that was cut off, and rows that are damaged. The other file says of each
session what that version read, sent and exported. `--all` takes every case, for a trial by hand.

The files are kept as they were made and never made again.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import random
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tui_chat.models.semantics import Brought, MessageSemantics, Summary

from tests.protocols.golden import REPLIES, REQUESTS, reply_of
from tests.support.random_inputs import FILE, PICTURE, inputs_of
from tests.support.requests import decoded
from tui_chat.analysis.captured_request import CapturedRequest
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.context.inputs import sendable_messages
from tui_chat.errors import TuiChatError
from tui_chat.interop import own_json
from tui_chat.models.boundary import plain
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message, Muted, ToolCall
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.session import Entry, RequestRecord, Session, SessionTranscript, StoredRequest
from tui_chat.request_recipe import (
    dump_recipe,
    read_recipe,
    rebuilt_inputs,
    recipe_of,
    revisions_of,
)
from tui_chat.store import Store, schema
from tui_chat.workspace.attachments import attachment_of

FOLDER = Path(__file__).parent
MODELS = {
    Protocol.OPENAI_CHAT: "gpt-4o",
    Protocol.OPENAI_RESPONSES: "gpt-5",
    Protocol.ANTHROPIC: "claude-sonnet-4-5",
    Protocol.GEMINI: "gemini-3-pro",
    Protocol.OLLAMA: "m",
}
PRESET = Preset("plain", (PresetMessage("history", role="user", type="chat_history"),))
NOW = datetime(2026, 1, 2, tzinfo=UTC)
EVERY = 1 if "--all" in sys.argv else 6
"""Of how many cases one is taken."""
Case = tuple[str, tuple[Message, ...]]


def inputs_to(protocol: Protocol, history: tuple[Message, ...]) -> Inputs:
    endpoint = Endpoint("here", protocol, "https://here.invalid/v1", models=(MODELS[protocol],))
    return Inputs(endpoint, PRESET, history, "And then?", now=NOW)


def cases_of(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    number = 0
    for path in sorted(folder.glob("*.json")):
        if not path.name.endswith(".expected.json"):
            for case in json.loads(path.read_text()).values():
                number += 1
                if number % EVERY == 0:
                    yield f"{path.stem}.{number}", case


def replies() -> Iterator[Case]:
    """Each reply, muted in several ways, with results of its calls."""
    for number, (name, case) in enumerate(cases_of(REPLIES)):
        protocol = Protocol(case["protocol"])
        try:
            reply = reply_of(protocol, case).message(protocol)
        except TuiChatError:
            continue
        mutes = (Muted(), Muted(), Muted(reasoning=True), Muted(parts=(0,)))
        results = tuple(
            Message(
                "tool",
                "Rain." * (index % 2),
                tool_call_id=call.id,
                name=call.name,
                parts=(PICTURE,) if number % 3 == 0 else (),
                semantics=MessageSemantics(failed=(None, True, False)[number % 3]),
            )
            for index, call in enumerate(reply.tool_calls)
        )
        asked = Message("user", "Go.", parts=(PICTURE, FILE)[: number % 3])
        yield name, (asked, replace(reply, muted=mutes[number % 4]), *results)


def captured() -> Iterator[Case]:
    """Each captured conversation."""
    for name, case in cases_of(REQUESTS):
        protocol, body = Protocol(case["source"]), case["body"]
        try:
            envelope = decoded(body, protocol, case.get("model", "m"))
        except TuiChatError:
            continue
        yield f"captured.{name}", CapturedRequest(b"", protocol, envelope).messages


def special() -> Iterator[Case]:
    """Conversations with what only the workspace writes."""
    summary = MessageSemantics(summary=Summary(1, 2))
    brought = MessageSemantics(brought=Brought("x", 3), is_speaker_chosen=True)
    prompt = MessageSemantics(brought=Brought(prompt="server:prompt"), source='{"a":"\\u00e9"}')
    said = (Message("user", "One"), Message("assistant", "Two"), Message("user", "Three"))
    yield "special.summary", (*said, Message("system", "All", semantics=summary), said[0])
    yield "special.brought", (said[0], Message("assistant", "B", name="Ada", semantics=brought))
    yield "special.prompt", (Message("user", "P", muted=Muted(whole=True), semantics=prompt),)
    call = ToolCall("c", "look", '{"q": "\u4e2d')
    yield "special.broken call", (*said, Message("assistant", tool_calls=(call,)))
    # An edit of its text left the layout behind.
    for name, case in cases_of(REPLIES):
        protocol = Protocol(case["protocol"])
        try:
            reply = reply_of(protocol, case).message(protocol)
        except TuiChatError:
            continue
        if reply.semantics.layout is not None:
            yield f"edited.{name}", (said[0], replace(reply, content=f"Edited {reply.content}"))
    for seed in range(60 // EVERY):
        history = inputs_of(random.Random(seed)).history
        yield f"random.{seed}", history


def transcript_of(name: str, history: tuple[Message, ...]) -> SessionTranscript:
    """A session with a conversation and the reply to it, whose request was stored."""
    sendable = sendable_messages(map(Entry, history))
    named = tuple(replace(message, id=f"{name}-{n}") for n, message in enumerate(sendable))
    named = tuple(replace(m, id=m.id.replace(" ", "_"), timestamp=1.0) for m in named)
    protocol = list(Protocol)[len(name) % len(Protocol)]
    inputs = inputs_to(protocol, named)
    composed = compose(inputs)
    base = name.replace(" ", "_")
    sent = Message("user", "And then?", f"{base}-sent", timestamp=2.0)
    reply = Message("assistant", "So.", f"{base}-reply", timestamp=3.0)
    entries: list[Entry] = []
    for message in (*named, sent, reply):
        entries.append(Entry(message, entries[-1].message.id if entries else None))
    body = composed.payload.body
    record = RequestRecord(
        *("here", protocol, "POST", "https://here.invalid/v1", hashlib.sha256(body).hexdigest()),
        dump_recipe(recipe_of(inputs)),
        body,
        4.0,
    )
    return SessionTranscript(
        Session(base, base, head_id=reply.id, created=1.0, updated=2.0),
        tuple(entries),
        requests=(StoredRequest(reply.id, record),),
        revisions=tuple(revisions_of(inputs).values()),
    )


def facts_of(message: Message) -> dict[str, Any]:
    """What everybody reads of a message."""
    semantics, references = message.semantics, message.semantics.references
    fits = len(message.content) == references.length
    facts = {
        "citations": [
            plain(each if fits else replace(each, start=0, end=0)) for each in references.citations
        ],
        "muted": [
            message.muted.whole,
            [b.text for b in semantics.reasoning] if message.muted.reasoning else [],
            [
                message.parts[index].data or message.parts[index].name
                for index in message.muted.parts
                if index < len(message.parts)
            ],
        ],
        **{name: getattr(message, name) for name in ("role", "content", "id", "tool_call_id")},
        **{name: getattr(message, name) for name in ("name", "timestamp", "pinned")},
        "tool_calls": [[call.id, call.name, call.arguments] for call in message.tool_calls],
        "parts": [list(asdict(part).values()) for part in message.parts],
        "reasoning": [block.text for block in semantics.reasoning],
        **{name: getattr(references, name) for name in ("queries", "failures", "cut")},
        "sources": [plain(source) for source in references.sources],
        **{name: getattr(semantics, name) for name in ("refusal", "failed", "replaced", "source")},
        **{name: getattr(semantics, name) for name in ("tokens", "is_speaker_chosen")},
        **{
            name: value and plain(value)
            for name in ("kept_as", "summary", "brought")
            for value in (getattr(semantics, name),)
        },
    }
    return json.loads(json.dumps(facts, default=str))


def sent_of(history: tuple[Message, ...]) -> dict[str, str]:
    """The hash of what each protocol is sent, or the error."""
    sent: dict[str, str] = {}
    for protocol in Protocol:
        try:
            body = compose(inputs_to(protocol, history)).payload.body
        except TuiChatError as error:
            sent[protocol] = str(error)
        else:
            sent[protocol] = hashlib.sha256(body).hexdigest()[:16]
    return sent


DAMAGE = {
    "cut JSON": "semantics = '{\"reasoning\": ['",
    "missing field": 'semantics = \'{"reasoning":[{"text":"x"}]}\'',
    "null calls": "tool_calls = 'null'",
    "wrong part": 'parts = \'[{"kind":"image","mime":5}]\'',
    "mute": "muted = '{\"whole\":'",
    "not UTF-8": "semantics = CAST(x'7b22ff' AS TEXT)",
    "content not UTF-8": "content = CAST(x'41ff' AS TEXT), muted = '{\"whole\":true}'",
    "plain content not UTF-8": "content = CAST(x'41ff' AS TEXT)",
    "unknown role": 'tool_calls = \'[{"id":"a"}]\'',
    "layout": 'semantics = \'{"layout":{"protocol":"gemini","pieces":[{"kind":"other","data":"{"},'
    '{"kind":"text","length":5}]}}\'',
    "negative length": 'semantics = \'{"layout":{"protocol":"gemini","pieces":['
    '{"kind":"text","length":7},{"kind":"text","length":-2}]}}\'',
}
"""Damage of the user's message of a session, by the session's name."""
DAMAGED_RECIPES = {
    "recipe list": '["muted"]',
    "recipe ids": '{"muted": [[["a"], {"whole": true}]]}',
    "recipe number": '{"muted": [[99999999999999999999999, {"whole": true}]]}',
    "recipe surrogate": '{"muted": [["\\ud83d", {"whole": true}]]}',
    "recipe cut": '{"muted": [',
    "recipe mute": '{"muted": [["x", {"parts": "y"}]]}',
}


async def cut_off(store: Store, name: str, message: Message) -> None:
    """A reply that has not ended when its program is killed."""
    session = await store.sessions.create(title=name)
    record = RequestRecord("here", Protocol.ANTHROPIC, "POST", "https://x", "0" * 64, {}, None)
    exchange = await store.replies.begin(
        session.session_id, parent_id=None, user=Message("user", "Go."), model="m", endpoint="e",
        request=record,
    )  # fmt: skip
    id = exchange.reply.message.id
    await store.replies.flush(id, replace(message, content=message.content[:3], tool_calls=()))
    await store.replies.flush(id, replace(message, id=id))


async def fill(path: Path) -> dict[str, Any]:
    ids = iter(range(10_000))
    told = [transcript_of(*case) for make in (replies, captured, special) for case in make()]
    async with await Store.open(
        path, now=lambda: 1_700_000_000.0, new_id=lambda: f"id-{next(ids):04}"
    ) as store:
        for transcript in told:
            assert not (await store.transcripts.add(transcript)).fault
        for name in (*DAMAGE, *DAMAGED_RECIPES):
            await store.transcripts.add(transcript_of(name, (Message("user", "Hello"),)))
        rich = next(
            entry.message
            for transcript in told
            for entry in transcript.entries
            if entry.message.semantics.layout is not None
            and entry.message.semantics.reasoning
            and len(entry.message.content) > 6
            and entry.message.tool_calls
        )
        for name in ("cut off", "cut off and damaged"):
            await cut_off(store, name, rich)
        drafted = await store.sessions.create(title="draft")
        await store.drafts.save(drafted.session_id, "a draft")
        await store.draft_files.save(drafted.session_id, attachment_of("é.png", PNG).packed)
        queue = [{"text": "next", "files": [attachment_of("a.txt", b"text").packed]}]
        await store.queues.save(drafted.session_id, json.dumps(queue))
    return {"cut off": facts_of(rich)}


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def damage(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, change in DAMAGE.items():
            id = f"{name.replace(' ', '_')}-0"
            sql = f"UPDATE messages SET {change} WHERE message_id = ?"
            assert connection.execute(sql, (id,)).rowcount == 1
        for name, recipe in DAMAGED_RECIPES.items():
            sql = "UPDATE requests SET recipe = ? WHERE message_id = ?"
            id = f"{name.replace(' ', '_')}-reply"
            assert connection.execute(sql, (recipe, id)).rowcount == 1
        connection.execute(
            "UPDATE reply_changes SET text = '{\"reasoning\": [' WHERE field = 'semantics' "
            "AND message_id IN (SELECT message_id FROM messages JOIN sessions USING (session_id) "
            "WHERE title = 'cut off and damaged')"
        )


async def rebuilt(store: Store, session_id: str, history: tuple[Message, ...]) -> list[str]:
    """The hashes of the requests of a session, composed again from their recipes."""
    bodies: list[str] = []
    for stored in await store.requests.list(session_id):
        if stored.request.recipe:
            recipe = read_recipe(stored.request.recipe)
            names = (recipe.endpoint, recipe.preset)
            texts = {name: await store.revisions.get(name) or "" for name in names}
            before, sent = history[: recipe.messages], history[recipe.messages]
            body = compose(rebuilt_inputs(recipe, texts, before, sent)).payload.body
            bodies.append(hashlib.sha256(body).hexdigest()[:16])
    return bodies


async def read(path: Path) -> dict[str, Any]:
    """What this version reads of each session."""
    found: dict[str, Any] = {}
    exported = own_json.begin("tui-chat 20")
    async with await Store.open(path, now=lambda: 1.0, new_id=lambda: "") as store:
        await store.replies.interrupt_orphans()
        for session in await store.sessions.list():
            id = session.session_id
            about: dict[str, Any] = {}
            try:
                transcript = await store.transcripts.get(id)
                assert transcript is not None
                entries = await store.branches.load(id)
                history = tuple(entry.message for entry in entries)
                about["status"] = [entry.status for entry in entries]
                about["messages"] = [facts_of(message) for message in history]
                about["sent"] = sent_of(history)
                about["rebuilt"] = await rebuilt(store, id, history)
            except TuiChatError as error:
                about["error"] = f"{type(error).__name__}: {error}"
            except ValueError as error:
                about["unsendable"] = str(error)
            else:
                first = exported.endswith("[")
                exported += "".join(own_json.session_text(transcript, first=first))
            found[session.title] = about
    return {"sessions": found, "export": exported + own_json.end()}


def main() -> None:
    assert len(schema.migrations()) == 20
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chat.db"
        known = asyncio.run(fill(path))
        damage(path)
        with closing(schema.connect(path, 1.0)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        data = path.read_bytes()
        known |= asyncio.run(read(path))
    (FOLDER / "flat.db.gz").write_bytes(gzip.compress(data, 9, mtime=0))
    text = json.dumps(known, ensure_ascii=False, indent=0)
    (FOLDER / "flat.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()

"""Replies from the request to their end; the requests and bodies that are kept."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest

from tests.support.stores import RICH, Opener, answer, begin, record
from tui_chat.errors import StoreError
from tui_chat.models.blocks import CallBlock, Extras, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import NOT_MUTED, text_blocks, with_content
from tui_chat.models.reply import MediaPart, Reply, TextDelta, advance
from tui_chat.models.session import Entry, RawResponse
from tui_chat.models.usage import Usage
from tui_chat.store import Ending, Store, requests


async def test_begin_stores_message_reply_and_request(store: Store) -> None:
    made = await store.sessions.create()
    request = record(b'{"x":1}', preset="p", draft="Hello?")
    exchange = await begin(store, made.session_id, request=request)
    assert exchange.user is not None
    assert exchange.user.message.content == "Hello?"
    assert exchange.user.message.timestamp is not None
    assert exchange.reply.status == "streaming"
    assert exchange.reply.parent_id == exchange.user.message.id
    assert (exchange.reply.model, exchange.reply.endpoint) == ("m-1", "home")
    assert await store.branches.load(made.session_id) == (exchange.user, exchange.reply)
    remembered = await store.requests.get(exchange.reply.message.id)
    assert remembered is not None
    assert replace(remembered, created=0.0) == request
    assert remembered.created > 0
    again = await begin(store, made.session_id, None, below=exchange.user.message.id)
    assert again.user is None
    assert (await store.branches.load(made.session_id))[1:] == (again.reply,)


async def test_a_failed_begin_stores_nothing(store: Store) -> None:
    made = await store.sessions.create()
    with pytest.raises(TypeError):
        await begin(store, made.session_id, request=record(bad=object()))
    assert await store.branches.load(made.session_id) == ()
    assert (await store.sessions.list())[0].message_count == 0


async def test_flushed_text_is_visible_and_the_end_is_stored(store: Store) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id)
    reply = exchange.reply.message
    uncalled = tuple(block for block in RICH.blocks if not isinstance(block, CallBlock))
    for message in (
        replace(reply, blocks=text_blocks("Text")),
        replace(reply, blocks=text_blocks("Text")),
        replace(reply, blocks=(*RICH.reasoning, *text_blocks("Text with"))),
        with_content(replace(RICH, id=reply.id, timestamp=reply.timestamp), "Text with \0"),
        with_content(replace(RICH, id=reply.id, blocks=uncalled), "Quite another"),
    ):
        await store.replies.flush(reply.id, message)
        seen = (await store.branches.load(made.session_id))[-1]
        assert seen.status == "streaming"
        # The rest is not for a stream to say; it comes with the end.
        assert seen.message == replace(
            message,
            pinned=False,
            muted=NOT_MUTED,
            name="",
            extras=None,
            timestamp=reply.timestamp,
        )

    facts = Entry(
        replace(RICH, id=reply.id, timestamp=reply.timestamp, pinned=False, muted=NOT_MUTED),
        parent_id=exchange.reply.parent_id,
        status="failed",
        error="It broke.",
        advice="Mend it.",
        model="m-1",
        endpoint="home",
        usage=Usage(1, 2, 3, 4, 5),
        finish="length",
        seconds=1.5,
        first=0.5,
        cost=Decimal("0.000001250"),
        priced="here, 2026-11-23",
    )
    stored = await store.replies.end(
        reply.id,
        message=replace(RICH, id="", timestamp=None),
        status="failed",
        error=facts.error,
        advice=facts.advice,
        usage=facts.usage,
        finish=facts.finish,
        seconds=facts.seconds,
        first=facts.first,
        cost=facts.cost,
        priced=facts.priced,
    )
    assert stored.entry == facts
    assert (await store.branches.load(made.session_id))[-1] == facts
    [call] = await store.requests.calls(made.session_id)
    assert (call.usage, call.usage.cache_write_1h) == (facts.usage, 0)
    assert (call.cost, call.is_side) == (facts.cost, False)
    with pytest.raises(StoreError):
        await store.replies.flush(reply.id, reply)


async def test_a_reply_ends_without_a_flush(store: Store) -> None:
    made = await store.sessions.create()
    for status in get_args(Ending):
        ended = await answer(store, made.session_id, "All.", status)
        assert (ended.status, ended.message.content) == (status, "All.")


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open stays there")
async def test_an_end_that_cannot_be_written_can_be_written_later(
    path: Path, open_store: Opener
) -> None:
    store = await open_store()
    session_id = (await store.sessions.create()).session_id
    reply = (await begin(store, session_id)).reply.message
    message = replace(reply, blocks=text_blocks("All."))
    path.rename(path.with_name("elsewhere"))
    with pytest.raises(StoreError, match="removed or replaced"):
        await store.replies.end(reply.id, message=message, status="failed", error="Cut.")
    path.with_name("elsewhere").rename(path)
    ended = await store.replies.end(reply.id, message=message, status="failed", error="Cut.")
    assert (await store.branches.load(session_id))[-1] == ended.entry


async def test_a_sent_draft_is_removed_and_another_stays(store: Store) -> None:
    made = await store.sessions.create()
    await store.drafts.save(made.session_id, "Hello?")
    await begin(store, made.session_id, "Hello?")
    assert await store.drafts.get(made.session_id) == ""
    await store.drafts.save(made.session_id, "I am still typing")
    await begin(store, made.session_id, "Edited earlier")
    assert await store.drafts.get(made.session_id) == "I am still typing"


async def test_old_bodies_are_removed_and_their_records_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "BODIES_KEPT", 3)
    made = await store.sessions.create()
    ids = [
        (await begin(store, made.session_id, request=record(b"%d" % n, n=n))).reply.message.id
        for n in range(5)
    ]
    records = [await store.requests.get(entry_id) for entry_id in ids]
    assert [r and r.body for r in records] == [None, None, b"2", b"3", b"4"]
    assert [r and r.recipe for r in records] == [{"n": n} for n in range(5)]


async def test_large_bodies_are_removed_sooner_except_the_newest(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "BODY_BYTES_KEPT", 10)
    made = await store.sessions.create()
    ids: list[str] = []
    for size, weights in ((4, [4]), (6, [4, 6]), (4, [6, 4]), (99, [99])):
        exchange = await begin(store, made.session_id, request=record(b"x" * size))
        ids.append(exchange.reply.message.id)
        kept = [await store.requests.get(entry_id) for entry_id in ids]
        assert [len(r.body) for r in kept if r and r.body] == weights


async def test_a_picture_of_a_growing_reply_is_written_once(store: Store) -> None:
    made = await store.sessions.create()
    reply, reply_id = Reply(), (await begin(store, made.session_id)).reply.message.id
    signed = Extras(Protocol.GEMINI, "", {"thoughtSignature": "sig"})
    picture = MediaBlock("image", "image/png", data="abcd" * 250_000, extras=signed)
    for event in (TextDelta("Here:"), MediaPart(picture), *[TextDelta(" more")] * 20):
        reply = advance(reply, event)
        message = reply.message(Protocol.GEMINI, id=reply_id, timestamp=1.0)
        await store.replies.flush(reply_id, message)
        assert (await store.branches.load(made.session_id))[-1].message.parts == message.parts
    files = sum(each.stat().st_size for each in store.path.parent.iterdir())
    assert files < 4_000_000, "twenty pictures of a megabyte would be in the log"
    stored = await store.replies.end(reply_id, message=message, status="complete")
    assert stored.entry.message == message
    assert (await store.branches.load(made.session_id))[-1].message == message


async def test_a_failed_attempt_without_text_is_no_version(store: Store) -> None:
    made = await store.sessions.create()
    first = await answer(store, made.session_id, "First", text="Hello?")
    question = first.parent_id
    for _ in range(2):
        failed = await answer(store, made.session_id, "", "failed", below=question)
        assert (failed.sibling, failed.siblings) == (1, 2), "beside it the other versions remain"
    cut = await answer(store, made.session_id, "Half", "failed", below=question)
    last = await answer(store, made.session_id, "Last", below=question)
    assert (last.sibling, last.siblings) == (2, 3)
    assert (await store.branches.load(made.session_id))[-1] == last
    await store.branches.activate_sibling(last.message.id, -2)
    shown = (await store.branches.load(made.session_id))[-1]
    assert shown.message.id == first.message.id, "the failed attempts are passed over"
    assert (shown.sibling, cut.sibling, shown.siblings) == (0, 1, 3)


async def test_a_revision_is_stored_once_under_its_hash(store: Store) -> None:
    text = '{"name":"预设"}'
    sha256 = await store.revisions.save("preset", text)
    assert sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert await store.revisions.save("preset", text) == sha256
    assert await store.revisions.get(sha256) == text
    assert await store.revisions.get("00") is None
    odd = await store.revisions.save("role", '"\ud800"')
    assert await store.revisions.get(odd) == '"\ufffd"'


async def test_requests_are_found_by_endpoint_and_by_session(store: Store) -> None:
    one, two = await store.sessions.create(), await store.sessions.create()

    async def ask(session_id: str, body: bytes, status: int = 0, content: str = "") -> str:
        received = RawResponse(status, "text/plain", b"x", 1, ()) if status else None
        ending: Ending = "failed" if status or content else "complete"
        reply = await answer(
            store, session_id, content, ending, text="q", below=None, request=record(body),
            received=received,
        )  # fmt: skip
        return reply.message.id

    async def last(session_id: str, endpoint: str = "home", before: str = "") -> object:
        sent = await store.requests.last_accepted(session_id, endpoint, before=before)
        return sent and (sent.message_id, sent.request.body)

    assert await last(one.session_id) is None
    ids = [await ask(s.session_id, b) for s, b in ((one, b"1"), (two, b"2"), (one, b"3"))]
    fork = await store.branches.fork(ids[0])
    assert await last(one.session_id) == (ids[2], b"3")
    assert await last(one.session_id, before=ids[2]) == (ids[0], b"1")
    assert await last(one.session_id, before=ids[0]) is None
    assert await last(two.session_id) == (ids[1], b"2")
    assert await last(two.session_id, "elsewhere") is None
    assert await last(fork.session_id) is None
    for status, content in ((401, ""), (503, "what is continued")):
        await ask(two.session_id, b"4", status, content)
        assert await last(two.session_id) == (ids[1], b"2"), "it was refused"
    for status, content in ((200, ""), (0, "cut")):
        accepted = await ask(two.session_id, b"5", status, content)
        assert await last(two.session_id) == (accepted, b"5")
    found = await store.requests.list(one.session_id)
    assert [(sent.message_id, sent.request.body) for sent in found] == [
        (ids[0], None),
        (ids[2], None),
    ]
    await store.messages.delete(ids[2])
    assert len(await store.requests.list(one.session_id)) == 1

"""Replies from the request to their end, and the bodies that are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from tests.support.stores import RICH, begin
from tui_chat.errors import StoreError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import NOT_MUTED, Message, Part
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.request import RequestRecord
from tui_chat.models.session import Entry
from tui_chat.models.stream_events import MediaPart, TextDelta
from tui_chat.models.usage import Usage
from tui_chat.store import Ending, Store, requests

Make = Callable[..., RequestRecord]


async def test_begin_stores_message_reply_and_request(store: Store, request_record: Make) -> None:
    made = await store.sessions.create()
    record = request_record(b'{"x":1}', preset="p", draft="Hello?")
    exchange = await begin(store, made.session_id, record)

    assert exchange.user is not None
    assert exchange.user.message.content == "Hello?"
    assert exchange.user.message.timestamp is not None
    assert exchange.reply.status == "streaming"
    assert exchange.reply.parent_id == exchange.user.message.id
    assert (exchange.reply.model, exchange.reply.endpoint) == ("m-1", "home")
    assert await store.branches.load(made.session_id) == (exchange.user, exchange.reply)
    remembered = await store.requests.get(exchange.reply.message.id)
    assert remembered is not None
    assert replace(remembered, created=0.0) == record
    assert remembered.created > 0


async def test_a_regenerated_reply_is_a_sibling(store: Store, request_record: Make) -> None:
    made = await store.sessions.create()
    first = await begin(store, made.session_id, request_record())
    assert first.user is not None
    again = await store.replies.begin(
        made.session_id,
        parent_id=first.user.message.id,
        user=None,
        model="m-2",
        endpoint="home",
        request=request_record(),
    )
    assert again.user is None
    assert await store.branches.load(made.session_id) == (first.user, again.reply)


async def test_a_failed_begin_stores_nothing(store: Store, request_record: Make) -> None:
    made = await store.sessions.create()
    with pytest.raises(TypeError):
        await begin(store, made.session_id, request_record(bad=object()))
    assert await store.branches.load(made.session_id) == ()
    assert (await store.sessions.list())[0].message_count == 0


async def test_flushed_text_is_visible_and_the_end_is_stored(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id, request_record())
    reply = exchange.reply.message
    for message in (
        replace(reply, content="Text"),
        replace(reply, content="Text"),
        replace(reply, content="Text with", semantics=RICH.semantics),
        replace(RICH, id=reply.id, content="Text with \0", timestamp=reply.timestamp),
        replace(RICH, id=reply.id, content="Quite another", tool_calls=()),
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
            tool_call_id="",
            timestamp=reply.timestamp,
        )

    ended = await store.replies.finish(
        reply.id,
        message=replace(RICH, id="", timestamp=None),
        status="failed",
        error="It broke.",
        advice="Mend it.",
        usage=Usage(1, 2, 3, 4, 5),
        finish="length",
        seconds=1.5,
        first=0.5,
        cost=Decimal("0.000001250"),
        priced="here, 2026-11-23",
    )
    assert ended == Entry(
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
        cost=Decimal("0.00000125"),
        priced="here, 2026-11-23",
    )
    assert (await store.branches.load(made.session_id))[-1] == ended
    with pytest.raises(StoreError):
        await store.replies.flush(reply.id, reply)


@pytest.mark.parametrize("status", ["complete", "stopped", "failed", "interrupted"])
async def test_a_reply_ends_without_a_flush(
    store: Store, request_record: Make, status: Ending
) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id, request_record())
    ended = await store.replies.finish(
        exchange.reply.message.id, message=Message("assistant", "All."), status=status
    )
    assert (ended.status, ended.message.content) == (status, "All.")


async def test_a_sent_draft_is_removed_and_another_stays(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    await store.drafts.save(made.session_id, "Hello?")
    await begin(store, made.session_id, request_record(), "Hello?")
    assert await store.drafts.get(made.session_id) == ""
    await store.drafts.save(made.session_id, "I am still typing")
    await begin(store, made.session_id, request_record(), "Edited earlier")
    assert await store.drafts.get(made.session_id) == "I am still typing"


async def test_old_bodies_are_removed_and_their_records_kept(
    store: Store, request_record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "BODIES_KEPT", 3)
    made = await store.sessions.create()
    ids: list[str] = []
    for number in range(5):
        exchange = await begin(store, made.session_id, request_record(b"%d" % number, n=number))
        ids.append(exchange.reply.message.id)
    records = [await store.requests.get(entry_id) for entry_id in ids]
    assert [r and r.body for r in records] == [None, None, b"2", b"3", b"4"]
    assert [r and r.recipe for r in records] == [{"n": n} for n in range(5)]


async def test_large_bodies_are_removed_sooner_except_the_newest(
    store: Store, request_record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "BODY_BYTES_KEPT", 10)
    made = await store.sessions.create()
    ids: list[str] = []
    for size in (4, 6, 4, 99):
        exchange = await begin(store, made.session_id, request_record(b"x" * size))
        ids.append(exchange.reply.message.id)
        kept = [await store.requests.get(entry_id) for entry_id in ids]
        weights = [len(r.body) for r in kept if r and r.body]
        assert weights in ([4], [4, 6], [6, 4], [99])
        assert weights[-1] == size


async def test_a_picture_of_a_growing_reply_is_written_once(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id, request_record())
    reply, reply_id = Reply(), exchange.reply.message.id
    picture = Part("image", "image/png", data="abcd" * 250_000)
    for event in (TextDelta("Here:"), MediaPart(picture, "sig"), *[TextDelta(" more")] * 20):
        reply = advance(reply, event)
        message = reply.message(Protocol.GEMINI, id=reply_id, timestamp=1.0)
        await store.replies.flush(reply_id, message)
        assert (await store.branches.load(made.session_id))[-1].message.parts == message.parts
    [(written,)] = await store.database.read(
        lambda tx: tx.rows("SELECT sum(length(text)) FROM reply_changes")
    )
    assert 1_000_000 < written < 1_010_000
    entry = await store.replies.finish(reply_id, message=message, status="complete")
    assert entry.message == message
    assert (await store.branches.load(made.session_id))[-1].message == message


async def test_a_failed_attempt_without_text_is_no_version(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id, request_record())
    assert exchange.user is not None
    question = exchange.user.message.id

    async def end(status: Ending, text: str) -> Entry:
        begun = await store.replies.begin(
            made.session_id,
            parent_id=question,
            user=None,
            model="m",
            endpoint="home",
            request=request_record(),
        )
        message = replace(begun.reply.message, content=text)
        return await store.replies.finish(message.id, message=message, status=status)

    first = exchange.reply
    await store.replies.finish(
        first.message.id, message=replace(first.message, content="First"), status="complete"
    )
    for _ in range(2):
        failed = await end("failed", "")
        assert (failed.sibling, failed.siblings) == (1, 2), "beside it the other versions remain"
    cut = await end("failed", "Half")
    last = await end("complete", "Last")
    assert (last.sibling, last.siblings) == (2, 3)
    assert (await store.branches.load(made.session_id))[-1] == last
    await store.branches.activate_sibling(last.message.id, -2)
    shown = (await store.branches.load(made.session_id))[-1]
    assert shown.message.id == first.message.id, "the failed attempts are passed over"
    assert (shown.sibling, cut.sibling, shown.siblings) == (0, 1, 3)

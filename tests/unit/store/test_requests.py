"""Requests of a session, the last one sent, and revisions; variables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from tests.support.stores import replace_variables
from tui_chat.models.message import Message
from tui_chat.models.request import RawResponse, RequestRecord
from tui_chat.models.role import Role
from tui_chat.store import Store

Make = Callable[..., RequestRecord]


async def test_a_removed_role_leaves_its_sessions(store: Store) -> None:
    await store.roles.save(Role("r", "Pirate"))
    made = await store.sessions.create(role_id="r")
    await store.roles.delete("r")
    await store.roles.delete("r")
    assert await store.roles.list() == ()
    assert [(s.title, s.role_name) for s in await store.sessions.list()] == [("Pirate", "")]
    session = await store.sessions.get(made.session_id)
    assert session is not None
    assert session.role_id is None


async def test_a_revision_is_stored_once_under_its_hash(store: Store) -> None:
    text = '{"name":"预设"}'
    sha256 = await store.revisions.save("preset", text)
    assert sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert await store.revisions.save("preset", text) == sha256
    assert await store.revisions.get(sha256) == text
    assert await store.revisions.get("00") is None
    odd = await store.revisions.save("role", '"\ud800"')
    assert await store.revisions.get(odd) == '"\ufffd"'


async def test_variables_belong_to_their_session(store: Store) -> None:
    one, two = await store.sessions.create(), await store.sessions.create()
    await replace_variables(store, one.session_id, {"b": "2", "a": ""})
    assert await store.sessions.variables(one.session_id) == {"a": "", "b": "2"}
    assert await store.sessions.variables(two.session_id) == {}
    await replace_variables(store, one.session_id, {"c": "3"})
    assert await store.sessions.variables(one.session_id) == {"c": "3"}


async def test_requests_are_found_by_endpoint_and_by_session(
    store: Store, request_record: Make
) -> None:
    one, two = await store.sessions.create(), await store.sessions.create()

    async def ask(session_id: str, body: bytes, status: int = 0, text: str = "") -> str:
        exchange = await store.replies.begin(
            session_id,
            parent_id=None,
            user=Message("user", "q"),
            model="m",
            endpoint="home",
            request=request_record(body),
        )
        reply = exchange.reply.message
        await store.replies.finish(
            reply.id,
            message=replace(reply, content=text),
            status="failed" if status or text else "complete",
            received=RawResponse(status, "text/plain", b"x", 1, ()) if status else None,
        )
        return reply.id

    async def last(session_id: str, endpoint: str = "home") -> tuple[str, bytes | None] | None:
        sent = await store.requests.last_accepted(session_id, endpoint)
        return sent and (sent.message_id, sent.request.body)

    assert await last(one.session_id) is None
    ids = [await ask(s.session_id, b) for s, b in ((one, b"1"), (two, b"2"), (one, b"3"))]
    fork = await store.branches.fork(ids[0])

    assert await last(one.session_id) == (ids[2], b"3")
    assert await last(two.session_id) == (ids[1], b"2")
    assert await last(two.session_id, "elsewhere") is None
    assert await last(fork.session_id) is None
    for status, text in ((401, ""), (503, "what is continued")):
        await ask(two.session_id, b"4", status, text)
        assert await last(two.session_id) == (ids[1], b"2"), "it was refused"
    for status, text in ((200, ""), (0, "cut")):
        accepted = await ask(two.session_id, b"5", status, text)
        assert await last(two.session_id) == (accepted, b"5")
    found = await store.requests.list(one.session_id)
    assert [(sent.message_id, sent.request.body) for sent in found] == [
        (ids[0], None),
        (ids[2], None),
    ]
    earlier = await store.requests.last_accepted(one.session_id, "home", before=ids[2])
    assert earlier is not None
    assert earlier.message_id == ids[0]
    assert await store.requests.last_accepted(one.session_id, "home", before=ids[0]) is None
    await store.messages.delete(ids[2])
    assert len(await store.requests.list(one.session_id)) == 1

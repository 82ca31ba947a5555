"""What other chat programs get wrong, held here."""

from __future__ import annotations

from dataclasses import replace

from tests.e2e.conftest import LOOPBACKS, moved, settled
from tui_chat.offline import HttpRequest
from tui_chat.workspace import Trouble


async def test_what_a_person_said_is_stored_before_the_request_leaves(make_desk):
    desk, _ = await make_desk(model="flaky-stall")
    assert await desk.submit("precious words")
    stored = await desk._outside.store.branches.load(desk.session_id)
    assert [(e.message.role, e.status) for e in stored] == [
        ("user", "complete"),
        ("assistant", "streaming"),
    ]
    assert stored[0].message.content == "precious words"
    await desk.stop()


async def test_a_chat_that_ends_in_a_users_turn_is_not_sent_when_it_is_opened(make_desk):
    received: list[HttpRequest] = []
    desk, heard = await make_desk()
    assert await desk.submit("one")
    await settled(desk, heard)
    assert await desk.edit(desk.entries[0].message.id, "eins")
    await desk.close()
    desk, heard = await make_desk(on_request=received.append)
    await desk.open(desk.session_id)
    assert [e.message.content for e in desk.entries] == ["eins"]
    assert not desk.is_streaming
    assert received == []


async def test_a_server_that_is_down_hides_no_chat(make_desk):
    desk, heard = await make_desk()
    assert await desk.submit("one")
    await settled(desk, heard)
    await desk.close()
    down = moved(LOOPBACKS[0], "http://127.0.0.1:9")
    desk, heard = await make_desk(endpoints=(down,))
    assert [e.message.content for e in desk.entries] == ["one", "one"]
    assert await desk.submit("two")
    await settled(desk, heard)
    assert [e.message.content for e in desk.entries] == ["one", "one", "two", ""]
    assert desk.entries[-1].error


async def test_an_endpoint_or_a_model_that_is_gone_hides_no_chat(make_desk):
    desk, heard = await make_desk("loopback-gemini", "echo")
    assert await desk.submit("one")
    await settled(desk, heard)
    await desk.close()
    left = replace(LOOPBACKS[0], models=("mirror",))
    desk, heard = await make_desk(left.name, "mirror", (left,))
    assert [e.message.content for e in desk.entries] == ["one", "one"]
    assert "no endpoint “loopback-gemini”" in str(heard.of(Trouble)[0].error)
    assert desk.endpoint.name == left.name
    assert await desk.submit("two")
    await settled(desk, heard)
    assert len(desk.entries) == 4

"""Two programs on one database: changes are noticed, and replies are followed."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.messages import make_message, thought
from tests.support.workspace import say
from tui_chat.errors import StoreBusy
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import RequestRecord, Session, SessionTranscript
from tui_chat.store import Store
from tui_chat.store.database import Database
from tui_chat.workspace.events import BranchChanged, Done, Failed, SessionsChanged
from tui_chat.workspace.windows import (
    CHECK_INTERVAL,
    FOLLOW_INTERVAL,
    QUIET,
)

RECORD = RequestRecord("e", Protocol.GEMINI, "POST", "https://x", "00", {}, b"{}")
OpenOther = Callable[[], Awaitable[Store]]


class Clock:
    time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
async def other_program(tmp_path: Path) -> AsyncIterator[OpenOther]:
    opened: list[Store] = []
    numbers = itertools.count()
    seconds = itertools.count(1_800_000_000)

    async def open_other() -> Store:
        store = await Store.open(
            tmp_path / "chat.db",
            now=lambda: float(next(seconds)),
            new_id=lambda: f"other{next(numbers)}",
        )
        opened.append(store)
        return store

    yield open_other
    for store in opened:
        await store.close()


async def asked(other: Store, session_id: str, text: str) -> str:
    """Send a message from the other program; return the id of its streaming reply."""
    (*_, last) = await other.branches.load(session_id)
    exchange = await other.replies.begin(
        session_id,
        parent_id=last.message.id,
        user=Message.of("user", text),
        model="slow",
        endpoint="e",
        request=RECORD,
    )
    return exchange.reply.message.id


def thinking(text: str, words: str) -> Message:
    return make_message("assistant", text, reasoning=(thought(Protocol.GEMINI, words),))


async def test_a_reply_that_another_program_receives_is_read_until_its_end(
    make_workspace, other_program: OpenOther
):
    workspace, heard = await make_workspace(sent=["one"])
    other = await other_program()
    assert await workspace.windows.check() == CHECK_INTERVAL
    reply_id = await asked(other, workspace.state.session_id, "two")
    steps = [thinking("", "Hm"), thinking("It is so", "Hmm"), thinking("It was", "Hm")]
    for message in steps:  # the last one: a provider that takes something back
        await other.replies.flush(reply_id, message)
        heard.changes.clear()
        assert await workspace.windows.check() == FOLLOW_INTERVAL
        question, reply = workspace.state.entries[-2:]
        assert (question.message.content, reply.status) == ("two", "streaming")
        assert reply.message.content == message.content
        assert reply.message.reasoning == message.reasoning
        assert heard.of(BranchChanged)
    heard.changes.clear()
    assert await workspace.windows.check() == FOLLOW_INTERVAL
    assert heard.changes == [], "nothing more came"

    assert not await workspace.replies.submit("three")
    assert not await workspace.replies.regenerate(reply_id)
    assert [str(told.error) for told in heard.of(Failed)] == [
        "A reply is still arriving here, in another window."
    ] * 2
    await other.replies.end(reply_id, message=Message.of("assistant", "So."), status="complete")
    assert await workspace.windows.check() == CHECK_INTERVAL
    assert workspace.state.entries[-1].message.content == "So."
    assert workspace.state.entries[-1].status == "complete"
    await say(workspace, heard, "three")
    assert len(workspace.state.entries) == 6


async def test_replies_of_a_killed_program_are_interrupted(make_workspace, other_program):
    clock = Clock()
    workspace, heard = await make_workspace(clock=clock)
    for word in ("one", "two"):
        await workspace.sessions.new()
        await say(workspace, heard, word)
    shown, listed = (each.session_id for each in workspace.state.sessions)
    other = await other_program()
    await asked(other, listed, "unseen")
    reply_id = await asked(other, shown, "seen")
    await other.replies.flush(reply_id, Message.of("assistant", "As far as"))
    await workspace.windows.check()
    assert workspace.state.entries[-1].message.content == "As far as"
    clock.time += QUIET
    assert await workspace.windows.check() == FOLLOW_INTERVAL
    assert {each.status for each in workspace.state.sessions} == {"streaming"}, "it runs"
    await other.close()
    await workspace.windows.check()
    clock.time += QUIET
    assert await workspace.windows.check() == CHECK_INTERVAL
    assert workspace.state.entries[-1].message.content == "As far as"
    assert {each.status for each in workspace.state.sessions} == {"interrupted"}


async def test_changes_of_sessions_by_other_programs_are_noticed(make_workspace, other_program):
    clock = Clock()
    workspace, heard = await make_workspace(clock=clock, sent=["mine"])
    mine, other = workspace.state.session_id, await other_program()

    async def titles() -> list[str]:
        clock.time += CHECK_INTERVAL
        heard.changes.clear()
        assert await workspace.windows.check() == CHECK_INTERVAL
        return [each.title for each in workspace.state.sessions]

    assert await titles() == ["mine"]
    assert await titles() == ["mine"]
    assert heard.changes == []
    made = await other.sessions.create(title="Made")
    assert await titles() == ["Made", "mine"]
    assert [type(change) for change in heard.changes] == [SessionsChanged]
    await other.sessions.update(made.session_id, title="Named", tags=("x",))
    assert await titles() == ["Named", "mine"]
    await other.transcripts.add(SessionTranscript(Session("i", "Imported", updated=1.0), ()))
    assert await titles() == ["Named", "mine", "Imported"]
    await other.sessions.delete((made.session_id,))
    assert await titles() == ["mine", "Imported"]
    await other.settings.set("a", "b")
    assert await titles() == ["mine", "Imported"]
    assert heard.changes == [], "nothing that is shown is another"

    await other.sessions.update(mine, title="Ours")
    assert await titles() == ["Ours", "Imported"]
    assert heard.of(BranchChanged)
    assert workspace.state.session.title == "Ours"
    said = workspace.state.entries
    await other.messages.edit(said[0].message.id, Message.of("user", "another"))
    await other.branches.activate_sibling((await other.branches.load(mine))[0].message.id, -1)
    await titles()
    assert [entry.siblings for entry in workspace.state.entries] == [2, 1], "it can be gone to"
    assert workspace.state.entries[1] is said[1]
    await other.sessions.delete((mine,))
    assert await titles() == ["Imported"]
    assert workspace.state.session is None
    assert workspace.state.entries == ()
    assert [told.sentence for told in heard.of(Done)] == ["“Ours” was deleted by another program."]


async def test_a_failed_check_is_repeated_later(make_workspace, other_program, monkeypatch):
    workspace, heard = await make_workspace(clock=Clock(), sent=["mine"])
    other = await other_program()
    await workspace.windows.check()

    async def busy(*_: object) -> int:
        raise StoreBusy("Another program is using it.")

    heard.changes.clear()
    sessions = workspace.store.sessions
    failing = ((Database, "data_version"), (sessions, "get"), (sessions, "list"))
    for subject, fails in failing:
        await other.sessions.update(workspace.state.session_id, title=f"before {fails}")
        with monkeypatch.context() as patched:
            patched.setattr(subject, fails, busy)
            assert await workspace.windows.check() > CHECK_INTERVAL
            assert not heard.of(Failed)
        assert await workspace.windows.check() == CHECK_INTERVAL
        assert workspace.state.session.title == f"before {fails}"
        assert [each.title for each in workspace.state.sessions] == [f"before {fails}"]
    await other.sessions.update(workspace.state.session_id, title="while it is read")
    with workspace.sessions.loading_branch():
        await workspace.windows.check()
        assert workspace.state.session.title == "before list"
    await workspace.windows.check()
    assert workspace.state.session.title == "while it is read"

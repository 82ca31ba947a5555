"""Edits of the request by hand at the workspace: until when they hold, where they are kept, and
which requests cannot be edited.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.tables import each_row
from tests.support.vendors import HttpRequest
from tests.support.workspace import Heard, MakeWorkspace, ids, make_workspace, settled
from tui_chat.errors import InputError
from tui_chat.interop.own_json import read_session, session_text
from tui_chat.models.endpoint import Protocol
from tui_chat.models.request_edit import MOST_SENT, RequestEdit, edit_fault, edits_after, edits_for
from tui_chat.models.session import Session, SessionTranscript
from tui_chat.workspace.events import Failed
from tui_chat.workspace.workspace import Workspace

__all__ = ["make_workspace"]

CHAT = Protocol.OPENAI_CHAT


class Chat:
    """A workspace with what it sent."""

    def __init__(self, workspace: Workspace, heard: Heard, received: list[HttpRequest]) -> None:
        self.workspace, self.heard, self.received = workspace, heard, received
        self.edits = workspace.request_edits

    def type(self, draft: str) -> None:
        self.workspace.requests.set_draft(draft)
        self.workspace.requests.compose_shown()

    @property
    def shown(self) -> Any:
        self.workspace.requests.compose_shown()
        shown = self.workspace.state.request.shown
        return json.loads(shown.payload.body)

    async def send(self, draft: str) -> Any:
        self.type(draft)
        expected = self.shown
        assert await self.workspace.replies.submit(draft)
        await settled(self.workspace, self.heard)
        sent = json.loads(self.received[-1].body)
        assert sent == expected
        self.type("")
        return sent

    async def regenerate(self) -> Any:
        assert await self.workspace.replies.regenerate(ids(self.workspace)[-1])
        await settled(self.workspace, self.heard)
        return json.loads(self.received[-1].body)

    @property
    def failures(self) -> list[str]:
        return [str(change.error) for change in self.heard.changes if isinstance(change, Failed)]


async def chat(make: MakeWorkspace, **options: Any) -> Chat:
    received: list[HttpRequest] = []
    workspace, heard = await make(on_request=received.append, **options)
    return Chat(workspace, heard, received)


async def test_an_edit_of_one_request_holds_for_it_and_its_versions(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    await here.send("one")
    here.type("two")
    assert await here.edits.change("set", ("temperature",), 0.25, kept=False)
    index = len(here.shown["messages"]) - 1
    assert await here.edits.change("set", ("messages", index, "content"), "TWO", kept=False)
    sent = await here.send("two")
    assert (sent["temperature"], sent["messages"][index]["content"]) == (0.25, "TWO")
    assert "temperature" not in here.shown
    assert await here.regenerate() == sent
    other = await here.send("three")
    assert "temperature" not in other
    user = here.workspace.state.entries[2].message
    assert user.content == "two"
    await here.workspace.branches.show(user.id)
    assert await here.workspace.replies.regenerate(user.id)
    await settled(here.workspace, here.heard)
    assert json.loads(here.received[-1].body) == sent


async def test_what_was_sent_is_not_undone(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    here.type("one")
    await here.edits.change("add", ("seed",), 1, kept=False)
    await here.edits.change("add", ("top_p",), 0.5, kept=False)
    await here.send("one")
    await here.edits.undo()
    assert not {"seed", "top_p"} & here.shown.keys()


async def test_kept_edits_hold_until_they_are_removed(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    here.type("x")
    await here.edits.change("add", ("seed",), 7, kept=True)
    assert (await here.send("one"))["seed"] == 7
    assert (await here.send("two"))["seed"] == 7
    assert here.edits.is_kept(("seed",))
    here.type("")
    await here.edits.undo()
    assert "seed" not in here.shown
    await here.edits.undo()
    assert here.failures[-1] == "Nothing to undo."
    await here.edits.change("add", ("seed",), 8, kept=False)
    assert here.shown["seed"] == 8
    assert not here.edits.is_kept(("seed",))
    [edit] = here.workspace.state.edits
    await here.edits.keep(edit, kept=True)
    assert [edit.kept for edit in here.workspace.state.edits] == [True]
    await here.edits.discard_all()
    assert here.workspace.state.edits == ()
    assert "seed" not in await here.send("three")


async def test_edits_survive_a_crash(make_workspace: MakeWorkspace, tmp_path: Path):
    here = await chat(make_workspace)
    here.type("typed")
    await here.edits.change("add", ("seed",), 1, kept=True)
    await here.edits.change("add", ("top_p",), 0.5, kept=False)
    before = here.workspace.state.edits
    again = await chat(make_workspace)  # of a new chat
    assert again.workspace.state.edits == before
    await again.send("typed")
    waiting = again.workspace.state.edits
    assert [(edit.path, bool(edit.answered)) for edit in waiting] == [
        (("seed",), False),
        (("top_p",), True),
    ]
    await again.edits.change("set", ("seed",), 2, kept=False)
    third = await chat(make_workspace)
    assert third.workspace.state.edits == again.workspace.state.edits
    assert third.shown["seed"] == 2
    await third.workspace.sessions.new()
    assert third.workspace.state.edits == ()


async def test_a_fork_and_an_export_send_an_edited_request_again(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    await here.send("one")
    here.type("two")
    await here.edits.change("add", ("seed",), 7, kept=False)
    sent = await here.send("two")
    first = here.workspace.state.session_id
    await here.workspace.branches.fork(ids(here.workspace)[-1])
    assert here.workspace.state.session_id != first
    assert await here.regenerate() == sent
    assert "seed" not in await here.send("three")
    transcript = await here.workspace.store.transcripts.get(first)
    assert transcript is not None
    exported = json.loads("".join(session_text(transcript, first=True)))
    await here.workspace.store.sessions.remove(first)
    await here.workspace.store.transcripts.add(read_session(exported))
    await here.workspace.sessions.open(first)
    assert await here.regenerate() == sent


async def test_edits_never_reach_another_session(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    await here.send("one")
    first = here.workspace.state.session_id
    await here.edits.change("add", ("seed",), 1, kept=False)
    await here.edits.change("add", ("top_p",), 0.5, kept=True)
    await here.workspace.sessions.new()
    assert "seed" not in await here.send("other")
    await here.workspace.sessions.new_temporary()
    assert "seed" not in await here.send("temporary")
    await here.workspace.sessions.open(first)
    assert (here.shown["seed"], here.shown["top_p"]) == (1, 0.5)
    await here.workspace.branches.fork(ids(here.workspace)[-1])
    assert here.workspace.state.session_id != first
    assert "seed" not in here.shown
    assert here.shown["top_p"] == 0.5


async def test_a_temporary_session_does_not_take_the_edits_of_the_new_chat(make_workspace):
    here = await chat(make_workspace)
    here.type("x")
    await here.edits.change("add", ("seed",), 1, kept=False)
    await here.workspace.sessions.new_temporary()
    assert "seed" not in await here.send("temporary")
    await here.workspace.sessions.new()
    assert here.shown["seed"] == 1


async def test_an_edit_stays_where_the_request_did_not_leave(make_workspace: MakeWorkspace):
    here = await chat(make_workspace, transport=lambda: httpx.MockTransport(_refuse))
    here.type("one")
    await here.edits.change("add", ("seed",), 1, kept=False)
    assert await here.workspace.replies.submit("one")
    await settled(here.workspace, here.heard)
    assert here.workspace.state.entries[-1].status == "failed"
    here.type("another")
    await here.edits.change("add", ("x",), 1, kept=False)
    reply = ids(here.workspace)[-1]
    composed = here.workspace.requests.compose_kind("regenerate")
    assert json.loads(composed.payload.body)["seed"] == 1
    assert "x" not in json.loads(composed.payload.body)
    assert await here.workspace.replies.regenerate(reply)
    await settled(here.workspace, here.heard)
    assert here.shown["x"] == 1


def _refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


async def test_a_kind_of_reply_that_is_shown_is_edited(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    sent = await here.send("one")
    here.workspace.requests.set_draft("", kind="regenerate")
    assert here.shown == sent
    await here.edits.change("add", ("seed",), 3, kept=False)
    assert here.shown == {**sent, "seed": 3}
    here.workspace.requests.set_draft("")
    assert "seed" not in here.shown
    assert await here.regenerate() == {**sent, "seed": 3}


@each_row(
    ("show", "words"),
    [
        (lambda w: w.requests.show_in(Protocol.GEMINI), "preview in Gemini"),
        (lambda w: w.requests.set_draft("", kind="summary"), "not part of the conversation"),
    ],
    ids=["protocol", "summary"],
)
async def test_what_is_not_sent_so_is_not_edited(
    make_workspace: MakeWorkspace, show: Callable[[Workspace], None], words: str
):
    here = await chat(make_workspace)
    await here.send("one")
    show(here.workspace)
    here.workspace.requests.compose_shown()
    with pytest.raises(InputError, match=words):
        here.edits.require_editable()
    assert not await here.edits.change("remove", ("model",))
    assert words in here.failures[-1]


async def test_a_request_that_was_sent_is_not_edited(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    await here.send("one")
    await here.workspace.sent.view_sent(ids(here.workspace)[-1])
    with pytest.raises(InputError, match="sent already"):
        here.edits.require_editable()


async def test_a_captured_request_is_edited_once_it_is_a_session(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    body = '{"model": "echo", "messages": [{"role": "user", "content": "Hi"}], "seed": 1}'
    assert await here.workspace.sent.open(body)
    with pytest.raises(InputError, match="as it came") as refused:
        here.edits.require_editable()
    assert "/keep-captured" in refused.value.advice
    viewed = here.workspace.state.request.viewed
    assert viewed is not None
    await here.workspace.sent.save("Captured", viewed)
    here.workspace.requests.compose_shown()
    assert await here.edits.change("set", ("seed",), 2, kept=False)
    assert b'"seed":2' in here.workspace.requests.compose("").payload.body


async def test_a_key_of_the_url_is_refused_with_a_sentence(make_workspace: MakeWorkspace):
    here = await chat(make_workspace, endpoint="loopback-gemini")
    here.type("x")
    assert not await here.edits.change("add", ("model",), "other", kept=False)
    assert "has model in the URL" in here.failures[-1]


# Values


def test_edits_for_a_request_and_after_it():
    kept = RequestEdit(CHAT, ("a",), "set", "1", kept=True)
    waiting = RequestEdit(CHAT, ("b",), "set", "1")
    sent = RequestEdit(CHAT, ("c",), "set", "1", answered="m1")
    edits = (kept, waiting, sent)
    assert edits_for(edits, "") == (kept, waiting)
    assert edits_for(edits, "m1") == (kept, sent)
    assert [edit.answered for edit in edits_after(edits, (kept, waiting), "m2")] == ["", "m2", "m1"]
    assert edits_after(edits, (kept, sent), "m1") == edits  # a version of that reply
    many = tuple(RequestEdit(CHAT, ("d",), "set", "1", answered=f"m{n}") for n in range(30))
    assert edits_after(many, (), "") == many[30 - MOST_SENT :]


def test_own_json_has_what_is_kept_and_refuses_what_is_no_edit():
    kept = RequestEdit(CHAT, ("messages", 1, "content"), "set", '"x"', True, "2-ab")
    session = Session("s", "t", edits=(kept, RequestEdit(CHAT, ("b",), "remove")))
    text = "".join(session_text(SessionTranscript(session), first=True))
    data = json.loads(text)
    assert read_session(data).session.edits == (kept,)
    for change, words in (
        ({"value": "{"}, "edits[0].value"),
        ({"path": []}, "edits[0].path"),
        ({"operation": "burn"}, "operation"),
        ({"protocol": "x"}, "protocol"),
        ({"path": [{}]}, "path"),
    ):
        wrong = json.loads(text)
        wrong["session"]["edits"][0].update(change)
        with pytest.raises(InputError, match=words.replace("[", r"\[").replace("]", r"\]")):
            read_session(wrong)
    assert edit_fault((kept,) * 200) is not None
    assert edit_fault((kept,)) is None


async def test_a_message_of_another_role_at_the_end_is_answered(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    await here.send("one")
    await here.workspace.branches.add_system_message("Mind.")
    here.type("")
    await here.edits.change("add", ("seed",), 1, kept=False)
    assert [edit.answered for edit in here.workspace.state.edits] == [""]
    assert (await here.send("two"))["seed"] == 1


async def test_an_edit_of_an_earlier_run_is_undone(make_workspace: MakeWorkspace):
    here = await chat(make_workspace)
    await here.send("one")
    here.type("two")
    before = here.shown
    assert await here.edits.change("add", ("seed",), 1, kept=False)
    here.type("two")
    assert await here.edits.change("add", ("top_p",), 0.5, kept=True)
    here = await chat(make_workspace)
    here.type("two")
    await here.edits.undo()
    assert here.shown == {**before, "seed": 1}
    await here.edits.undo()
    assert here.shown == before
    await here.edits.undo()
    assert here.shown == before

"""Replies that are no part of the conversation: impersonate and quiet prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Run, ask
from tests.support.reply_starts import is_begun
from tests.support.workspace import BY_HAND, say, settled
from tui_chat.workspace.events import Failed

__all__ = ["ask"]


async def test_the_name_before_an_impersonated_message_is_removed(make_workspace):
    workspace, heard = await make_workspace(model="echo")
    await workspace.settings.set_parameter("user_name", "Bo")
    composed = workspace.requests.compose_kind("quiet", "Bo:  I am\x1b here. ")
    said: list[str] = []
    text = await workspace.aside.generate("impersonate", composed, said.append, for_user=True)
    assert text.startswith("I am")
    assert text.endswith("here.")
    assert heard.of(Failed) == []


async def test_a_failed_side_reply_is_reported(make_workspace):
    workspace, heard = await make_workspace(model="flaky-cut")
    composed = workspace.requests.compose_kind("quiet", "Go.")
    said: list[str] = []
    assert await workspace.aside.generate("quiet", composed, said.append) == ""
    assert heard.of(Failed)
    assert said[-1]  # what arrived before


@pytest.mark.parametrize("kind", ["impersonate", "quiet"])
async def test_tools_and_replies_that_are_no_part_of_the_conversation(make_workspace, kind: Any):
    workspace, heard = await make_workspace(model="echo", sent=["hi"], tools=(BY_HAND,))
    assert b"ask_me" in workspace.requests.compose("hi").payload.body
    assert b"ask_me" not in workspace.requests.compose_kind(kind, "hi").payload.body
    await workspace.settings.set_model("loopback", "toolsmith")
    await say(workspace, heard, "Use the tool.")
    workspace.requests.set_draft("", (), kind)
    workspace.requests.compose_shown()
    assert workspace.state.request.kind_fault == "A tool call is still waiting for an answer."
    [waiting] = workspace.state.pending_calls
    assert await workspace.tools.answer(waiting.entry_id, waiting.index, "It rains.")
    await settled(workspace, heard)
    # A call in the history must be of a tool that the request has.
    assert b'"tools"' in workspace.requests.compose_kind(kind, "hi").payload.body


@pytest.mark.parametrize("kind", ["impersonate", "quiet"])
async def test_the_cost_of_a_request_in_a_new_chat_is_counted(make_workspace, kind: Any):
    workspace, _ = await make_workspace(model="echo")
    composed = workspace.requests.compose_kind(kind, "Why?")
    assert await workspace.aside.generate(kind, composed, lambda text: None)
    [counted] = [reply async for reply in workspace.store.usage.requests()]
    assert counted.session_id == ""
    assert counted.usage.input
    assert workspace.state.session is None
    assert await workspace.store.sessions.list() == ()
    assert await workspace.store.side_requests.list("") == (), (
        "nobody could delete what was written"
    )


def test_the_users_message_has_no_beginning_of_a_reply():
    assert is_begun("quiet")
    assert not is_begun("impersonate")


def test_the_requests_of_side_replies_are_built_without_sending_them(run: Run, tmp_path: Path):
    history = tmp_path / "h.json"
    history.write_text(
        '[{"role": "user", "content": "U1"}, {"role": "assistant", "content": "A1"}]'
    )

    def built(kind: str) -> list[str]:
        home = ("--data-dir", tmp_path, "--config-dir", tmp_path, "build", "--history", history)
        text = ("D",) if kind == "quiet" else ()
        done = run(*home, "--role", "", *text, "--kind", kind, "--endpoint", "loopback")
        messages = json.loads(done.out)["messages"]
        return [each["content"][:30] for each in messages if each["role"] != "system"]

    assert built("impersonate") == ["U1", "A1", "Write the next message of User"]
    assert built("quiet") == ["U1", "A1", "D"]

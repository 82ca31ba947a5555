"""The kinds of generation with policies, and replies that are no part of the conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Run, ask
from tests.support.reply_starts import is_begun
from tests.support.vendors import HttpRequest
from tests.support.workspace import BY_HAND, put, say, settled
from tui_chat import hooks
from tui_chat.models.boundary import InvalidValue, read
from tui_chat.models.generation import only_on
from tui_chat.models.preset import PresetMessage
from tui_chat.plugins.sillytavern.policies import GENERATION_KINDS
from tui_chat.workspace.events import Failed
from tui_chat.workspace.workspace import Workspace

__all__ = ["ask"]

LORE = {"entries": [{"keys": ["two"], "content": "LORE", "triggers": ["impersonate", "swipe"]}]}


def triggered(kind: str) -> dict[str, Any]:
    return {"id": kind, "content": f"ONLY {kind} {{{{lastGenerationType}}}}.", "triggers": [kind]}


async def talked(make_workspace: Any, tmp_path: Any) -> tuple[Workspace, Any, list[HttpRequest]]:
    """A session of two messages each, with a preset and a lorebook that depend on the kind."""
    workspace, heard = await make_workspace(model="echo")
    messages = [*map(triggered, GENERATION_KINDS), {"id": "history", "type": "chat_history"}]
    policies = {"expandHistory": True}
    preset = {"name": "kinds", "presetMessages": messages, "policies": policies}
    put(tmp_path / "presets", "kinds", preset)
    put(tmp_path / "lorebooks", "lore", LORE)
    for text in ("one", "two"):
        await say(workspace, heard, text)
    await workspace.presets.choose("kinds")
    await workspace.settings.set_lorebooks(("lore",))
    return workspace, heard, heard.received


def words(workspace: Workspace) -> list[str]:
    shown = workspace.state.request.shown
    assert shown is not None
    return [turn.text.plain for turn in shown.envelope.turns if turn.role != "system"]


@pytest.mark.parametrize("kind", GENERATION_KINDS)
async def test_each_kind_is_sent_as_shown_with_what_it_triggers(
    make_workspace, tmp_path, kind: Any
):
    workspace, heard, received = await talked(make_workspace, tmp_path)
    live = workspace.requests
    takes_prompt = kind in ("normal", "impersonate", "quiet")
    live.set_draft("three" if kind == "normal" else "", (), kind, "three" if takes_prompt else "")
    live.compose_shown()
    shown = workspace.state.request.shown
    assert shown is not None
    texts = [turn.text.plain for turn in shown.envelope.turns]
    assert [text for text in texts if text.startswith("ONLY")] == [f"ONLY {kind} {kind}."]
    assert ("LORE" in texts) is (kind in ("impersonate", "swipe"))
    before = workspace.state.entries
    last = before[-1].message.id
    match kind:
        case "normal":
            assert await workspace.replies.submit("three")
        case "continue":
            assert await workspace.replies.continue_reply(last)
        case "regenerate" | "swipe":
            assert await workspace.replies.regenerate(last, kind)
        case _:
            composed = workspace.requests.compose_kind(kind, "three")
            said: list[str] = []
            text = await workspace.aside.generate(kind, composed, said.append)
            assert said[-1] == text
            assert workspace.state.entries is before
            [kept] = await workspace.store.side_requests.list(workspace.state.session_id)
            assert (kept.kind, kept.reply) == (kind, text)
    if kind not in ("impersonate", "quiet"):
        await settled(workspace, heard)
    assert received[-1].body == shown.payload.body
    if kind in ("regenerate", "swipe", "continue"):
        sent = await workspace.sent.sent_request(workspace.state.entries[-1].message.id)
        assert sent is not None
        assert sent.is_exact


async def test_the_typed_command_shows_its_request(make_workspace, tmp_path):
    workspace, _, _ = await talked(make_workspace, tmp_path)
    live = workspace.requests
    live.set_draft("", (), "quiet", "Sum up.")
    live.compose_shown()
    assert words(workspace)[-2:] == ["two", "Sum up."]
    assert workspace.state.request.live is not workspace.state.request.shown
    live.set_draft("", (), "continue")
    live.compose_shown()
    assert words(workspace)[-2] == "two"
    live.set_draft("", (), "impersonate")
    live.compose_shown()
    assert "Write the next message of" in words(workspace)[-1]
    live.set_draft("three")
    live.compose_shown()
    assert words(workspace)[-1] == "three"
    assert workspace.state.request.shown is workspace.state.request.live


def test_a_kind_of_generation_of_a_deleted_plugin_stays_in_presets(monkeypatch: pytest.MonkeyPatch):
    message = {"id": "a", "content": "A", "triggers": ["purl", "continue"]}
    with pytest.raises(InvalidValue, match="must be one of normal, regenerate, swipe, continue"):
        read(PresetMessage, message)
    monkeypatch.setattr(hooks, "built_in_plugins", tuple)
    assert read(PresetMessage, message).triggers == ("purl", "continue")
    assert only_on(("purl", "continue")) == "only on purl or continue"


# --- Replies that are no part of the conversation: impersonate and quiet prompts ----------


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

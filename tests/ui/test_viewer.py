"""The app on exported conversations: the same reader, and nothing can be said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.interop.exports import chatgpt, node
from tests.ui.app_under_test import until
from tui_chat.cli import view
from tui_chat.config import Config
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.chat_pane import ReadOnlyLine


@pytest.fixture
async def viewer(tmp_path: Path) -> TuiChat:
    told = [
        chatgpt(node("q", None, "user", f"Question {n}"), node("a", "q", "assistant", f"Reply {n}"),
                conversation_id=str(n), title=f"Talk {n}")
        for n in range(2)
    ]  # fmt: skip
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(told))
    return viewer_of(tmp_path, file)


def viewer_of(tmp_path: Path, *paths: Path) -> TuiChat:
    """The app on files and folders."""
    own = Config(config_dir=tmp_path / "config")
    config = view.read_only_config(own, tmp_path / "apart")
    banner = view.banner(paths)
    return TuiChat(config, lambda: view.open_files(config, paths), read_only=banner)


async def laid(app: TuiChat, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: app.is_workspace_open)


async def test_the_first_conversation_is_shown_and_nothing_can_be_typed(viewer: TuiChat):
    async with viewer.run_test(size=(140, 40)) as pilot:
        await laid(viewer, pilot)
        workspace = viewer.workspace
        assert workspace is not None
        assert [entry.message.content for entry in workspace.state.entries] == [
            "Question 0",
            "Reply 0",
        ]
        assert "tui-chat import" in str(viewer.query_one(ReadOnlyLine).render())
        await pilot.press(*"hello", "enter", "ctrl+r", "ctrl+n")
        await pilot.pause()
        assert len(workspace.state.entries) == 2
        assert len(workspace.state.sessions) == 2
        assert viewer.focused is viewer.query_one("Transcript")


async def test_only_keys_that_read_are_shown(viewer: TuiChat):
    async with viewer.run_test(size=(140, 40)) as pilot:
        await laid(viewer, pilot)
        keys = {key for key, binding in viewer.screen.active_bindings.items() if binding.enabled}
        assert {"y", "t", "E", "K", "slash", "b"} <= keys
        assert not keys & {"r", "e", "f", "d", "C", "p", "x"}


async def test_another_conversation_opens_at_once(viewer: TuiChat):
    async with viewer.run_test(size=(140, 40)) as pilot:
        await laid(viewer, pilot)
        workspace = viewer.workspace
        assert workspace is not None
        other = next(each for each in workspace.state.sessions if each.title == "Talk 1")
        await workspace.sessions.open(other.session_id)
        await pilot.pause()
        assert [entry.message.content for entry in workspace.state.entries] == [
            "Question 1",
            "Reply 1",
        ]


def test_only_the_offline_endpoint_is_configured(tmp_path: Path):
    config = view.read_only_config(Config(), tmp_path)
    assert config.data_dir == tmp_path
    assert {endpoint.base_url.split("/")[2] for endpoint in config.endpoints} == {
        "loopback.invalid"
    }


async def test_nothing_that_changes_a_session_is_offered(viewer: TuiChat):
    async with viewer.run_test(size=(140, 40)) as pilot:
        await laid(viewer, pilot)
        offered = {entry.id for entry in viewer.action_index.palette_entries()}
        assert "Search all conversations" in " ".join(offered)
        for words in ("Switch model", "Choose preset", "Choose profile", "Edit roles", "Import"):
            assert not [title for title in offered if words in title], words
        assert not [title for title in offered if title.startswith("Conversation: Regenerate")]
        for origin in (OriginKind.SETTING, OriginKind.SYSTEM, OriginKind.PROFILE):
            await viewer.panes.action_reveal_origin(Origin(origin, "x"))
            await pilot.pause()
            assert len(viewer.screen_stack) == 1, origin

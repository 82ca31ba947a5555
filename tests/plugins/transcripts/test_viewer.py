"""Conversations of other programs in the viewer, with pictures."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from tests.support.app import NOON, make_app, opened, told, until
from tests.support.command_line import Run
from tests.support.exports import chatgpt, node
from tests.support.palette import offered
from tests.support.pictures import Album
from tests.support.terminal_app import TerminalApp
from tui_chat.config import Config
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.transcripts import view
from tui_chat.plugins.transcripts.chatgpt import INVALID
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.inspector.pane import Inspector


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


def nothing(app: TuiChat) -> str:
    return str(app.query_one("#inspector-empty", Static).render())


async def test_what_a_file_has_is_read_and_nothing_is_changed(viewer: TuiChat):
    async with viewer.run_test(size=(160, 45)) as pilot:
        await until(pilot, lambda: viewer.is_workspace_open)
        workspace = viewer.workspace
        assert workspace is not None

        def texts() -> list[str]:
            return [entry.message.content for entry in workspace.state.entries]

        assert texts() == ["Question 0", "Reply 0"]
        assert "tui-chat import" in str(viewer.query_one(".read-only", Static).render())
        await pilot.press(*"hello", "enter", "ctrl+r", "ctrl+n")
        await pilot.pause()
        assert (len(texts()), len(workspace.state.sessions)) == (2, 2)
        assert viewer.focused is viewer.query_one("Transcript")
        keys = {key for key, binding in viewer.screen.active_bindings.items() if binding.enabled}
        assert {"y", "o", "k", "space", "slash", "Y"} <= keys
        assert not keys & {"r", "e", "f", "d", "c", "p", "m", "u"}
        titles = {verb.title for verb in offered(viewer)}
        assert "Search all conversations" in titles
        for words in ("Switch model", "Choose preset", "Choose profile", "Roles and system",
                      "Import", "Regenerate"):  # fmt: skip
            assert not [title for title in titles if words in title], words
        for origin in (OriginKind.SETTING, OriginKind.SYSTEM, OriginKind.PROFILE):
            await viewer.panes.action_reveal_origin(Origin(origin, "x"))
            await pilot.pause()
            assert len(viewer.screen_stack) == 1, origin
        other = next(each for each in workspace.state.sessions if each.title == "Talk 1")
        await workspace.sessions.open(other.session_id)
        assert texts() == ["Question 1", "Reply 1"]
        viewer.panes.show_area(viewer.inspector)
        await until(pilot, lambda: "No request was recorded" in nothing(viewer))
        assert viewer.query_one(Inspector).composed is None
        assert "message" not in nothing(viewer)
        titles = "\n".join(str(widget.render()) for widget in viewer.query("TitleLine"))
        assert "mirror" not in titles


def test_only_the_offline_endpoint_is_configured(tmp_path: Path):
    config = view.read_only_config(Config(), tmp_path)
    assert config.data_dir == tmp_path
    assert {endpoint.base_url.split("/")[2] for endpoint in config.endpoints} == {
        "loopback.invalid"
    }


async def test_a_viewed_file_stays_apart_from_stored_conversations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file, asked = tmp_path / "talk.jsonl", tmp_path / "asked"
    file.write_text('{"role": "user", "content": "Question"}\n')
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {asked}\nexit 3\n')
    program.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(program))
    monkeypatch.setattr(TuiChat, "suspend", lambda _: nullcontext())
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await app.run_action("plugins.view")
        await until(pilot, lambda: isinstance(app.screen, TextPrompt))
        app.screen.query_one(Input).value = str(file)
        await pilot.press("enter")
        await until(pilot, lambda: "ended with 3" in told(app))
        assert app.workspace is not None
        assert not app.workspace.state.sessions
        safe, module, name, *options, view, end, last = asked.read_text().splitlines()
        assert (safe, module, name) == ("-P", "-m", "tui_chat")
        assert (view, end, last) == ("view", "--", str(file))
        assert options == [
            "--config-dir",
            str(app.workspace.state.config.config_dir),
            "--theme",
            app.theme,
        ]


async def test_a_file_that_cannot_be_viewed_is_reported(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await app.run_action(("plugins", "view", (str(tmp_path / "missing.json"),)))
        await until(pilot, lambda: "missing.json cannot be read" in told(app))


async def test_what_was_not_imported_is_counted(tmp_path: Path):
    one = chatgpt(node("q", None, "user", "Question"), title="Talk")
    one["mapping"]["x"] = 17
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([one]))
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await app.run_action(("plugins", "import", (str(file),)))
        await until(pilot, lambda: f"1 × {INVALID}" in told(app))


def test_view_needs_a_terminal_and_a_conversation(run: Run, tmp_path: Path):
    file = tmp_path / "conversation.jsonl"
    file.write_text('{"role": "user", "content": "Question"}\n')
    done = run("--data-dir", str(tmp_path / "data"), "view", str(file))
    assert done.code == 2
    assert "needs a terminal" in done.err
    assert not (tmp_path / "data").exists()


def test_a_dumb_terminal_is_refused_with_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    with TerminalApp(tmp_path, ["view", str(file)], environ={"TERM": "dumb"}) as app:
        assert app.wait() == 2
        assert app.shows("TERM=dumb")
        assert app.shows("Error: The screen needs a terminal")
        assert b"\x1b[" not in app.written


# --- Pictures of the viewer ---------------------------------------------------------------


async def test_the_conversation_of_a_file(album: Album, tmp_path: Path) -> None:
    told = chatgpt(
        node("q", None, "user", "Where does the river go?"),
        node("a", "q", "assistant", "To the **sea**, past three mills."),
        title="The river",
    )
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([told]))
    os.utime(file, (NOON - 60, NOON - 60))
    config = view.read_only_config(Config(config_dir=tmp_path), tmp_path / "apart")
    app = TuiChat(
        config,
        lambda: view.open_files(config, [file]),
        lambda: NOON,
        read_only="Read-only",
    )
    async with album.of(app) as pilot:
        await opened(pilot)
        await album.take(pilot, "viewed")

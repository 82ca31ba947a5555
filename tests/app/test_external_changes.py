"""Changes by other programs and by the library of others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.support.app import NOON, make_app, opened, say, settle, until
from tests.support.databases import write_elsewhere
from tests.support.program import run_program
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.sidebar_app import Stage, summary
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import RequestRecord
from tui_chat.models.settings import Settings
from tui_chat.store import Store
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.sessions.pane import SessionsPane


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """The app looks around without waiting for a second to pass."""
    monkeypatch.setattr("tui_chat.ui.lifecycle.CHECK_AFTER", 0.1)
    monkeypatch.setattr("tui_chat.workspace.windows.CHECK_INTERVAL", 0.1)
    monkeypatch.setattr("tui_chat.workspace.windows.FOLLOW_INTERVAL", 0.1)


async def test_external_changes_appear_while_typing_and_filtering(tmp_path: Path, eager: None):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        shown_id, sessions = app.workspace.state.session_id, app.query_one(SessionsPane)
        sessions.query_one(Input).value = "hel"
        app.query_one(Composer).text = "half a thou"
        numbers = iter(range(1000))
        other = await Store.open(
            tmp_path / "chat.db", now=lambda: NOON + 9, new_id=lambda: f"other{next(numbers)}"
        )
        async with other:
            await other.sessions.create(title="Help from elsewhere")
            await other.sessions.create(title="Filtered away")
            rows = sessions.rows

            def listed() -> str:
                return "\n".join(rows.row_content(n)[0].plain for n in range(rows.row_count))

            await until(pilot, lambda: "Help from elsewhere" in listed(), listed())
            assert "hello" in listed()
            assert "Filtered away" not in listed()
            under = sessions.rows.under_cursor
            assert under.session_id == shown_id
            assert sessions.query_one(Input).value == "hel"

            exchange = await other.replies.begin(
                shown_id,
                parent_id=app.workspace.state.entries[-1].message.id,
                user=Message.of("user", "and now?"),
                model="m",
                endpoint="e",
                request=RequestRecord("e", Protocol.GEMINI, "POST", "https://x", "00", {}, b""),
            )
            reply_id = exchange.reply.message.id
            title = app.chat.title_line
            await until(pilot, lambda: "in another window" in title.render().plain)
            await other.replies.flush(reply_id, Message.of("assistant", "Now is"))
            await until(pilot, lambda: any("Now is" in line for line in _said(app)))
            assert "a reply is arriving" in title.render().plain
            await other.replies.end(
                reply_id, message=Message.of("assistant", "Now is over."), status="complete"
            )
            await until(pilot, lambda: any("Now is over." in line for line in _said(app)))
            await settle(pilot)
            assert "arriving" not in title.render().plain
            assert app.query_one(Composer).text == "half a thou"


async def test_a_model_and_a_setting_of_another_window_hold_here_too(tmp_path: Path, eager: None):
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        screen = Screen(pilot)
        await screen.sees("echo · ", '"model": "echo"')
        await screen.type("half a thought")
        async with await Store.open(
            tmp_path / "chat.db", now=lambda: NOON + 9, new_id=lambda: "other"
        ) as other:
            await other.sessions.update(
                app.workspace.state.session_id, model="lorem", settings=Settings(temperature=0.3)
            )
            await screen.sees("lorem · ", '"model": "lorem"', '"temperature": 0.3')
            await screen.sees("half a thought")


async def test_external_changes_to_sessions_do_not_scroll_the_list() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        many = tuple(summary(n) for n in range(5, 60))
        app = pilot.app
        assert isinstance(app, Stage)
        app.show(many)
        rows = app.list
        rows.set_cursor(30)
        before, line = app.lines(), rows.scroll_y
        assert line
        app.show((summary(1), *many))
        assert app.lines() == before
        assert rows.scroll_y == line + 1
        app.show(many[1:])
        assert app.lines() == before
        rows.scroll_to(y=0, animate=False, immediate=True)
        app.show(many)
        assert rows.scroll_y == 0, "one has scrolled away from the cursor"
        assert app.lines()[1].startswith(" Session 5 ")


def _said(app) -> list[str]:
    transcript = app.chat.transcript
    return [transcript.render_line(y).text for y in range(transcript.size.height)]


# --- Roles, profiles and lorebooks that another program adds or changes while the app runs


CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Mira", "description": "MARK-D keeps the light.", "first_mes": "Ahoy!"},
}


async def tui_chat(folder: Path, *words: object) -> None:
    """Run a command in a process of its own."""
    folders = ("--data-dir", folder, "--config-dir", folder)
    await asyncio.to_thread(run_program, *folders, *words, check=True)


async def send(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")


async def choose_role_soon(screen: Screen, name: str) -> None:
    """Choose a role as soon as the app knows it, which takes it some seconds at most."""
    await send(screen, f"/role {name}")
    while True:
        await screen.until(
            lambda: "There is no role" in screen.text or f" {name} " in screen.text, "No answer"
        )
        if f" {name} " in screen.text:
            return
        await screen.press("ctrl+u")
        await asyncio.sleep(0.5)
        await send(screen, f"/role {name}")


def write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


async def test_a_role_that_a_command_imports_is_there(tmp_path: Path):
    write(tmp_path / "mira.json", CARD)
    with Provider(chat_text("Aye.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await tui_chat(tmp_path, "import", tmp_path / "mira.json")
            await choose_role_soon(screen, "Mira")
            await screen.sees("Ahoy!")
            await send(screen, "hello")
            await screen.sees("Aye.")
    assert "MARK-D" in json.dumps(provider.bodies[0])


async def test_a_role_file_that_is_added_or_changed_is_there(tmp_path: Path):
    teacher = {"roleId": "teacher", "name": "Teacher", "systemPrompt": "MARK-1"}
    with Provider(chat_text("Yes.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            write(tmp_path / "roles" / "teacher.json", teacher)
            await choose_role_soon(screen, "Teacher")
            await screen.sees("MARK-1")
            write(tmp_path / "roles" / "teacher.json", {**teacher, "systemPrompt": "MARK-22"})
            await screen.sees("MARK-22")
            await send(screen, "hello")
            await screen.sees("Yes.")
    assert "MARK-22" in json.dumps(provider.bodies[0])


async def test_a_role_that_another_window_disables_sends_nothing_more(tmp_path: Path):
    write(tmp_path / "roles" / "teacher.json", {"roleId": "teacher", "name": "Teacher"})
    with Provider(chat_text("Yes.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await send(screen, "/role Teacher")
            await screen.sees("· Teacher ·")
            await send(screen, "hello")
            await screen.has_messages(2)
            disable = "UPDATE roles SET status = 'disabled' WHERE role_id = 'teacher'"
            await write_elsewhere(tmp_path / "chat.db", disable)
            await screen.sees("role disabled")


def lorebook(text: str) -> object:
    return {"entries": {"0": {"uid": 0, "key": ["hello"], "content": text, "constant": True}}}


def profile(text: str) -> object:
    return {"name": "Sam", "content": text}


@each_row(
    "kind, value, command",
    [("profiles", profile, "/profile sam"), ("lorebooks", lorebook, "/lorebook sam")],
)
async def test_a_file_in_use_that_another_program_changes_is_sent_as_it_is_then(
    kind: str, value: Callable[[str], object], command: str, tmp_path: Path
):
    anchors = [{"id": "me", "type": "user_profile"}, {"id": "all", "type": "chat_history"}]
    write(tmp_path / "presets" / "who.json", {"name": "Who", "messages": anchors})
    write(tmp_path / kind / "sam.json", value("MARK-1"))
    with Provider(chat_text("Yes.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await send(screen, "/preset who")
            await send(screen, command)
            await screen.type("hello")
            await screen.sees("MARK-1")
            write(tmp_path / kind / "sam.json", value("MARK-22"))
            await screen.sees("MARK-22")
            await screen.press("enter")
            await screen.sees("Yes.")
    assert "MARK-22" in json.dumps(provider.bodies[0])

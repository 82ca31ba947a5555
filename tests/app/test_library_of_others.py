"""Roles, profiles and lorebooks that another program adds or changes while the app runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from tests.support.databases import write_elsewhere
from tests.support.program import run_program
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row

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

"""Conversations from files, on the screen."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.support.app import make_app, opened, settle, told, until
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog


async def command(pilot: Pilot[None], text: str) -> None:
    composer = pilot.app.query_one(Composer)
    composer.focus()
    composer.text = text
    await settle(pilot)
    await pilot.press("escape", "enter")


def texts(app: TuiChat) -> list[str]:
    return [entry.message.content for entry in app.workspace.state.entries]


async def test_a_file_is_imported_and_its_conversation_shown(tmp_path: Path):
    file = tmp_path / "conversations.json"
    said = [{"role": "user", "content": "Question"}, {"role": "assistant", "content": "Reply"}]
    one = {"title": "Talk", "messages": said}
    (tmp_path / "conversation-old").mkdir()
    file.write_text(json.dumps([one, {"messages": [17]}]))
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await app.run_action("plugins.import")
        await until(pilot, lambda: isinstance(app.screen, TextPrompt))
        line, hint = app.screen.query_one(Input), app.screen.query_one(".hint", Static)
        assert str(hint.render()).startswith("Tab complete")
        line.value = str(file)
        await pilot.press("enter")
        await until(pilot, lambda: texts(app) == ["Question", "Reply"])
        await until(pilot, lambda: "1 new" in told(app))
        assert "$[1].messages[0]: a message must be an object" in told(app)
        await app.run_action(f"plugins.import({str(file)!r})")
        await until(pilot, lambda: "1 already there" in told(app))


async def test_a_file_without_conversations_is_reported(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await command(pilot, f"/import {tmp_path / 'missing'}.json")
        await until(pilot, lambda: "missing.json" in told(app))
        assert "cannot be read" in told(app)


async def test_a_typed_folder_is_imported_whole(tmp_path: Path):
    folder = tmp_path / "chats"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.jsonl").write_text(f'{{"role": "user", "content": "{name}"}}\n')
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        composer = app.query_one(Composer)
        composer.focus()
        composer.insert_text(f"/import {folder}/")
        await until(pilot, lambda: composer.suggestions.is_open)
        await pilot.press("enter")
        await until(
            pilot, lambda: app.workspace is not None and len(app.workspace.state.sessions) == 2
        )


async def test_a_dialog_does_not_end_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tui_chat.plugins.transcripts import importer

    file = tmp_path / "conversations.json"
    said = {"role": "user", "content": "Question"}
    file.write_text(json.dumps({"title": "Talk", "messages": [said]}))
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        imports, go_on = importer.import_into, asyncio.Event()

        async def slow_import(*given: object, **named: object) -> object:
            await go_on.wait()
            return await imports(*given, **named)

        monkeypatch.setattr(importer, "import_into", slow_import)
        await command(pilot, f"/import {file}")
        await until(pilot, lambda: any(each.group == "files" for each in app.workers))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press("escape")
        go_on.set()
        await until(pilot, lambda: texts(app) == ["Question"])

"""Snippets in the app: inserted by name and from the list, saved, damaged."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.support.app import make_app, opened, press, settle, until
from tests.support.tables import each_row
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog


def written(folder: Path, name: str, text: str) -> None:
    (folder / "snippets").mkdir(exist_ok=True)
    (folder / "snippets" / f"{name}.md").write_text(text)


async def test_a_snippet_is_inserted_filled_and_sent(tmp_path: Path) -> None:
    written(tmp_path, "review", "---\ndescription: Review code\n---\nReview {{?what}} for {{user}}")
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/snippet review", "enter")
        composer = app.chat.composer
        await until(pilot, lambda: composer.text == "Review {{?what}} for User")
        await settle(pilot)
        notes = app.workspace.requests.compose(composer.text).envelope.notes
        assert [note.code for note in notes if note.code == "unfilled-blank"]
        await pilot.press(*"main.py", "end", *"!", "enter")
        await until(pilot, lambda: len(app.workspace.state.entries) == 2)
        assert app.workspace.state.entries[0].message.content == "Review main.py for User!"


async def test_snippets_are_chosen_from_a_list(tmp_path: Path) -> None:
    written(tmp_path, "good", "---\ndescription: It works\n---\nHello")
    written(tmp_path, "bad", "")
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await app.run_action("composer.insert_snippet")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await settle(pilot)
        assert isinstance(app.screen, ChoiceDialog)
        details = {choice.id: choice.detail for choice in app.screen.choices}
        assert details["good"] == "It works"
        assert details["bad"] == "is empty"
        await pilot.press(*"bad", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await settle(pilot)
        assert app.chat.composer.text == ""


@each_row("way", ["/snippet ", "composer.insert_snippet"])
async def test_without_snippets_the_list_says_how_to_make_one(way: str, tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        if way.startswith("/"):
            await pilot.press(*way, "enter")
        else:
            await app.run_action(way)
        await until(pilot, lambda: bool(app.notifications.log))
        assert "There are no snippets yet." in app.notifications.log[-1].message
        assert len(app.screen_stack) == 1


async def save_draft(pilot: Pilot[None]) -> None:
    """Choose to save the draft in the list of snippets."""
    await pilot.press("ctrl+p", *"save snippet", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
    await settle(pilot)
    await pilot.press(*"save the draft", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
    await settle(pilot)


async def test_a_draft_is_saved_as_a_snippet(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        composer = app.chat.composer
        composer.text = "Explain {{?what}}"
        await save_draft(pilot)
        await pilot.press(*"explain", "enter")
        path = tmp_path / "snippets" / "explain.md"
        await until(pilot, path.exists)
        assert path.read_text() == "Explain {{?what}}\n"
        assert composer.text == "Explain {{?what}}"
        await until(pilot, lambda: len(app.screen_stack) == 1)
        composer.text = "Explain more"
        await save_draft(pilot)
        await press(pilot, *"explain", "enter")
        await pilot.press("y")
        await until(pilot, lambda: path.read_text() == "Explain more\n")

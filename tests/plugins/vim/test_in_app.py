"""Vim's keys in the composer of the app."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.events import Paste

from tests.support.app import make_app, opened, replied, say, settle, until
from tui_chat.errors import InputError
from tui_chat.plugins.vim.command import vim_editing
from tui_chat.ui.chat.composer import Composer


async def test_vim_is_switched_on_in_the_app_and_edits_the_draft(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "earlier")
        await pilot.press(*"/vim", "enter")
        await until(pilot, lambda: any("Vim" in n.message for n in app.notifications.log))
        assert (tmp_path / "config.toml").read_text() == 'editing_mode = "vim"\n'
        composer = app.query_one(Composer)
        await settle(pilot)
        await pilot.press(*"one two three", "escape")
        assert composer.border_title == "NORMAL"
        await pilot.press("b", "d", "w")
        assert composer.text == "one two "
        await pilot.press("0", "v", "e")
        assert composer.selected_text == "one"
        assert composer.border_title == "VISUAL"
        await pilot.press("d", "u", "u")
        assert composer.text == "one two three"
        await pilot.press("ctrl+r")
        assert composer.text == "one two "
        await pilot.press("u")
        await pilot.press("k")  # from the first line: an earlier prompt
        assert composer.text == "earlier"
        await pilot.press("j")
        assert composer.text == "one two three"
        await pilot.press("c", "c", *"new", "escape", "enter")
        await replied(pilot)
        assert app.workspace is not None
        assert app.workspace.state.entries[-2].message.content == "new"
        assert composer.text == ""
        assert not composer.border_title

        # What comes from elsewhere is text.
        await pilot.press(*"abc", "escape")
        composer.insert_text("XY")
        assert composer.text == "abXYc"
        assert not composer.border_title
        await pilot.press("escape", "f2")
        app.post_message(Paste("Qdd"))
        await until(pilot, lambda: composer.text.count("Qdd") == 1)
        assert composer.has_focus
        await pilot.press("ctrl+c")
        assert composer.text == ""

        # `u` brings back a cleared draft.
        await pilot.press(*"one two", "ctrl+c")
        assert composer.text == ""
        await pilot.press("escape", "u")
        assert composer.text == "one two"

        await pilot.press("i", "ctrl+c", *"/vim", "enter")
        await until(pilot, lambda: not (tmp_path / "config.toml").read_text().strip())
        await settle(pilot)
        await pilot.press("a", "escape", "x")
        assert composer.text == "ax"


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tui_chat.plugins.vim.editing", raising=False)
    monkeypatch.setitem(sys.modules, "prompt_toolkit.application", None)
    with pytest.raises(InputError, match="extra “vim”") as error:
        vim_editing()
    assert "tui-chat[vim]" in error.value.advice

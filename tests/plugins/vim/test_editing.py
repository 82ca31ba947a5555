"""Keys of Vim, and in the app."""

from __future__ import annotations

import sys
from pathlib import Path
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Paste

from tests.support import golden
from tests.support.app import make_app, opened, replied, say, settle, until
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.plugins.vim.command import vim_editing
from tui_chat.plugins.vim.editing import VimEditing
from tui_chat.ui.chat.composer import Composer

NAMES = {"^": "escape", "<": "left", ">": "right"}


class Editor:
    """A text that is edited as the composer does it."""

    def __init__(self, text: str) -> None:
        self.cursor = text.index("|") if "|" in text else 0
        self.text = text.replace("|", "", 1)
        self.editing = VimEditing()
        self.editing.reset(self.text)
        self.recalled = 0
        self.unused: list[str] = []

    def press(self, keys: str) -> Editor:
        for character in keys:
            key = NAMES.get(character, character)
            edited = self.editing.press(
                key, character if key == character else None, self.text, self.cursor
            )
            if edited is not None:
                self.text, self.cursor = edited.text, edited.cursor
                self.recalled += edited.recall
            elif self.editing.label or key != character:
                self.unused.append(key)
            else:
                self.text = self.text[: self.cursor] + character + self.text[self.cursor :]
                self.cursor += 1
        return self

    def __str__(self) -> str:
        return f"{self.text[: self.cursor]}|{self.text[self.cursor :]}"


@each_row(
    ("before", "keys", "after"), golden.read(Path(__file__).parent / "data" / "vim_keys.json")
)
def test_keys_edit_as_in_vim(before: str, keys: str, after: str):
    assert str(Editor(before).press(keys)) == after


@each_row(
    ("before", "keys", "after"),
    [
        ("|one two three", "^dwdwuu", "one two three"),
        ("|one two", "^xu", "one two"),
        ("|one", "Xyz^u", "one"),
        ("|one two", "^dwiabc^uu", "one two"),
        ("|one two", "^ciwXX^u", "one two"),
        ("|one", "^onew^u", "one"),
    ],
)
def test_u_undoes_and_typing_is_one_step(before: str, keys: str, after: str):
    assert Editor(before).press(keys).text == after


def test_redo_brings_back_what_was_undone_and_else_is_the_app_s():
    editor = Editor("|one two").press("^dwu")
    edited = editor.editing.press("ctrl+r", None, editor.text, editor.cursor)
    assert edited is not None
    assert edited.text == "two"
    assert editor.editing.press("ctrl+r", None, "two", 0) is None


def test_what_a_draft_has_no_use_for_does_nothing():
    editor = Editor("o|ne").press("^/n*:?#qN@Z")
    assert str(editor) == "|one"
    assert editor.editing.label == "NORMAL"
    assert str(editor.press("f/")) == "|one"


def test_escape_without_anything_to_end_is_left_to_the_composer():
    editor = Editor("one|").press("^^")
    assert editor.unused == ["escape"]
    assert Editor("|one").press("^d^^").unused == ["escape"]
    assert Editor("|one").press("^v^^").unused == ["escape"]


def test_moving_beyond_an_end_brings_other_prompts():
    assert Editor("o|ne\ntwo").press("^k").recalled == -1
    assert Editor("o|ne\ntwo").press("^j").recalled == 0
    assert Editor("one\nt|wo").press("^j").recalled == 1
    assert Editor("o|ne\ntwo").press("^dk").recalled == 0


def test_labels_name_the_mode():
    editor = Editor("one|")
    labels = [editor.editing.label]
    for key in "^vvRXr":
        editor.press(key)
        labels.append(editor.editing.label)
    assert labels == ["", "NORMAL", "VISUAL", "NORMAL", "REPLACE", "REPLACE", "REPLACE"]
    editor.editing.reset("")
    assert editor.editing.label == ""


def test_undo_never_leads_back_to_another_draft():
    editor = Editor("a secret|").press("^x")
    editor.editing.reset("another")
    editor.text, editor.cursor = "another", 0
    assert editor.press("^uuu").text == "another"


@given(
    st.text(alphabet='ab .("\n日', max_size=30),
    st.text(st.sampled_from("^<>" + ascii_letters + digits + "$%(\"'{}[;,.~=-|"), max_size=25),
)
def test_any_keys_on_any_text_give_a_text_with_a_cursor_in_it(text: str, keys: str):
    editor = Editor(text).press(keys)
    assert 0 <= editor.cursor <= len(editor.text)
    assert "\r" not in editor.text


# --- Vim's keys in the composer of the app ------------------------------------------------


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

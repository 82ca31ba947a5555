"""Keys: as the config has them, told where they are bound, and never Tab or Enter by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.binding import Binding
from textual.widgets import OptionList, Static

from tests.support.app import make_app, opened, say, settle, until
from tui_chat.ui.actions import ACTIONS
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.status_lines import ActivityLine
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.areas.sessions import SessionList
from tui_chat.ui.key_bar import KeyBar
from tui_chat.ui.key_names import DEFAULT_KEYS, NO_KEY, insert_keys, key_name, keys_of, parse_key


def rebound(folder: Path, **keys: str) -> TuiChat:
    return make_app(folder, keys=tuple(keys.items()))


def told(app: TuiChat) -> str:
    return "\n".join(note.message for note in app.notifications.shown)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"new": "f9"}, ""),
        ({"new": "ctrl+o"}, "[keys] gives Ctrl+O to “new” and “model”"),
        ({"new": "ctrl+i,f9"}, "[keys] new: Ctrl+I is Tab in a terminal"),
        ({"news": "f9"}, "[keys] names “news”, which is not an action"),
        ({"new": "hyper+blah,f9"}, "[keys] new: there is no key “hyper+blah”"),
        ({"new": "enter"}, "[keys] new: Enter is needed to type, to move and to send"),
        ({"roles": "f9"}, ""),
    ],
)
async def test_configured_keys_are_validated(keys: dict[str, str], words: str, tmp_path: Path):
    app = rebound(tmp_path, **keys)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        assert (words in told(app)) if words else not told(app)
        if keys == {"roles": "f9"}:
            await pilot.press("f9")
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await pilot.press("escape")
        commands = [entry.key for entry in app.action_index.palette_entries()]
        assert any("F9" in words for words in commands) == (
            "f9" in str(keys.get("new")) or "roles" in keys
        )


async def test_configured_keys_are_shown_and_win_in_text_inputs(tmp_path: Path):
    app = rebound(tmp_path, new="Ctrl+K", model="F10", settings="ctrl+c", again="", help="f9, ?")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        assert not told(app)
        transcript, activity = app.query_one(Transcript), app.query_one(ActivityLine)
        lines = [transcript.render_line(y).text for y in range(transcript.size.height)]
        words = "\n".join(lines)
        assert " F10 " in words
        assert "Ctrl+O" not in words
        footer = app.query_one(KeyBar)
        assert "F9 Help" in footer.render().plain
        assert "Ctrl+P Commands" in footer.render().plain
        assert not activity.render().plain, "the footer says it"
        assert "ctrl+r" not in app.active_bindings  # taken away
        assert app.focused is app.query_one(Composer)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("escape")
        new = app.active_bindings["ctrl+k"]
        assert (new.node, new.binding.action) == (app, "sessions.new")
        rows = app.query_one(SessionList).rows
        app.query_one(SessionList).filter.value = "nothing has this"
        await until(pilot, lambda: rows.empty_text.startswith("Nothing matches."))
        transcript.focus()
        await until(pilot, lambda: transcript.has_focus)
        await settle(pilot)
        assert "F9 Help" in footer.render().plain
        assert "? all keys" in app.panes.keys.render().plain
        assert not activity.render().plain
        await pilot.press("question_mark")
        await until(pilot, lambda: len(app.screen_stack) == 2)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("ctrl+n", "ctrl+n"),
        ("Ctrl+N", "ctrl+n"),
        ("Control+Shift+Left", "ctrl+shift+left"),
        ("shift + alt + F5", "alt+shift+f5"),
        ("Esc", "escape"),
        ("Ctrl+↑", "ctrl+up"),
        ("PgUp", "pageup"),
        ("?", "question_mark"),
        ("full_stop", "full_stop"),
        ("Ctrl+/", "ctrl+slash"),
        ("g", "g"),
        ("G", "G"),
        ("shift+g", "G"),
        ("漢", "漢"),
        ("ctrl", ""),
        ("ctrl+", ""),
        ("crtl+n", ""),
        ("f99", ""),
        ("", ""),
    ],
)
def test_spellings_of_keys_are_understood(written: str, key: str):
    if key:
        assert parse_key(written) == key
        assert parse_key(key_name(key)) == key
    else:
        with pytest.raises(ValueError, match="there is no key"):
            parse_key(written)


def test_a_hint_leaves_out_what_has_no_key():
    keys = DEFAULT_KEYS | {"sessions": NO_KEY}
    assert insert_keys("{help} help · {sessions} sessions · r again", keys) == "F1 help · r again"
    assert insert_keys("{sessions} shows them", keys) == "the palette shows them"


async def test_nothing_is_bound_to_tab_or_enter_by_another_name(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        nodes = [app, app.screen, *app.screen.walk_children()]
        keys = {
            key.strip()
            for node in nodes
            for declared in type(node).__mro__
            for binding in declared.__dict__.get("BINDINGS", ())
            if isinstance(binding, Binding)
            for key in binding.key.split(",")
        }
        assert "ctrl+n" in keys
        assert not keys & {"ctrl+i", "ctrl+m"}


@pytest.mark.parametrize("width", [60, 80, 96, 120, 160])
async def test_no_key_is_cut_in_the_key_bar(width: int, tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=(width, 24)) as pilot:
        await opened(pilot)
        bar = app.query_one(KeyBar)
        line = bar.render().plain
        assert len(line) <= width
        assert {"F1", "Ctrl+P"} <= set(line.split())
        shown = {action.label for action in ACTIONS if action.in_footer}
        assert all(entry.word in shown for entry in bar._entries())


PANES = {
    "composer": (),
    "transcript": ("shift+tab",),
    "sessions": ("f2",),
    "preset editor": ("f3",),
    "a message's form": ("f3", "enter"),
    "inspector": ("f4",),
    "notes": ("f4", "i"),
}


@pytest.mark.parametrize("size", [(160, 45), (120, 35), (96, 30), (80, 24), (60, 15)], ids=str)
async def test_the_footer_has_the_keys_of_the_app_and_each_can_be_clicked(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await say(pilot, "hello")
        bar = app.query_one(KeyBar)
        everywhere = [action.label for action in ACTIONS if action.in_footer]
        for pane, keys in PANES.items():
            app.chat.focus()
            await settle(pilot)
            for key in keys:
                await pilot.press(key)
                await settle(pilot)
            entries = bar._entries()
            assert len(entries) <= 7, pane
            assert {"Help", "Commands"} <= {entry.word for entry in entries}, pane
            words = [entry.word for entry in entries]
            assert words == [word for word in everywhere if word in words], pane
            line, pressed = bar.render().plain, list[str]()
            assert len(line) <= size[0], pane
            line += " "  # no gap stands behind the last key
            with monkeypatch.context() as patch:
                patch.setattr(app, "simulate_key", pressed.append)
                for entry in entries:
                    await pilot.click(
                        bar, offset=(line.index(f" {entry.key} {entry.word} ") + 1, 0)
                    )
            assert pressed == [entry.binding.key for entry in entries], pane


async def test_ctrl_c_copies_clears_or_explains_how_to_quit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    app = make_app(tmp_path)
    handed: list[str] = []
    monkeypatch.setattr(
        "tui_chat.ui.terminal.clipboard_and_notifications.copy_with_command",
        lambda text, environ: handed.append(text),
    )
    monkeypatch.setattr("tui_chat.ui.terminal.external_programs.open_link", lambda url: False)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        app.query_one(Composer).insert_text("a large paste " * 1_000)
        await pilot.press(*"words", "ctrl+c")
        await until(pilot, lambda: "draft is cleared. Ctrl+_ brings it back" in told(app))
        assert not app.query_one(Composer).text
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "Ctrl+Q quits" in told(app))
        await pilot.press("ctrl+underscore")
        assert app.query_one(Composer).text == "a large paste " * 1_000 + "words"
        app.query_one(Composer).text = "words"
        app.query_one(Composer).action_select_all()
        await pilot.press("ctrl+c")
        assert app.clipboard == "words"
        assert app.query_one(Composer).text == "words"
        await until(pilot, lambda: handed == ["words"])  # past the terminal, too
        app.copy_to_clipboard("\x1b[201~echo obeyed\n")
        await until(pilot, lambda: handed[1:] == ["␛[201~echo obeyed\n"])
        # A link that nothing can open is there to be pasted elsewhere.
        app.conversation.action_open_link("https://example.org/")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("y")
        await until(pilot, lambda: "No browser" in told(app))
        assert app.clipboard == "https://example.org/"


async def test_help_starts_with_the_focused_pane(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        for pane, title in ((SessionList, "Sessions"), (Transcript, "Conversation")):
            app.query_one(pane).focus()
            await settle(pilot)
            await pilot.press("f1")
            await until(pilot, lambda: len(app.screen_stack) == 2)
            assert str(app.screen.query(Static).first().render()).startswith(title)
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_every_pane_lists_its_keys(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        for pane in (Composer, Transcript, SessionList, Inspector):
            assert list(keys_of(app.query_one(pane)))


@pytest.mark.parametrize(
    ("key", "name"),
    [("ctrl+n", "Ctrl+N"), ("escape", "Esc"), ("g", "g"), ("G", "G"), ("ctrl+up", "Ctrl+↑")],
)
def test_names_of_keys(key: str, name: str):
    assert key_name(key) == name


async def test_the_palette_finds_an_action_by_its_name(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+p", *"rename")
        await until(
            pilot,
            lambda: any(
                "Rename session" in found.render_line(0).text
                for found in app.screen.query(OptionList)
                if found.option_count
            ),
        )


@pytest.mark.parametrize("key", ["ctrl+q", "f10"])
async def test_the_key_that_quits_does_so_in_a_dialog(tmp_path: Path, key: str):
    app = rebound(tmp_path, **({} if key == "ctrl+q" else {"quit": "F10"}))
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(key)
        await until(pilot, lambda: not app.is_running)


async def test_a_key_that_was_taken_from_quitting_does_nothing_in_a_dialog(tmp_path: Path):
    app = rebound(tmp_path, quit="")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("ctrl+q")
        await settle(pilot)
        assert len(app.screen_stack) == 2

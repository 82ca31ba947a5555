"""Keys: bindings, their configuration, and the rows that name them."""

from __future__ import annotations

from pathlib import Path
from string import ascii_letters

import pytest
from textual.binding import Binding
from textual.widgets import TextArea

from tests.support.app import make_app, opened, rows_shown, settle, told, until
from tests.support.pictures import MEDIUM, WIDE
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.key_row import KeyRow

SIZES = [(160, 45), (120, 35), (80, 24)]
MOVES = "jkJKgGhl"
"""Keys that move a cursor, if only its color, and need not say that it is at the end."""
PANES = {"conversation": "shift+tab", "sessions": "f2", "preset": "f3", "inspector": "f4"}


def draft(screen: Screen) -> str:
    """Return what is typed in the message box."""
    return screen.app.query_one("Composer", TextArea).text


async def go_to(screen: Screen, pane: str) -> None:
    """Give a pane the focus, from the message box."""
    screen.app.query_one("Composer").focus()
    await screen.rests()
    await screen.press(PANES[pane])
    await screen.until(lambda: not isinstance(screen.app.focused, TextArea), f"{pane} has no focus")
    await screen.rests()


async def changes(screen: Screen, before: str) -> bool:
    """Return True if the screen becomes another than it was before."""
    try:
        await screen.until(lambda: screen.text != before, "no change", seconds=1.5)
    except AssertionError:
        return False
    return True


async def pressed(screen: Screen, pane: str, *keys: str) -> list[str]:
    """Press keys in a pane; return what is wrong with them."""
    wrong: list[str] = []
    await go_to(screen, pane)
    place, previous = screen.app.focused, "nothing"
    for key in keys:
        if screen.app.focused is not place:
            await go_to(screen, pane)
            place = screen.app.focused
        fill = "%" if key != "%" else "&"
        if f"{previous} does nothing here." not in screen.text:
            await screen.press("j", "k", fill)  # what is said next is not on the screen already
            await screen.sees(f"{fill} does nothing here.")
        before, previous = screen.text, key
        await screen.press(key)
        if draft(screen):
            wrong.append(f"{pane}: {key} is text: {draft(screen)!r}")
            screen.app.query_one("Composer", TextArea).text = ""
        if key not in MOVES and not await changes(screen, before):
            wrong.append(f"{pane}: {key} does nothing, and does not say so")
        await leave_dialogs(screen)
        await screen.until(
            lambda: all(each.is_finished for each in screen.app.workers), f"{key} goes on and on"
        )
    return wrong


async def leave_dialogs(screen: Screen) -> None:
    """Leave dialogs, and the form that takes the place of the preset's list."""
    while len(screen.app.screen_stack) > 1 or screen.app.query("PresetPane.-form"):
        await screen.press("escape")
        await screen.rests()


CHARACTERS = (*ascii_letters, *"0129<>/?+=[]%", "space")


@pytest.mark.parametrize("pane", PANES)
async def test_every_character_acts_or_says_that_it_does_not_and_is_never_text(
    tmp_path: Path, pane: str
) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(160, 45)) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            wrong = await pressed(screen, pane, *CHARACTERS)
    assert not wrong, "\n".join(wrong)


async def test_so_do_the_keys_of_panes_in_which_there_is_nothing(tmp_path: Path) -> None:
    wrong: list[str] = []
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(160, 45)) as screen:
            wrong += await pressed(
                screen, "conversation", *"yYcCrefdtnNWoEvsSupmMiwaxlb+<>", "space"
            )
            wrong += await pressed(screen, "sessions", *"apref/tdu", "space")
            for pane in PANES:
                await go_to(screen, pane)
                await screen.press(
                    "pageup", "pagedown", "home", "end", "up", "down", "left", "right"
                )
            wrong += await pressed(screen, "inspector", *"nNueadm", "space")
            wrong += await pressed(screen, "preset", *"uUddddYyweJKos", "space")
    assert not wrong, "\n".join(wrong)


async def test_a_capital_acts_like_its_small_letter_and_keeps_the_zoom(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.press("f4", "f11", "O")
            await screen.loses("stream_options")
            await screen.loses("Type a message")
            await screen.press("Q")
            await screen.sees("Q does nothing here. F1 lists the keys.")
            assert "Type a message" not in screen.text
            await screen.press("f11", "f3", "S")
            await screen.sees("System messages")
            assert draft(screen) == ""


async def test_a_capital_that_is_another_key_stays_that_key(tmp_path: Path) -> None:
    """`y` copies a message, `Y` its code; beside a view that is not the request, `a` compares
    nothing, and must not be taken for another view's `A`.
    """
    with Provider(chat_text("Good morning."), chat_text(" And good luck.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            await screen.press("shift+tab", "Y")
            await screen.sees("There is no code block in this message.")
            assert len(provider.bodies) == 1
            await screen.press("c")
            await screen.until(lambda: len(provider.bodies) == 2, "nothing was continued")


# --- Keys ---------------------------------------------------------------------------------


def rebound(folder: Path, **keys: str) -> TuiChat:
    return make_app(folder, keys=tuple(keys.items()))


async def dialog(pilot, app: TuiChat, *, is_open: bool = True) -> None:
    await until(pilot, lambda: (len(app.screen_stack) > 1) is is_open)
    await settle(pilot)


@each_row(
    ("keys", "words"),
    [
        ({"new": "ctrl+o"}, "[keys] gives Ctrl+O to “new” and “model”"),
        ({"new": "ctrl+i,f9"}, "[keys] new: Ctrl+I is Tab in a terminal"),
        ({"news": "f9"}, "[keys] names “news”, which is not an action"),
        ({"new": "hyper+blah,f9"}, "[keys] new: there is no key “hyper+blah”"),
        ({"new": "enter"}, "[keys] new: Enter is needed to type, to move and to send"),
    ],
)
async def test_a_fault_in_configured_keys_is_told(
    keys: dict[str, str], words: str, tmp_path: Path
) -> None:
    app = rebound(tmp_path, **keys)
    async with app.run_test(size=MEDIUM) as pilot:
        await opened(pilot)
        assert words in told(app)
        assert ("f9" in app.active_bindings) is ("f9" in str(keys.get("new")))


async def test_configured_keys_are_shown_and_win_in_text_inputs(tmp_path: Path) -> None:
    app = rebound(
        tmp_path,
        new="Ctrl+K",
        model="F10",
        settings="ctrl+c",
        again="",
        help="f9, ?",
        roles="f7",
        detach="f3",
    )
    async with app.run_test(size=MEDIUM) as pilot:
        await opened(pilot)
        assert not told(app), "the keys of an action that is gone are passed over"
        assert app.active_bindings["f3"].binding.action != "detach"
        transcript, footer = app.query_one(Transcript), app.query_one(KeyRow)
        words = "\n".join(rows_shown(transcript))
        assert " F10 " in words
        assert "Ctrl+O" not in words
        assert "F9 all keys" in footer.render().plain
        assert "ctrl+r" not in app.active_bindings, "taken away"
        assert app.focused is app.query_one(Composer)
        for key in ("ctrl+c", "f7"):
            await pilot.press(key)
            await dialog(pilot, app)
            await pilot.press("escape")
            await dialog(pilot, app, is_open=False)
        new = app.active_bindings["ctrl+k"]
        assert (new.node, new.binding.action) == (app, "sessions.new")
        transcript.focus()
        await settle(pilot)
        assert "? all keys" in footer.render().plain
        await pilot.press("question_mark")
        await until(pilot, lambda: bool(app.key_panel.display))


async def test_nothing_is_bound_to_tab_or_enter_by_another_name(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
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


async def test_ctrl_c_copies_clears_or_explains_how_to_quit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(tmp_path)
    handed: list[str] = []
    monkeypatch.setattr(
        "tui_chat.ui.terminal.clipboard_and_notifications.copy_with_command",
        lambda text, environ: handed.append(text),
    )
    monkeypatch.setattr("tui_chat.ui.terminal.external_programs.open_link", lambda url: False)
    async with app.run_test(size=MEDIUM) as pilot:
        await opened(pilot)
        app.query_one(Composer).insert_text("a large paste " * 1_000)
        await pilot.press(*"words", "ctrl+c")
        await until(pilot, lambda: "text is cleared. Ctrl+_ brings it back" in told(app))
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
        app.conversation.open_link("https://example.org/")
        await dialog(pilot, app)
        await pilot.press("y")
        await until(pilot, lambda: "No browser" in told(app))
        assert app.clipboard == "https://example.org/"


@each_row("key", ["ctrl+q", "f10", None])
async def test_the_key_that_quits_does_so_in_a_dialog(tmp_path: Path, key: str | None) -> None:
    """None: the key is taken away, and Ctrl+Q does nothing."""
    keys = {"ctrl+q": {}, "f10": {"quit": "F10"}, None: {"quit": ""}}[key]
    app = rebound(tmp_path, **keys)
    async with app.run_test(size=MEDIUM) as pilot:
        await opened(pilot)
        await pilot.press("f5")
        await dialog(pilot, app)
        await pilot.press(key or "ctrl+q")
        if key is None:
            await settle(pilot)
            assert len(app.screen_stack) == 2
        else:
            await until(pilot, lambda: not app.is_running)

"""Where the focus is, and where what is typed goes."""

from __future__ import annotations

import random
from pathlib import Path
from string import printable

import pytest
from textual.color import Color
from textual.events import Paste
from textual.pilot import Pilot

from tests.ui.app_under_test import make_app, opened, say, settle, until
from tests.ui.named_keys import unnamed_letters
from tests.ui.test_key_queue import burst
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.area import Area
from tui_chat.ui.areas.inspector.view import views
from tui_chat.ui.areas.presets.pane import PresetPane
from tui_chat.ui.key_names import key_name
from tui_chat.ui.pane_keys import entry_content

SIZES = [(160, 45), (120, 35), (80, 24)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_title_of_the_pane_with_the_focus_is_lit_and_no_other(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await say(pilot, "hello")
        grounds: set[Color] = set()
        for key in ("shift+tab", "f2", "f4", "f3", "escape", "ctrl+n"):
            await pilot.press(key)
            if key == "f3":
                await until(pilot, lambda: bool(app.query(PresetPane)))
            await settle(pilot)
            lit = [row for row in app.panes.query(".-lit") if row.display and row.size.height == 1]
            areas = [node for row in lit for node in row.ancestors if isinstance(node, Area)]
            assert [area.has_focus_within for area in areas] == [True], key
            grounds |= {row.styles.background for row in lit}
        assert len(grounds) == 1


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_message_has_the_bar_of_the_cursor_only_with_the_focus(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await say(pilot, "hello")
        transcript = app.chat.pane.transcript

        def bars() -> set[str]:
            return {transcript.render_line(y).text[:1] for y in range(transcript.size.height)}

        await settle(pilot)
        assert "┃" not in bars()
        await pilot.press("shift+tab")
        assert "┃" in bars()


async def test_a_temporary_session_is_marked_on_title_and_composer(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        pane = app.chat.pane
        await pilot.press("f6")
        await until(pilot, lambda: pane.composer.has_class("-temporary"))
        assert pane.title_line.has_class("-temporary")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not pane.composer.has_class("-temporary"))
        assert not pane.title_line.has_class("-temporary")


# --- what is typed ------------------------------------------------------------------------

PANES = {"transcript": "shift+tab", "sessions": "f2", "preset editor": "f3", "inspector": "f4"}


async def with_a_conversation(pilot: Pilot[None]) -> TuiChat:
    app = pilot.app
    assert isinstance(app, TuiChat)
    await opened(pilot)
    await say(pilot, "hello")
    return app


async def focus_pane(pilot: Pilot[None], app: TuiChat, pane: str) -> None:
    """Focus a pane from the composer."""
    app.screen.set_focus(app.chat.pane.composer)
    await settle(pilot)
    await pilot.press(PANES[pane])
    if pane == "preset editor":
        await until(pilot, lambda: bool(app.query(PresetPane)))
    await settle(pilot)
    assert app.focused is not app.chat.pane.composer


def shown_letters(app: TuiChat) -> set[str]:
    """The letters that the rows of keys on the screen name, or the pane with the focus marks."""
    letters = {
        key_name(key)
        for area in app.query(Area)
        if area.has_focus_within
        for key in area.letters_in_sight
    }
    for keys, _ in app.panes.keys.entries:
        for label in keys.split():
            first, _, last = label.partition("-") if len(label) == 3 else (label, "", "")
            letters |= {chr(n) for n in range(ord(first), ord(last) + 1)} if last else {first}
    return letters


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("pane", PANES)
async def test_a_letter_acts_only_if_the_pane_shows_it_and_is_text_otherwise(
    tmp_path: Path, pane: str, size: tuple[int, int]
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=size) as pilot:
        app = await with_a_conversation(pilot)
        composer = app.chat.pane.composer
        await focus_pane(pilot, app, pane)
        shown = shown_letters(app)
        assert {"?", "j", "k"} <= shown
        letters = [letter for letter in printable[:94] if letter not in shown]
        assert len(letters) > 30
        random.Random(pane).shuffle(letters)
        for letter in letters[:4]:
            await pilot.press(letter)
            await settle(pilot)
            assert len(app.screen_stack) == 1, letter
            assert app.focused is composer, letter
            assert composer.text == letter
            composer.clear_text()
            await focus_pane(pilot, app, pane)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("pane", ["sessions", "preset editor", "inspector"])
async def test_letters_that_the_rows_omit_are_marked_in_the_pane(
    tmp_path: Path, pane: str, size: tuple[int, int]
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=size) as pilot:
        app = await with_a_conversation(pilot)
        await focus_pane(pilot, app, pane)
        (area,) = [area for area in app.query(Area) if area.has_focus_within]
        in_sight = {key_name(key) for key in area.letters_in_sight}
        assert in_sight
        marked: set[str] = set()
        for y in range(area.region.y, area.region.bottom):
            strip = app.screen._compositor.render_strips()[y]  # pyright: ignore[reportPrivateUsage]
            for segment in strip.crop(area.region.x, area.region.right):
                is_marked = segment.style is not None and segment.style.underline
                text = segment.text.strip().lower()
                marked |= {text} if is_marked or len(text) == 1 else set()
        assert in_sight <= marked


async def test_keys_of_views_and_of_cache_marks_are_text_where_there_are_none(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        await focus_pane(pilot, app, "inspector")
        assert shown_letters(app).isdisjoint("LCm")
        assert set("12345cprdeb") <= shown_letters(app)
        await pilot.press("3")
        await until(pilot, lambda: "m" in shown_letters(app))


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_view_of_the_inspector_names_the_letters_that_act(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=size) as pilot:
        app = await with_a_conversation(pilot)
        await focus_pane(pilot, app, "inspector")
        assert app.inspector.pane is not None
        for name in views():
            app.inspector.pane.view_shown = name
            await settle(pilot)
            assert unnamed_letters(app) <= shown_letters(app), name


@pytest.mark.parametrize("run", ["show_notifications", "main.usage", "configuration.list_plugins"])
async def test_dialogs_name_the_letters_that_act(tmp_path: Path, run: str) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await with_a_conversation(pilot)
        await app.run_action(run)
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await settle(pilot)
        assert not unnamed_letters(app)


MOST_ROWS = (1, 2, 2)
"""The most rows of keys at each size."""


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("pane", PANES)
async def test_the_keys_of_a_pane_take_few_rows(
    tmp_path: Path, pane: str, size: tuple[int, int]
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=size) as pilot:
        app = await with_a_conversation(pilot)
        above_keys = app.chat.pane.composer.region.bottom
        await focus_pane(pilot, app, pane)
        assert 1 <= app.panes.keys.size.height <= MOST_ROWS[SIZES.index(size)]
        moved = above_keys - app.chat.pane.composer.region.bottom
        assert moved in ((0, 1) if size == (80, 24) else (0,))


async def test_two_rows_have_the_keys_for_links_and_code(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await say(pilot, "See https://example.org and `this`:\n```\ncode\n```")
        await focus_pane(pilot, app, "transcript")
        assert {"link", "code"} <= {word for _, word in app.panes.keys.entries}
        assert app.panes.keys.size.height == 2


def test_a_letter_stands_in_its_word_or_in_front() -> None:
    entries = [("n", "new"), ("x", "delete"), ("E", "export"), ("y Y", "copy"), ("e", "rename")]
    texts = [entry_content(*entry) for entry in entries]
    assert [text.plain for text in texts] == ["new", "x delete", "Export", "y Y copy", "rename"]
    marked = [text.plain[span.start : span.end] for text in texts for span in text.spans]
    assert marked == [keys for keys, _ in entries]


async def test_undo_is_a_key_of_the_sessions_and_of_a_preset_after_an_edit(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        await focus_pane(pilot, app, "sessions")
        assert "u" not in shown_letters(app)
        await pilot.press("d")
        await until(pilot, lambda: "u" in shown_letters(app))
        await pilot.press("u")
        await until(pilot, lambda: "u" not in shown_letters(app))
        await focus_pane(pilot, app, "preset editor")
        assert shown_letters(app).isdisjoint("uU")
        await pilot.press("space")
        await until(pilot, lambda: {"u", "U"} <= shown_letters(app))
        await pilot.press("u")
        await settle(pilot)
        assert {"u", "U"} <= shown_letters(app), "to redo it"


async def test_a_letter_without_use_in_the_session_is_text_and_a_key_once_it_has_one(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await with_a_conversation(pilot)
        composer, transcript = app.chat.pane.composer, app.chat.pane.transcript
        await focus_pane(pilot, app, "transcript")
        assert shown_letters(app).isdisjoint("nNcWovsaxSub<>")
        await pilot.press("n")
        await settle(pilot)
        assert composer.text == "n"
        composer.clear_text()
        transcript.focus()
        await pilot.press(*"/hello", "enter")
        await settle(pilot)
        assert {"n", "N"} <= shown_letters(app)
        await pilot.press("n")
        await settle(pilot)
        assert app.focused is transcript
        await pilot.press("escape", "d")
        await until(pilot, lambda: "u" in shown_letters(app))
        assert "n" not in shown_letters(app)
        await pilot.press("u")
        await until(pilot, lambda: "u" not in shown_letters(app))


@pytest.mark.parametrize("seed", range(4))
async def test_text_typed_in_any_pane_is_text_from_its_first_letter_that_is_no_key_on(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    async with make_app(tmp_path, model="echo").run_test(size=dice.choice(SIZES)) as pilot:
        app = await with_a_conversation(pilot)
        composer = app.chat.pane.composer
        for _ in range(4):
            await focus_pane(pilot, app, dice.choice([*PANES]))
            free = [letter for letter in printable[:94] if letter not in shown_letters(app)]
            typed = dice.choice(free) + "".join(dice.choices(printable[:62], k=12))
            burst(app, *typed)
            await until(pilot, lambda: app.key_queue.is_idle)
            await settle(pilot)
            assert composer.text == typed
            composer.clear_text()


@pytest.mark.parametrize("pane", PANES)
async def test_a_paste_outside_of_a_field_goes_to_the_composer(tmp_path: Path, pane: str) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        await focus_pane(pilot, app, pane)
        app.post_message(Paste("two\nlines"))
        await until(pilot, lambda: bool(app.chat.pane.composer.text))
        assert app.chat.pane.composer.text == "two\nlines"
        assert app.focused is app.chat.pane.composer


async def test_what_follows_an_edited_message_is_text(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        composer = app.chat.pane.composer
        await pilot.press("shift+tab", "g", "e")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*" again", "enter")
        await until(pilot, lambda: app.screen is app.main and composer.has_focus)
        await settle(pilot)
        await pilot.press("shift+tab")
        entry = app.conversation.transcript.current
        assert entry is not None
        assert entry.message.role == "assistant"


async def test_what_follows_a_fork_or_the_choice_of_a_model_is_text(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        assert app.workspace is not None
        composer = app.chat.pane.composer
        await pilot.press("shift+tab")
        burst(app, "f", "enter", *"code")
        await until(pilot, lambda: composer.text == "code")
        await pilot.press("f2")
        burst(app, "ctrl+o", *"mirror", "enter", *"e rename")
        await until(pilot, lambda: "rename" in composer.text)
        assert composer.text == "codee rename"
        assert app.workspace.state.effective_model == "mirror"
        titles = {session.title for session in app.workspace.state.sessions}
        assert titles == {"hello"}

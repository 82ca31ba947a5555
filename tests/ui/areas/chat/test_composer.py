"""The composer: what is typed and pasted, and what it posts."""

from __future__ import annotations

from typing import ClassVar

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.message import Message

from tests.support.recorded_actions import RecordedActions
from tui_chat.ui.areas.chat.chat_pane import ChatPane
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.large_pastes import LargePastes
from tui_chat.ui.themes import origin_defaults


class Stage(App[None]):
    """A chat pane, and a record of what the composer posts."""

    BINDINGS: ClassVar = [
        Binding(key, f"pressed('{key}')") for key in ("ctrl+n", "f3", "f6", "f7", "f4")
    ]

    def __init__(self) -> None:
        super().__init__()
        self.posted: list[Message] = []
        self.back = RecordedActions(self, "chat")
        self.attached = RecordedActions(self, "attachments")
        self.changes: list[str] = []
        self.keys: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return origin_defaults(dark=True)

    def compose(self) -> ComposeResult:
        yield ChatPane()

    def on_mount(self) -> None:
        self.query_one(ChatPane).focus()

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    def action_pressed(self, key: str) -> None:
        self.keys.append(key)

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        self.posted.append(event)

    def on_composer_completion_requested(self, event: Composer.CompletionRequested) -> None:
        self.posted.append(event)

    def on_composer_changed(self, event: Composer.Changed) -> None:
        self.changes.append(event.text)

    def sent(self) -> list[str]:
        return [event.text for event in self.posted if isinstance(event, Composer.Submitted)]


async def test_enter_sends_and_the_text_stays_until_the_app_clears_it() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        await pilot.press(*"hi", "enter")
        assert app.sent() == ["hi"]
        assert app.composer.text == "hi"
        app.composer.clear_text()
        await pilot.press("ctrl+underscore", "enter")
        assert app.sent() == ["hi"]


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "alt+enter"])
async def test_new_lines_are_typed(key: str) -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        before = app.composer.size.height
        await pilot.press("a", key, "b")
        await pilot.pause()
        assert app.composer.text == "a\nb"
        assert app.composer.size.height == before + 1
        assert app.sent() == []


async def test_it_grows_to_two_fifths_of_the_pane() -> None:
    async with Stage().run_test(size=(60, 30)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        assert app.composer.outer_size.height == 3
        app.composer.text = "line\n" * 50
        await pilot.pause()
        assert app.composer.outer_size.height == 12


async def test_empty_text_is_not_sent_and_escape_goes_back() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        await pilot.press("space", "enter", "backspace", "escape")
        assert app.posted == []
        assert app.back.run == [("back",)]


async def test_the_apps_keys_reach_the_app() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        await pilot.press("ctrl+n", "f3", "f4", "f6", "f7")
        assert app.keys == ["ctrl+n", "f3", "f4", "f6", "f7"]


async def test_every_change_is_posted_with_its_text() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        await pilot.press("a", "中", "backspace")
        assert app.changes == ["a", "a中", "a"]
        app.composer.text = "draft"
        await pilot.pause()
        assert app.changes[-1] == "draft"
        await pilot.press("!")
        assert app.composer.text == "draft!"


async def paste(app: Stage, text: str) -> None:
    app.composer.post_message(events.Paste(text))
    await app.workers.wait_for_complete()


async def test_a_paste_is_tidied_and_not_sent() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        await paste(app, "one\r\ntwo\rthree \ud800\n")
        await pilot.pause()
        assert app.composer.text == "one\ntwo\nthree \ufffd\n"
        assert app.sent() == []


async def test_a_large_paste_is_a_chip_and_is_sent_whole() -> None:
    large = "0123456789 word\n" * 65_000
    async with Stage().run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        app.composer.insert_text("see: ")
        await paste(app, large)
        await pilot.pause()
        app.composer.insert_text(" o")
        await pilot.press("k")
        assert app.composer.document.text == "see: [pasted 1.0 MB, 65,000 lines] ok"
        assert app.composer.text == f"see: {large} ok"
        assert app.changes[-1] == f"see: {large} ok"
        await pilot.press("enter")
        assert app.sent() == [f"see: {large} ok"]


async def test_a_chip_is_one_thing() -> None:
    large = "x" * 5000
    async with Stage().run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        await paste(app, large)
        await pilot.pause()
        await pilot.press("left", "left", "a")
        assert app.composer.text == large + "a"
        app.composer.move_cursor((0, 5))
        await pilot.press("backspace")
        assert app.composer.text == "a"
        await pilot.press("ctrl+underscore")
        assert app.composer.text == large + "a"


async def test_a_draft_of_a_megabyte_comes_back() -> None:
    async with Stage().run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        app.composer.text = "x" * 1_000_000
        await pilot.pause()
        assert app.composer.text == "x" * 1_000_000
        app.composer.text = ""
        assert app.composer.text == ""


async def test_typed_escape_sequences_are_harmless() -> None:
    async with Stage().run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        app.composer.text = "a\x1b[31m\u202eb\x9bc 👩\u200d👧"
        await pilot.pause()
        shown = "".join(app.composer.render_line(y).text for y in range(2))
        assert not {"\x1b", "\u202e", "\x9b"} & set(shown)
        assert "👩\u200d👧" in shown
        assert app.composer.text == "a\x1b[31m\u202eb\x9bc 👩\u200d👧"


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_label_counts_the_lines_as_editors_do(end: str) -> None:
    text = "some words\n" * 299 + "some words"
    assert LargePastes().hold(text + end) == "[pasted 3 kB, 300 lines]"


def test_labels_tell_equal_sizes_apart() -> None:
    pastes = LargePastes()
    first, second = pastes.hold("a" * 5000), pastes.hold("b" * 5000)
    assert first != second
    assert pastes.hold("a" * 5000) == first
    assert pastes.expand(f"{first}|{second}") == "a" * 5000 + "|" + "b" * 5000
    assert pastes.expand("[pasted 9 kB, 1 line]") == "[pasted 9 kB, 1 line]"
    assert pastes.hold("short") == "short"


def test_a_paste_that_mentions_a_chip_is_not_expanded_twice() -> None:
    pastes = LargePastes()
    first = pastes.hold("a" * 5000)
    second = pastes.hold(first + "b" * 6000)
    assert pastes.expand(second) == first + "b" * 6000


@pytest.mark.usefixtures("drawn")
async def test_the_terminal_cursor_follows_the_text_for_input_methods() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        composer = app.composer

        async def stands_at(row: int, cells: int) -> None:
            await pilot.pause()
            inside = composer.content_region
            assert app.cursor_position == (inside.x + cells, inside.y + row)

        await stands_at(0, 0)
        await pilot.press("a", "你", "好")
        await stands_at(0, 5)
        await pilot.press("left")
        await stands_at(0, 3)
        await pilot.press("end", "ctrl+j", "ctrl+j", "ctrl+j", "한", "e", "x")
        await stands_at(3, 4)  # the editor has grown, and stands higher
        await pilot.resize_terminal(50, 20)
        await stands_at(3, 4)
        await pilot.press("ctrl+j", *"字" * 24)
        await stands_at(5, 4)  # a line is wrapped


async def test_the_cursor_stands_still_after_some_blinks_until_a_key_comes() -> None:
    async with Stage().run_test() as pilot:
        composer = pilot.app.query_one(Composer)
        await pilot.press("a")
        composer.blink_timer.pause()

        def blinks(times: int) -> list[bool]:
            seen: list[bool] = []
            for _ in range(times):
                composer._toggle_cursor_blink_visible()
                seen.append(composer._cursor_visible)
            return seen

        assert blinks(4) == [False, True, False, True]
        assert blinks(40)[-20:] == [True] * 20
        await pilot.press("b")
        composer.blink_timer.pause()
        assert blinks(2) == [False, True]


@pytest.mark.parametrize("lines", [5, 30, 90])
async def test_a_long_text_is_written_undone_and_written_again(lines: int) -> None:
    text = "\n".join(f"line {number}" for number in range(lines))
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        composer = app.composer
        for _ in range(2):
            composer.history.checkpoint()
            composer.rewrite(text)
            composer.history.checkpoint()
            await pilot.pause()
            assert composer.text == text
            composer.undo()
            assert composer.text == ""
        composer.redo()
        await pilot.pause()
        assert composer.text == text
        composer.select_all()
        await pilot.press("delete")
        assert composer.text == ""

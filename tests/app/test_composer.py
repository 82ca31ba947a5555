"""The composer: typing, graphemes, undo."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.widgets import Input, TextArea

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tui_chat.ui.widgets.graphemes import boundary_after, boundary_before


@asynccontextmanager
async def typing(folder: Path) -> AsyncGenerator[tuple[Screen, Provider]]:
    """The app over a provider that answers `Fine.`, on a screen with nothing but the chat."""
    with Provider(chat_text("Fine.")) as provider:
        async with open_screen(folder, config=provider.config(), size=(80, 30)) as screen:
            yield screen, provider


def draft(screen: Screen) -> str:
    """What stands in the composer, its rows without their border and blanks at their ends."""
    rows = [line[3:-1].rstrip() for line in screen.lines if line.startswith(" │")]
    return "\n".join(rows)


async def drafts(screen: Screen, text: str) -> None:
    await screen.until(lambda: draft(screen) == text, f"The draft never was {text!r}")


async def sends(screen: Screen, provider: Provider, *keys: str) -> Any:
    """Press keys of which the last one sends, and return the text that was sent."""
    before = len(provider.received)
    await screen.press(*keys, "enter")
    await screen.until(lambda: len(provider.received) > before, "Nothing was sent")
    await screen.loses("Esc stop")
    return provider.bodies[-1]["messages"][-1]["content"]


async def paste(screen: Screen, text: str) -> None:
    screen.app.post_message(events.Paste(text))


async def test_lines_are_typed_and_sent_exactly(tmp_path: Path):
    async with typing(tmp_path) as (screen, provider):
        await screen.press("space", "enter", "backspace")
        for key in ("ctrl+j", "shift+enter", "alt+enter"):
            await screen.press("a", key)
        await screen.press("中", "x", "backspace")
        await drafts(screen, "a\na\na\n中")
        assert await sends(screen, provider, "!") == "a\na\na\n中!"
        await drafts(screen, "Message")
        await screen.press(*["ctrl+j"] * 40)
        await screen.rests()
        assert len(draft(screen).split("\n")) == 10, "it grows to two fifths of the screen"
        await screen.press("ctrl+u", *["backspace"] * 40, *"gone", "ctrl+underscore")
        assert len(provider.received) == 1, "an empty text is not sent"


async def test_pastes_are_tidied_or_become_chips_and_are_sent_whole(tmp_path: Path):
    large = "0123456789 word\n" * 65_000
    async with typing(tmp_path) as (screen, provider):
        await paste(screen, "one\r\ntwo\rthree \ud800")
        await drafts(screen, "one\ntwo\nthree \ufffd")
        assert await sends(screen, provider) == "one\ntwo\nthree \ufffd"
        await screen.type("see: ")
        await paste(screen, large)
        await drafts(screen, "see: [pasted 1.0 MB, 65,000 lines]")
        await screen.press("left", "left", "b")  # a chip is one thing
        await drafts(screen, "see: [pasted 1.0 MB, 65,000 lines]b")
        await screen.press(*["left"] * 3, "backspace")
        await drafts(screen, "see: b")
        await screen.press("ctrl+underscore")
        await drafts(screen, "see: [pasted 1.0 MB, 65,000 lines]b")
        assert await sends(screen, provider, "end", *" ok") == f"see: {large}b ok"


async def test_typed_escape_sequences_are_spelled_out_and_sent_as_they_are(tmp_path: Path):
    hostile = "a\x1b[31m\u202eb\x9bc 👩\u200d👧"
    async with typing(tmp_path) as (screen, provider):
        await paste(screen, hostile)
        await screen.sees("👩\u200d👧")
        assert not {"\x1b", "\u202e", "\x9b"} & set(screen.text)
        assert await sends(screen, provider) == hostile
        await screen.sees("Fine.")
        assert not {"\x1b", "\u202e", "\x9b"} & set(screen.text)


async def test_candidates_are_completed_with_tab_and_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("src", "srv"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / "main.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    async with typing(tmp_path) as (screen, provider):
        await screen.type("/the")
        await screen.sees("/theme")
        await screen.press("tab")
        await drafts(screen, "/theme")
        await screen.press("space", *"tui-chat-l")
        await screen.sees("tui-chat-light")
        await screen.press("enter")
        await screen.until(lambda: screen.app.theme == "tui-chat-light", "It was not run")
        await drafts(screen, "Type a message: the request follows every key.")
        await screen.type("/hel")
        await screen.sees("Show all keys" if "Show all keys" in screen.text else "/help")
        await screen.press("escape")
        await screen.loses("/help ")
        await screen.press(*["backspace"] * 4, *"see @s")
        await screen.sees("src/", "srv/")
        await screen.press("tab")
        await screen.sees("main.py")
        await screen.press("tab")
        await screen.sees("main.py · 6 B")
        assert draft(screen).rstrip() == "see"
        await screen.press("backspace", *["backspace"] * 4)
        await screen.loses("main.py")
        assert provider.received == []


async def test_earlier_texts_come_back_newest_first_also_after_a_restart(tmp_path: Path):
    async with typing(tmp_path) as (screen, provider):
        for text in ("first session", "//model", "two\nlines"):
            await paste(screen, text)
            assert await sends(screen, provider) == text.replace("//", "/")
            if text == "first session":
                await screen.press("ctrl+n")
                await screen.loses("Fine.")
        await screen.type("draft")
        for key, text in (
            *(("up", "two\nlines"), ("up", "two\nlines"), ("up", "//model")),  # to its first line
            *(("up", "first session"), ("up", "first session")),
            *(("down", "//model"), ("down", "two\nlines"), ("down", "draft")),
        ):
            await screen.press(key)
            await drafts(screen, text)
        await sends(screen, provider)
    async with typing(tmp_path) as (screen, _):
        await screen.sees("Fine.", "draft")
        for text in ("draft", "two\nlines", "two\nlines", "//model", "first session"):
            await screen.press("up")
            await drafts(screen, text)


async def test_typing_replaces_a_rejected_command(tmp_path: Path):
    async with typing(tmp_path) as (screen, provider):
        for command in ("/nonsense", "/quit now"):
            await screen.type(command)
            await screen.press("escape", "enter")
            await drafts(screen, command)  # to be corrected
            await screen.press(*"hello")
            await drafts(screen, "hello")
            await screen.press(*["backspace"] * 5)
        assert provider.received == []


SNIPPET = """Review {{?what}} in a {{?tone::dry|warm|wild}} tone.
Use {{?lang::Python}}: {{?how}}"""


async def test_the_blanks_of_a_snippet_are_filled(tmp_path: Path):
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets" / "review.md").write_text(SNIPPET)

    async with typing(tmp_path) as (screen, provider):
        await screen.type("/snippet review")
        await screen.press("enter")
        await screen.sees("tone", "dry", "warm", "wild")
        await screen.press("down", "enter")
        await drafts(screen, "Review {{?what}} in a warm tone.\nUse Python: {{?how}}")
        await screen.press(*"C", "tab", *"gcc", "shift+tab")
        await drafts(screen, "Review C in a warm tone.\nUse Python: gcc")
        await screen.press("escape", "end", "!")
        text = "Review C in a warm tone.\nUse Python: gcc!"
        assert await sends(screen, provider) == text


@pytest.mark.usefixtures("drawn")
async def test_the_terminal_cursor_follows_the_text_for_input_methods(tmp_path: Path):
    async with typing(tmp_path) as (screen, _):
        x, y = screen.place("Type a message: the request follows every key.")

        async def stands_at(row: int, cells: int) -> None:
            where = (x + cells, y + row)
            await screen.until(
                lambda: screen.app.cursor_position == where,
                f"not at {where}: {screen.app.cursor_position}",
            )

        await stands_at(0, 0)
        await screen.press("a", "你", "好")
        await stands_at(0, 5)
        await screen.press("left")
        await stands_at(0, 3)
        await screen.press("end", "ctrl+j", "ctrl+j", "한", "e", "x")
        await stands_at(0, 4)  # the editor has grown upward


# --- Backspace ----------------------------------------------------------------------------


ON_SCREEN = ("〽️", "🇳🇴", "👩\u200d🌾", "e\u0301")
GRAPHEMES = (
    *ON_SCREEN,
    *("👨\u200d👩\u200d👧\u200d👦", "👍🏽", "🙂\u200d↔️", "1️⃣"),
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    *("ü\u0308\u0323", "각", "\u1100\u1161\u11a8", "\u1100\u1161", "नि", "กำ", "漢", "x"),
)


def test_characters_of_several_code_points_are_one() -> None:
    wrong: list[str] = []
    for grapheme in GRAPHEMES:
        for before in ("", "a", " ", "\t", "🇸🇪", "각"):
            text = f"{before}{grapheme}b"
            start, end = len(before), len(before) + len(grapheme)
            if boundary_before(text, end) != start:
                wrong.append(f"back over {grapheme!r} behind {before!r}")
            if boundary_after(text, start) != end:
                wrong.append(f"on over {grapheme!r} behind {before!r}")
    assert not wrong, wrong


def test_a_tab_or_a_joined_letter_belongs_to_nothing() -> None:
    assert boundary_before("a\t", 2) == 1
    assert boundary_before("\t\u0301", 2) == 1
    assert boundary_before("a\u200db", 3) == 2
    assert boundary_before("🇳🇴🇸🇪", 4) == 2
    assert (boundary_before("", 0), boundary_after("", 0)) == (0, 0)


@pytest.mark.parametrize("field", ["message box", "one line"])
async def test_one_key_takes_one_character(tmp_path: Path, field: str) -> None:
    wrong: list[str] = []
    async with open_screen(tmp_path, size=(80, 24)) as screen:
        if field == "one line":
            await screen.press("ctrl+o")
            await screen.sees("Type to filter")
        focused = screen.app.focused
        assert isinstance(focused, TextArea | Input)

        def text() -> str:
            assert isinstance(focused, TextArea | Input)
            return focused.text if isinstance(focused, TextArea) else focused.value

        for grapheme in ON_SCREEN:
            for keys, left in (
                (("backspace",), "ab"),
                (("left", "delete"), "ab"),
                (("left", "left", "right", "left", "x"), f"xa{grapheme}b"),
                (("left", "x"), f"ax{grapheme}b"),
                (("left", "right", "x"), f"a{grapheme}xb"),
                (("shift+left", "x"), "axb"),
                (("left", "shift+right", "x"), "axb"),
            ):
                if isinstance(focused, TextArea):
                    focused.text = f"a{grapheme}b"
                    focused.move_cursor((0, 1 + len(grapheme)))
                else:
                    focused.value = f"a{grapheme}b"
                    focused.cursor_position = 1 + len(grapheme)
                await screen.press(*keys)
                await screen.rests()
                if text() != left:
                    wrong.append(f"{grapheme!r} {keys}: {text()!r}")
            for keys in (("ctrl+w",), ("ctrl+left", "x", "y"), ("home", "ctrl+right", "x")):
                words = f"one {grapheme}{grapheme} {grapheme}"
                if isinstance(focused, TextArea):
                    focused.text = words
                    focused.move_cursor((0, len(words)))
                else:
                    focused.value = words
                    focused.cursor_position = len(words)
                await screen.press(*keys)
                await screen.rests()
                if not text().replace(grapheme, "").isascii():
                    wrong.append(f"{grapheme!r} {keys}: {text()!r}")
    assert not wrong, "\n".join(wrong)


# --- Undo of an edit of the request by hand -----------------------------------------------


async def test_an_edit_of_the_request_is_undone_only_if_there_is_one(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.press("f4", "u")
            await screen.sees("Nothing to undo.")
            await screen.press("g", "j", "d")
            await screen.sees("is not sent. u undoes it.")
            await screen.press("u")
            await screen.sees("Removed the edit by hand of /")

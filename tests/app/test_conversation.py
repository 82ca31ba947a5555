"""Reading a conversation: scrolling, the cursor, folds, code, finding, selecting, versions."""

from __future__ import annotations

import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.conversations import open_conversation
from tests.support.messages import make_message, thought
from tests.support.screen import Screen
from tests.unit.ui.terminal.test_terminal import program
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted
from tui_chat.models.session import Entry
from tui_chat.models.tool import DECLINED

SPOKEN = range(1, 19)
"""The rows of a screen of 24 that show the conversation."""


def user(text: str, **more: object) -> Message:
    return make_message("user", text, **more)  # type: ignore[arg-type]


def reply(text: str, **more: object) -> Message:
    return make_message("assistant", text, **more)  # type: ignore[arg-type]


def talk(count: int) -> list[Message]:
    """Questions and replies of several heights."""
    return [
        (reply if n % 2 else user)(f"text {n}.\n\n" + "more words " * (n % 7 * 6))
        for n in range(count)
    ]


def thinking(text: str, words: str, **more: object) -> Message:
    return reply(text, reasoning=(thought(Protocol.ANTHROPIC, words),), **more)


def spoken(screen: Screen) -> list[str]:
    """The rows of the conversation, without the bars at their left and the scroll bar."""
    lines = screen.lines
    return [lines[y][2:76].rstrip() for y in SPOKEN]


@asynccontextmanager
async def reading(
    folder: Path, *said: Message | Entry, size: tuple[int, int] = (80, 24), model: str = "mirror"
) -> AsyncGenerator[Screen]:
    """A stored conversation, its transcript under the keys."""
    async with open_conversation(folder, *said, size=size, model=model) as screen:
        await screen.press("shift+tab")
        await screen.sees("all keys")
        yield screen


async def test_it_is_scrolled_and_the_place_kept(tmp_path: Path):
    async with reading(tmp_path, *talk(60)) as screen:
        await screen.sees("text 59")
        await screen.press("up")
        for _ in range(30):  # though the heights of what is not seen are guessed
            before = spoken(screen)
            await screen.press("up")
            assert spoken(screen)[1:] == before[:-1]
        low = spoken(screen)
        await screen.press("pageup")
        assert spoken(screen)[-2:] == low[:2], "a page keeps two lines"
        await screen.press("pagedown")
        assert spoken(screen) == low
        await screen.press("home")
        await screen.sees("text 0.")
        await screen.press("slash", *"text 30.", "enter", "escape")
        await screen.sees("text 30.")
        for width, height in ((60, 24), (120, 35), (80, 24)):
            await screen.resize(width, height)
            await screen.rests()
            assert "text 30." in screen.text
        await screen.press("end")
        await screen.resize(70, 18)
        await screen.sees("text 59")


async def test_keys_go_from_message_to_message_and_copy_the_one_they_are_on(tmp_path: Path):
    async with reading(tmp_path, *talk(20)) as screen:
        for keys, copied in (
            ("y", 19), ("ky", 18), ("kky", 16), ("jy", 17), ("gy", 0), ("jy", 1), ("Gy", 19),
        ):  # fmt: skip
            await screen.press(*keys)
            assert screen.app.clipboard.startswith(f"text {copied}."), keys
        await screen.press("home", "Y")
        await screen.sees("There is no code block in this message.")
        await screen.press("space")
        await screen.sees("Nothing in this message is folded.")
        await screen.press("n")
        await screen.sees("Nothing was found.")


async def test_hostile_text_is_spelled_out_and_copied_as_it_is(tmp_path: Path):
    hostile = "a\x1b[31mred \u202egnirts\u202c \x9b2J tag \U000e0041 [bold]no[/] \u200b" * 2
    said = (user(hostile), reply(f"# {hostile}\n\n```\n{hostile}\n```", name=hostile))
    async with reading(tmp_path, *said) as screen:
        for spelled in (r"a␛[31mred \u202egnirts\u202c \x9b2J", "[bold]no[/]"):
            await screen.sees(spelled)
        assert not {"\x1b", "\x9b", "\u202e", "\u200b"} & set(screen.text)
        await screen.press("k", "y")
        written = hostile.replace("\x1b", "␛")  # what a terminal would paste as it is
        assert screen.app.clipboard == written
        await screen.press("j", "c")
        assert screen.app.clipboard == written


async def test_a_megabyte_is_read_only_where_it_is_seen(tmp_path: Path):
    said = (user("begin"), reply("word " * 200_000), user("tail"))
    async with reading(tmp_path, *said) as screen:
        await screen.sees("tail")
        await screen.press("pageup", "pageup")
        await screen.sees("word word")
        await screen.press("home")
        await screen.sees("begin")


# Folds, code, links


async def test_reasoning_calls_and_results_unfold_by_key_and_click(tmp_path: Path):
    call = CallBlock("1", "look", '{"q": "wal"}')
    said = (
        user("Why?"),
        thinking("answer", "deep thought", tool_calls=(call,)),
        make_message("tool", "\n".join("abcdefgh"), tool_call_id="1", name="look"),
        thinking("more", "long\n\n" * 40),
    )
    async with reading(tmp_path, *said, size=(80, 45)) as screen:
        await screen.sees("▸ Reasoning (2 words)", "▸ calls look  wal", "✓ answered")
        await screen.press("k", "k", "space")
        await screen.sees("▾ Reasoning (2 words)", "│ deep thought")
        await screen.press("enter")
        await screen.loses("│ deep thought")
        await screen.click_on("Reasoning (2 words)")
        await screen.sees("│ deep thought")
        await screen.press("G", "enter")
        await screen.sees("▾ Reasoning (40 words)")
        await screen.press("enter")  # though it is far above now
        await screen.sees("▸ Reasoning (40 words)")


CODE = "Two ways:\n\n```python\nfirst = 1\n```\n\n1. Or:\n\n   ```sh\n   second\n   ```\n"
WIDE = "```python\nx = [" + ", ".join(map(str, range(60))) + "]\ny = 1\n```"


async def test_code_is_copied_without_its_fences_and_wrapped(tmp_path: Path):
    long = "\n".join(f"line {number}" for number in range(500))
    said = (user("?"), reply(f"```\n{long}\n```"), reply(WIDE), reply(CODE))
    async with reading(tmp_path, *said) as screen:
        for copied, number in (("first = 1", 1), ("second", 2), ("first = 1", 1)):
            await screen.press("Y")
            assert screen.app.clipboard == copied
            await screen.sees(f"Copied the code block {number} of 2")
        await screen.click_on("sh    ")
        assert screen.app.clipboard == "second"
        await screen.press("k", "Y")
        assert screen.app.clipboard == WIDE.strip("`").removeprefix("python\n").strip()
        await screen.press("k", "Y")
        assert screen.app.clipboard == long, "what was cut for its length is copied whole"


async def test_links_name_their_address_and_are_opened_by_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened = tmp_path / "opened"
    named = program(tmp_path, "my-browser", f'echo "$@" >>{opened}')
    browser = webbrowser.GenericBrowser([str(named), "%s"])
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    said = (user("?"), reply("[one](http://a.b/1) and http://a.b/2"))
    async with reading(tmp_path, *said) as screen:
        await screen.sees("one (http://a.b/1) and http://a.b/2")
        urls = ["http://a.b/1", "http://a.b/2", "http://a.b/2"]
        for number, url in enumerate(urls):
            if number < 2:
                await screen.press("o")
                await screen.sees(f"● {urls[0]}")
                await screen.press(*["down"] * number, "enter")
            else:
                await screen.click_on(url)
            await screen.sees("Open this link?", f"  {url}")
            await screen.press("y")
            await screen.loses("Open this link?")
        await screen.until(lambda: opened.read_text().split() == urls, "They were not opened")


# Versions, tool calls, marks


async def test_versions_are_counted_and_browsed_by_key_and_click(tmp_path: Path):
    versions = (Entry(reply(f"version {n}", id=f"v{n}"), "q") for n in (1, 2, 3))
    async with reading(tmp_path, user("q", id="q"), *versions) as screen:
        await screen.sees("version 3", "‹ 3/3 ›")
        await screen.press("left")
        await screen.sees("version 2", "‹ 2/3 ›")
        await screen.click_on("‹ 2/3")
        await screen.sees("version 1", "‹ 1/3 ›")
        await screen.press("right")
        await screen.sees("version 2")


CALLS = (CallBlock("c1", "weather", '{"city": "Paris"}'), CallBlock("c2", "search", "{}"))


def result(number: int, text: str, *, failed: bool = False) -> Message:
    call = CALLS[number]
    return make_message("tool", text, tool_call_id=call.id, name=call.name, failed=failed)


async def test_a_tool_call_says_what_became_of_it(tmp_path: Path):
    calls = (user("?"), reply("Looking.", tool_calls=CALLS))
    for name, more, shown in (
        ("waiting", (), ("waiting for a result", "waiting for a result")),
        ("one", (result(0, "21"),), ("✓ answered", "waiting for a result")),
        ("left", (result(0, "21"), reply("Well.")), ("✓ answered", "no answer")),
        (
            "failed",
            (result(0, "No.", failed=True), result(1, DECLINED, failed=True), reply("So.")),
            ("✗ failed", "✗ declined"),
        ),
    ):
        (tmp_path / name).mkdir()
        async with open_conversation(tmp_path / name, *calls, *more, size=(160, 30)) as screen:
            rows = [screen.lines_with(f"calls {call.name}")[0] for call in CALLS]
            assert [words in row for row, words in zip(rows, shown, strict=True)] == [True] * 2


async def test_muted_and_pinned_messages_are_marked(tmp_path: Path):
    picture = MediaBlock("image", "image/png", "AA==", name="a.png")
    said = (
        user("gone", muted=Muted(whole=True)),
        user("seen", parts=(picture,), muted=Muted(blocks=(1,))),
        Entry(thinking("T", "Hm.", tool_calls=CALLS[:1], muted=Muted(blocks=(0,)))),
        result(0, "R"),
        user("kept", pinned=True),
    )
    async with reading(tmp_path, *said, size=(80, 35)) as screen:
        await screen.sees("you  ◇ muted, not sent", "a.png", "◆ pinned")
        assert screen.text.count("◇ muted") == 3
        await screen.press("k", "k", "m")  # a call that has reasoning, which may be meant
        await screen.sees("● Mute this message")
        await screen.press("enter")
        await screen.until(lambda: screen.text.count("◇ muted") > 3, "It was not muted")


# Finding


def found(screen: Screen) -> str:
    return screen.lines_with("Esc closes")[0]


async def test_find_counts_hits_and_steps_through_them(tmp_path: Path):
    said = [
        (reply if n % 2 else user)(f"text {n}" + " Needle, needle" * (n in (10, 30)))
        for n in range(60)
    ]
    async with reading(tmp_path, *said) as screen:
        start = spoken(screen)
        await screen.press("slash", *"needle")
        await screen.sees("2 of 2", "text 30")
        await screen.press("enter", "n")
        await screen.sees("1 of 2", "text 10")
        await screen.press("n", "n", "N")
        await screen.sees("2 of 2")
        await screen.press("escape")
        await screen.loses("Esc closes")
        await screen.press("end")
        await screen.until(lambda: spoken(screen) == start, "It is not at the end")
        await screen.press("slash", *"needle")
        await screen.sees("2 of 2")
        await screen.press("x")
        await screen.sees("nothing")
        await screen.sees("text 56")  # where the search began


async def test_folded_text_is_found_by_its_message(tmp_path: Path):
    call = CallBlock("c", "sew", '{"with": "\\u006eeedle"}')
    said = (
        user("?"),
        thinking("Some needle.", "A needle, a needle. " + "And. " * 40, tool_calls=(call,)),
        make_message("tool", "\n".join("abcdefg") + "\nlast needle", tool_call_id="c", name="sew"),
    )
    async with reading(tmp_path, *said, size=(80, 60)) as screen:
        await screen.press("g", "slash", *"need")
        await screen.sees("1 of 2", "Some needle.")
        await screen.press("enter", "n")
        await screen.sees("2 of 2")
        await screen.press("enter")
        await screen.sees("last needle")


# Selecting


def selected(screen: Screen) -> str | None:
    return screen.app.screen.get_selected_text()


async def test_the_mouse_selects_and_a_key_copies(tmp_path: Path):
    wrapped = "> 一二三四五六七八九十一二三四五六七八九十 and **words** that go on and on to an end"
    said = (user("?"), reply("first some-word here\n\nlast words"), reply(wrapped))
    async with reading(tmp_path, *said, size=(44, 30)) as screen:
        await screen.drag("some-word", "last")
        assert selected(screen) == "some-word here\n\nlast"
        await screen.press("y")
        assert screen.app.clipboard == "some-word here\n\nlast"
        x, y = screen.place("一二")
        await screen.drag("end", to=(x, y))  # backward, over the breaks of lines
        text = wrapped.removeprefix("> ").replace("*", "")
        assert selected(screen) == text.removesuffix("nd")
        await screen.drag("二三", "三四")  # from the middle of nothing: wide characters stay whole
        assert selected(screen) == "二三四"


async def test_all_is_copied_as_it_was_written(tmp_path: Path):
    async with reading(tmp_path, user("**a**"), reply("*b*")) as screen:
        await screen.app.run_action("conversation.export", screen.app.conversation)
        await screen.sees("The whole conversation, to the clipboard")
        await screen.press("down", "enter")
        await screen.sees("Copied the conversation")
        assert screen.app.clipboard == "You:\n\n**a**\n\nmodel-x:\n\n*b*"


# The column of the text


async def test_text_and_composer_stand_in_one_column_at_any_width(tmp_path: Path):
    said = (user("Question"), reply("Some 漢字 words: http://a.b/c\n\n```sh\nls --all\n```"))
    async with open_conversation(tmp_path, *said) as screen:
        for width in (60, 100, 80):
            await screen.resize(width, 30)
            await screen.until(lambda width=width: max(map(len, screen.lines)) <= width, "wider")
            await screen.rests()
            bar, _ = screen.place("▎ Question")
            assert screen.place("Some 漢字")[0] == bar + 2
            assert screen.place("╭")[0] == bar == 1
            copy, _ = screen.place("copy")
            assert copy + len("copy ") <= screen.place("╮")[0]


async def test_headers_name_the_versions(tmp_path: Path):
    other, last = Entry(reply("Other"), parent_id="m0"), Entry(reply("Five"), parent_id="m3")
    said = user("One"), reply("Two"), other, user("Three"), reply("Four"), last
    async with reading(tmp_path, *said, user("Six"), reply("Seven")) as screen:
        assert screen.text.count("‹ 2/2 ›") == 2
        await screen.press("k", "k", "k", "k", "left")
        await screen.sees("‹ 1/2 ›")

"""The list of sessions, and figures that are shown once."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.app import make_app, opened
from tests.support.conversations import DAY, store_sessions
from tests.support.screen import Screen, open_screen
from tests.support.server import Answer, Provider, chat_text, events
from tui_chat.models.session import Session
from tui_chat.ui.sessions.rows import SessionList

MINUTE = 60 / DAY


def session(title: str, days: float = 0.0, **more: object) -> Session:
    facts: dict[str, object] = {"model": "mirror", "updated": days, **more}
    return Session(title, title, **facts)  # type: ignore[arg-type]


def several(count: int) -> list[Session]:
    """Sessions of the last minutes, A the newest."""
    return [session(chr(ord("A") + number), number * MINUTE) for number in range(count)]


@asynccontextmanager
async def listing(
    folder: Path, *sessions: Session, size: tuple[int, int] = (120, 45)
) -> AsyncGenerator[Screen]:
    """The app with stored sessions, their list under the keys."""
    await store_sessions(folder, *sessions)
    async with make_app(folder).run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        screen = Screen(pilot)
        await screen.press("f2")
        await screen.sees("Sessions", "Enter open")
        yield screen


def rows(screen: Screen) -> list[str]:
    """The rows of the list below its head."""
    shown = [line.partition("▕")[0].rstrip() for line in screen.lines[1:-3]]
    return [row for row in shown if row]


AGE = re.compile(r" (now|\d+[mh]|[A-Z][a-z]{2}|\d+ [A-Z][a-z]{2}|[A-Z][a-z]{2} \d{4})$")


def names(screen: Screen) -> list[str]:
    """The filter and headings whole, and of each session, which has an age, the title, a word."""
    found: list[str] = []
    for row in rows(screen):
        words = row.replace("▌", " ").split()
        is_session = AGE.search(row)
        found.append(next(w for w in words if w not in "•✓◆└") if is_session else " ".join(words))
    return found


async def archive(screen: Screen) -> None:
    """Archive or restore what the list has selected, from the palette."""
    await screen.press("ctrl+p")
    await screen.type("Archive or restore")
    await screen.press("enter")


async def lists(screen: Screen, *wanted: str) -> None:
    await screen.until(lambda: names(screen) == [*wanted], f"{wanted} is not {names(screen)}")


async def test_sessions_are_grouped_by_time(tmp_path: Path):
    said = (
        session("One", tags=("b", "a")),
        session("Two", 1),
        session("Three", 3, pinned=True, folder="Zoo"),
        session("Four", 5, tags=("a",)),
        session("Five", 14),
        session("Six", 40, archived=True),
        session("Seven", 900),
    )
    async with listing(tmp_path, *said) as screen:
        by_time = (
            *("Pinned", "Three", "Today", "One", "Yesterday", "Two"),
            *("Last 7 days", "Four", "December 2025", "Five", "2023", "Seven"),
        )
        await lists(screen, *by_time, "▸ Archived 1")
        assert "#b #a" in screen.text
        assert "Three · Zoo" in screen.text
        await screen.press("end", "enter")
        await lists(screen, *by_time, "Archived", "Six")
        await screen.press("down")
        await archive(screen)
        await screen.sees("November 2025")  # it is no longer archived
        await screen.press("home", "left")
        await screen.sees("▸ Pinned")
        await screen.click_on("Today")
        await screen.sees("▸ Today")
        await screen.press("space", "home", "up", "enter")
        await screen.loses("▸ Pinned")


async def test_a_session_is_opened_by_keys_and_clicks(tmp_path: Path):
    async with listing(tmp_path, *several(30)) as screen:
        for keys, opened_one in (("j", "B"), ("jj", "D"), ("k", "C"), ("home", "A")):
            await screen.press(*([keys] if keys == "home" else keys), "enter")
            await screen.sees(f"About {opened_one}?")
            await screen.press("f2")
            await screen.sees("Enter open")
        await screen.click_on(" K ")
        await screen.sees("About K?")
        await screen.press("ctrl+n")
        await screen.sees("New session")


async def test_hostile_titles_are_spelled_out_and_cut(tmp_path: Path):
    hostile = session("a\x1b[31mb\u202ec" + "漢字" * 30, folder="f\x9b2J")
    async with listing(tmp_path, hostile, session("Other", folder="other")) as screen:
        await screen.sees("a␛[31mb\\u202ec漢")
        await screen.press("slash", *"2j")
        await screen.sees("a␛[31mb")
        assert not {"\x1b", "\x9b", "\u202e"} & set(screen.text)
        assert all(row.count("…") <= 1 for row in rows(screen))


async def test_the_filter_narrows_while_typing(tmp_path: Path):
    said = (
        session("Cats", 0, folder="do"),
        session("Dune", MINUTE, tags=("SciFi",)),
        session("Undoing", 2 * MINUTE, archived=True),
        session("scifi", 3 * MINUTE),
    )
    async with listing(tmp_path, *said) as screen:
        await screen.press("slash", *"DO")
        await lists(screen, "DO", "Today", "Cats", "Archived", "Undoing")
        await screen.press("i")
        await lists(screen, "DOi", "Archived", "Undoing")
        await screen.press("enter")
        await screen.sees("About Undoing?")
        await screen.press("f2", "escape")
        await lists(screen, "Today", "Cats", "Dune", "scifi", "▸ Archived 1")
        await screen.press("slash", *"#sci")
        await lists(screen, "#sci", "Today", "Dune")
        await screen.press(*"zzz")
        await screen.sees("No sessions match.")
        await screen.press("down", "escape")  # from the rows, too
        await lists(screen, "Today", "Cats", "Dune", "scifi", "▸ Archived 1")


async def test_several_are_chosen_and_changed_together(tmp_path: Path):
    async with listing(tmp_path, *several(6)) as screen:
        await screen.press("space", "down", "space")
        await screen.sees("2 selected", "✓ A", "✓ C")
        await screen.press("p")
        await lists(screen, "Pinned", "A", "C", "Today", "B", "D", "E", "F")
        await screen.loses("selected")
        await screen.press("home", "shift+down", "shift+down", "shift+down", "shift+up")
        await screen.sees("3 selected")
        await screen.press("d")
        await lists(screen, "Today", "D", "E", "F")
        await screen.press("u")
        await lists(screen, "Pinned", "A", "C", "Today", "B", "D", "E", "F")
        await screen.press("home", "shift+end", "p")  # some were pinned, so that all are now
        await lists(screen, "Pinned", "A", "B", "C", "D", "E", "F")
        await screen.press("home", "shift+end", "p")
        await lists(screen, "Today", "A", "B", "C", "D", "E", "F")
        await screen.press("home", "shift+end", "escape", "end", "d")
        await lists(screen, "Today", "A", "B", "C", "D", "E")
        await screen.press("home", "down", "space", "down", "space")
        await archive(screen)
        await lists(screen, "Today", "A", "C", "E", "▸ Archived 2")


async def test_the_cursor_stays_at_its_place_when_a_session_goes(tmp_path: Path):
    async with listing(tmp_path, *several(4)) as screen:
        await screen.press("down", "d")
        await lists(screen, "Today", "A", "C", "D")
        await screen.press("d")
        await lists(screen, "Today", "A", "D")
        await screen.press("u", "u")
        await lists(screen, "Today", "A", "B", "C", "D")


async def test_side_conversations_are_folded_below_their_session(tmp_path: Path):
    said = (
        session("Build", 3 * MINUTE, client="Claude Code"),
        session("Title", MINUTE, parent_id="Build", client="Claude Code"),
        session("Look", 2 * MINUTE, parent_id="Build", folder="elsewhere"),
    )
    async with listing(tmp_path, *said) as screen:
        await lists(screen, "Today", "Build")
        await screen.sees("▸2 3m")
        await screen.press("right")
        await lists(screen, "Today", "Build", "Title", "Look")
        await screen.press("down", "left")
        await lists(screen, "Today", "Build")
        await screen.press("slash", *"look")
        await lists(screen, "look", "Today", "Look")


async def test_an_empty_list_explains_how_to_start(tmp_path: Path):
    async with listing(tmp_path) as screen:
        await screen.sees("No sessions yet.")
        await screen.press(
            "enter", "d", "e", "space", "left", "shift+up", "shift+end", "down", "end"
        )
        await screen.sees("No sessions yet.")


async def test_a_list_that_comes_back_after_a_zoom_shows_what_is_true_now(tmp_path: Path):
    async with listing(tmp_path, *several(3), size=(120, 35)) as screen:
        listed = screen.app.query_one(SessionList)
        await screen.press("enter")
        await screen.sees("About A?")
        await screen.press("f4")
        await screen.until(lambda: not listed.is_on_screen, "The list stayed")
        await screen.press("f11")
        await screen.sees("unzoom")
        await screen.press("f11")
        await screen.loses("unzoom")
        await screen.press("ctrl+k")
        await screen.sees("Go to session")
        await screen.type("B")
        await screen.press("enter")
        await screen.loses("Go to session")
        await screen.until(lambda: screen.lines[0].startswith("   B"), "B is not open")
        await screen.press("f4", "f4")
        await screen.until(
            lambda: screen.app.query_one(SessionList).is_on_screen, "It is not there"
        )
        await screen.rests()
        strips = [screen.app.query_one(SessionList).render_line(y) for y in range(1, 4)]
        marked = [each.text for strip in strips for each in strip if each.style.bold]  # type: ignore[union-attr]
        assert marked == ["B"]


# --- What the screen says, it says once ---------------------------------------------------


async def send(screen: Screen, words: str, messages: int) -> None:
    await screen.type(words)
    await screen.press("enter")
    await screen.has_messages(messages)
    await screen.loses("Esc stop")


async def test_messages_that_do_not_fit_are_counted_once(tmp_path: Path):
    with Provider(chat_text("word " * 150)) as provider:
        config = provider.config() + "\n[models.m]\ncontext_limit = 600\n"
        async with open_screen(tmp_path, config=config) as screen:
            for number in range(1, 5):
                await send(screen, f"message {number}", 2 * number)
            await screen.press("f4", "right")
            await screen.sees("left out to fit")
            assert len(screen.lines_with("left out to fit")) == 1
            assert "of the history" not in screen.text


async def test_usage_lists_this_month_once(tmp_path: Path):
    usage = events({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    with Provider(chat_text("Fine.").removesuffix("data: [DONE]\n\n") + usage) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await send(screen, "hello", 2)
            await screen.type("/usage")
            await screen.press("enter")
            await screen.sees("Usage and cost", "This month")
            months = re.findall(r"\b20\d\d-\d\d\b(?!-)", screen.text)
            assert not months, screen.text


async def test_a_reply_has_one_clock(tmp_path: Path):
    words = [chat_text(f"w{number} ", finish=None) for number in range(60)]
    clocks: set[int] = set()
    with Provider(Answer([*words, chat_text("end")], pause=0.05)) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("● ", "Esc stop")

            def has_ended() -> bool:
                conversation = "\n".join(line.partition("▏")[0] for line in screen.lines)
                clocks.add(len(re.findall(r"\d s\b|tokens/s", conversation)))
                return "Esc stop" not in screen.text

            await screen.until(has_ended, "The reply did not end")
            assert re.search(r"[\d.]+ s · \d\d:\d\d", screen.text)
    assert clocks <= {0, 1}

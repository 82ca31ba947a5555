"""The session list: what it shows, and what it posts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot

from tui_chat.model.session import SessionSummary
from tui_chat.ui.sidebar import SessionList
from tui_chat.ui.sidebar.ago import ago
from tui_chat.ui.sidebar.rows import SessionRows

NOW = 1_750_000_000.0


def summary(index: int, title: str = "", **more: object) -> SessionSummary:
    facts: dict[str, object] = {
        "session_id": f"s{index}",
        "title": title or f"Session {index}",
        "role_name": "",
        "model": "model-x",
        "endpoint": "e",
        "message_count": 2,
        "total_tokens": 10,
        "status": "complete",
        "updated": NOW - index * 60,
    }
    return SessionSummary(**{**facts, **more})  # pyright: ignore[reportArgumentType]


class Stage(App[None]):
    """A session list of some width, and a record of what it posts."""

    CSS = "SessionList { width: 30; }"

    def __init__(self) -> None:
        super().__init__()
        self.posted: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield SessionList()

    @property
    def sessions(self) -> SessionList:
        return self.query_one(SessionList)

    def rows(self) -> list[str]:
        view = self.query_one(SessionRows)
        return [view.render_line(y).text.rstrip() for y in range(view.size.height)]

    def _note(self, event: Message) -> None:
        self.posted.append((type(event).__name__, getattr(event, "session_id", "")))

    on_session_list_opened = _note
    on_session_list_new_requested = _note
    on_session_list_delete_requested = _note
    on_session_list_rename_requested = _note


async def shown(
    pilot: Pilot[None], summaries: tuple[SessionSummary, ...], current: str | None = None
) -> Stage:
    app = pilot.app
    assert isinstance(app, Stage)
    app.sessions.show(summaries, current, NOW)
    app.sessions.focus()
    await pilot.pause()
    return app


async def test_a_row_says_title_age_role_model_and_status() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(
            pilot,
            (
                summary(2, "A very long title that does not fit", role_name="Editor"),
                summary(120, status="failed"),
                summary(3, "中文标题" * 9, status="streaming"),
                summary(4, "cut", status="interrupted"),
            ),
            "s2",
        )
        assert app.rows()[:8] == [
            "▌ A very long title that … 2m",
            "▌ Editor · model-x",
            "  Session 120            ! 2h",
            "  model-x",
            "  中文标题中文标题中文…  ● 3m",
            "  model-x",
            "  cut                    ~ 4m",
            "  model-x",
        ]


async def test_keys_move_and_open() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(pilot, tuple(map(summary, range(5))), "s1")
        await pilot.press("enter", "down", "enter", "end", "k", "enter", "home", "enter")
        assert app.posted == [("Opened", f"s{n}") for n in (1, 2, 3, 0)]


async def test_keys_ask_for_new_rename_and_delete() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(pilot, tuple(map(summary, range(3))))
        await pilot.press("n", "down", "e", "d", "delete")
        assert app.posted == [
            ("NewRequested", ""),
            ("RenameRequested", "s1"),
            ("DeleteRequested", "s1"),
            ("DeleteRequested", "s1"),
        ]


async def test_clicks_open_and_begin() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(pilot, tuple(map(summary, range(3))))
        await pilot.click(SessionRows, offset=(5, 3))
        await pilot.click(SessionList, offset=(3, 0))
        assert app.posted == [("Opened", "s1"), ("NewRequested", "")]


async def test_the_filter_narrows_as_one_types() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(
            pilot,
            (summary(0, "Cats and do us"), summary(1, "Dune", model="gpt"), summary(2, "Undoing")),
        )
        await pilot.press("slash", *"DO")
        assert [row.strip() for row in app.rows()[:4:2]] == [
            "Cats and do us          now",
            "Undoing                  2m",
        ]
        await pilot.press(" ", "n", "d", "enter")
        assert app.posted == [("Opened", "s0")]
        await pilot.press("escape")
        assert app.sessions.filter.value == ""
        await pilot.press("escape")
        assert app.query_one(SessionRows).has_focus
        await pilot.press("slash", "g", "p", "down", "enter")
        assert app.posted[-1] == ("Opened", "s1")
        app.sessions.filter.value = "zzz"
        await pilot.pause()
        assert "Nothing matches." in "".join(app.rows())


async def test_letters_in_the_filter_are_letters() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(pilot, tuple(map(summary, range(3))))
        await pilot.press("slash", *"ned/")
        assert app.sessions.filter.value == "ned/"
        assert app.posted == []


async def test_the_cursor_stays_on_its_session() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        summaries = tuple(map(summary, range(6)))
        app = await shown(pilot, summaries, "s0")
        await pilot.press("down", "down")
        app.sessions.show((*summaries[4:], *summaries[:4]), "s0", NOW)
        await pilot.press("enter")
        app.sessions.show(summaries, "s5", NOW)
        await pilot.press("enter")
        assert app.posted == [("Opened", "s2"), ("Opened", "s5")]


async def test_an_empty_list_says_how_to_begin() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(pilot, ())
        assert "Press n to begin one." in "".join(app.rows())
        await pilot.press("enter", "d", "e", "down", "end")
        assert app.posted == []


async def test_thousands_are_drawn_by_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(pilot, tuple(map(summary, range(5000))), "s4000")
        assert "Session 4000" in "".join(app.rows())
        await pilot.press("end")
        await pilot.pause()
        assert "Session 4999" in app.rows()[-2]


@given(st.lists(st.text(max_size=60), min_size=5, max_size=5), st.integers(8, 40))
@settings(max_examples=4)
async def test_every_strip_fits(titles: list[str], width: int) -> None:
    async with Stage().run_test(size=(60, 14)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        app.sessions.styles.width = width
        rows = tuple(summary(n, t, role_name=t, status="failed") for n, t in enumerate(titles))
        await shown(pilot, rows, "s1")
        view = app.query_one(SessionRows)
        wide = view.scrollable_content_region.width
        for y in range(view.size.height):
            strip = view.render_line(y)
            assert sum(segment.cell_length for segment in strip) == wide
            assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in strip.text)


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        (-5, "now"),
        (59, "now"),
        (60, "1m"),
        (3599, "59m"),
        (7200, "2h"),
        (3 * 86_400, "Thu"),
        (30 * 86_400, "16 May"),
        (400 * 86_400, "May 2024"),
        (1e15, ""),
    ],
)
def test_ages_are_short(passed: float, said: str) -> None:
    assert ago(NOW - passed, NOW) == said

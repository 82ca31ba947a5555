"""The session list: what it shows, and what it posts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.app import until
from tests.support.sidebar_app import DAY, NOW, Stage, press, shown, summary
from tui_chat.models.session import SessionSummary
from tui_chat.ui.ago import ago
from tui_chat.ui.areas.sessions import SessionList
from tui_chat.ui.areas.sessions.session_list import NewSessionRow
from tui_chat.ui.areas.sessions.session_rows import SessionRows

SIZE = (60, 20)


async def test_a_session_shows_title_age_role_model_tags_and_status() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(
            pilot,
            (
                summary(2, "A very long title that does not fit", role_name="Editor"),
                summary(3, "中文标题" * 9, status="streaming"),
                summary(4, "cut", status="interrupted", unread=True),
                summary(120, status="failed", tags=("work", "much too long a tag")),
            ),
            "s2",
        )
        assert app.lines()[:7] == [
            " ▾ Today",
            "▌ A very long title that … 2m",
            "▌ Editor · model-x",
            "  中文标题中文标题中文…  ● 3m",
            " •cut                    ~ 4m",
            "  Session 120            ! 2h",
            "  model-x #work #much too lo…",
        ]


async def test_a_session_without_role_and_model_has_one_line() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        usual = (summary(n, role_name="Editor") for n in (2, 3, 4))
        app = await shown(pilot, (summary(1, model=""), *usual), "s1")
        assert [line[2:13].strip() for line in app.lines()[1:3]] == ["Session 1", "Session 2"]


async def test_sessions_with_arriving_replies_are_marked() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, (summary(1), summary(2)))
        app.list.show((summary(1), summary(2)), None, NOW, {"s2"})
        assert [line[-4:] for line in app.titles()[1:]] == ["  1m", "● 2m"]


async def test_sessions_are_grouped_by_time_pinned_first_and_archived_folded() -> None:
    async with Stage().run_test(size=(60, 40)) as pilot:
        app = await shown(
            pilot,
            (
                summary(1),
                summary(2, updated=NOW - DAY),
                summary(3, updated=NOW - 3 * DAY, pinned=True),
                summary(4, updated=NOW - 4 * DAY),
                summary(5, updated=NOW - 14 * DAY),
                summary(6, updated=NOW - 40 * DAY, archived=True),
                summary(7, updated=NOW - 40 * DAY),
                summary(8, updated=NOW - 900 * DAY),
                summary(9, updated=0.0),
            ),
        )
        assert [title[:14].strip() for title in app.titles()] == [
            *("▾ Pinned", "Session 3"),
            *("▾ Today", "Session 1"),
            *("▾ Yesterday", "Session 2"),
            *("▾ Last 7 days", "Session 4"),
            *("▾ June", "Session 5"),
            *("▾ May", "Session 7"),
            *("▾ 2022", "Session 8"),
            *("▾ Earlier", "Session 9"),
            "▸ Archived",
        ]


async def test_groups_by_folder_and_tag() -> None:
    async with Stage().run_test(size=(60, 40)) as pilot:
        app = await shown(
            pilot,
            (
                summary(1, tags=("b", "a")),
                summary(2, folder="Zoo", pinned=True),
                summary(3, folder="ant", tags=("a",)),
            ),
        )
        await press(pilot, "g")
        assert [title[:13].strip() for title in app.titles()] == [
            *("▾ ant", "Session 3", "▾ Zoo", "↑ Session 2", "▾ No folder", "Session 1")
        ]
        await press(pilot, "g")
        assert [title[:13].strip() for title in app.titles()] == [
            *("▾ a", "Session 1", "Session 3", "▾ b", "Session 1"),
            *("▾ No tags", "↑ Session 2"),
        ]
        await press(pilot, "g")
        assert app.titles()[0] == " ▾ Pinned"


async def test_a_group_folds_and_unfolds() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, (summary(1), summary(2), summary(3, updated=NOW - DAY)))
        await press(pilot, "left")
        assert [line.split()[1] for line in app.titles()] == ["Today", "Yesterday", "3"]
        await press(pilot, "down", "enter", "up", "enter", "enter")
        assert app.actions.run == [("open", "s3"), ("open", "s1")]
        await pilot.click(SessionRows, offset=(4, 0))
        assert app.lines()[0].split() == ["▸", "Today", "2"]
        await press(pilot, "d", "p", "t", "f", "e", "a", "r")
        assert all(len(run) == 1 + (run[0] == "mark") for run in app.actions.run[2:])  # no session


async def test_archived_sessions_are_under_their_heading() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, (summary(1), summary(2, archived=True)))
        assert app.lines()[2].split() == ["▸", "Archived", "1"]
        await press(pilot, "end", "enter")
        assert "Session 2" in app.lines()[3]
        await press(pilot, "a")
        assert app.actions.run == [("mark", "archived", "s2")]


async def test_keys_move_and_open() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, tuple(map(summary, range(5))), "s1")
        await press(pilot, "enter", "down", "enter", "end", "k", "enter", "home", "enter")
        assert app.actions.run == [("open", f"s{n}") for n in (1, 2, 3, 0)]


@pytest.mark.parametrize(
    ("key", "run"),
    [
        ("n", ("new",)),
        ("r", ("rename_listed", "s1")),
        ("d", ("delete", "s1")),
        ("delete", ("delete", "s1")),
        ("t", ("tag", "s1")),
        ("f", ("move_to_folder", "s1")),
        ("p", ("mark", "pinned", "s1")),
        ("a", ("mark", "archived", "s1")),
        ("e", ("mark", "unread", "s1")),
        ("u", ("undo",)),
    ],
)
async def test_keys_run_actions_on_the_session_under_the_cursor(
    key: str, run: tuple[object, ...]
) -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, (summary(0), summary(1, unread=True), summary(2)))
        await press(pilot, "down", key)
        assert app.actions.run == [run]


async def test_several_sessions_are_selected_and_changed_together() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, tuple(map(summary, range(6))))
        await press(pilot, "space", "down", "space")
        assert "2 chosen" in app.list.new_session.render().plain
        assert app.lines()[1].startswith(" ✓Session 0")
        await press(pilot, "d")
        assert app.actions.run == [("delete", "s0", "s2")]
        assert app.list.rows.chosen == set()
        await press(pilot, "home", "shift+down", "shift+down", "shift+down", "shift+up", "p")
        assert app.actions.run[1:] == [("mark", "pinned", "s0", "s1", "s2")]
        await press(pilot, "ctrl+a", "escape", "end", "d")
        assert app.actions.run[2:] == [("delete", "s5")]


async def test_a_tag_that_all_have_is_removed_from_all() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, (summary(0, pinned=True), summary(1, pinned=True), summary(2)))
        await press(pilot, "ctrl+a", "p", "home", "space", "space", "p")
        assert app.actions.run == [
            ("mark", "pinned", "s0", "s1", "s2"),
            ("mark", "pinned", "s0", "s1"),
        ]


async def test_a_deleted_session_leaves_the_selection() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, tuple(map(summary, range(3))))
        await press(pilot, "ctrl+a")
        app.list.show((summary(1),), None, NOW)
        await press(pilot, "d")
        assert app.actions.run == [("delete", "s1")]


async def test_clicks_open_select_and_create() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        tagged = summary(1, tags=("two lines",))
        app = await shown(pilot, (summary(0), tagged, *map(summary, range(2, 5))))
        await pilot.click(SessionRows, offset=(5, 3))
        await pilot.click(SessionList, offset=(3, 0))
        assert app.actions.run == [("open", "s1"), ("new",)]
        await pilot.click(SessionRows, offset=(5, 1), control=True)
        await pilot.click(SessionRows, offset=(5, 4), control=True)
        assert app.list.rows.chosen == {"s0", "s2"}
        await pilot.click(SessionRows, offset=(5, 6), shift=True)
        assert app.list.rows.chosen == {"s2", "s3", "s4"}


async def test_the_filter_narrows_while_typing() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(
            pilot,
            (
                summary(0, "Cats and do us"),
                summary(1, "Dune", model="gpt", tags=("SciFi",)),
                summary(2, "Undoing", archived=True),
                summary(3, "scifi"),
            ),
        )
        await press(pilot, "slash", *"DO")
        assert [row.split()[:2] for row in app.titles()] == [
            *(["▾", "Today"], ["Cats", "and"], ["▾", "Archived"], ["Undoing", "2m"])
        ]
        await press(pilot, " ", "n", "d", "enter")
        assert app.actions.run == [("open", "s0")]
        await press(pilot, "escape")
        assert app.list.filter.value == ""
        assert app.query_one(SessionRows).has_focus
        await press(pilot, "slash", *"#sci", "down", "enter")
        assert app.actions.run[-1] == ("open", "s1")
        app.list.filter.value = "zzz"
        await pilot.pause()
        assert "Nothing matches." in "".join(app.lines())
        await press(pilot, "escape")  # from the rows, too
        assert app.list.filter.value == ""


async def test_the_filter_takes_a_row_only_while_it_is_used() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, tuple(map(summary, range(3))))
        field, top = app.list.filter, app.query_one(NewSessionRow)
        assert not field.display
        column = top.render().plain.index("/ filter")
        await pilot.click(NewSessionRow, offset=(1 + column, 0))
        await until(pilot, lambda: field.has_focus)
        assert field.display
        assert app.actions.run == []
        await press(pilot, "down")
        assert app.query_one(SessionRows).has_focus
        assert not field.display
        await press(pilot, "slash", "1", "down")
        assert app.query_one(SessionRows).has_focus
        assert field.display
        await press(pilot, "escape")
        assert not field.display
        for offset in (2, 1 + top.render().plain.index("3")):
            app.actions.run.clear()
            await pilot.click(NewSessionRow, offset=(offset, 0))
            assert app.actions.run == [("new",)]


async def test_letters_typed_into_the_filter_are_not_keys() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, tuple(map(summary, range(3))))
        await press(pilot, "slash", *"ned/ p")
        assert app.list.filter.value == "ned/ p"
        assert app.actions.run == []


async def test_the_cursor_stays_on_its_session() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        summaries = tuple(map(summary, range(6)))
        app = await shown(pilot, summaries, "s0")
        await press(pilot, "down", "down")
        app.list.show((*summaries[4:], *summaries[:4]), "s0", NOW)
        await press(pilot, "enter")
        app.list.show(summaries, "s5", NOW)
        await press(pilot, "enter")
        assert app.actions.run == [("open", "s2"), ("open", "s5")]


async def test_the_cursor_goes_to_a_new_session_as_soon_as_it_is_listed() -> None:
    old = [summary(n) for n in range(1, 4)]
    app = Stage()
    async with app.run_test(size=(30, 20)):
        app.list.show(old, "s1", NOW)
        app.list.show(old, None, NOW)
        app.list.show(old, "s0", NOW)  # its reply begins before the list is read again
        app.list.show([summary(0), *old], "s0", NOW)
        rows = app.list.rows
        assert rows.under_cursor is not None
        assert rows.under_cursor.session_id == "s0"


async def test_a_moved_cursor_stays_when_a_new_session_is_listed() -> None:
    old = [summary(n) for n in range(1, 4)]
    app = Stage()
    async with app.run_test(size=(30, 20)):
        app.list.show(old, None, NOW)
        app.list.show(old, "s0", NOW)
        app.list.rows.set_cursor(2)
        app.list.show([summary(0), *old], "s0", NOW)
        rows = app.list.rows
        assert rows.under_cursor is not None
        assert rows.under_cursor.session_id == "s3"


async def test_the_cursor_keeps_its_row_when_its_session_goes() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        summaries = tuple(map(summary, range(6)))
        app = await shown(pilot, summaries, "s0")
        await press(pilot, "down", "down", "d")
        app.list.show((*summaries[:2], *summaries[3:]), "s0", NOW)
        await press(pilot, "d")
        assert app.actions.run == [("delete", "s2"), ("delete", "s3")]


async def test_an_empty_list_explains_how_to_start() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, ())
        assert "Type below, or press Ctrl+N." in "".join(app.lines())
        await press(pilot, "enter", "d", "r", "space", "left", "shift+up", "ctrl+a", "down", "end")
        assert app.actions.run == [("delete",), ("rename_listed",)]  # about no session


async def test_thousands_of_sessions_are_drawn_by_row() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, tuple(map(summary, range(5000))), "s4000")
        assert "Session 4000" in "".join(app.lines())
        await press(pilot, "end")
        await pilot.pause()
        assert "Session 4999" in app.lines()[-1]


async def test_a_title_that_is_cut_twice_has_one_ellipsis() -> None:
    async with Stage().run_test(size=(60, 14)) as pilot:
        fork = summary(0, "Whales", fork_of="A question about the blue whale", model="m" * 40)
        app = await shown(pilot, (fork,), "s0")
        for width in range(12, 50):
            app.list.styles.width = width
            await pilot.pause()
            assert "……" not in "".join(app.lines())


@given(st.lists(st.text(max_size=60), min_size=5, max_size=5), st.integers(8, 40))
@settings(max_examples=4)
async def test_every_strip_fits(titles: list[str], width: int) -> None:
    async with Stage().run_test(size=(60, 14)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        app.list.styles.width = width
        rows = tuple(
            summary(n, t, role_name=t, status="failed", tags=(t, t), folder=t, pinned=n == 1)
            for n, t in enumerate(titles)
        )
        await shown(pilot, rows, "s1")
        await press(pilot, "g")
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


async def test_side_conversations_are_folded_below_their_session() -> None:
    summaries = (
        summary(1, "Write the title of", parent_id="s3", client="Claude Code"),
        summary(2, "Look for it", parent_id="s3", folder="elsewhere"),
        summary(3, "Build it", client="Claude Code"),
        summary(4, "Of one that is gone", parent_id="s9"),
    )
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, summaries, "s1")
        folded = [
            " ▾ Today",
            "  Build it              ▸2 3m",
            "  Claude Code · model-x",
            "  Of one that is gone      4m",
        ]
        assert [line for line in app.lines() if line] == folded
        rows = app.query_one(SessionRows)
        assert [s.session_id for s in rows.targets] == ["s3", "s1", "s2"]
        await press(pilot, "right")
        assert [line for line in app.lines() if line][1:6] == [
            "  Build it              ▾2 3m",
            "  Claude Code · model-x",
            "▌ └ Write the title of     1m",
            "▌ Claude Code · model-x",
            "  └ Look for it            2m",
        ]
        assert [s.session_id for s in rows.targets] == ["s3"]
        await press(pilot, "down", "left")
        assert [line for line in app.lines() if line] == folded
        await press(pilot, "slash", *"look")
        assert "Look for it" in app.lines()[1]


async def test_side_conversations_fold_at_each_level() -> None:
    summaries = (
        summary(1, "Deepest", parent_id="s2"),
        summary(2, "Below", parent_id="s3"),
        summary(3, "Top"),
        summary(4, "Round", parent_id="s5"),
        summary(5, "About", parent_id="s4"),
    )
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, summaries, "s3")

        def rows() -> list[str]:
            return [line[2:24].rstrip() for line in app.lines() if line][1:]

        circle = ["Round", "About"]
        assert rows() == ["Top", *circle]
        assert [s.session_id for s in app.query_one(SessionRows).targets] == ["s3", "s2", "s1"]
        await press(pilot, "right")
        assert rows() == ["Top", "└ Below", *circle]
        await press(pilot, "down", "right")
        assert rows() == ["Top", "└ Below", "  └ Deepest", *circle]
        await press(pilot, "up", "left")
        assert rows() == ["Top", *circle]


# --- rows of one line and of two ----------------------------------------------------------

KINDS = {
    "usual": {},
    "default model": {"model": ""},
    "other model": {"model": "model-y"},
    "other role": {"role_name": "Editor"},
    "tagged": {"tags": ("home",)},
    "fork": {"fork_of": "another"},
    "from a program": {"client": "Claude Code"},
}
ONE_LINE = ("usual", "default model")


@given(
    st.lists(st.tuples(st.sampled_from(list(KINDS)), st.booleans()), max_size=40),
    st.integers(0, 30),
)
@settings(max_examples=8, deadline=None)
async def test_each_line_belongs_to_the_session_that_a_click_on_it_opens(
    kinds: list[tuple[str, bool]], scrolled: int
) -> None:
    usual = tuple(summary(100 + n, f"Usual {n}") for n in range(40))
    mixed = tuple(
        summary(n, updated=NOW - n * DAY if is_old else NOW, **KINDS[kind])
        for n, (kind, is_old) in enumerate(kinds)
    )
    app = Stage()
    async with app.run_test(size=SIZE) as pilot:
        await shown(pilot, (*usual, *mixed))
        rows, layout = app.list.rows, app.list.rows.layout_now
        by_row: dict[int, list[int]] = {}
        for line in range(layout.line_count):
            by_row.setdefault(rows.row_at(line), []).append(line)
        assert sorted(row for row in by_row if row >= 0) == list(range(layout.row_count))
        kind_of = {f"s{n}": kind for n, (kind, _) in enumerate(kinds)}
        for row, lines in by_row.items():
            if row >= 0:
                session = layout.item_at(row)
                assert isinstance(session, SessionSummary)
                is_short = kind_of.get(session.session_id, "usual") in ONE_LINE
                assert len(lines) == (1 if is_short else 2), session
                first, count = layout.lines_of(row)
                assert list(range(first, first + count))[-len(lines) :] == lines
        rows.scroll_to(y=scrolled, animate=False, immediate=True)
        await pilot.pause()
        for y in range(0, rows.size.height, 4):
            row = rows.row_at(rows.scroll_offset.y + y)
            if row >= 0:
                session = layout.item_at(row)
                assert isinstance(session, SessionSummary)
                before = len(app.actions.run)
                await pilot.click(SessionRows, offset=(5, y))
                assert app.actions.run[before:] == [("open", session.session_id)]


async def test_rows_keep_their_height_and_place_while_the_list_changes() -> None:
    sessions = tuple(map(summary, range(30)))
    others = tuple(summary(n, model="model-y") for n in range(50, 58))
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, sessions)
        rows = app.list.rows
        rows.set_cursor(25)
        await pilot.pause()
        line = rows.layout_now.lines_of(25)[0] - rows.scroll_offset.y
        for count in range(len(others) + 1):
            app.list.show((*sessions, *others[:count]), None, NOW)
            await pilot.pause()
            assert rows.layout_now.lines_of(1)[1] == 1, "most have this model still"
        app.list.show((*others, *sessions), None, NOW)
        await pilot.pause()
        assert rows.under_cursor is sessions[25]
        assert rows.layout_now.lines_of(rows.cursor)[0] - rows.scroll_offset.y == line


async def test_a_filtered_list_says_what_was_found() -> None:
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, tuple(map(summary, range(4))))
        assert "model-x" not in "".join(app.lines())
        await press(pilot, "slash", *"model-x")
        assert "".join(app.lines()).count("model-x") == 4


async def test_a_page_is_what_is_in_sight_less_two_lines() -> None:
    mixed = tuple(summary(n, tags=("x",) * (n % 3 == 0)) for n in range(100))
    async with Stage().run_test(size=SIZE) as pilot:
        app = await shown(pilot, mixed)
        rows = app.list.rows
        height = rows.size.height
        first = 0
        while rows.cursor < 99:
            await press(pilot, "pagedown")
            line = rows.layout_now.lines_of(rows.cursor)[0]
            assert first < line <= first + height - 1
            first = line
        await press(pilot, *["pageup"] * 20)
        assert rows.cursor == 0

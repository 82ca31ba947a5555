"""Working with the transcript: versions, code, links, tool calls, finding, selecting."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import until
from tests.ui.areas.chat.test_transcript import LIVE, Stage, branch, entry, shown
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted, Part, ToolCall
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.session import Entry
from tui_chat.models.stream_events import TextDelta
from tui_chat.models.tool import DECLINED
from tui_chat.models.usage import Timing, Usage
from tui_chat.ui.areas.chat.header_footer import token_rate
from tui_chat.ui.areas.chat.text_lines import indented, safe_run, wrap
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.ui.areas.chat.transcript_search import find_spans, word_pattern
from tui_chat.ui.widgets.find_bar import FindBar

CODE = """Two ways:

```python
first = 1
```

1. Or this:

   ```sh
   second
   ```
"""


@pytest.mark.parametrize(
    ("key", "action"),
    [
        *(("r", "retry"), ("C", "continue"), ("e", "edit"), ("f", "fork"), ("d", "delete")),
        *(
            ("p", "pin"),
            ("m", "mute"),
            ("M", "mute_part"),
            ("i", "inspect"),
            ("w", "reveal"),
            ("E", "export"),
            ("S", "subagent"),
        ),
        *(("o", "open_link"), ("v", "view"), ("s", "save"), ("a", "answer"), ("x", "run")),
    ],
)
async def test_keys_act_on_the_message_under_the_cursor(key: str, action: str) -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(6))
        await pilot.press("k", "k", key)
        assert app.actions.run == [(action, "m3")]


async def test_a_pinned_message_is_marked() -> None:
    pinned = Entry(Message("user", "keep", id="p", pinned=True))
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0), pinned))
        assert "◆ pinned" in "\n".join(app.rows())


async def test_what_is_muted_is_dimmed_and_marked() -> None:
    """Also what goes with it; marks are not dimmed."""
    picture = Part("image", "image/png", "AA==", name="a.png")
    calls = (ToolCall("x", "look", "{}"), ToolCall("y", "find", "{}"))
    thoughts = MessageSemantics((ReasoningBlock(Protocol.OPENAI_CHAT, "Hm."),))
    entries = (
        Entry(Message("user", "gone", id="u", muted=Muted(whole=True))),
        Entry(Message("user", "seen", id="s", parts=(picture,), muted=Muted(parts=(0,)))),
        Entry(Message("assistant", "T", id="a", tool_calls=calls, semantics=thoughts,
                      muted=Muted(reasoning=True))),
        Entry(Message("tool", "R", id="r", tool_call_id="x", name="look")),
    )  # fmt: skip
    async with Stage().run_test(size=(70, 30)) as pilot:
        app = await shown(pilot, entries)
        before = app.rows()
        assert not any("not sent" in row for row in before)
        app.transcript.set_muted(frozenset("ur"), frozenset({("a", "y")}))
        await pilot.pause()
        rows = "\n".join(app.rows())
        assert "You  ◇ muted, not sent" in rows
        assert "◇ muted with its call, not sent" in rows
        assert "a.png" in rows
        assert rows.count("◇ muted") == 5
        assert len(app.rows()) == len(before)
        dim = {
            palette.color
            for palette in (
                app.transcript.palette("user", "muted"),
                app.transcript.palette("muted"),
            )
        }
        colors: dict[str, object] = {}
        for y in range(app.transcript.size.height):
            for text, style, _ in app.transcript.draw_row(y):
                colors[text.strip()] = style.color if style else None
        assert colors["gone"] in dim
        assert colors["seen"] not in dim
        assert colors["◇ muted, not sent"] not in dim
        app.transcript.set_muted(frozenset(), frozenset())
        await pilot.pause()
        assert "not sent" not in "\n".join(app.rows())


async def test_versions_are_counted_and_browsed_by_key_and_click() -> None:
    second = entry(1, "answer", sibling=1, siblings=3)
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0), second))
        rows = app.rows()
        row = next(y for y, text in enumerate(rows) if "‹ 2/3 ›" in text)
        await pilot.press("left", "right")
        at = rows[row].index("‹") + 2
        await pilot.click(Transcript, offset=(at, row))
        await pilot.click(Transcript, offset=(at + 6, row))
        assert app.actions.run == [("sibling", step, "m1") for step in (-1, 1, -1, 1)]


async def test_code_is_copied_block_after_block_without_its_fences() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, CODE),))
        await pilot.press("c", "c", "c")
        assert app.copied == ["first = 1", "second", "first = 1"]
        assert app.said == [
            "Copied the code block 1 of 2: 9 characters.",
            "Copied the code block 2 of 2: 6 characters.",
            "Copied the code block 1 of 2: 9 characters.",
        ]


async def test_a_click_on_the_line_above_code_copies_it() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, CODE),))
        row = next(y for y, text in enumerate(app.rows()) if text.strip().startswith("sh"))
        await pilot.click(Transcript, offset=(30, row))
        assert app.copied == ["second"]


async def test_code_that_was_cut_for_its_length_is_copied_whole() -> None:
    lines = "\n".join(f"line {number}" for number in range(500))
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, f"```\n{lines}\n```\n"),))
        await pilot.press("c")
        assert app.copied == [lines]
        assert app.said == ["Copied the code block: 4,389 characters."]


async def test_the_conversation_is_copied_whole() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0, "**q**"), entry(1, "a")))
        await pilot.press("Y")
        assert app.copied == ["You:\n\n**q**\n\nmodel-x:\n\na"]


async def test_links_are_opened_one_after_the_other() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, "[one](http://a.b/1) and http://a.b/2"),))
        urls = [app.transcript.next_link() for _ in range(3)]
        assert urls == ["http://a.b/1", "http://a.b/2", "http://a.b/1"]


async def test_questions_are_jumped_between() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(20))
        for key, cursor in (("K", 18), ("K", 16), ("J", 18), ("k", 17), ("K", 16)):
            await pilot.press(key)
            assert app.transcript.cursor == cursor


async def test_the_cursor_stays_until_a_new_message() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        entries = branch(3)
        app = await shown(pilot, entries)
        await pilot.press("k", "k", "k")
        assert app.transcript.cursor == 0
        pinned = replace(entries[0], message=replace(entries[0].message, pinned=True))
        app.chat.show("", "", (pinned, *entries[1:]))
        assert app.transcript.cursor == 0
        app.chat.show("", "", (pinned, *entries[1:], entry(4, "More?")))
        assert app.transcript.cursor is None


CALLS = Message(
    "assistant",
    "Looking.",
    id="calls",
    tool_calls=(ToolCall("c1", "weather", '{"city": "Paris"}'), ToolCall("c2", "search", "{")),
)


async def test_tool_calls_show_whether_they_are_answered() -> None:
    answer = Entry(Message("tool", "21", id="t1", tool_call_id="c1", name="weather"))
    calls = (entry(0), Entry(CALLS, model="m"))
    async with Stage().run_test(size=(80, 30)) as pilot:
        app = await shown(pilot, calls)
        assert sum("● waiting for a result" in row for row in app.rows()) == 2
        assert app.transcript.waiting_call == ("calls", 0)
        app.chat.show("Title", "", (*calls, answer))
        await pilot.pause()
        rows = app.rows()
        assert any("weather" in row and "✓ answered" in row for row in rows)
        assert any("search" in row and "● waiting for a result" in row for row in rows)
        assert app.transcript.waiting_call == ("calls", 1)
        app.chat.show("Title", "", (*calls, answer, entry(3, "Well.")))
        await pilot.pause()
        assert any("search" in row and "no answer" in row for row in app.rows())
        await pilot.press("k", "k", "k")
        assert app.transcript.waiting_call is None


async def test_a_tool_call_shows_that_it_failed_or_was_declined() -> None:
    results = [
        Entry(
            Message(
                "tool",
                text,
                id=call.id,
                tool_call_id=call.id,
                name=call.name,
                semantics=MessageSemantics(failed=True),
            )
        )
        for call, text in zip(CALLS.tool_calls, ("No such city.", DECLINED), strict=True)
    ]
    async with Stage().run_test(size=(80, 30)) as pilot:
        app = await shown(pilot, (entry(0), Entry(CALLS, model="m"), *results, entry(3, "Well.")))
        rows = app.rows()
        assert any("weather" in row and "✗ failed" in row for row in rows)
        assert any("search" in row and "✗ declined" in row for row in rows)
        assert not any("answered" in row for row in rows)


async def test_a_click_on_a_waiting_call_leads_to_the_question() -> None:
    async with Stage().run_test(size=(80, 30)) as pilot:
        app = await shown(pilot, (entry(0), Entry(CALLS, model="m")))
        rows = app.rows()
        row = next(y for y, text in enumerate(rows) if "waiting for a result" in text)
        await pilot.click(Transcript, offset=(rows[row].index("waiting") + 3, row))
        assert app.actions.run == [("run", "calls")]


async def test_a_reply_shows_its_progress_and_result() -> None:
    reply = advance(Reply(), TextDelta("word " * 80))
    async with Stage().run_test(size=(100, 24)) as pilot:
        app = await shown(pilot, (entry(0), LIVE))
        app.chat.stream("live", reply, Timing(11.5, 1.5, 100, exact=False, cost=Decimal("0.101")))
        app.transcript.flush()
        head = next(row for row in app.rows() if "●" in row)
        assert "● 11 s" in head, "rounded down, like the clock above the composer"
        assert head.endswith("≈ $0.1010 · first word 1.5 s · ≈ 10 tokens/s")
        ended = Timing(21.5, 1.5, 200, exact=True, cost=Decimal("1.2"))
        done = Entry(
            Message("assistant", "word", id="live"), usage=Usage(9, 200), seconds=21.5, model="m"
        )
        app.chat.show("Title", "", (entry(0), done), timing_of=lambda entry: ended)
        await pilot.pause()
        assert any(
            row.endswith("9 → 200 tokens · $1.20 · 10 tokens/s · 22 s") for row in app.rows()
        )


async def test_a_fence_stays_when_its_reply_ends() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0), LIVE))
        reply = Reply()
        for piece in ("Here:\n\n``", "`py\nx = ", "1\n", "``", "`"):
            reply = advance(reply, TextDelta(piece))
            app.chat.stream("live", reply)
            app.transcript.flush()
        streamed = app.rows()
        assert " x = 1" in streamed
        done = Entry(reply.message("anthropic", id="live"), model="model-x")  # pyright: ignore[reportArgumentType]
        app.chat.show("Title", "", (entry(0), done))
        await pilot.pause()
        rows = app.rows()
        assert rows[rows.index("Here:") :] == streamed[streamed.index("Here:") :]


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        (Timing(0.61, 0.6, 58, exact=True), ""),  # all at once, when it was complete
        (Timing(9.0, 8.99, 58, exact=True), ""),
        (Timing(0.4, 0.0, 2_000, exact=True), ""),
        (Timing(1.6, 0.6, 50, exact=True), "50 tokens/s"),
        (Timing(1.6, 0.6, 50), "≈ 50 tokens/s"),
        (Timing(0.9, None, 50, exact=True), ""),
        (Timing(2.0, None, 50, exact=True), "25 tokens/s"),
    ],
)
def test_a_rate_is_shown_only_where_meaningful(timing: Timing, words: str) -> None:
    assert token_rate(timing) == words


# Finding


async def test_find_counts_hits_and_steps_through_them() -> None:
    entries = tuple(
        entry(n, f"text {n}" + (" with a Needle, needle" if n in (10, 30) else ""))
        for n in range(60)
    )
    async with Stage().run_test(size=(80, 24)) as pilot:
        app = await shown(pilot, entries)
        await pilot.press("slash", *"needle")
        bar = app.query_one(FindBar)
        count = bar.query_one(".find--count")
        await until(pilot, lambda: "4 of 4" in str(count.render()))
        assert any("text 30 with" in row for row in app.rows())
        await pilot.press("enter", "n")
        await until(pilot, lambda: "1 of 4" in str(count.render()))
        assert any("text 10 " in row for row in app.rows())
        await pilot.press("n", "n", "N")
        await until(pilot, lambda: "2 of 4" in str(count.render()))
        await pilot.press("escape")
        await until(pilot, lambda: not bar.display)
        assert app.focused is app.transcript


async def test_words_that_are_nowhere_lead_back_to_where_the_search_began() -> None:
    entries = tuple(entry(n, f"text {n}" + " needle" * (n == 10)) for n in range(60))
    async with Stage().run_test(size=(80, 24)) as pilot:
        app = await shown(pilot, entries)
        start = next(row for row in app.rows() if "text 5" in row)
        await pilot.press("slash", *"needle")
        await until(pilot, lambda: any("text 10 " in row for row in app.rows()))
        assert start not in app.rows()
        await pilot.press("x")
        await until(pilot, lambda: start in app.rows())


async def test_folded_text_is_found_and_unfolded() -> None:
    reasoning = ReasoningBlock(Protocol.ANTHROPIC, "A needle, a needle. " + "And so on. " * 40)
    call = ToolCall("c", "sew", '{"with": "\\u006eeedle"}')
    said = MessageSemantics(reasoning=(reasoning,))
    reply = Message("assistant", "Some needle.", id="said", tool_calls=(call,), semantics=said)
    result = Message("tool", "\n".join("abcdefg") + "\nlast needle", id="result", tool_call_id="c")
    async with Stage().run_test(size=(80, 60)) as pilot:
        app = await shown(pilot, (entry(0), Entry(reply), Entry(result)))
        await pilot.press("g", "slash", *"need")
        count = app.query_one(FindBar).query_one(".find--count")

        def sees(number: int, *unfolded: bool) -> bool:
            told = f"{number} of 5" if number else "nothing"
            rows = "\n".join(app.rows())
            folds = ("A needle", '"with": "needle"', "last needle") if unfolded else ()
            return told in str(count.render()) and unfolded == tuple(map(rows.__contains__, folds))

        await until(pilot, lambda: sees(1, True, False, False))
        await pilot.press("f")
        await until(pilot, lambda: sees(0, False, False, False))
        await pilot.press("backspace", "enter", "n")
        await until(pilot, lambda: sees(2, True, False, False))
        await pilot.press("n", "n")
        await until(pilot, lambda: sees(4, True, True, False))
        await pilot.press("n")
        await until(pilot, lambda: sees(5, True, True, True))


async def test_a_visible_hit_comes_before_a_folded_one() -> None:
    said = MessageSemantics(reasoning=(ReasoningBlock(Protocol.ANTHROPIC, "A needle?"),))
    reply = Message("assistant", "Some needle.", id="said", semantics=said)
    async with Stage().run_test(size=(80, 24)) as pilot:
        app = await shown(pilot, (entry(0), Entry(reply)))
        assert app.transcript.show_message("said", ("needle",))
        assert not any("A needle?" in row for row in app.rows())
        await pilot.press("N")
        assert any("A needle?" in row for row in app.rows())


async def test_no_hits_are_reported_and_nothing_moves() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(40))
        before = app.rows()[:-2]
        await pilot.press("slash", *"zebra")
        count = app.query_one(FindBar).query_one(".find--count")
        await until(pilot, lambda: "nothing" in str(count.render()))
        assert app.rows()[-5] in before
        await pilot.press("escape")
        assert app.query_one(Input).value == "zebra"


async def test_a_search_hit_is_shown_and_marked() -> None:
    entries = (*branch(80), entry(81, "long " * 900 + "the needle"), *branch(20))
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, entries)
        assert app.transcript.show_message("m81", ("needle",))
        rows = app.rows()
        row = next(y for y, text in enumerate(rows) if "needle" in text)
        styles = {s.text: s.style and s.style.bgcolor for s in app.transcript.render_line(row)}
        assert styles["needle"] != next(iter(styles.values()))


def test_a_hit_goes_over_the_end_of_a_wrapped_line() -> None:
    lines = indented(
        wrap([safe_run("the quick brown fox")], 10), [safe_run("> ")], [safe_run("  ")]
    )
    wanted = word_pattern(["QUICK  brown"])
    assert wanted is not None
    assert [line.text for line in lines] == ["> the quick", "  brown fox"]
    assert find_spans(wanted, lines) == {0: [(6, 11)], 1: [(2, 7)]}


# Selecting


async def drag(
    pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int], *, release: bool = True
) -> None:
    await pilot.mouse_down(Transcript, offset=start)
    await pilot.hover(Transcript, offset=end)
    if release:
        await pilot.mouse_up(Transcript, offset=end)


async def test_two_presses_select_a_word_and_three_a_line() -> None:
    text = "first some-word here " + "and more " * 12
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, text),))
        row = next(y for y, line in enumerate(app.rows()) if "some-word" in line)
        await pilot.click(Transcript, offset=(10, row), times=2)
        assert app.screen.get_selected_text() == "some-word"
        await pilot.press("y")
        assert app.copied == ["some-word"]
        assert app.said == ["Copied the selection: 9 characters."]
        await pilot.click(Transcript, offset=(4, row + 1), times=3)
        assert app.screen.get_selected_text() == text.strip()
        await pilot.press("escape")
        assert app.screen.get_selected_text() is None


async def test_a_selection_can_be_dragged_backward() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, "first words"),))
        row = next(y for y, line in enumerate(app.rows()) if "first" in line)
        await drag(pilot, (9, row), (4, row))
        assert app.screen.get_selected_text() == "rst wo"


async def test_wrapped_text_is_copied_as_it_was_written() -> None:
    text = "> 一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十 and words that go on"
    async with Stage().run_test(size=(44, 24)) as pilot:
        app = await shown(pilot, (entry(1, text),))
        rows = app.rows()
        row = next(y for y, line in enumerate(rows) if "一" in line)
        last = next(y for y, line in enumerate(rows) if "go on" in line)
        assert last > row
        await drag(pilot, (4, row), (40, last))
        assert app.screen.get_selected_text() == text.removeprefix("> ")


async def test_a_drag_beyond_the_edge_scrolls_and_selects_on() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(60))
        view = app.transcript
        top = view.scroll_y
        await pilot.mouse_down(Transcript, offset=(6, 5))
        view.post_message(
            events.MouseMove(view, 6, -3, 0, 0, 1, False, False, False, screen_x=6, screen_y=0)
        )
        await until(pilot, lambda: view.scroll_y < top - 40)
        await pilot.mouse_up(Transcript, offset=(6, 0))
        text = app.screen.get_selected_text() or ""
        assert text.count("text ") >= 3
        here = view.scroll_y
        await pilot.pause()
        assert view.scroll_y == here


async def test_a_selection_survives_a_streaming_reply() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, "first words"), LIVE))
        row = next(y for y, line in enumerate(app.rows()) if "first" in line)
        await drag(pilot, (2, row), (6, row), release=False)
        reply = Reply()
        for number in range(60):
            reply = advance(reply, TextDelta(f"line {number}\n\n"))
            app.chat.stream("live", reply)
            app.transcript.flush()
        assert "first words" not in app.rows()  # it has scrolled away
        await pilot.press("end", "k", "k")
        assert app.screen.get_selected_text() == "first"

"""Nothing stays in memory of a session that was left, whatever of it was looked at, and what is
out of sight does not wait for the garbage collector.
"""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

import pytest
from rich.style import Style
from textual.color import Color
from textual.filter import Monochrome
from textual.strip import Strip

from tests.support.app import NOON, make_app, opened, say, settle, until
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.store import Store
from tui_chat.ui.areas.chat.chat_pane import ChatPane
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.line_painter import paint_line, reading_column
from tui_chat.ui.areas.chat.message_layout import MessageLayout
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.areas.inspector.summary import ForecastLine
from tui_chat.ui.areas.inspector.view import views
from tui_chat.ui.widgets.line_view import AcyclicStrip, StripCache


async def two_sessions(folder: Path) -> None:
    """Put two sessions into a store, from which nothing was sent."""
    store = await Store.open(folder / "chat.db", now=lambda: NOON, new_id=iter("abcdef").__next__)
    async with store:
        for name in ("one", "other"):
            entries: list[Entry] = []
            for number in range(12):
                role = "assistant" if number % 2 else "user"
                message = Message(role, f"{name} {number} **light**", id=f"{name}{number:02}")
                entries.append(Entry(message, entries[-1].message.id if entries else None))
            session = Session(name, name, endpoint="loopback", model="mirror")
            await store.transcripts.add_many([SessionTranscript(session, tuple(entries))])


async def test_a_closed_session_is_released(tmp_path: Path) -> None:
    await two_sessions(tmp_path)
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace, inspector = app.workspace, app.query_one(Inspector)
        transcript = app.query_one(ChatPane).transcript
        assert workspace is not None

        def shows(name: str) -> bool:
            composed = inspector.composed
            return composed is not None and f"{name} 11".encode() in composed.payload.body

        await workspace.sessions.open("one")
        await until(pilot, lambda: shows("one"))
        for protocol in Protocol:
            app.inspector.action_show_in_protocol(protocol)
            await until(pilot, lambda p=protocol: inspector.active is p)
        for view in views():
            inspector.view_shown = view
            inspector.focus()
            await pilot.press("up", "enter")
            await settle(pilot)
            if len(app.screen_stack) > 1:  # without lorebooks, Enter leads to their list
                await pilot.press("escape")
        inspector.view_shown = "payload"
        inspector.focus()
        await pilot.press("K", "Z")
        inspector.views.payload.find("light")
        transcript.focus()
        await pilot.press("pageup", "end")
        transcript.find("light")
        app.query_one(Composer).focus()
        await pilot.press("h", "i")
        await until(pilot, lambda: b'"hi"' in inspector.composed.payload.body)  # pyright: ignore[reportOptionalMemberAccess]
        assert inspector.composed is not None
        turns = [turn for turn in inspector.composed.envelope.turns if turn.origin.id[:3] == "one"]
        kept = [*map(ref, turns), *map(ref, (entry.message for entry in workspace.state.entries))]
        assert len(kept) == 24
        del turns
        for view in ("payload", "context"):
            inspector.view_shown = view
            name = "other" if workspace.state.session_id == "one" else "one"
            await workspace.sessions.open(name)
            await until(pilot, lambda name=name: shows(name))
            await settle(pilot)
            if any(known() is not None for known in kept):
                gc.collect()
            assert not [left for left in (known() for known in kept) if left is not None]
            kept = [*map(ref, (entry.message for entry in workspace.state.entries))]


async def test_a_long_request_is_released_with_its_session_and_composed_again_on_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_chat.ui.areas.inspector.area.RECALL_AFTER", 0.01)
    await two_sessions(tmp_path)
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace, forecast = app.workspace, app.query_one(ForecastLine)
        assert workspace is not None
        await workspace.sessions.open("one")
        await say(pilot, "hi")
        await until(pilot, lambda: forecast.forecast is not None)
        kept = [*map(ref, (entry.message for entry in workspace.state.entries))]
        await workspace.sessions.open("other")
        await until(pilot, lambda: forecast.forecast is None)
        await settle(pilot)
        assert not workspace.state.last_sent
        gc.collect()
        assert not [left for left in (known() for known in kept) if left is not None]
        await workspace.sessions.open("one")
        await until(pilot, lambda: forecast.forecast is not None)
        told = forecast.forecast
        assert told is not None
        assert told.at.kind == "grown"


TEXT = """# Title

Words with *light*, `code` and [a link](https://example.org).

- one
  - two

| a | b |
|---|---|
| 1 | 2 |

```python
code = 1
```
"""


def drawn(text: str, width: int) -> list[Strip]:
    """Lay a message out and draw it, as a row of the screen that goes from edge to edge."""
    layout = MessageLayout(Entry(Message("assistant", text, id="a")), width)
    cache, strips, column = StripCache(), list[Strip](), reading_column(width, width)
    for line in (line for part in range(len(layout.parts)) for line in layout.lines(part)):
        painted = paint_line(line, column, width, "", lambda *names: Style(), is_current=False)  # pyright: ignore[reportArgumentType]  # any colors
        strips.append(cache(line, lambda painted=painted: painted))
    filtered = [strip.apply_filter(Monochrome(), Color(0, 0, 0)) for strip in strips]
    for strip in (*strips, *filtered):
        assert list(strip.divide([width, 2 * width])) == [strip]
        assert [part.cell_length for part in strip.divide([5, width])] == [5, width - 5]
    return strips


def test_drawn_lines_are_released_when_hidden() -> None:
    drawn(TEXT, 60)  # what is loaded by now stays
    gc.collect()
    gc.disable()
    try:
        assert len(drawn(TEXT, 60)) > 12
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(each).__name__ for each in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left & {"AcyclicStrip", "Strip", "MessageLayout", "Part", "Line", "SyntaxTreeNode"}


def test_an_acyclic_strip_equals_a_strip() -> None:
    width = 20
    other = Strip(drawn("some *words* in a line", width)[-1], width)
    kept = AcyclicStrip(other, width)
    dim, ground = Monochrome(), Color(0, 0, 0)
    for cuts in ([width], [3, 9, width], [4], [width, 30], []):
        assert list(kept.divide(cuts)) == list(other.divide(cuts))
    assert kept.apply_filter(dim, ground) == other.apply_filter(dim, ground)
    assert kept.apply_filter(dim, ground) is kept.apply_filter(dim, ground)

"""The screen that searches everything: results while one types.

1. One question is asked at a time. What is typed meanwhile is asked when its answer is there,
   and only the latest of it; so answers come in the order of their questions.
2. The screen asks the app by messages, `Asked` and `Pointed`, and is answered with `show` and
   `show_around`. It ends with the hit that was chosen, or with None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui_chat.models.search import Hit, Query
from tui_chat.models.session import Entry
from tui_chat.models.visible import one_line
from tui_chat.ui.search.hits import HitList
from tui_chat.ui.search.preview import Preview
from tui_chat.ui.search.typed import Known, Order, completed, understood

LIMIT = 100
"""Hits that are shown at most."""

HOW = (
    "Type words that were said, in any session.\n"
    '"in quotes" for words that follow each other, begin* for beginnings.\n'
    "\n"
    "Leave out what you do not want (a filter alone shows the newest):\n"
    "  role:Editor  model:gpt  endpoint:openai  tag:work\n"
    "  from:user  from:assistant\n"
    "  after:2026-01-31  before:today  after:7d"
)
NOTHING = (
    "Nothing was found.\n"
    "\n"
    "All words must be in one message: try fewer, or a\n"
    "beginning with a star, such as begin*."
)
NOBODY = "No message passes these filters: take one away."
FEWER = "\nThe filters leave out the rest: take one away."


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found, or what is wrong with it."""

    query: Query
    hits: tuple[Hit, ...] = ()
    fault: str = ""


class SearchScreen(ModalScreen[Hit | None]):
    """Words above, hits below, and the surroundings of one beside or under them."""

    DEFAULT_CSS = """
    SearchScreen {
        align: center middle;
        background: $background 60%;
        & > Vertical {
            width: 94%;
            height: 92%;
            padding: 0 1;
            border: round $primary;
            border-title-color: $text-primary;
            border-title-style: bold;
            background: $surface;
        }
        Input, Input:focus { background: $foreground 8%; border: none; height: 1; padding: 0 1; }
        .search--state { height: 1; color: $foreground 72%; padding: 0 1; margin-bottom: 1; }
        .search--state.-fault { color: $text-warning; }
        .search--keys { height: 1; color: $foreground 72%; padding: 0 1; }
        .search--found { height: 1fr; }
        HitList { width: 1fr; height: 1fr; }
        Preview { width: 1fr; height: 1fr; margin-left: 1; }
    }
    SearchScreen.-medium, SearchScreen.-narrow {
        .search--found { layout: vertical; }
        Preview { margin: 1 0 0 0; height: 2fr; }
        HitList { height: 3fr; }
    }
    SearchScreen.-low Preview { display: none; }
    SearchScreen.-narrow > Vertical { width: 100%; height: 100%; }
    SearchScreen.-bare Preview { display: none; }
    """
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012 - as Textual declares it

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", show=False, priority=True),
        Binding("down", "move(1)", "Next", show=False, priority=True),
        Binding("up", "move(-1)", "Previous", show=False, priority=True),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
        Binding("tab", "complete", "Complete", show=False, priority=True),
        Binding("ctrl+s", "order", "Order", show=False, priority=True),
        Binding("ctrl+f", "leave", "Back", show=False, priority=True),
        Binding("enter", "take", "Open", show=False, priority=True),
    ]

    class Asked(Message):
        """A query is to be answered with `show`."""

        def __init__(self, query: Query) -> None:
            super().__init__()
            self.query = query

    class Pointed(Message):
        """The messages around a hit are to be shown with `show_around`."""

        def __init__(self, hit: Hit) -> None:
            super().__init__()
            self.hit = hit

    def __init__(self, known: Known, now: float, typed: str = "") -> None:
        super().__init__()
        self._known = known
        self._now = now
        self._input = Input(typed, placeholder="words, or filters such as from:user after:7d")
        self._state = Static("", classes="search--state", markup=False)
        self._list = HitList(now)
        self._preview = Preview()
        self._order: Order = "rank"
        self._asked: Query | None = None
        """The query whose answer is awaited."""
        self._shown: Query | None = None
        """The query whose answer is shown."""

    @property
    def typed(self) -> str:
        """The words and filters as they stand there."""
        return self._input.value

    def compose(self) -> ComposeResult:
        """Lay out words, hits and preview."""
        with Vertical() as box:
            box.border_title = "Search everything"
            yield self._input
            yield self._state
            with Horizontal(classes="search--found"):
                yield self._list
                yield self._preview
            yield Static(
                "Enter opens · ↑↓ moves · Tab completes · Ctrl+S order · Esc back",
                classes="search--keys",
                markup=False,
            )

    def on_mount(self) -> None:
        """Search again for what was searched for last, all of it ready to be replaced."""
        self._input.select_all()
        self._typed()

    # Asking and being answered

    @on(Input.Changed)
    def _typed(self) -> None:
        query, faults = self._wanted()
        self._say(faults)
        if not query.text and not query.narrows:
            self._shown = query
            self._show((), HOW)
        elif self._asked is None and query != self._shown:
            self._asked = query
            self.post_message(self.Asked(query))

    def _wanted(self) -> tuple[Query, tuple[str, ...]]:
        typed = understood(self._input.value, self._known, self._now, self._order)
        return replace(typed.query, limit=LIMIT), typed.faults

    def show(self, answer: Answer) -> None:
        """Show what the query that was asked last has found."""
        self._asked = None
        wanted, _ = self._wanted()
        if wanted.text or wanted.narrows:  # else everything was taken away meanwhile
            self._shown = answer.query
            bare = Query(answer.query.text, order=answer.query.order, limit=LIMIT)
            nothing = NOTHING + ("" if bare == answer.query else FEWER) if wanted.text else NOBODY
            self._show(answer.hits, answer.fault or nothing)
        self._typed()

    def _show(self, hits: tuple[Hit, ...], empty: str) -> None:
        self.set_class(not hits, "-bare")
        self._list.show(hits, empty)

    def _say(self, faults: tuple[str, ...]) -> None:
        self._state.set_class(bool(faults), "-fault")
        if faults:
            self._state.update(one_line(" ".join(faults)))
            return
        newest = self._order == "newest" or not self._wanted()[0].text
        order = "Newest first" if newest else "Best first"
        count = len(self._list.hits)
        found = "" if not count else f" · {count} found" if count < LIMIT else f" · first {LIMIT}"
        self._state.update(Content(order + found))

    def show_around(self, hit: Hit, entries: Sequence[Entry]) -> None:
        """Show the messages around a hit, if it is still the one under the cursor."""
        if hit == self._list.hit:
            self._preview.show(hit, entries)

    @on(HitList.Moved)
    def _moved(self) -> None:
        hit = self._list.hit
        self._say(self._wanted()[1])
        if hit is None:
            self._preview.show(None, ())
        else:
            self.post_message(self.Pointed(hit))

    # Keys

    def action_move(self, step: int) -> None:
        """Go to another hit."""
        self._list.put_cursor(self._list.cursor + step)

    def action_page(self, direction: int) -> None:
        """Go on by a screen of hits."""
        self._list.page(direction)

    def action_complete(self) -> None:
        """Complete a filter or its value."""
        self._input.value = completed(self._input.value, self._known)
        self._input.cursor_position = len(self._input.value)

    def action_order(self) -> None:
        """Order the hits by age, or by how well they fit."""
        self._order = "newest" if self._order == "rank" else "rank"
        self._typed()

    @on(HitList.Taken)
    def action_take(self) -> None:
        """End with the hit under the cursor."""
        if self._list.hit is not None:
            self.dismiss(self._list.hit)

    def action_leave(self) -> None:
        """End without one."""
        self.dismiss(None)

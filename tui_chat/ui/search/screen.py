"""The screen that searches all sessions, with results while the user types.

1. One query runs at a time. What is typed meanwhile is queried when the answer arrives, and only
   the latest of it; so answers come in the order of their queries.
2. The screen calls `request_answer` and `request_preview`, and is answered with `show` and
   `show_around`. It is dismissed with the selected hit, or with None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.search import Hit, Query
from tui_chat.models.session import Entry
from tui_chat.ui.search.hit_list import HitList, HitPreview
from tui_chat.ui.search.query_text import KnownNames, SortOrder, complete_filter, parse_query
from tui_chat.ui.widgets.safe_text import TextField

LIMIT = 100
"""The most hits shown."""

HOW = (
    "Type words of a message or an attached file, in any session.\n"
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
NOBODY = "No message matches these filters: remove one."
FEWER = "\nThe filters exclude the rest: remove one."


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits of a query, or why it failed."""

    query: Query
    hits: tuple[Hit, ...] = ()
    fault: str = ""
    is_ranked: bool = True
    """False if too many messages match to be ranked."""


class SearchScreen(ModalScreen[Hit | None]):
    """The query above, the hits below, a preview of one beside or under them."""

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
        .search--state { height: 1; color: $label; padding: 0 1; margin-bottom: 1; }
        .search--state.-fault { color: $text-warning; }
        .search--keys { height: 1; color: $label; padding: 0 1; }
        .search--found { height: 1fr; }
        HitList { width: 1fr; height: 1fr; }
        HitPreview { width: 1fr; height: 1fr; margin-left: 1; }
    }
    SearchScreen.-medium, SearchScreen.-narrow {
        .search--found { layout: vertical; }
        HitPreview { margin: 1 0 0 0; height: 2fr; }
        HitList { height: 3fr; }
    }
    SearchScreen.-low HitPreview { display: none; }
    SearchScreen.-narrow > Vertical { width: 100%; height: 100%; }
    SearchScreen.-bare HitPreview { display: none; }
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

    def __init__(
        self,
        names: KnownNames,
        now: float,
        request_answer: Callable[[Query], object],
        request_preview: Callable[[Hit], object],
        typed: str = "",
    ) -> None:
        """`now` is the time in seconds since the epoch, and `typed` the text to begin with."""
        super().__init__()
        self._request_answer, self._request_preview = request_answer, request_preview
        self._known = names
        self._now = now
        self._input = TextField(typed, placeholder="words, or filters such as from:user after:7d")
        self._state = Static("", classes="search--state", markup=False)
        self._list = HitList(now)
        self._preview = HitPreview()
        self._order: SortOrder = "rank"
        self._is_ranked = True
        self._asked: Query | None = None
        """The query that is running."""
        self._shown: Query | None = None
        """The query whose answer is shown."""

    @property
    def typed(self) -> str:
        """The query as it is typed."""
        return self._input.value

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Search all conversations"
            yield self._input
            yield self._state
            with Horizontal(classes="search--found"):
                yield self._list
                yield self._preview
            yield Static(
                "Enter open · ↑ ↓ move · Tab complete · Ctrl+S order · Esc back",
                classes="search--keys",
                markup=False,
            )

    def on_mount(self) -> None:
        """Repeat the last search, its text selected so that typing replaces it."""
        self._input.select_all()
        self._typed()

    # Queries and answers

    @on(Input.Changed)
    def _typed(self) -> None:
        query, faults = self._typed_query()
        self._say(faults)
        if not query.text and not query.narrows:
            self._shown = query
            self._show((), HOW)
        elif self._asked is None and query != self._shown:
            self._asked = query
            self._request_answer(query)

    def _typed_query(self) -> tuple[Query, tuple[str, ...]]:
        parsed = parse_query(self._input.value, self._known, self._now, self._order)
        return replace(parsed.query, limit=LIMIT), parsed.faults

    def wants(self, query: Query) -> bool:
        """True if a query is still the one that is typed."""
        return self._typed_query()[0] == query

    def show(self, answer: SearchAnswer) -> None:
        """Show the answer to the running query."""
        self._asked = None
        query, _ = self._typed_query()
        if query.text or query.narrows:  # else the input was cleared meanwhile
            self._shown, self._is_ranked = answer.query, answer.is_ranked
            bare = Query(answer.query.text, order=answer.query.order, limit=LIMIT)
            nothing = NOTHING + ("" if bare == answer.query else FEWER) if query.text else NOBODY
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
        newest = self._order == "newest" or not self._typed_query()[0].text
        order = "Newest first" if newest or self._is_ranked else "Too many to rank, newest first"
        order = "Best first" if self._is_ranked and not newest else order
        count = len(self._list.hits)
        count_text = (
            "" if not count else f" · {count} found" if count < LIMIT else f" · first {LIMIT}"
        )
        self._state.update(Content(order + count_text))

    def show_around(self, hit: Hit, entries: Sequence[Entry]) -> None:
        """Preview the messages around a hit, if the cursor is still on it."""
        if hit == self._list.hit:
            self._preview.show(hit, entries)

    @on(HitList.HitHighlighted)
    def _moved(self) -> None:
        hit = self._list.hit
        self._say(self._typed_query()[1])
        if hit is None:
            self._preview.show(None, ())
        else:
            self._request_preview(hit)

    # Keys

    def action_move(self, step: int) -> None:
        self._list.action_move(step)

    def action_page(self, direction: int) -> None:
        self._list.action_page(direction)

    def action_complete(self) -> None:
        self._input.value = complete_filter(self._input.value, self._known)
        self._input.cursor_position = len(self._input.value)

    def action_order(self) -> None:
        self._order = "newest" if self._order == "rank" else "rank"
        self._typed()

    @on(HitList.HitSelected)
    def action_take(self) -> None:
        if self._list.hit is not None:
            self.dismiss(self._list.hit)

    def action_leave(self) -> None:
        """Close the screen without a hit."""
        self.dismiss(None)

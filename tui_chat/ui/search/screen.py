"""“Search all conversations”: results while the user types, and a preview beside them."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.errors import TuiChatError
from tui_chat.models.sanitize import one_line
from tui_chat.models.search import Hit, Query
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.search.hits import MARK, found_words, hit_content, preview_content
from tui_chat.ui.search.query_text import KnownNames, parse_query
from tui_chat.ui.widgets.safe_text import TextField

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

LIMIT = 100
"""The most hits shown."""
HOW = (
    "Type words of a message or an attached file, in any session.\n"
    '"in quotes" for words that follow each other, begin* for beginnings.\n\n'
    "Filters (alone they show the newest messages):\n"
    "  role:Editor  model:gpt  tag:work  from:user  from:assistant"
)
NOTHING = (
    "Nothing was found.\n\n"
    "All words must be in one message: try fewer, or a beginning with a star, such as begin*."
)
FEWER = "\nThe filters exclude the rest: remove one."
ARRIVING = "\nA reply that still arrives is not searched."

_LAST: WeakKeyDictionary[TuiChat, str] = WeakKeyDictionary()
"""The query that was typed last in each app."""


class SearchScreen(Dialog[Hit | None]):
    """The query above, the hits below, a preview of one beside or under them."""

    DEFAULT_CSS = """
    SearchScreen {
        & > Vertical { width: 94%; height: 92%; max-height: 100%; padding: 0 1; }
        #search-state { height: 1; color: $label; padding: 0 1; margin-bottom: 1; }
        #search-state.-fault { color: $text-warning; }
        #search-nothing { display: none; padding: 0 1; color: $label; }
        &.-empty #search-nothing { display: block; }
        #search-hits { height: 1fr; }
        .hint { margin-top: 0; padding: 0 1; height: 1; }
        OptionList { width: 1fr; height: 1fr; max-height: 100%; margin: 0; }
        VerticalScroll { width: 1fr; height: 1fr; max-height: 100%; margin-left: 1; }
        &.-empty #search-hits { display: none; }
    }
    SearchScreen.-medium, SearchScreen.-narrow {
        #search-hits { layout: vertical; }
        VerticalScroll { margin: 1 0 0 0; }
        OptionList { height: auto; max-height: 60%; }
    }
    SearchScreen.-short VerticalScroll { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "hits('cursor_down')", show=False, priority=True),
        Binding("up", "hits('cursor_up')", show=False, priority=True),
        Binding("pagedown", "hits('page_down')", show=False, priority=True),
        Binding("pageup", "hits('page_up')", show=False, priority=True),
        Binding("enter", "hits('select')", show=False, priority=True),
        Binding("ctrl+f", "leave", show=False, priority=True),
    ]

    def __init__(self, workspace: Workspace, names: KnownNames, typed: str = "") -> None:
        """`names` are those that filters can have, and `typed` is the text to begin with."""
        super().__init__()
        self._workspace, self._names = workspace, names
        self._now = workspace.now().timestamp()
        self._input = TextField(typed, placeholder="words, or filters such as from:user")
        self._state = Static(id="search-state", markup=False)
        self._nothing = Static(id="search-nothing", markup=False)
        self._list = OptionList(compact=True)
        self._list.can_focus = False
        self._preview = Static(id="search-preview")
        self.hits: tuple[Hit, ...] = ()

    @property
    def typed(self) -> str:
        """The query as it is typed."""
        return self._input.value

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, "Search all conversations")
            yield self._input
            yield self._state
            yield self._nothing
            with Horizontal(id="search-hits"):
                yield self._list
                with VerticalScroll(can_focus=False):
                    yield self._preview
            yield Static("Enter open · ↑ ↓ move · Esc back", classes="hint")

    def on_mount(self) -> None:
        """Repeat the last search, its text selected so that typing replaces it."""
        self._input.select_all()
        self._typed()

    @on(Input.Changed)
    def _typed(self) -> None:
        parsed = parse_query(self._input.value, self._names, LIMIT)
        self._state.set_class(bool(parsed.faults), "-fault")
        self._state.update(one_line(" ".join(parsed.faults)))
        query = parsed.query
        if query.text or query.narrows:
            find = partial(self._find, query, has_fault=bool(parsed.faults))
            self.run_worker(find, group="search", exclusive=True, description="search")
        else:
            self.workers.cancel_group(self, "search")  # pyright: ignore[reportUnknownMemberType]
            self._show((), HOW)

    async def _find(self, query: Query, *, has_fault: bool) -> None:
        try:
            hits = await self._workspace.store.search.find(query)
        except TuiChatError as error:
            self._show((), f"{error}\n{error.advice}".strip())
            return
        arriving = ARRIVING if self._workspace.state.streaming_sessions else ""
        self._show(hits, NOTHING + (FEWER if query.narrows else "") + arriving)
        if not has_fault:
            order = "Best first" if query.text and hits.is_ranked else "Newest first"
            count = f"{len(hits)} found" if len(hits) < LIMIT else f"first {LIMIT}"
            self._state.update(f"{order} · {count}" if hits else "")

    def _show(self, hits: tuple[Hit, ...], nothing: str) -> None:
        self.hits = hits
        self.set_class(not hits, "-empty")
        self._nothing.update("" if hits else nothing)
        self._list.clear_options()
        self._list.add_options(Option(hit_content(hit, self._now)) for hit in hits)
        self._list.highlighted = 0 if hits else None

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        preview = partial(self._show_around, self.hits[event.option_index])
        self.run_worker(preview, group="preview", exclusive=True, description="preview")

    async def _show_around(self, hit: Hit) -> None:
        content = Content()
        if hit.message_id is not None:
            with suppress(TuiChatError):  # the message was deleted meanwhile
                entries = await self._workspace.store.branches.around(hit.message_id)
                content = preview_content(hit, entries)
        self._preview.update(content)
        self.call_after_refresh(self._scroll_to_mark, content)

    def _scroll_to_mark(self, content: Content) -> None:
        """Bring the first word that was found into sight."""
        scroll = self.query_one(VerticalScroll)
        at = next((span.start for span in content.spans if span.style == MARK), 0)
        rows_above = len(content[:at].wrap(max(self._preview.size.width, 1))) - 1
        scroll.scroll_to(y=rows_above - scroll.size.height // 2, animate=False)

    async def action_hits(self, action: str) -> None:
        """Move in the list, whatever has the focus."""
        await self._list.run_action(action)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self.hits[event.option_index])


async def search(app: TuiChat, words: str) -> None:
    """Search all conversations, and go to what was found. No words: the last query."""
    workspace = await app.main.opened_workspace()
    screen = SearchScreen(workspace, await _known_names(workspace), words or _LAST.get(app, ""))
    hit = await app.push_screen_wait(screen)
    _LAST[app] = screen.typed
    if hit is not None:
        await _go_to(app, hit)


async def _go_to(app: TuiChat, hit: Hit) -> None:
    message_id = hit.message_id
    if message_id is None:
        await app.main.switch_session(lambda opened: opened.sessions.open(hit.session_id))
        app.panes.show_conversation()
        return
    await app.main.switch_session(
        lambda opened: opened.sessions.open_at(hit.session_id, message_id)
    )
    app.panes.show_message(message_id, found_words(hit))
    if hit.place == "attachment":
        app.notify("It is in an attached file of this message: o opens the file.")


async def _known_names(workspace: Workspace) -> KnownNames:
    """Return the names that filters can have, those of stored messages too."""
    models = {session.model for session in workspace.state.sessions}
    with suppress(TuiChatError):  # the search itself will report it
        models |= {model for _, model in await workspace.store.search.writers()}
    sessions = workspace.state.sessions
    return KnownNames(
        role=tuple(sorted({each.role_name for each in sessions if each.role_name})),
        model=tuple(sorted(models - {""})),
        tag=tuple(sorted({tag for each in sessions for tag in each.tags})),
    )

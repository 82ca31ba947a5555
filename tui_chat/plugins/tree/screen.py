"""The screen of the tree: its keys, its search, and the dialogs that they open."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.search import Hit, Query
from tui_chat.models.session import Node
from tui_chat.plugins.tree.copies import bring_reply
from tui_chat.plugins.tree.layout import Row, Tree
from tui_chat.plugins.tree.tree_list import WRITERS, TreeList
from tui_chat.ui.questions import ask_line, confirm
from tui_chat.ui.widgets.find_bar import FindBar

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

NAME_LENGTH = 80
"""The most characters of a place's name."""
MOST_RESULTS = 1_000


class RequestComparison(NamedTuple):
    """Two branches whose requests are to be compared."""

    shown_id: str
    """The end of the branch whose request is shown."""
    base_id: str
    """The end of the one that it is compared with."""


class TreeScreen(ModalScreen[str | RequestComparison | None]):
    """Shows the tree of the active session; the answer is the message to go to."""

    DEFAULT_CSS = """
    TreeScreen {
        background: $background;
        & > Vertical {
            border: round $primary;
            border-title-color: $text-primary;
            border-title-style: bold;
            border-subtitle-color: $label;
            background: $surface;
        }
        TreeList { height: 4fr; }
        .tree--about, .tree--keys { height: auto; padding: 0 1; }
        .tree--about {
            height: 1fr;
            min-height: 3;
            border-top: solid $foreground 25%;
        }
        .tree--keys { color: $label; }
    }
    """
    AUTO_FOCUS = "TreeList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("slash", "search", show=False),
        Binding("n", "result(1)", show=False),
        Binding("p,N", "result(-1)", show=False),
        Binding("c", "compare", show=False),
        Binding("b", "bring", show=False),
        Binding("e", "name", show=False),
        Binding("d,delete", "delete", show=False),
        Binding("u", "undo_change", show=False),
    ]
    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(
        ("bring", "name", "delete", "undo_change")
    )

    def __init__(
        self,
        app: TuiChat,
        workspace: Workspace,
        nodes: Sequence[Node],
        message_id: str,
        words: str = "",
    ) -> None:
        """The cursor begins on the message; `words` are searched for at once."""
        super().__init__()
        context = app.chat.context
        self._app, self._workspace = app, workspace
        self._is_read_only = bool(context.read_only)
        self._read_nodes, self._begin, self._words = nodes, message_id, words
        self._list = TreeList(context.now())
        self._find_bar = FindBar("words of messages, or a place's name")
        self._about = Static(classes="tree--about", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self._list
            yield self._find_bar
            yield self._about
            yield Static(self._keys(), classes="tree--keys", markup=False)

    def on_mount(self) -> None:
        self._show(self._read_nodes, self._begin)
        if self._words:
            self._find_bar.open(self._words)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Remove what changes something from a read-only app."""
        if self._is_read_only and action in self.WRITING_ACTIONS:
            return False
        return super().check_action(action, parameters)

    def _keys(self) -> str:
        writing = "b bring reply · e name · d delete · u undo · "
        return (
            "Enter go there · ← → fold · / search, n N results · c compare requests · "
            f"{'' if self._is_read_only else writing}Esc close"
        )

    # What is shown

    async def _reload(self, message_id: str = "") -> None:
        """Read the tree again; the cursor goes to a message, else it stays."""
        row = self._list.row
        self._show(await self._workspace.branches.tree(), message_id or (row.first if row else ""))

    def _show(self, nodes: Sequence[Node], message_id: str) -> None:
        session, entries = self._workspace.state.session, self._workspace.state.entries
        tree = Tree(nodes, entries[-1].message.id if entries else None)
        if message_id not in tree.nodes:
            message_id = tree.head or ""
        names = {place.message_id: place.name for place in session.places} if session else {}
        self._list.show(tree, names, message_id)
        box = self.query_one(Vertical)
        branches = tree.branch_count
        box.border_title = Content(one_line(session.title if session else "", 60))
        box.border_subtitle = (
            f"{len(tree.nodes):,} message{'s' * (len(tree.nodes) != 1)} · "
            f"{branches:,} branch{'es' * (branches != 1)}"
        )

    @on(TreeList.TextsWanted)
    @work(group="tree-texts")
    async def _read_texts(self, event: TreeList.TextsWanted) -> None:
        self._list.add_texts(await self._workspace.branches.excerpts(event.message_ids))

    @on(TreeList.RowHighlighted)
    @work(group="tree-preview", exclusive=True)
    async def _describe(self) -> None:
        row = self._list.row
        if row is None:
            return
        tree = self._list.session_tree
        node, (number, count) = tree.nodes[row.first], tree.version(row.first)
        time = datetime.fromtimestamp(node.created).astimezone(self._workspace.now().tzinfo)
        facts = [
            WRITERS[node.message_role],
            one_line(node.model, 40),
            f"{time:%Y-%m-%d %H:%M}",
            f"version {number:,} of {count:,}" if count > 1 else "",
            node.status if node.status != "complete" else "",
            "on the active branch" if row.first in tree.active else "",
        ]
        texts = await self._workspace.branches.excerpts((row.first,), self._about.size.area)
        text = sanitize(texts.get(row.first, "")).strip()
        self._about.update(f"{' · '.join(filter(None, facts))}\n{text}")
        place, results = self._list.place_of_result()
        self._find_bar.show(place, results, is_on=self._find_bar.display)

    # Search

    def action_search(self) -> None:
        self._find_bar.open()

    @on(FindBar.WordsChanged)
    @work(group="tree-search", exclusive=True)
    async def _search(self, event: FindBar.WordsChanged) -> None:
        words = event.words.strip()
        if not words:
            self._list.show_results(None)
            return
        session_id, results = self._workspace.state.session_id, dict[str, Hit | None]()
        text = f"{words}*" if words[-1].isalnum() else words  # the last word may not be complete
        query = Query(text, session_id=session_id, order="newest", limit=MOST_RESULTS)
        with self._workspace.reporting():
            hits = await self._workspace.active_store.search.find(query)
            results |= {hit.message_id: hit for hit in hits if hit.message_id is not None}
        session = self._workspace.state.session
        for place in session.places if session else ():
            if words.casefold() in place.name.casefold():
                results.setdefault(place.message_id)
        self._list.show_results(results)

    @on(FindBar.StepRequested)
    def _step(self, event: FindBar.StepRequested) -> None:
        self._list.step_result(event.step)

    @on(FindBar.Exited)
    def _leave_search(self) -> None:
        self._list.focus()

    def action_result(self, step: int) -> None:
        self._list.step_result(step)

    # Going somewhere

    @on(TreeList.RowChosen)
    def _go(self) -> None:
        if row := self._list.row:
            self.dismiss(row.first)

    def action_leave(self) -> None:
        """End the search, else close."""
        if self._find_bar.display:
            self._find_bar.close()
        else:
            self.dismiss(None)

    def action_compare(self) -> None:
        """Compare the request of the branch through the row with that of the active one."""
        tree, row = self._list.session_tree, self._list.row
        if row is None or tree.head is None:
            return
        if row.first in tree.active:
            self.notify("This is the active branch: c on another one compares the two.")
        else:
            self.dismiss(RequestComparison(tree.newest[row.first], tree.head))

    # Changing

    def _run(self, change: Callable[[Row], Coroutine[Any, Any, str]]) -> None:
        """Run what changes the tree for the row under the cursor, then show the tree and the
        message that was returned.
        """

        async def run(row: Row) -> None:
            with self._workspace.reporting():
                await self._reload(message_id := await change(row))
                if message_id != row.first:
                    self._list.reveal(message_id)

        if row := self._list.row:
            self.run_worker(partial(run, row), group="dialog", exclusive=True)

    def action_name(self) -> None:
        """Give the message a name, or another."""
        self._run(self._name_place)

    async def _name_place(self, row: Row) -> str:
        session = self._workspace.state.session
        places = session.places if session else ()
        old = next((place.name for place in places if place.message_id == row.first), "")
        name = await ask_line(self._app, "Name of this place (empty: none)", old, may_be_empty=True)
        if name is not None:
            await self._workspace.branches.name_place(row.first, one_line(name, NAME_LENGTH))
        return row.first

    def action_delete(self) -> None:
        """Delete the message with all that follows it."""
        self._run(self._delete)

    async def _delete(self, row: Row) -> str:
        following = self._list.session_tree.sizes[row.first] - 1
        what = f" and what follows it ({following:,} more)" if following else ""
        question = f"Delete this message{what}? u undoes it."
        if await confirm(self._app, "Delete?", question, yes="Delete"):
            await self._workspace.branches.delete(row.first)
        return row.first

    def action_undo_change(self) -> None:
        """Undo the last deletion."""
        self._run(self._undo)

    async def _undo(self, row: Row) -> str:
        await self._app.main.switch_session(lambda workspace: workspace.undo(), leaves=False)
        return row.first

    # Bringing something here

    def action_bring(self) -> None:
        """Copy the reply to the end of the active branch."""
        self._run(self._bring)

    async def _bring(self, row: Row) -> str:
        if row.first in self._list.session_tree.active:
            raise InputError("This is on the active branch already.")
        if row.folded:
            raise InputError("These are several messages: → unfolds them.")
        if not await bring_reply(self._workspace, row.first):
            return row.first
        self._list.show_results(None)  # a search would not show what was added
        self._find_bar.close()
        return self._workspace.state.entries[-1].message.id

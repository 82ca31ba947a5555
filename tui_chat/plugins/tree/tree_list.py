"""The rows of the tree on the screen; only those in sight are drawn, and their texts asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import MessageRole
from tui_chat.models.sanitize import one_line
from tui_chat.models.search import Hit
from tui_chat.models.session import EntryStatus
from tui_chat.plugins.tree.layout import Row, Rows, Tree
from tui_chat.ui.ago import ago
from tui_chat.ui.widgets.marked_text import Piece, marked
from tui_chat.ui.widgets.row_list import RowList, clipped

WRITERS: Mapping[MessageRole, str] = {
    "user": "You",
    "assistant": "Reply",
    "tool": "Tool",
    "system": "System",
}
_WIDE = 100
"""The width from which models are shown."""
_MODEL, _VERSION, _AGE = 20, 7, 9
"""The widths of what stands on the right."""
_ENDED: frozenset[EntryStatus] = frozenset(("complete", "streaming"))


class TreeList(RowList):
    """The tree, with a cursor on a row."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"tree--{name}" for name in ("line", "active", "user", "detail", "name", "result", "cursor")
    } | {"tree--hover", "tree--empty"}
    DEFAULT_CSS = """
    TreeList {
        & .tree--line { color: $label; }
        & .tree--active { color: $text-primary; text-style: bold; }
        & .tree--user { text-style: bold; }
        & .tree--detail { color: $label; }
        & .tree--name { color: $text-success; text-style: bold; }
        & .tree--result { color: $text-warning; }
        & .tree--hover { background: $foreground 5%; }
        & .tree--cursor { background: $primary 20%; }
        & .tree--empty { color: $label; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "fold", show=False),
        Binding("right,l", "unfold", show=False),
        Binding("enter", "choose", show=False),
    ]

    class RowHighlighted(Message):
        """The cursor is on another row, or the row has its text now."""

    class RowChosen(Message):
        """Enter, or a double click, on the row under the cursor."""

    @dataclass
    class TextsWanted(Message):
        """The beginnings of these messages are to be shown."""

        message_ids: tuple[str, ...]

    def __init__(self, now: float) -> None:
        """`now` is the time in seconds since the epoch."""
        super().__init__("tree")
        self._now = now
        self.session_tree = Tree((), None)
        self._open_runs: set[str] = set()
        self._rows = Rows(self.session_tree, self._open_runs)
        self._names: Mapping[str, str] = {}
        self._results: Mapping[str, Hit | None] | None = None
        self._texts: dict[str, str] = {}
        self._asked: set[str] = set()
        """The messages whose texts were asked for."""

    # What is shown

    @property
    def row(self) -> Row | None:
        """The row under the cursor; None if there is none."""
        rows = self._rows.rows
        return rows[self.cursor] if self.cursor < len(rows) else None

    @property
    def row_count(self) -> int:
        return len(self._rows.rows)

    def reveal(self, message_id: str) -> None:
        """Go to a message, with the run that it is in unfolded."""
        row = self._rows.rows[self._rows.index_of(message_id)]
        if row.folded:
            self._open_runs.add(row.run)
        self._lay_out(message_id)

    def text_of(self, message_id: str) -> str:
        """Return the beginning of a message, as far as it was read."""
        return self._texts.get(message_id, "")

    def show(self, tree: Tree, names: Mapping[str, str], message_id: str) -> None:
        """Show a tree with its named places, and the cursor on a message."""
        self.session_tree, self._names = tree, names
        self._asked = {id for id in self._asked if id in self._texts}
        self._lay_out(message_id)

    def show_results(self, results: Mapping[str, Hit | None] | None) -> None:
        """Show only these messages, with the words that were found in them, and what leads to them;
        None shows everything again.
        """
        row, nodes = self.row, self.session_tree.nodes
        if results is not None:
            results = {id: hit for id, hit in results.items() if id in nodes}
        self._results = results
        self._lay_out(row.first if row else "")
        if self._results and (row := self.row) and row.first not in self._results:
            self.step_result(1)

    def add_texts(self, texts: Mapping[str, str]) -> None:
        """Show the beginnings of messages."""
        self._texts |= texts
        self.refresh_changed()
        self.post_message(self.RowHighlighted())

    def place_of_result(self) -> tuple[int, int]:
        """Return which result the cursor is on, counted from 1 (0 for none), and their number."""
        numbers = self._result_rows()
        place = numbers.index(self.cursor) + 1 if self.cursor in numbers else 0
        return place, len(numbers)

    def step_result(self, step: int) -> None:
        """Go to the next result, or the one before it, round the end."""
        numbers = self._result_rows()
        if step > 0:
            numbers = [n for n in numbers if n > self.cursor] or numbers[:1]
        else:
            numbers = [n for n in numbers if n < self.cursor][-1:] or numbers[-1:]
        if numbers:
            self.set_cursor(numbers[0])

    def _result_rows(self) -> list[int]:
        results = self._results or ()
        return [number for number, row in enumerate(self._rows.rows) if row.first in results]

    def _lay_out(self, message_id: str) -> None:
        results = None if self._results is None else self._results.keys()
        self._rows = Rows(self.session_tree, self._open_runs, self._names, results)
        is_search = self._results is not None
        self.empty_text = " Nothing was found." if is_search else " No messages yet."
        self.styles.max_height = max(self.row_count, 1)  # the preview has the rest
        self.update_extent()
        self.refresh()
        self.set_cursor(self._rows.index_of(message_id))

    def cursor_moved(self) -> None:
        if (row := self.row) and row.first not in self._asked:
            self._ask_around(self.cursor)
        self.post_message(self.RowHighlighted())

    # Keys and mouse

    def action_fold(self) -> None:
        """Fold the run, else go to where the branch parts."""
        row = self.row
        if row is None:
            return
        if row.run in self._open_runs and not row.folded:
            self._open_runs.discard(row.run)
            self._lay_out(row.run)
        elif (parent := self.session_tree.nodes[row.first].parent_id) is not None:
            self.set_cursor(self._rows.index_of(parent))

    def action_unfold(self) -> None:
        """Unfold the run; else go down."""
        row = self.row
        if row is None or not row.folded:
            self.action_move(1)
            return
        self._open_runs.add(row.first)
        self._lay_out(row.first)

    def action_choose(self) -> None:
        if self.row is not None:
            self.post_message(self.RowChosen())

    def row_clicked(self, row: int, event: events.Click) -> None:
        self.set_cursor(row)
        if event.chain > 1:
            self.action_choose()

    # Drawing

    def draw_line(self, line: int, width: int) -> Strip:
        rows = self._rows.rows
        if line >= len(rows):
            return Strip.blank(width, self.palette())
        row, ground = rows[line], self.emphasis(line)
        if row.first not in self._asked:
            self._ask_around(line)
        left = self._column(row, line, width // 4, ground)
        right = self._facts(row, width, ground)
        room = width - sum(segment.cell_length for segment in (*left, *right)) - 1
        text = self._words(row, room, ground)
        gap = " " * max(room - sum(segment.cell_length for segment in text), 0)
        segments = [*left, *text, Segment(gap, self.palette(ground)), *right]
        return Strip(segments).adjust_cell_length(width, self.palette(ground))

    def _column(self, row: Row, line: int, most: int, ground: str) -> list[Segment]:
        """Return the lines of the columns, and the sign of the row."""
        columns = "│ " * row.level
        if row.opens:
            columns = f"{'│ ' * (row.level - 1)}{'├─' if line else '┌─'}"
        if len(columns) > most:
            columns = f"⋯ {columns[-(most // 2 * 2) :]}"
        is_active = row.first in self.session_tree.active
        sign = "●" if is_active else "○"
        fold = "▸ " if row.folded else "▾ " if row.run == row.first else ""
        parts = [
            Segment(f" {columns}", self.palette(ground, "line")),
            Segment(f"{sign} ", self.palette(ground, "active" if is_active else "line")),
            Segment(fold, self.palette(ground, "detail")),
        ]
        if self.session_tree.head is not None and row.last == self.session_tree.head and is_active:
            parts.append(Segment("Now  ", self.palette(ground, "active")))
        return parts

    def _words(self, row: Row, room: int, ground: str) -> list[Segment]:
        """Return how much a row stands for, and who says what in its first message."""
        node = self.session_tree.nodes[row.first]
        plain, detail = self.palette(ground), self.palette(ground, "detail")
        parts: list[Piece] = []
        if name := self._names.get(row.first):
            parts.append((f"◆ {one_line(name, 40)}  ", self.palette(ground, "name")))
        if row.folded:
            count = f"{row.messages:,} message{'s' * (row.messages != 1)}"
            parts.append((f"{count} · ", detail))
        writer = self.palette(ground, "user" if node.message_role == "user" else "")
        parts.append((f"{WRITERS[node.message_role]}: ", writer))
        if hit := (self._results or {}).get(row.first):
            parts += marked(hit.snippet, hit.marks, plain, self.palette(ground, "result"))
        else:
            text = self._texts.get(row.first)
            parts.append(("…" if text is None else one_line(text) or "(no text)", plain))
        segments: list[Segment] = []
        for words, style in parts:
            words = clipped(words, room)
            room -= cell_len(words)
            segments.append(Segment(words, style))
            if room <= 0:
                break
        return segments

    def _facts(self, row: Row, width: int, ground: str) -> list[Segment]:
        """Return version, model and age of a row."""
        nodes = self.session_tree.nodes
        first, last = nodes[row.first], nodes[row.last]
        number, count = self.session_tree.version(row.first)
        version = f"{number}/{count}" if count > 1 else ""
        if last.status not in _ENDED:
            version = last.status[:_VERSION]
        facts = f"{version:>{_VERSION}}"
        if width >= _WIDE:
            model = clipped(one_line(last.model or first.model), _MODEL)
            facts += f"  {model}{' ' * (_MODEL - cell_len(model))}"
        facts += f"{ago(last.created, self._now):>{_AGE}} "
        return [Segment(f" {facts}", self.palette(ground, "detail"))]

    def _ask_around(self, line: int) -> None:
        """Ask for the texts that are missing within a page of a line."""
        page = max(self.size.height, 1)
        rows = self._rows.rows[max(line - page, 0) : line + 2 * page]
        wanted = tuple(row.first for row in rows if row.first not in self._asked)
        self._asked.update(wanted)
        self.post_message(self.TextsWanted(wanted))

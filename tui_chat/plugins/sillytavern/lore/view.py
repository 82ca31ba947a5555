"""The lore view: each entry of the lorebooks with the reason why it is active in a turn or not, and
a strip of marks with the turns around it.

The chosen turn is the column under the cursor: the newest, which is the request itself, until
another one is chosen. Rows are made when they come into sight, and so are their sentences.
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Iterator, Sequence
from functools import partial
from time import monotonic
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import BindingType

from tui_chat.context.inputs import Inputs
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.lorebook import EntryState, LorebookEntry
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.table import LoreTable
from tui_chat.ui.actions import plugin_action
from tui_chat.ui.inspector.row_wrapping import counted, cut
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    LaterRow,
    Part,
    Piece,
    RowsView,
    ViewRow,
    first_words,
    line,
    spread,
    styled,
    text_rows,
)
from tui_chat.ui.inspector.views import InspectorState, reveal_origin
from tui_chat.ui.widgets.pane_key import pane_key

SHOW_MESSAGE = "show message"
"""The action of the row of an entry."""
CHOOSE_BOOKS = plugin_action("lorebooks")
"""The action of the row that is shown where no lorebook is searched."""
_PAUSE = 0.05
"""Seconds without another request after which it is searched."""
_REST = 0.004
"""Seconds between the turns that are searched, in which keys are answered."""
_SHOWN_AFTER = 0.25
"""Seconds after which what was found meanwhile is shown."""
_UNKNOWN = 255
_MARKS: dict[int, Piece] = {
    EntryState.ACTIVE: ("●", "good"),
    EntryState.HELD_BACK: ("○", "warning"),
    EntryState.ABSENT: ("·", "muted"),
    EntryState.DISABLED: ("-", "bar"),
    _UNKNOWN: (" ", ""),
}
_SECTIONS = {
    EntryState.ACTIVE: "Active",
    EntryState.HELD_BACK: "Held back",
    EntryState.ABSENT: "No key found",
    EntryState.DISABLED: "Disabled",
}
_FACTS_ROOM = 60
"""Cells of a row's sentence from which the entry's book, place and tokens stand behind it."""
_TOKENS_ROOM = 36
"""Cells from which its tokens do."""
_LEGEND = "● active  ○ held back  · no key found  - disabled"


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of the parts of a row, in cells."""

    name: int
    """The width of names, which begin at cell 2."""
    turns: int
    """The number of turns in the strip."""

    @classmethod
    def of(cls, width: int, turns: int) -> _Columns:
        """Divide a width."""
        name = min(max(width // 4, 8), 28)
        return cls(name, min(turns, max((width - name) // 3, 4)))

    @property
    def strip(self) -> int:
        """The cell at which the strip begins."""
        return self.name + 3


class LoreView(RowsView):
    """Shows what became of the entries of lorebooks."""

    finds = True

    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("left,h", "turn(-1)", "request", "Request before"),
        pane_key("right,l", "turn(1)", "request", "Request after"),
        pane_key("K", "change(-1)", "change", "Request before with a change"),
        pane_key("J", "change(1)", "change", "Request after with a change"),
        pane_key("f", "follow", "newest", "Return to the newest request"),
        pane_key("n", "hit(1)", "find", "Next entry"),
        pane_key("N", "hit(-1)", "find", "Previous entry"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.table: LoreTable | None = None
        """The table shown; None while it is computed."""
        self._inputs: Inputs | None = None
        """The inputs of the request that is shown."""
        self._follows_draft = False
        """True if the request is the one that Enter would send."""
        self._turn: int | None = None
        """The chosen turn; None for the request itself."""
        self._first = 0
        """The first turn of the strip."""
        self._words = ""
        """The text that shown entries contain in name, key or content, in lower case."""
        self._wanted: Origin | None = None
        """The entry to go to once there are rows."""
        self._shown: list[int | None] = []
        """The entry of each row."""

    def show_state(self, state: InspectorState) -> None:
        """Search the turns of a request, when typing pauses; till then, show the one before."""
        inputs = state.composed.inputs if state.composed is not None else None
        self._follows_draft = state.is_live
        if inputs is self._inputs:
            return
        self._inputs = inputs
        if inputs is None or not inputs.lorebooks:
            self._show(None)
        else:
            self.run_worker(self._search(inputs), group="lore", exclusive=True)

    async def _search(self, inputs: Inputs) -> None:
        """Search the newest turn first, in slices that no key has to wait for. What is known serves
        the next request.
        """
        await sleep(_PAUSE)
        table = LoreTable(inputs, self.table)
        self._show(table)
        shown_at = monotonic()
        while self.is_on_screen and table.compute_next():
            if monotonic() - shown_at > _SHOWN_AFTER:
                self._show(table)
                shown_at = monotonic()
            await sleep(_REST)
        self._show(table)

    def _show(self, table: LoreTable | None) -> None:
        self.table = table
        if table is not None and self._turn is not None and self._turn >= table.turns - 1:
            self._turn = None
        self.rebuild()

    def forget(self) -> None:
        super().forget()
        self.table, self._turn, self._shown, self._wanted = None, None, [], None
        self._inputs = None

    def find(self, words: str) -> int:
        """Show only the entries that contain words, all if they are empty; return their number."""
        self._words = words.casefold()
        self.rebuild()
        return sum(entry is not None for entry in self._shown)

    def reveal(self, origin: Origin) -> bool:
        """Put the cursor on an entry, once there are rows; all entries are shown then."""
        self._words, self._wanted = "", origin
        self.rebuild()
        return True

    def choose(self, row: ViewRow) -> bool:
        """Go to the message that decided about an entry."""
        if row.action != SHOW_MESSAGE:
            return False
        self.call_later(reveal_origin, self, self.message_origin or GLUE)
        return True

    # --- rows ------------------------------------------------------------------------------

    @property
    def entry(self) -> int | None:
        """The number of the entry under the cursor."""
        return self._shown[self.cursor] if self.cursor < len(self._shown) else None

    @property
    def turn(self) -> int:
        """The chosen turn."""
        newest = self.table.turns - 1 if self.table is not None else 0
        return newest if self._turn is None else self._turn

    def rebuild(self) -> None:
        """Build the rows again; the cursor stays on its entry."""
        entry = self.entry
        super().rebuild()
        table, wanted = self.table, self._wanted
        if table is not None and wanted is not None and self._shown:
            self._wanted = None
            ids = [table.origin(each).id if each is not None else "" for each in self._shown]
            if wanted.id in ids:
                self.set_cursor(ids.index(wanted.id))
        elif entry is not None and self.entry != entry and entry in self._shown:
            self.set_cursor(self._shown.index(entry))
        elif entry is None and self.cursor == 0 and len(self._shown) > 1:
            first = next((row for row, each in enumerate(self._shown) if each is not None), 0)
            self.set_cursor(first)

    def build(self, width: int) -> Iterator[Part]:
        """Lay the entries out by what became of them in the chosen turn."""
        self._shown = []
        table = self.table
        if table is None or not table.entries:
            yield from self._without_entries(width)
            return
        for entries, part in self._parts(table, width):
            yield part
            self._shown += entries or [None] * len(part)

    def _without_entries(self, width: int) -> Iterator[Part]:
        if self.table is not None:
            yield text_rows("The lorebooks have no entries.", width, "", "muted")
        elif self._inputs is not None and self._inputs.lorebooks:
            yield text_rows("Searching the lorebooks …", width, "", "muted")
        else:
            words = cut("No lorebook is searched for this request.", width)
            yield line((words, "muted"), action=CHOOSE_BOOKS)
            yield line((cut("Enter: choose or create one", width), "link"), action=CHOOSE_BOOKS)

    def _parts(self, table: LoreTable, width: int) -> Iterator[tuple[list[int | None], Part]]:
        turn = self.turn
        table.compute(turn)
        columns = _Columns.of(width, table.turns)
        self._first = min(max(self._first, turn - columns.turns + 1), turn)
        if self._turn is None:
            self._first = max(table.turns - columns.turns, 0)
        yield [], _heading(table, turn, width)
        missing = table.missing
        words = f"{counted(missing, 'request')} not searched yet" if missing else _LEGEND
        yield [], line((cut(words, width), "muted"))
        if self._follows_draft and self._turn is None and not table.inputs.has_draft:
            yield [], line((cut(_TRY, width), "muted"))
        for state, name in _SECTIONS.items():
            entries = [e for e in table.with_state(turn, state) if self._is_found(table, e)]
            if entries:
                yield [], BLANK
                title = ((f"{name}", "heading"),)
                used = _budget_words(table, turn) if state is EntryState.ACTIVE else ""
                yield [], line(spread(width, title, f"{used}{len(entries):,}"))
                make = _EntryRows(table, turn, entries, self._first, columns, width)
                yield list(entries), [LaterRow(partial(make, n)) for n in range(len(entries))]
        if self._words and not any(entry is not None for entry in self._shown):
            yield [], line((f"No entry has “{cut(self._words, 40)}”.", "muted"))

    def _is_found(self, table: LoreTable, entry: int) -> bool:
        return not self._words or self._words in _searched(table.entries[entry][1])

    # --- keys and mouse --------------------------------------------------------------------

    def action_turn(self, step: int) -> None:
        """Choose the turn before or after."""
        self._choose_turn(self.turn + step)

    def action_follow(self) -> None:
        """Choose the request itself."""
        if self.table is not None:
            self._choose_turn(self.table.turns - 1)

    def action_change(self, step: int) -> None:
        """Choose the nearest turn in which something else became of the entry under the cursor."""
        table, entry = self.table, self.entry
        if table is None or entry is None:
            return
        turn = table.change(self.turn, entry, step)
        if turn is None:
            self.notify(
                "Its state is the same in all requests in that direction." + _until_known(table),
                markup=False,
            )
        else:
            self._choose_turn(turn)

    def action_hit(self, step: int) -> None:
        self.action_move(step)

    def _choose_turn(self, turn: int) -> None:
        table = self.table
        if table is None:
            return
        turn = min(max(turn, 0), table.turns - 1)
        self._turn = None if turn == table.turns - 1 else turn
        self._first = min(self._first, turn)
        self.rebuild()
        self.post_highlighted_again()

    def row_clicked(self, row: int, event: events.Click) -> None:
        """Put the cursor on a row, and on the turn of a mark; open it on a double click."""
        self.set_cursor(row)
        table, offset = self.table, event.get_content_offset(self)
        if table is None or offset is None or self.entry is None:
            return
        columns = _Columns.of(self._built_for, table.turns)
        at = offset.x - columns.strip
        if 0 <= at < min(columns.turns, table.turns - self._first):
            self._choose_turn(self._first + at)
        if event.chain == 2:
            self.action_choose()

    @property
    def message_origin(self) -> Origin | None:
        """The origin of the message that decided about the entry under the cursor: the one with
        its key, else the reply of the turn, else, in the request itself, the draft.
        """
        table, entry = self.table, self.entry
        if table is None or entry is None:
            return None
        column = table.column(self.turn)
        message_id = table.outcome(self.turn, entry).message_id
        message_id = message_id or (column.reply.id if column.reply is not None else "")
        if message_id:
            return Origin(OriginKind.HISTORY, message_id)
        return Origin(OriginKind.DRAFT)


_TRY = "Type a message to see what it activates."


def _until_known(table: LoreTable) -> str:
    return " Some requests are not searched yet." if table.missing else ""


def _searched(entry: LorebookEntry) -> str:
    return "\n".join((entry.name, *entry.keys, *entry.secondary_keys, entry.content)).casefold()


def _budget_words(table: LoreTable, turn: int) -> str:
    """Return what the entries of a turn use of their budgets, to precede their number."""
    uses = (
        f"{f'{cut(one_line(use.book), 24)} ' * bool(use.book)}{use.used:,} of {use.limit:,} tokens"
        for use in table.budgets(turn)
    )
    return "".join(f"{words} · " for words in uses)


def _heading(table: LoreTable, turn: int, width: int) -> Part:
    """Return the row that names the chosen turn."""
    column = table.column(turn)
    name = "This request" if column.reply is None else f"Request {column.number:,}"
    question = column.question
    words = first_words(question.content, width) if question is not None else ""
    pieces: list[Piece] = [(name, "strong"), (f"  {words}" if words else "", "muted")]
    right = f"{column.number:,} of {counted(table.turns, 'request')} · ← →"
    return line(spread(width, pieces, right))


class _EntryRows:
    """Makes the rows of entries."""

    def __init__(
        self,
        table: LoreTable,
        turn: int,
        entries: Sequence[int],
        first: int,
        columns: _Columns,
        width: int,
    ) -> None:
        self._table, self._turn, self._entries = table, turn, entries
        self._columns, self._width = columns, width
        self._turns = range(first, min(first + columns.turns, table.turns))
        self._has_books = any(book is not table.entries[0][0] for book, _ in table.entries)

    def __call__(self, number: int) -> ViewRow:
        entry = self._entries[number]
        table, columns = self._table, self._columns
        outcome = table.outcome(self._turn, entry)
        name = cut(table.name(entry), columns.name)
        pieces: list[Piece] = [_MARKS[outcome.state], (" ", "")]
        pieces += [(name, "strong"), (" " * (columns.name - cell_len(name) + 1), "")]
        for turn in self._turns:
            states = table.states(turn)
            mark, style = _MARKS[_UNKNOWN if states is None else states[entry]]
            pieces.append((mark, f"{style} new-part" if turn == self._turn else style))
        pieces += [(" ", ""), (_short(outcome.sentence), "muted")]
        book = f"“{one_line(outcome.book)}”" if self._has_books else ""
        tokens = f"{outcome.tokens:,} token{'s' * (outcome.tokens != 1)}" if outcome.active else ""
        facts = " · ".join(filter(None, (cut(book, 24), cut(outcome.place, 32), tokens)))
        hint = f"{outcome.sentence} Of the lorebook {book}." if book else outcome.sentence
        if outcome.active:
            hint += f" Place: {outcome.place}; {tokens}."
        room = self._width - columns.strip - len(self._turns) - 1
        if facts and room >= _FACTS_ROOM:
            right = facts
        else:
            right = tokens if room >= _TOKENS_ROOM else ""
        content = spread(self._width, pieces, right) if right else styled(*pieces)
        return ViewRow(content, table.origin(entry), SHOW_MESSAGE, hint)


def _short(sentence: str) -> str:
    """Return a sentence without the words that the mark says already."""
    for words in ("This lore entry is active because ", "This lore entry "):
        if sentence.startswith(words):
            return sentence.removeprefix(words)
    return sentence

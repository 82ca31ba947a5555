"""The lore view: each entry of the lorebooks that the request searches, by what became of it, with
the key that was found and where.
"""

from __future__ import annotations

from asyncio import sleep, to_thread
from collections.abc import Iterator
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import BindingType

from tui_chat.context.inputs import Inputs
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.index import entry_name
from tui_chat.plugins.sillytavern.lore.outcomes import (
    MARKS,
    LoreOutcome,
    LoreOutcomes,
    lore_outcomes,
)
from tui_chat.plugins.sillytavern.lore.search import EntryState
from tui_chat.ui.inspector.row_wrapping import cut
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    Piece,
    RowsView,
    ViewRow,
    line,
    spread,
    text_rows,
)
from tui_chat.ui.inspector.views import InspectorState, reveal_origin
from tui_chat.ui.verbs import plugin_action
from tui_chat.ui.widgets.pane_key import pane_key

SHOW_MESSAGE = "show message"
"""The action of the row of an entry."""
CHOOSE_BOOKS = plugin_action("lorebooks")
"""The action of the row that is shown where no lorebook is searched."""
_PAUSE = 0.05
"""Seconds without another request after which it is searched."""
_SECTIONS = {
    EntryState.ACTIVE: ("Active", "good"),
    EntryState.HELD_BACK: ("Held back", "warning"),
    EntryState.ABSENT: ("No key found", "muted"),
    EntryState.DISABLED: ("Disabled", "bar"),
}


class LoreView(RowsView):
    """Shows what became of the entries of lorebooks."""

    finds = True

    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("n", "hit(1)", "find", "Next entry"),
        pane_key("N", "hit(-1)", "find", "Previous entry"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.outcomes: LoreOutcomes | None = None
        """What is shown; None while it is searched for."""
        self._inputs: Inputs | None = None
        """The inputs of the request that is shown."""
        self._words = ""
        """The text that shown entries contain in name, key or content, in lower case."""
        self._wanted: Origin | None = None
        """The entry to go to once there are rows."""

    def show_state(self, state: InspectorState) -> None:
        """Search for a request, when typing pauses; till then, show the one before."""
        inputs = state.composed.inputs if state.composed is not None else None
        if inputs is self._inputs:
            return
        self._inputs = inputs
        if inputs is None or not inputs.lorebooks:
            self._show(None)
        else:
            self.run_worker(self._search(inputs), group="lore", exclusive=True)

    async def _search(self, inputs: Inputs) -> None:
        await sleep(_PAUSE)
        self._show(await to_thread(lore_outcomes, inputs))

    def _show(self, outcomes: LoreOutcomes | None) -> None:
        self.outcomes = outcomes
        self.rebuild()
        if self._wanted is not None and super().reveal(self._wanted):
            self._wanted = None

    def forget(self) -> None:
        super().forget()
        self.outcomes, self._wanted, self._inputs = None, None, None

    def rebuild(self) -> None:
        """Build the rows again; the cursor begins on an entry."""
        super().rebuild()
        if self.outcomes is not None and self.cursor == 0 and len(self.rows) > 1:
            self.set_cursor(1)

    def find(self, words: str) -> int:
        """Show only the entries that contain words, all if they are empty; return their number."""
        self._words = words.casefold()
        self.rebuild()
        return sum(row.origin is not None for row in self.rows)

    def action_hit(self, step: int) -> None:
        self.action_move(step)

    def reveal(self, origin: Origin) -> bool:
        """Put the cursor on an entry, once there are rows; all entries are shown then."""
        if self._words:
            self.find("")
        self._wanted = None if super().reveal(origin) else origin
        return True

    def choose(self, row: ViewRow) -> bool:
        """Go to the message with the key that was found, else to the draft."""
        if row.action != SHOW_MESSAGE:
            return False
        found = () if self.outcomes is None else self.outcomes.entries
        message_id = next((each.message_id for each in found if each.origin == row.origin), "")
        kind = OriginKind.HISTORY if message_id else OriginKind.DRAFT
        self.call_later(reveal_origin, self, Origin(kind, message_id))
        return True

    def build(self, width: int) -> Iterator[Part]:
        """Lay the entries out by what became of them."""
        outcomes = self.outcomes
        if outcomes is None:
            yield from self._without_entries(width)
            return
        is_empty = True
        for state, (title, style) in _SECTIONS.items():
            found = [each for each in outcomes.of(state) if each.contains(self._words)]
            if found:
                used = f"{outcomes.used:,} tokens · "
                if outcomes.limit is not None:
                    used = f"{outcomes.used:,} of {outcomes.limit:,} tokens · "
                right = f"{used if state is EntryState.ACTIVE else ''}{len(found):,}"
                yield line(spread(width, ((title, "heading"),), right))
                yield [_row(each, style, width) for each in found]
                yield BLANK
                is_empty = False
        if is_empty:
            words = f"No entry has “{cut(self._words, 40)}”." if self._words else "No entries."
            yield line((words, "muted"))

    def _without_entries(self, width: int) -> Iterator[Part]:
        if self._inputs is not None and self._inputs.lorebooks:
            yield text_rows("Searching the lorebooks …", width, "", "muted")
        else:
            words = cut("No lorebook is searched for this request.", width)
            yield line((words, "muted"), action=CHOOSE_BOOKS)
            yield line((cut("Enter: choose or create one", width), "link"), action=CHOOSE_BOOKS)


def _row(found: LoreOutcome, style: str, width: int) -> ViewRow:
    room = min(max(width // 4, 8), 28)
    name = cut(one_line(entry_name(found.entry)), room)
    words = found.sentence.removeprefix("This lore entry is active because ")
    words = words.removeprefix("This lore entry ") or ", ".join(found.entry.keys)
    pieces: list[Piece] = [(MARKS[found.state], style), (" ", ""), (name, "strong")]
    pieces += [(" " * (room - cell_len(name) + 1), ""), (one_line(words), "muted")]
    tokens = f"{found.tokens:,} token{'s' * (found.tokens != 1)}" if found.tokens else ""
    hint = f"{found.sentence} Of the lorebook “{one_line(found.book.name)}”.".strip()
    return ViewRow(spread(width, pieces, tokens), found.origin, SHOW_MESSAGE, hint)

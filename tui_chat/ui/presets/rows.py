"""The preset as a list: rows to be edited and moved.

A line of the screen is a row of the outline, or a note under its row. Only visible lines are
rendered; an edit costs one walk over the list.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.outline import Outline, OutlineRow
from tui_chat.models.preset import CHAT_HISTORY
from tui_chat.ui.actions import place_bindings
from tui_chat.ui.presets.folding import HISTORY, Folding
from tui_chat.ui.presets.outline_lines import OutlineLines
from tui_chat.ui.presets.request_facts import NO_FACTS, RequestFacts, costs
from tui_chat.ui.presets.row_drawing import (
    CHECKBOX,
    Piece,
    display_name,
    heading_pieces,
    joints,
    note_pieces,
    row_pieces,
)
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.row_list import RowList

_STYLES = (
    "unsaved", "box", "off", "system", "user", "assistant", "tool", "info", "warning", "error",
    "place", "tokens", "heading", "part", "joint", "name", "preview", "anchor", "line",
    "ghost", "cursor", "hover", "lit", "empty",
)  # fmt: skip


class PresetRows(RowList):
    """The rows of an outline; the cursor is on one that stands for a message."""

    EMPTY_INDENT = " "
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"preset-rows--{name}" for name in _STYLES}
    DEFAULT_CSS = """
    PresetRows {
        height: 1fr;
        min-height: 3;
        & .preset-rows--unsaved { color: $text-warning; text-style: bold; }
        & .preset-rows--box { color: $foreground 72%; }
        & .preset-rows--off { color: $foreground 72%; }
        & .preset-rows--system { color: $origin-system; }
        & .preset-rows--user { color: $origin-draft; }
        & .preset-rows--assistant { color: $origin-profile; }
        & .preset-rows--tool { color: $foreground 72%; }
        & .preset-rows--info { color: $foreground 72%; }
        & .preset-rows--warning { color: $text-warning; }
        & .preset-rows--error { color: $text-error; text-style: bold; }
        & .preset-rows--place { color: $origin-preset; }
        & .preset-rows--tokens { color: $foreground 72%; }
        & .preset-rows--name { color: $foreground; }
        & .preset-rows--preview { color: $foreground 72%; }
        & .preset-rows--anchor { color: $text-primary; text-style: bold; }
        & .preset-rows--heading { color: $text-accent; text-style: bold; }
        & .preset-rows--part { color: $foreground 85%; text-style: bold; }
        & .preset-rows--joint { color: $text-accent; }
        & .preset-rows--line { color: $foreground 25%; }
        & .preset-rows--ghost { color: $foreground 67%; text-style: italic; }
        & .preset-rows--hover { background: $foreground 5%; }
        & .preset-rows--cursor { background: $foreground 9%; }
        &:focus .preset-rows--cursor { background: $primary 20%; }
        & .preset-rows--lit { background: $origin-preset 25%; }
        & .preset-rows--empty { color: $foreground 72%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "preset_editor.open", "Edit", tooltip="Edit the message"),
        Binding("space", "preset_editor.edit('enable')", "On/off", tooltip="Send it or not"),
        pane_key("a", "preset_editor.add", "add", "Add messages or an anchor", shown=True),
        pane_key("K,alt+up", "preset_editor.edit('up')", "move", "Move the message up", shown=True),
        pane_key(
            "J,alt+down", "preset_editor.edit('down')", "move", "Move the message down", shown=True
        ),
        pane_key(
            "x,delete", "preset_editor.edit('delete')", "delete", "Delete the message", shown=True
        ),
        pane_key("m", "presets.files", "more", "Switch, copy, compare, rename presets"),
        *(
            pane_key(keys, action, word, title)
            for keys, action, word, title in (
                ("g", "first", "↑↓", "Top"),
                ("G", "last", "↑↓", "End"),
                ("d", "preset_editor.edit('duplicate')", "duplicate", "Duplicate the message"),
                ("less_than_sign", "preset_editor.edit('earlier')", "depth", "Earlier in the chat"),
                ("greater_than_sign", "preset_editor.edit('later')", "depth", "Later in the chat"),
                *(
                    (
                        f"{depth}",
                        f"preset_editor.edit('depth', {depth})",
                        "depth",
                        "Depth 0 to 9: how many messages follow",
                    )
                    for depth in range(10)
                ),
                ("z", "fold", "fold", "Fold or unfold the group"),
                ("Z", "fold_all", "fold", "Fold or unfold all groups"),
                ("left", "fold(True)", "fold", "Fold the group"),
                ("right", "fold(False)", "fold", "Unfold the group"),
                ("r", "preset_editor.edit('role')", "role", "Another role"),
                (
                    "c",
                    "preset_editor.edit('mark')",
                    "cache",
                    "Cache mark: 5 minutes, an hour, none",
                ),
                ("u", "preset_editor.undo", "undo", "Undo"),
                ("U", "preset_editor.redo", "undo", "Redo"),
                ("e", "presets.edit_content", "your editor", "Edit the content in $EDITOR"),
                ("E", "presets.edit_file", "your editor", "Edit the whole preset in $EDITOR"),
                ("w", "presets.show_places", "where", "Where it is in the request"),
                ("slash", "preset_editor.filter", "filter", "Show what contains …"),
                ("p", "preset_editor.settings", "preset", "Name, variables, system messages"),
                ("n", "presets.new", "new", "New preset"),
                ("escape", "back", "back", "Clear the filter, or go back to the draft"),
            )
        ),
        *place_bindings("preset"),
    ]

    @dataclass
    class OutlineRowHighlighted(Message):
        """The cursor moved to a row, or the list got the focus."""

        row: OutlineRow | None

    def __init__(self) -> None:
        super().__init__("preset-rows")
        self.outline: Outline | None = None
        self.facts: RequestFacts = NO_FACTS
        self._no_rows_text = ""
        self._tokens: dict[int, int] = {}
        self._unsaved: frozenset[str] = frozenset()
        self.folding = Folding()
        self._joints: dict[int, str] = {}
        """The bracket of each row that is sent as one message with others, by row number."""
        self.names: dict[str, str] = {}
        """The display names of the anchors, by id."""
        self._lines = OutlineLines()
        self._words: list[str] = []
        self._lit = -1
        """The row that another pane revealed; -1 for none."""

    # Rows and lines

    @property
    def chosen(self) -> OutlineRow | None:
        """The row under the cursor; None on the heading of a folded part."""
        return None if self.is_on_fold else self._row(self.cursor)

    def _row(self, number: int) -> OutlineRow | None:
        rows = self.outline.rows if self.outline else ()
        return rows[number] if 0 <= number < len(rows) else None

    @property
    def row_count(self) -> int:
        return len(self.outline.rows) if self.outline else 0

    @property
    def line_count(self) -> int:
        return len(self._lines.at)

    def lines_of(self, row: int) -> tuple[int, int]:
        """Return the lines of a row and its notes; the first message has what stands above it."""
        line = self._lines.of.get(row)
        if line is None:  # filtered out: nothing to scroll to
            return self.scroll_offset.y, 0
        end, height = line + 1, self.scrollable_content_region.height
        while self._lines.row_at(end) == row and end - line < height:
            end += 1
        has_heading = line > 0 and isinstance(self._lines.at[line - 1][1], str)
        first = 0 if line <= 1 else line - has_heading
        return first, end - first

    def row_at(self, line: int) -> int:
        return self._lines.row_at(line)

    def row_after(self, row: int, step: int) -> int:
        return self._lines.next(row, step)

    def show(
        self, outline: Outline | None, unsaved: frozenset[str], chosen: int | None, empty: str
    ) -> None:
        """Show an outline, the cursor on the message with list index `chosen`, else where it was.

        `empty` is shown if there are no rows; its lines are separated by line breaks.
        """
        self._no_rows_text = empty
        lit = self._row(self._lit)
        before, self.outline, self._unsaved = self.outline, outline, unsaved
        same = outline is not None and before is not None and outline.preset is before.preset
        self._lit = outline.row_of(lit.index) if outline and same and lit else -1
        if outline is not None:
            messages = outline.preset.messages
            self.folding.show(outline)
            self.names = {m.anchor_id: display_name(m) for m in messages if m.is_anchor}
            if chosen is not None and 0 <= chosen < len(messages):
                self.cursor = outline.row_of(chosen)
                self.folding.unfold_around(self.cursor)
        self._count_tokens()
        self._lay_out()

    def show_facts(self, facts: RequestFacts) -> None:
        """Show the facts of another request: costs, and the first words of the history."""
        self.facts = facts
        self._count_tokens()
        self.refresh_changed()

    def filter(self, words: str) -> None:
        """Show only messages that contain all words."""
        self._words = words.casefold().split()
        self._lay_out()

    # Folding

    def action_fold(self, folds: bool | None = None) -> bool:
        """Fold or unfold the group of the row under the cursor, then its part of the request; None
        for the other of the two. Return False if nothing changed.
        """
        row = self.folding.fold(self.cursor, folds)
        if row is not None:
            self.cursor = row
            self._lay_out()
        else:
            self.notify("Nothing folds here.")
        return row is not None

    def action_fold_all(self) -> None:
        """Fold all groups, without any all parts of the request; if all are folded, unfold them."""
        if self.outline is not None:
            self.cursor = self.folding.fold_all(self.cursor)
            self._lay_out()

    @property
    def is_on_fold(self) -> bool:
        """True if the cursor is on the heading of a folded part."""
        return bool(self.folding.folded_part(self.cursor))

    def _count_tokens(self) -> None:
        rows = self.outline.rows if self.outline else ()
        shown = sum(row.skipped + (row.ghost in ("oldest", "message", "newest")) for row in rows)
        self.facts = replace(self.facts, shown=shown)
        self._tokens = costs(rows, self.facts)
        self._joints = joints(rows, self.facts.joined)

    def _lay_out(self) -> None:
        self._lines = OutlineLines.of_outline(self.outline, self._words, self.folding)
        self.empty_text = "Nothing contains that." if self._words else self._no_rows_text
        self.update_extent()
        if self.outline is None:  # the cursor waits for the preset to be readable again
            self.refresh_changed()
            self.cursor_moved()
        else:
            lit = self._lit
            self.set_cursor(self.cursor)
            self._lit = lit

    def light(self, index: int) -> None:
        """Highlight the row of a message, and move the cursor there without posting it."""
        if self.outline is None:
            return
        number = self.outline.row_of(index)
        if self.folding.unfold_around(number):
            self._lay_out()
        self._lit = self.cursor = number
        self.scroll_to_cursor()
        self.refresh_changed()

    # Rendering

    def draw_line(self, line: int, width: int) -> Strip:
        row = self._row(self._lines.row_at(line))
        if row is None:
            return Strip.blank(width, self.palette())
        number, note = self._lines.at[line]
        if isinstance(note, str):
            heading = self.folding.part_heading(note, self._tokens, self.facts.role[1])
            emphasis = self.emphasis(number) if heading.is_folded else ""
            return self._strip(heading_pieces(heading, [(" ", "")], width), width, emphasis)
        if note is not None:
            pieces = note_pieces(note.sentence, note.level, row.indent, width)
            return self._strip(pieces, width, "")
        unsaved = row.message is not None and row.message.id in self._unsaved
        tokens = self._tokens.get(row.index)
        group = self.folding.groups.get(row.index)
        heading = self.folding.group_heading(group, self._tokens) if group is not None else None
        pieces = row_pieces(
            row,
            tokens,
            self.facts,
            self.names,
            width,
            unsaved=unsaved,
            joint=self._joints.get(number, " "),
            heading=heading,
            is_folded=self.folding.is_folded(HISTORY),
        )
        return self._strip(pieces, width, self.emphasis(number))

    def _strip(self, pieces: list[Piece], width: int, emphasis: str) -> Strip:
        segments = [Segment(text, self.palette(emphasis, name)) for text, name in pieces if text]
        return Strip(segments).adjust_cell_length(width, self.palette(emphasis))

    def emphasis(self, row: int) -> str:
        """Return the style of a row's background; the mouse highlights messages only."""
        if row == self._lit:
            return "lit"
        shown = self._row(row)
        emphasis = super().emphasis(row)
        return "" if emphasis == "hover" and (shown is None or shown.message is None) else emphasis

    # Keys

    async def action_back(self) -> None:
        await self.run_action("preset_editor.back")

    def action_page(self, direction: int) -> None:
        by = max(self.scrollable_content_region.height - 1, 1)
        line = self._lines.of.get(self.cursor, 0) + direction * by
        line = min(max(line, 0), max(self.line_count - 1, 0))
        if self.line_count:
            self.set_cursor(self._lines.nearest(self._lines.row_at(line), direction))

    def set_cursor(self, row: int) -> None:
        """Move the cursor to a row, or the nearest one that it can be on."""
        self._lit = -1
        super().set_cursor(self._lines.nearest(row, 1))

    def cursor_moved(self) -> None:
        self.post_message(self.OutlineRowHighlighted(self.chosen))

    def on_focus(self) -> None:
        self.cursor_moved()

    # Mouse

    async def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor on a row; on a checkbox or a sign of a group, do what it stands for."""
        line = self.line_under(event)
        number = self.row_at(line)
        row = self._row(number)
        if 0 <= line < self.line_count and isinstance(self._lines.at[line][1], str):
            self.cursor = number
            self.folding.toggle_part(number)
            self._lay_out()
            return
        if row is None or row.message is None:
            return
        self.set_cursor(number)
        x = event.get_content_offset_capture(self).x
        if CHECKBOX[0] <= x < CHECKBOX[1]:
            await self.run_action("preset_editor.edit('enable')")
        elif self._folds_by_click(row) and self._is_on_fold(x, row):
            self.action_fold()

    def line_clicked(self, line: int, event: events.Click) -> None:
        """Open a message on a double click. The first press has moved the cursor."""
        if event.chain == 2 and event.get_content_offset_capture(self).x >= CHECKBOX[1]:
            self.call_later(self.run_action, "preset_editor.open")

    def _folds_by_click(self, row: OutlineRow) -> bool:
        is_history = row.placement == "anchor" and row.anchor == CHAT_HISTORY
        return is_history or row.index in self.folding.groups

    def _is_on_fold(self, x: int, row: OutlineRow) -> bool:
        """True if a column is that of the sign of a folded or unfolded group."""
        sign = CHECKBOX[1] + 1 + 2 * row.indent
        return sign <= x <= sign + 1

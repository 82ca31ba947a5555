"""The preset as a list: rows to be edited, moved and dragged.

A line of the screen is a row of the outline, a note under its row, or, during a drag, the line
that names the slot where the row would go. Only visible lines are rendered; an edit costs one
walk over the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing import (
    MessageGroup,
    Outline,
    OutlineRow,
    Slot,
    groups_of,
    slots_for,
)
from tui_chat.models.envelope import Level, Note
from tui_chat.models.preset import PresetMessage
from tui_chat.ui.areas.presets.request_facts import NO_FACTS, RequestFacts, costs
from tui_chat.ui.areas.presets.row_drawing import (
    CHECKBOX,
    Piece,
    PromptGroupHeading,
    display_name,
    joints,
    note_pieces,
    row_pieces,
)
from tui_chat.ui.widgets.row_list import RowList

_STYLES = (
    "unsaved", "box", "off", "system", "user", "assistant", "tool", "info", "warning", "error",
    "place", "tokens", "heading", "joint", "name", "preview", "anchor", "line",
    "ghost", "cursor", "hover", "lit", "drop", "empty",
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
        & .preset-rows--joint { color: $text-accent; }
        & .preset-rows--line { color: $foreground 25%; }
        & .preset-rows--ghost { color: $foreground 67%; text-style: italic; }
        & .preset-rows--hover { background: $foreground 5%; }
        & .preset-rows--cursor { background: $foreground 9%; }
        &:focus .preset-rows--cursor { background: $primary 20%; }
        & .preset-rows--lit { background: $origin-preset 25%; }
        & .preset-rows--drop { color: $text-accent; text-style: bold; }
        & .preset-rows--empty { color: $foreground 72%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
        Binding("enter", "want('open')", "Edit", tooltip="Edit the message"),
        Binding("space", "want('enable')", "On/off", tooltip="Enable or disable the message"),
        Binding("a", "want('add')", "Add", tooltip="Add a message or an anchor"),
        Binding("d", "want('duplicate')", show=False, tooltip="Duplicate the message"),
        Binding("delete,x", "want('delete')", show=False, tooltip="Delete the message"),
        Binding("alt+up,K", "want('up')", show=False, tooltip="Move the message up"),
        Binding("alt+down,J", "want('down')", show=False, tooltip="Move the message down"),
        Binding("less_than_sign", "want('higher')", show=False, tooltip="One deeper"),
        Binding("greater_than_sign", "want('lower')", show=False, tooltip="One less deep"),
        Binding("r", "want('role')", show=False, tooltip="Another role"),
        Binding("c", "want('mark')", show=False, tooltip="Cache mark: 5 minutes, an hour, none"),
        Binding("u", "want('undo')", show=False, tooltip="Undo"),
        Binding("U", "want('redo')", show=False, tooltip="Redo"),
        Binding("e", "want('outside')", show=False, tooltip="Edit the content in $EDITOR"),
        Binding("E", "want('file')", show=False, tooltip="Edit the whole preset in $EDITOR"),
        Binding("w", "want('where')", show=False, tooltip="Where it is in the request"),
        Binding("slash", "want('filter')", show=False, tooltip="Show what contains …"),
        Binding("p", "want('settings')", show=False, tooltip="Name, variables, system messages"),
        Binding("m", "want('more')", "More", tooltip="Switch, copy, compare, rename presets"),
        Binding("escape", "back", show=False),
    ]

    class ActionRequested(Message):
        """The user wants something done with the row under the cursor."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    class MessageDropped(Message):
        """A message was dragged to another slot."""

        def __init__(self, index: int, slot: Slot) -> None:
            super().__init__()
            self.index = index
            self.slot = slot

    class OutlineRowHighlighted(Message):
        """The cursor moved to a row, or the list got the focus."""

        def __init__(self, row: OutlineRow | None) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__("preset-rows")
        self.outline: Outline | None = None
        self.facts: RequestFacts = NO_FACTS
        self._no_rows_text = ""
        self._tokens: dict[int, int] = {}
        self._unsaved: frozenset[str] = frozenset()
        self.groups: Mapping[int, MessageGroup] = {}
        """The groups of messages by the list index of their headings."""
        self._joints: dict[int, str] = {}
        """The bracket of each row that is sent as one message with others, by row number."""
        self.names: dict[str, str] = {}
        """The display names of the anchors, by id."""
        self._lines = OutlineLines()
        self._words: list[str] = []
        self._lit = -1
        """The row that another pane revealed; -1 for none."""
        self._drag: RowDrag | None = None

    # Rows and lines

    @property
    def chosen(self) -> OutlineRow | None:
        """The row under the cursor."""
        return self._row(self.cursor)

    @property
    def drop(self) -> tuple[int, Slot] | None:
        """During a drag the slot nearest to the mouse, and the line that names it."""
        return self._drag.drop if self._drag else None

    def _row(self, number: int) -> OutlineRow | None:
        rows = self.outline.rows if self.outline else ()
        return rows[number] if 0 <= number < len(rows) else None

    @property
    def row_count(self) -> int:
        """Number of rows of the outline, shown or filtered out."""
        return len(self.outline.rows) if self.outline else 0

    @property
    def line_count(self) -> int:
        """Number of lines, notes included."""
        return len(self._lines.at)

    def lines_of(self, row: int) -> tuple[int, int]:
        """Return the lines of a row and its notes; the first message has what stands above it."""
        line = self._lines.of.get(row)
        if line is None:  # filtered out: nothing to scroll to
            return self.scroll_offset.y, 0
        end, height = line + 1, self.scrollable_content_region.height
        while self._lines.row_at(end) == row and end - line < height:
            end += 1
        first = 0 if line <= 1 else line
        return first, end - first

    def row_at(self, line: int) -> int:
        """Return the row of a line."""
        return self._lines.row_at(line)

    def row_after(self, row: int, step: int) -> int:
        """Return the message so many messages further."""
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
            if not same:
                self.groups = groups_of(outline.preset)
            self.names = {m.anchor_id: display_name(m) for m in messages if m.is_anchor}
            if chosen is not None and 0 <= chosen < len(messages):
                self.cursor = outline.row_of(chosen)
        self._count_tokens()
        self._lay_out()

    def show_facts(self, facts: RequestFacts) -> None:
        """Show the facts of another request: costs, and the first words of the history."""
        self.facts = facts
        self._count_tokens()
        self.refresh()

    def filter(self, words: str) -> None:
        """Show only messages that contain all words."""
        self._words = words.casefold().split()
        self._lay_out()

    def _count_tokens(self) -> None:
        rows = self.outline.rows if self.outline else ()
        shown = sum(row.skipped + (row.ghost in ("oldest", "message", "newest")) for row in rows)
        self.facts = replace(self.facts, shown=shown)
        self._tokens = costs(rows, self.facts)
        self._joints = joints(rows, self.facts.joined)

    def _lay_out(self) -> None:
        self._lines = OutlineLines.of_outline(self.outline, self._words)
        self.empty_text = "Nothing contains that." if self._words else self._no_rows_text
        self.update_extent()
        if self.outline is None:  # the cursor waits for the preset to be readable again
            self.refresh()
            self.cursor_moved()
        else:
            self._go(self._lines.nearest(self.cursor, 1), lit=self._lit)

    def light(self, index: int) -> None:
        """Highlight the row of a message, and move the cursor there without posting it."""
        if self.outline is None:
            return
        self._lit = self.cursor = self.outline.row_of(index)
        self.scroll_to_cursor()
        self.refresh()

    # Rendering

    def draw_line(self, line: int, width: int) -> Strip:
        """Render a row, a note, or the slot of a drag."""
        if self.drop is not None:
            drop_line, slot = self.drop
            if line == drop_line:
                text = f"──▶ {slot.description} "
                text += "─" * max(width - len(text), 0)
                return self._strip([(text, "drop")], width, "")
            line -= line > drop_line
        row = self._row(self._lines.row_at(line))
        if row is None:
            return Strip.blank(width, self.palette())
        number, note = self._lines.at[line]
        if note is not None:
            pieces = note_pieces(note.sentence, note.level, row.indent, width)
            return self._strip(pieces, width, "")
        unsaved = row.message is not None and row.message.id in self._unsaved
        tokens = self._tokens.get(row.index)
        group = self.groups.get(row.index)
        heading = (
            PromptGroupHeading.of(group, self.outline, self._tokens) if group is not None else None
        )
        pieces = row_pieces(
            row,
            tokens,
            self.facts,
            self.names,
            width,
            unsaved=unsaved,
            joint=self._joints.get(number, " "),
            heading=heading,
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

    def action_want(self, action: str) -> None:
        """Request an action on the row under the cursor."""
        if action == "open" and self.drop is not None:
            return
        self.post_message(self.ActionRequested(action))

    def action_back(self) -> None:
        """Cancel a drag; else leave the list."""
        if self._drag is not None:
            self._end_drag()
        else:
            self.post_message(self.ActionRequested("back"))

    def action_page(self, direction: int) -> None:
        """Move the cursor by a page of lines, to the nearest message."""
        by = max(self.scrollable_content_region.height - 1, 1)
        line = self._lines.of.get(self.cursor, 0) + direction * by
        line = min(max(line, 0), max(self.line_count - 1, 0))
        if self.line_count:
            self._go(self._lines.nearest(self._lines.row_at(line), direction))

    def action_move(self, step: int) -> None:
        """Move the cursor by messages."""
        self._go(self.row_after(self.cursor, step))

    def action_first(self) -> None:
        """Go to the first message."""
        self._go(self._lines.nearest(0, 1))

    def action_last(self) -> None:
        """Go to the last message."""
        self._go(self._lines.nearest(self.row_count - 1, -1))

    def _go(self, row: int, lit: int = -1) -> None:
        self._lit = lit
        self.set_cursor(row)

    def cursor_moved(self) -> None:
        """Post the row under the cursor."""
        self.post_message(self.OutlineRowHighlighted(self.chosen))

    def on_focus(self) -> None:
        """Post the row that keys act on now."""
        self.cursor_moved()

    # Mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor on a row, which may be dragged from here."""
        number = self.row_at(self.line_under(event))
        row = self._row(number)
        if row is not None and row.message is not None:
            self._go(number)
            self._drag = RowDrag(number, row)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the pressed row."""
        drag = self._drag
        if drag is None or self.outline is None:
            return
        event.prevent_default()  # no highlight under a drag
        if drag.free is None and self.row_at(self.line_under(event)) != drag.pressed:
            drag.begin(self.outline)
        if drag.free is None:
            return
        offset = event.get_content_offset_capture(self)
        height = self.scrollable_content_region.height
        if offset.y < 0 or offset.y >= height:
            self.scroll_relative(y=-1 if offset.y < 0 else 1, animate=False, immediate=True)
        line = min(max(offset.y, 0), height - 1) + self.scroll_offset.y
        drag.to(line, offset.x / max(self.scrollable_content_region.width, 1), self._lines)
        self.refresh()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Drop the dragged row, or toggle a row whose checkbox was clicked."""
        drag = self._drag
        if drag is None:
            return
        self._end_drag()
        if drag.free is None:
            if CHECKBOX[0] <= event.get_content_offset_capture(self).x < CHECKBOX[1]:
                self.post_message(self.ActionRequested("enable"))
        elif drag.drop is not None:
            self.post_message(self.MessageDropped(drag.row.index, drag.drop[1]))

    def line_clicked(self, line: int, event: events.Click) -> None:
        """Open a message on a double click. The first press has moved the cursor."""
        del line
        if event.chain == 2 and event.get_content_offset_capture(self).x >= CHECKBOX[1]:
            self.post_message(self.ActionRequested("open"))

    def _end_drag(self) -> None:
        self._drag = None
        self.release_mouse()
        self.refresh()


@dataclass(slots=True)
class RowDrag:
    """A row under the pressed mouse button; dragged once the mouse has left it."""

    pressed: int
    """The row's number in the outline."""
    row: OutlineRow
    free: tuple[Slot, ...] | None = None
    """The slots it may go to; None while it is not dragged."""
    drop: tuple[int, Slot] | None = None
    """The line that names the nearest slot, and the slot."""

    def begin(self, outline: Outline) -> None:
        """Find the slots the row may go to."""
        if self.row.message is not None:
            self.free = slots_for(outline, self.row.message)

    def to(self, line: int, share: float, lines: OutlineLines) -> None:
        """Choose the slot nearest to a line. Of several between the same two rows, `share` (0 at
        the left edge, 1 at the right) chooses from the outermost to the innermost.
        """
        near: dict[int, list[Slot]] = {}
        for slot in self.free or ():
            near.setdefault(lines.before(slot.row), []).append(slot)
        if near:
            at = min(near, key=lambda border: abs(border - line))
            here = near[at]
            self.drop = at, here[min(max(int(share * len(here)), 0), len(here) - 1)]


@dataclass(frozen=True, slots=True)
class OutlineLines:
    """Which line shows which row of an outline, or of its messages that contain the filter's words.

    Rows are numbered as in the outline. Warnings and errors of a row have lines below it; notes of
    level info are in the row itself.
    """

    at: tuple[tuple[int, Note | None], ...] = ()
    """The row of each line, and the note if the line is one."""
    of: dict[int, int] = field(default_factory=dict[int, int])
    """The line of each row shown."""
    messages: tuple[int, ...] = ()
    """The rows shown that the cursor can be on: those of messages, from top to bottom."""

    @classmethod
    def of_outline(cls, outline: Outline | None, words: list[str]) -> OutlineLines:
        """Lay out the rows that contain all words, which are casefolded."""
        lines: list[tuple[int, Note | None]] = []
        of: dict[int, int] = {}
        rows = outline.rows if outline else ()
        for number, row in enumerate(rows):
            if words and not _contains(row, words):
                continue
            of[number] = len(lines)
            lines.append((number, None))
            lines += [(number, note) for note in row.notes if note.level is not Level.INFO]
        messages = tuple(number for number in of if rows[number].message is not None)
        return cls(tuple(lines), of, messages)

    def row_at(self, line: int) -> int:
        """Return the row of a line; -1 for none."""
        return self.at[line][0] if 0 <= line < len(self.at) else -1

    def nearest(self, number: int, step: int) -> int:
        """Return the message nearest to a row, first in the direction of `step`; the row itself
        without messages.
        """
        if not self.messages or number in self.messages:
            return number
        later = [each for each in self.messages if each >= number]
        earlier = [each for each in self.messages if each <= number]
        return (later[:1] or earlier[-1:])[0] if step > 0 else (earlier[-1:] or later)[0]

    def next(self, number: int, step: int) -> int:
        """Return the message so many messages further, at most the last in that direction."""
        if number not in self.messages:
            return number
        at = self.messages.index(number) + step
        return self.messages[min(max(at, 0), len(self.messages) - 1)]

    def before(self, row: int) -> int:
        """Return the line before which a row is, or would be if it were shown."""
        lines = (self.of[number] for number in sorted(self.of) if number >= row)
        return next(lines, len(self.at))


def _contains(row: OutlineRow, words: list[str]) -> bool:
    message = row.message
    return message is not None and all(word in _text(message) for word in words)


def _text(message: PresetMessage) -> str:
    return f"{message.id}\n{message.name}\n{message.role}\n{message.content}".casefold()

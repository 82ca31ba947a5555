"""The preset as a list: what stands where, and hands to move it.

A line of the screen is a row, a note under its row, or, while a row is dragged, the line that
says where it would go. Only what is in sight is drawn; an edit costs one walk over the list.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui_chat.library.editing import Outline, OutlineRow, Slot
from tui_chat.ui.presets.colours import Coloured
from tui_chat.ui.presets.drag import Drag
from tui_chat.ui.presets.facts import NO_FACTS, Facts, costs
from tui_chat.ui.presets.lines import Lines
from tui_chat.ui.presets.look import BOX, called, note_pieces, row_pieces


class PresetRows(Coloured, can_focus=True):
    """The rows of an outline, one of them under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "first", show=False),
        Binding("end,G", "last", show=False),
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
        Binding("w", "want('where')", show=False, tooltip="Where it stands in the request"),
        Binding("slash", "want('filter')", show=False, tooltip="Show what contains …"),
        Binding("p", "want('settings')", show=False, tooltip="Name, variables, system messages"),
        Binding("m", "want('more')", "More", tooltip="Switch, copy, compare, rename presets"),
        Binding("escape", "back", show=False),
    ]

    class Wanted(Message):
        """Something is to be done with the row under the cursor."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    class Dropped(Message):
        """A message was dragged to another slot."""

        def __init__(self, index: int, slot: Slot) -> None:
            super().__init__()
            self.index = index
            self.slot = slot

    class Lit(Message):
        """The cursor went to another row."""

        def __init__(self, row: OutlineRow | None) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__()
        self.outline: Outline | None = None
        self.empty = ""
        """What is told where there are no rows; lines parted by line breaks."""
        self.facts: Facts = NO_FACTS
        self._tokens: dict[int, int] = {}
        self._unsaved: frozenset[str] = frozenset()
        self.names: dict[str, str] = {}
        """What the anchors are called, by their ids."""
        self._lines = Lines()
        self._words: list[str] = []
        self.cursor = 0
        """Number of the row under the cursor."""
        self._hover = -1
        self._lit = -1
        self._drag: Drag | None = None

    # Showing

    @property
    def chosen(self) -> OutlineRow | None:
        """The row under the cursor."""
        return self._row(self.cursor)

    @property
    def drop(self) -> tuple[int, Slot] | None:
        """While a row is dragged: the line that tells the slot, and the slot."""
        return self._drag.drop if self._drag else None

    def _row(self, number: int) -> OutlineRow | None:
        rows = self.outline.rows if self.outline else ()
        return rows[number] if 0 <= number < len(rows) else None

    def show(self, drawn: Outline | None, unsaved: frozenset[str], chosen: int | None) -> None:
        """Show an outline with the cursor on the message of this list index, else where it was."""
        lit = self._row(self._lit)
        same = (
            drawn is not None and self.outline is not None and drawn.preset is self.outline.preset
        )
        self.outline, self._unsaved = drawn, unsaved
        self._lit = drawn.row_of(lit.index) if drawn and same and lit else -1
        if drawn is not None:
            self.names = {m.anchor_id: called(m) for m in drawn.preset.messages if m.is_anchor}
            if chosen is not None and 0 <= chosen < len(drawn.preset.messages):
                self.cursor = drawn.row_of(chosen)
        self._count()
        self._lay_out()

    def tell(self, facts: Facts) -> None:
        """Take what the request tells: costs, the history's words."""
        self.facts = facts
        self._count()
        self.refresh()

    def narrow(self, words: str) -> None:
        """Show only messages that contain these words; none shows all."""
        self._words = words.casefold().split()
        self._lay_out()

    def _count(self) -> None:
        rows = self.outline.rows if self.outline else ()
        shown = sum(row.skipped + (row.ghost in ("oldest", "message", "newest")) for row in rows)
        self.facts = replace(self.facts, shown=shown)
        self._tokens = costs(rows, self.facts)

    def _lay_out(self) -> None:
        self._lines = Lines.laid(self.outline, self._words)
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._lines.at))
        self._settle(1)

    def _settle(self, step: int) -> None:
        """Put the cursor on a message that is shown, from where it is on."""
        self._go(self._lines.nearest(self.cursor, step), lit=self._lit)

    def light(self, index: int) -> None:
        """Light the row of a message, and bring it into sight; the cursor goes there."""
        if self.outline is None:
            return
        self._lit = self.cursor = self.outline.row_of(index)
        self._reveal()
        self.refresh()

    def _reveal(self) -> None:
        height = self.scrollable_content_region.height
        line = self._lines.of.get(self.cursor)
        if height <= 0 or line is None:
            return
        top = round(self.scroll_y)
        first = 0 if line <= 1 else line  # with the first message, what stands above it
        if first < top:
            self.scroll_y = self.scroll_target_y = first
            return
        # With a message, what is said of it, as far as there is room.
        below = line + 1
        while self._lines.row_at(below) == self.cursor and below - line < height:
            below += 1
        if below > top + height:
            self.scroll_y = self.scroll_target_y = below - height

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._lines.at))
        self._reveal()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        width = self.scrollable_content_region.width
        at = y + round(self.scroll_y)
        if self.drop is not None:
            line, slot = self.drop
            if at == line:
                words = f"──▶ {slot.description} "
                piece = words + "─" * max(width - len(words), 0)
                return self.strip([(piece, "drop")], width, "")
            at -= at > line
        if not self._lines.at:
            words = self.empty.split("\n") if not self._words else ["Nothing contains that."]
            text = f" {words[y - 1]}" if 0 < y <= len(words) else ""
            return self.strip([(text, "empty")], width, "")
        row = self._row(self._lines.row_at(at))
        if row is None:
            return Strip.blank(width, self.palette())
        number, note = self._lines.at[at]
        if note is not None:
            return self.strip(note_pieces(note.sentence, note.level, row.indent, width), width, "")
        lit = (
            "lit" if number == self._lit
            else "cursor" if number == self.cursor
            else "hover" if number == self._hover and row.message is not None
            else ""
        )  # fmt: skip
        unsaved = row.message is not None and row.message.id in self._unsaved
        tokens = self._tokens.get(row.index)
        pieces = row_pieces(row, tokens, self.facts, self.names, width, unsaved=unsaved)
        return self.strip(pieces, width, lit)

    # Keys

    def action_want(self, what: str) -> None:
        """Ask for something to be done."""
        if what == "open" and self.drop is not None:
            return
        self.post_message(self.Wanted(what))

    def action_back(self) -> None:
        """Let go of what is dragged; else go back."""
        if self._drag is not None:
            self._let_go()
        else:
            self.post_message(self.Wanted("back"))

    def action_move(self, step: int) -> None:
        """Move the cursor to the next message."""
        self._go(self._lines.next(self.cursor, step))

    def action_page(self, direction: int) -> None:
        """Move the cursor by a screen."""
        by = max(self.scrollable_content_region.height - 1, 1)
        line = self._lines.of.get(self.cursor, 0) + direction * by
        line = min(max(line, 0), max(len(self._lines.at) - 1, 0))
        if self._lines.at:
            self._go(self._lines.nearest(self._lines.row_at(line), direction))

    def action_first(self) -> None:
        """Go to the first message."""
        self._go(self._lines.nearest(0, 1))

    def action_last(self) -> None:
        """Go to the last message."""
        self._go(self._lines.nearest(len(self.outline.rows) - 1 if self.outline else 0, -1))

    def _go(self, number: int, lit: int = -1) -> None:
        self.cursor, self._lit = number, lit
        self._reveal()
        self.refresh()
        self.tell_lit()

    def tell_lit(self) -> None:
        """Say on which row the cursor is."""
        self.post_message(self.Lit(self.chosen))

    def on_focus(self) -> None:
        """Say where the keys are now."""
        self.tell_lit()

    # Mouse

    def _row_under(self, event: events.MouseEvent) -> int:
        line = event.get_content_offset_capture(self).y + round(self.scroll_y)
        return self._lines.row_at(line)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Choose a row; from here it may be dragged."""
        number = self._row_under(event)
        row = self._row(number)
        if row is not None and row.message is not None:
            self._go(number)
            self._drag = Drag(number, row)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Light the row under the mouse, or drag."""
        number, drag = self._row_under(event), self._drag
        if drag is None:
            if number != self._hover:
                self._hover = number
                self.refresh()
            return
        if drag.free is None and number != drag.pressed and self.outline is not None:
            drag.begin(self.outline)
        if drag.free is None:
            return
        offset = event.get_content_offset_capture(self)
        height = self.scrollable_content_region.height
        if offset.y < 0 or offset.y >= height:
            self.scroll_relative(y=-1 if offset.y < 0 else 1, animate=False, immediate=True)
        line = min(max(offset.y, 0), height - 1) + round(self.scroll_y)
        drag.to(line, offset.x / max(self.scrollable_content_region.width, 1), self._lines)
        self.refresh()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Put down what was dragged, or do what a click does."""
        drag = self._drag
        if drag is None:
            return
        self._let_go()
        if drag.free is None:
            if BOX[0] <= event.get_content_offset_capture(self).x < BOX[1]:
                self.post_message(self.Wanted("enable"))
        elif drag.drop is not None:
            self.post_message(self.Dropped(drag.row.index, drag.drop[1]))

    def on_click(self, event: events.Click) -> None:
        """Open a message that was clicked twice."""
        if event.chain == 2 and event.get_content_offset_capture(self).x >= BOX[1]:
            self.post_message(self.Wanted("open"))

    def _let_go(self) -> None:
        self._drag = None
        self.release_mouse()
        self.refresh()

    def on_leave(self) -> None:
        """Put the light out."""
        self._hover = -1
        self.refresh()

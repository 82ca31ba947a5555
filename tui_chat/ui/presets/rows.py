"""The preset as a list: what stands where, and hands to move it.

A line of the screen is a row, a note under its row, or, while a row is dragged, the line that
says where it would go. Only what is in sight is drawn; an edit costs one walk over the list.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_chat.editing import Row, Sketch, Slot, slots
from tui_chat.model.envelope import Level, Note
from tui_chat.ui.palette import Palette
from tui_chat.ui.presets.facts import NO_FACTS, Facts
from tui_chat.ui.presets.look import BOX, Piece, called, note_pieces, row_pieces

_STYLES = (
    "unsaved", "box", "off", "system", "user", "assistant", "tool", "info", "warning", "error",
    "place", "tokens", "name", "preview", "anchor", "line", "ghost", "cursor", "hover", "lit",
    "drop", "empty",
)  # fmt: skip


class PresetRows(ScrollView, can_focus=True):
    """The rows of a sketch, one of them under the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"preset-rows--{name}" for name in _STYLES}
    DEFAULT_CSS = """
    PresetRows {
        height: 1fr;
        min-height: 3;
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $foreground 15%;
        scrollbar-color-hover: $foreground 30%;
        scrollbar-color-active: $primary;

        & .preset-rows--unsaved { color: $text-warning; text-style: bold; }
        & .preset-rows--box { color: $foreground 60%; }
        & .preset-rows--off { color: $foreground 45%; }
        & .preset-rows--system { color: $origin-system; }
        & .preset-rows--user { color: $origin-draft; }
        & .preset-rows--assistant { color: $origin-profile; }
        & .preset-rows--tool { color: $foreground 70%; }
        & .preset-rows--info { color: $foreground 60%; }
        & .preset-rows--warning { color: $text-warning; }
        & .preset-rows--error { color: $text-error; text-style: bold; }
        & .preset-rows--place { color: $origin-preset; }
        & .preset-rows--tokens { color: $foreground 70%; }
        & .preset-rows--name { color: $foreground; }
        & .preset-rows--preview { color: $foreground 50%; }
        & .preset-rows--anchor { color: $text-primary; text-style: bold; }
        & .preset-rows--line { color: $foreground 25%; }
        & .preset-rows--ghost { color: $foreground 45%; text-style: italic; }
        & .preset-rows--hover { background: $foreground 5%; }
        & .preset-rows--cursor { background: $foreground 9%; }
        &:focus .preset-rows--cursor { background: $primary 35%; }
        & .preset-rows--lit { background: $origin-preset 25%; }
        & .preset-rows--drop { color: $text-accent; text-style: bold; }
        & .preset-rows--empty { color: $foreground 60%; }
    }
    """

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
        Binding("u", "want('undo')", show=False, tooltip="Undo"),
        Binding("U", "want('redo')", show=False, tooltip="Redo"),
        Binding("e", "want('outside')", show=False, tooltip="Edit the content in $EDITOR"),
        Binding("E", "want('file')", show=False, tooltip="Edit the whole preset in $EDITOR"),
        Binding("slash", "want('filter')", show=False, tooltip="Show what contains …"),
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

        def __init__(self, row: Row | None) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__()
        self.sketch: Sketch | None = None
        self.empty = ""
        """What is told where there are no rows; lines parted by line breaks."""
        self.facts: Facts = NO_FACTS
        self._tokens: dict[int, int] = {}
        """Of rows, by the message's index; negative for those that are not sent."""
        self._unsaved: frozenset[str] = frozenset()
        self._names: dict[str, str] = {}
        self._lines: list[tuple[int, Note | None]] = []
        """Numbers of the rows, and a note where the line is one's."""
        self._line_of: dict[int, int] = {}
        self._words: list[str] = []
        self.cursor = 0
        """Number of the row under the cursor."""
        self._hover = -1
        self._lit = -1
        self._pressed: int | None = None
        """The row on which the mouse went down."""
        self._free: tuple[Slot, ...] | None = None
        """Where a row that is dragged may go; None while nothing is dragged."""
        self.drop: tuple[int, Slot] | None = None
        """While dragging: the line that tells the slot, and the slot."""
        self._palette = Palette(self, "preset-rows")

    # Showing

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        rows = self.sketch.rows if self.sketch else ()
        return rows[self.cursor] if 0 <= self.cursor < len(rows) else None

    def show(self, drawn: Sketch | None, unsaved: frozenset[str], chosen: int | None) -> None:
        """Show a sketch with the cursor on the message of this list index, else where it was."""
        self.sketch, self._unsaved = drawn, unsaved
        self._lit = -1
        if drawn is not None:
            self._names = {m.anchor_id: called(m) for m in drawn.preset.messages if m.is_anchor}
            if chosen is not None and 0 <= chosen < len(drawn.preset.messages):
                self.cursor = drawn.row_of(chosen)
        self._count()
        self._lay_out()
        self._settle(1)

    def tell(self, facts: Facts) -> None:
        """Take what the request tells: costs, the history's words."""
        self.facts = facts
        self._count()
        self.refresh()

    def narrow(self, words: str) -> None:
        """Show only messages that contain these words; none shows all."""
        self._words = words.casefold().split()
        self._lay_out()
        self._settle(1)

    def _count(self) -> None:
        rows = self.sketch.rows if self.sketch else ()
        shown = sum(row.ghost in ("oldest", "message", "newest") for row in rows)
        self.facts = replace(self.facts, shown=shown)
        left = {name: iter(tokens) for name, tokens in self.facts.sent.items()}
        count = self.facts.count
        self._tokens = {}
        for row in rows:
            message = row.message
            if message is None or message.is_anchor:
                continue
            tokens = None if row.off else next(left.get(message.id, iter(())), None)
            if tokens is not None:
                self._tokens[row.index] = tokens
            elif count is not None and row.off:
                self._tokens[row.index] = count(message)

    def _lay_out(self) -> None:
        self._lines, self._line_of = [], {}
        for number, row in enumerate(self.sketch.rows if self.sketch else ()):
            if self._words and not self._fits(row):
                continue
            self._line_of[number] = len(self._lines)
            self._lines.append((number, None))
            loud = [note for note in row.notes if note.level is not Level.INFO]
            self._lines += [(number, note) for note in loud]
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._lines))
        self.refresh()

    def _fits(self, row: Row) -> bool:
        message = row.message
        if message is None:
            return False
        text = f"{message.id}\n{message.name}\n{message.role}\n{message.content}".casefold()
        return all(word in text for word in self._words)

    def _settle(self, step: int) -> None:
        """Put the cursor on a message that is shown, from where it is on."""
        there = [number for number in self._line_of if self._can_hold(number)]
        if there and self.cursor not in there:
            behind = [number for number in there if number >= self.cursor]
            ahead = [number for number in there if number <= self.cursor]
            self.cursor = (behind[:1] or ahead[-1:])[0] if step > 0 else (ahead[-1:] or behind)[0]
        self._reveal()
        self.refresh()
        self.post_message(self.Lit(self.chosen))

    def _can_hold(self, number: int) -> bool:
        assert self.sketch is not None
        return self.sketch.rows[number].message is not None

    def light(self, index: int) -> None:
        """Light the row of a message, and bring it into sight; the cursor goes there."""
        if self.sketch is None:
            return
        self._lit = self.cursor = self.sketch.row_of(index)
        self._reveal()
        self.refresh()

    def _reveal(self) -> None:
        height = self.scrollable_content_region.height
        line = self._line_of.get(self.cursor)
        if height <= 0 or line is None:
            return
        top = round(self.scroll_y)
        first = 0 if line <= 1 else line  # with the first message, what stands above it
        if first < top:
            self.scroll_y = self.scroll_target_y = first
        elif line + 1 > top + height:
            self.scroll_y = self.scroll_target_y = line + 1 - height

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._lines))
        self._reveal()

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme, or of the other focus."""
        self._palette.clear()
        super().notify_style_update()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        width = self.scrollable_content_region.width
        at = y + round(self.scroll_y)
        if self.drop is not None:
            line, slot = self.drop
            if at == line:
                words = f"──▶ {slot.words} "
                piece = words + "─" * max(width - len(words), 0)
                return self._strip([(piece, "drop")], width, "")
            at -= at > line
        if not self._lines:
            words = self.empty.split("\n") if not self._words else ["Nothing contains that."]
            text = f" {words[y - 1]}" if 0 < y <= len(words) else ""
            return self._strip([(text, "empty")], width, "")
        if at >= len(self._lines):
            return Strip.blank(width, self._palette())
        number, note = self._lines[at]
        assert self.sketch is not None
        row = self.sketch.rows[number]
        lit = (
            "lit" if number == self._lit
            else "cursor" if number == self.cursor
            else "hover" if number == self._hover and row.message is not None
            else ""
        )  # fmt: skip
        if note is not None:
            return self._strip(note_pieces(note.sentence, note.level, row.indent, width), width, "")
        unsaved = row.message is not None and row.message.id in self._unsaved
        tokens = self._tokens.get(row.index)
        pieces = row_pieces(row, tokens, self.facts, self._names, width, unsaved=unsaved)
        return self._strip(pieces, width, lit)

    def _strip(self, pieces: list[Piece], width: int, lit: str) -> Strip:
        strip = Strip([Segment(text, self._palette(lit, name)) for text, name in pieces if text])
        return strip.adjust_cell_length(width, self._palette(lit))

    # Keys

    def action_want(self, what: str) -> None:
        """Ask for something to be done."""
        if what == "open" and self._free is not None:
            return
        self.post_message(self.Wanted(what))

    def action_back(self) -> None:
        """Let go of what is dragged; else go back."""
        if self._free is not None:
            self._let_go()
        else:
            self.post_message(self.Wanted("back"))

    def action_move(self, step: int) -> None:
        """Move the cursor to the next message."""
        there = [number for number in self._line_of if self._can_hold(number)]
        if self.cursor in there:
            at = there.index(self.cursor) + step
            self._go(there[min(max(at, 0), len(there) - 1)])

    def action_page(self, direction: int) -> None:
        """Move the cursor by a screen."""
        by = max(self.scrollable_content_region.height - 1, 1)
        line = self._line_of.get(self.cursor, 0) + direction * by
        line = min(max(line, 0), max(len(self._lines) - 1, 0))
        if self._lines:
            self.cursor = self._lines[line][0]
            self._settle(direction)

    def action_first(self) -> None:
        """Go to the first message."""
        self.cursor = 0
        self._settle(1)

    def action_last(self) -> None:
        """Go to the last message."""
        self.cursor = len(self.sketch.rows) - 1 if self.sketch else 0
        self._settle(-1)

    def _go(self, number: int) -> None:
        self.cursor, self._lit = number, -1
        self._reveal()
        self.refresh()
        self.post_message(self.Lit(self.chosen))

    # Mouse

    def _line_at(self, event: events.MouseEvent) -> int:
        return event.get_content_offset_capture(self).y + round(self.scroll_y)

    def _row_at(self, event: events.MouseEvent) -> int:
        line = self._line_at(event)
        return self._lines[line][0] if 0 <= line < len(self._lines) else -1

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Choose a row; from here it may be dragged."""
        number = self._row_at(event)
        if number < 0 or not self._can_hold(number):
            return
        self._go(number)
        self._pressed = number
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Light the row under the mouse, or drag."""
        number = self._row_at(event)
        if self._pressed is None:
            if number != self._hover:
                self._hover = number
                self.refresh()
            return
        if self._free is None and number != self._pressed:
            row = self.sketch.rows[self._pressed] if self.sketch else None
            if self.sketch is None or row is None or row.message is None:
                return
            self._free = slots(self.sketch, row.message)
        if self._free is not None:
            self._drag_to(event)

    def _drag_to(self, event: events.MouseEvent) -> None:
        """Show the slot that is nearest to the mouse; at one border, left is the outer one."""
        offset = event.get_content_offset_capture(self)
        height = self.scrollable_content_region.height
        if offset.y < 0 or offset.y >= height:
            self.scroll_relative(y=-1 if offset.y < 0 else 1, animate=False, immediate=True)
        line = min(max(offset.y, 0), height - 1) + round(self.scroll_y)
        near: dict[int, list[Slot]] = {}
        for slot in self._free or ():
            near.setdefault(self._line_in_front(slot.row), []).append(slot)
        if not near:
            return
        at = min(near, key=lambda border: abs(border - line))
        here = near[at]
        wide = max(self.scrollable_content_region.width, 1)
        chosen = here[min(max(offset.x * len(here) // wide, 0), len(here) - 1)]
        self.drop = at, chosen
        self.refresh()

    def _line_in_front(self, row: int) -> int:
        rows = len(self.sketch.rows) if self.sketch else 0
        later = (self._line_of[n] for n in range(row, rows) if n in self._line_of)
        return next(later, len(self._lines))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Put down what was dragged, or do what a click does."""
        if self._pressed is None:
            return
        pressed, drop, dragged = self._pressed, self.drop, self._free is not None
        self._let_go()
        row = self.sketch.rows[pressed] if self.sketch else None
        if row is None:
            return
        if dragged:
            if drop is not None:
                self.post_message(self.Dropped(row.index, drop[1]))
        elif BOX[0] <= event.get_content_offset_capture(self).x < BOX[1]:
            self.post_message(self.Wanted("enable"))

    def on_click(self, event: events.Click) -> None:
        """Open a message that was clicked twice."""
        if event.chain == 2 and event.get_content_offset_capture(self).x >= BOX[1]:
            self.post_message(self.Wanted("open"))

    def _let_go(self) -> None:
        self._pressed = self._free = self.drop = None
        self.release_mouse()
        self.refresh()

    def on_leave(self) -> None:
        """Put the light out."""
        self._hover = -1
        self.refresh()

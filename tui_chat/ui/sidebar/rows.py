"""The rows of the session list, in groups; only those in sight are drawn."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui_chat.models.session import SessionSummary
from tui_chat.ui.sidebar.drawing import Look, clipped, first_line, heading, second_line
from tui_chat.ui.sidebar.groups import ARCHIVED, Group
from tui_chat.ui.sidebar.layout import Heading, Layout, Row
from tui_chat.ui.sidebar.posted import Opened, Stayed
from tui_chat.ui.widgets.palette import Palette
from tui_chat.ui.widgets.thin_scroll import ThinScrollView


class SessionRows(ThinScrollView, can_focus=True):
    """Sessions, one of which is open, one under the cursor, and some chosen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"session-rows--{name}"
        for name in (
            *("open", "detail", "bar", "streaming", "failed", "interrupted", "tag", "heading"),
            *("cursor", "hover", "empty", "cursor-detail", "unread", "unread-mark"),
            *("chosen", "chosen-mark"),
        )
    }
    DEFAULT_CSS = """
    SessionRows {
        height: 1fr;
        & .session-rows--open { text-style: bold; }
        & .session-rows--unread { text-style: bold; }
        & .session-rows--unread-mark { color: $text-accent; text-style: bold; }
        & .session-rows--heading { color: $foreground 72%; text-style: bold; }
        & .session-rows--detail { color: $foreground 67%; }
        & .session-rows--cursor-detail { color: $foreground 76%; }
        & .session-rows--tag { color: $text-accent 80%; }
        & .session-rows--bar { color: $primary; }
        & .session-rows--streaming { color: $text-success; }
        & .session-rows--failed { color: $text-error; text-style: bold; }
        & .session-rows--interrupted { color: $text-warning; text-style: bold; }
        & .session-rows--hover { background: $foreground 5%; }
        & .session-rows--chosen { background: $accent 20%; }
        & .session-rows--chosen-mark { color: $text-accent; text-style: bold; }
        & .session-rows--cursor { background: $foreground 9%; }
        &:focus .session-rows--cursor { background: $primary 20%; }
        & .session-rows--empty { color: $foreground 67%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "first", "First", show=False),
        Binding("end", "last", "Last", show=False),
        Binding("enter", "open", "Open", tooltip="Open"),
        Binding("space", "choose", "Choose", show=False, tooltip="Choose several"),
        Binding("shift+up", "choose_to(-1)", "Choose up", show=False, tooltip="Choose, and go on"),
        Binding("shift+down", "choose_to(1)", "Choose down", show=False),
        Binding("ctrl+a", "choose_all", "Choose all", show=False, tooltip="Choose all"),
        Binding("left,right", "fold", "Fold", show=False, tooltip="Fold or unfold the group"),
    ]

    class Chosen(Message):
        """Other sessions are chosen now, or none."""

    def __init__(self) -> None:
        super().__init__(classes="-raised")
        self.placed = Layout()
        self.cursor = 0
        """The stop under the cursor."""
        self.chosen: set[str] = set()
        """Ids of the sessions that were chosen."""
        self.folded = {ARCHIVED}
        """Keys of groups of which only the heading is shown."""
        self._is_narrowed: bool = False
        self._current: str | None = None
        self._awaits_current = False
        """Whether the cursor goes to the open session as soon as that is in the list: one that has
        just begun is opened before it is listed."""
        self._streaming: Collection[str] = ()
        self._now = 0.0
        self._shows_pins = False
        self._empty = ""
        self._hover: int | None = None
        self._anchor: int | None = None
        """The stop from which a stretch is being chosen."""
        self._palette = Palette(self, "session-rows")

    @property
    def under_cursor(self) -> SessionSummary | None:
        """The session under the cursor; None on a folded group."""
        found = self.placed.at_stop(self.cursor)
        return found if isinstance(found, SessionSummary) else None

    @property
    def targets(self) -> tuple[SessionSummary, ...]:
        """The sessions that keys act on: those that were chosen, else the one under the cursor."""
        if self.chosen:
            found = {s.session_id: s for g in self.placed.groups for s in g.sessions}
            return tuple(s for s in found.values() if s.session_id in self.chosen)
        return () if self.under_cursor is None else (self.under_cursor,)

    def show(
        self,
        groups: tuple[Group, ...],
        current: str | None,
        now: float,
        *,
        running: Collection[str] = (),
        empty: str = "",
        is_narrowed: bool = False,
        shows_pins: bool = False,
    ) -> None:
        """Show sessions; the cursor stays on its session, else at its place. Where one has scrolled
        down, its line stays where it is on the screen; one that is out of sight stays there.

        When another one is opened, the cursor goes there. A list that was narrowed has no group
        folded.
        """
        under = self.under_cursor
        stays = current == self._current and not self._awaits_current
        kept = under.session_id if under is not None and stays else current
        before, was_in_sight = self._lines_of_cursor, self._is_in_sight
        if groups is not self.placed.groups or is_narrowed != self._is_narrowed:
            self._is_narrowed = is_narrowed
            self.placed = Layout(groups, () if is_narrowed else self.folded)
            if self.chosen:
                there = {s.session_id for g in groups for s in g.sessions}
                self.choose(self.chosen & there)
        self._current, self._now, self._empty = current, now, empty
        self._streaming, self._shows_pins = running, shows_pins
        found = None if kept is None else self.placed.stop_of(kept)
        self._awaits_current = not stays and kept is not None and found is None
        self.cursor = self._within(self.cursor if found is None else found)
        if under is None or kept != under.session_id:
            self._resize()
        else:
            self._resize_around(self._lines_of_cursor[1] - before[1], reveal=was_in_sight)
        self.refresh()

    def choose(self, session_ids: set[str]) -> None:
        """Choose these sessions and no others."""
        if session_ids != self.chosen:
            self.chosen = session_ids
            self.post_message(self.Chosen())
            self.refresh()

    def put_cursor(self, stop: int) -> None:
        """Put the cursor on a stop and scroll it into sight."""
        self._awaits_current = False
        self.cursor = self._within(stop)
        self._reveal()
        self.refresh()

    def _within(self, stop: int) -> int:
        return min(max(stop, 0), max(self.placed.stops - 1, 0))

    @property
    def _lines_of_cursor(self) -> tuple[int, int]:
        """The first line of the cursor's stop, and the one behind its last."""
        first, tall = self.placed.lines_of(self.cursor) if self.placed.stops else (0, 0)
        return first, first + tall

    @property
    def _is_in_sight(self) -> bool:
        """Whether the cursor is not scrolled away."""
        top, (first, end) = round(self.scroll_y), self._lines_of_cursor
        return first < top + self.scrollable_content_region.height and end > top

    def _resize_around(self, moved: int, *, reveal: bool) -> None:
        """Take the present size; where one has scrolled down, scroll with the cursor's session,
        which has moved by so many lines.
        """
        self.virtual_size = Size(self.scrollable_content_region.width, self.placed.lines)
        if moved and self.scroll_y:
            self.scroll_y = self.scroll_target_y = self.scroll_y + moved
        if reveal:
            self._reveal()

    def _resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self.placed.lines)
        self._reveal()

    def _reveal(self) -> None:
        height = self.scrollable_content_region.height
        if height <= 0 or not self.placed.stops:
            return
        top, (first, tall) = round(self.scroll_y), self.placed.lines_of(self.cursor)
        if first < top:
            self.scroll_y = self.scroll_target_y = first
        elif first + tall > top + height:
            self.scroll_y = self.scroll_target_y = first + tall - height

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._resize()

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme, or of the other focus."""
        self._palette.clear()
        super().notify_style_update()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        width = self.scrollable_content_region.width
        if not self.placed.stops:
            return self._empty_line(y, width)
        line = self.placed.at_line(y + round(self.scroll_y))
        match line:
            case None:
                return Strip.blank(width, self._palette())
            case Heading():
                lit = self._lit(line.stop)
                drawn = heading(line, width, lit, self._palette)
                names = (lit,) if lit else ()
            case Row(session=session):
                look = Look(
                    is_open=session.session_id == self._current,
                    is_chosen=session.session_id in self.chosen,
                    is_streaming=session.session_id in self._streaming,
                    shows_pin=self._shows_pins and session.pinned,
                    lit=self._lit(line.stop),
                )
                names = look.names
                if line.line == 0:
                    drawn = first_line(session, look, width, self._now, self._palette)
                else:
                    drawn = second_line(session, look, width, self._palette)
        return Strip(drawn).adjust_cell_length(width, self._palette(*names))

    def _lit(self, stop: int | None) -> str:
        if stop is None:
            return ""
        return "cursor" if stop == self.cursor else "hover" if stop == self._hover else ""

    def _empty_line(self, y: int, width: int) -> Strip:
        style = self._palette("empty")
        words = self._empty.split("\n")
        text = f"  {words[y - 1]}" if 0 < y <= len(words) else ""
        return Strip([Segment(clipped(text, width), style)]).adjust_cell_length(width, style)

    # Keys

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        self._anchor = None
        self.put_cursor(self.cursor + step)

    def action_page(self, direction: int) -> None:
        """Move the cursor by a screen."""
        self.action_move(direction * max(self.scrollable_content_region.height // 2 - 1, 1))

    def action_first(self) -> None:
        """Go to the first session."""
        self.put_cursor(0)

    def action_last(self) -> None:
        """Go to the last session."""
        self.put_cursor(self.placed.stops - 1)

    def action_open(self) -> None:
        """Open the session under the cursor, or unfold the group."""
        if self.under_cursor is None:
            self.action_fold()
            self.post_message(Stayed())
        else:
            self.post_message(Opened(self.under_cursor.session_id))

    def action_choose(self) -> None:
        """Choose the session under the cursor, or no longer, and go to the next one."""
        if self.under_cursor is None:
            self.action_fold()
        else:
            self.choose(self.chosen ^ {self.under_cursor.session_id})
            self.action_move(1)

    def action_choose_to(self, step: int) -> None:
        """Move the cursor, and choose what lies between here and where one began."""
        if self._anchor is None:
            self._anchor = self.cursor
        self.put_cursor(self.cursor + step)
        self._choose_stretch()

    def _choose_stretch(self) -> None:
        if self._anchor is not None:
            between = self.placed.between(self._anchor, self.cursor)
            self.choose({session.session_id for session in between})

    def action_choose_all(self) -> None:
        """Choose every session that is not folded away."""
        self.choose({session.session_id for session in self.placed.sessions()})

    def action_fold(self) -> None:
        """Fold the group of the cursor to its heading, or unfold it."""
        group = self.placed.group_at(self.cursor)
        if group is not None and not self._is_narrowed:
            self._fold(group)

    def _fold(self, group: Group) -> None:
        self.folded ^= {group.key}
        self.placed = Layout(self.placed.groups, self.folded)
        self.cursor = self.placed.stop_of_group(group.key) or 0
        self._anchor = None
        self._resize()
        self.refresh()

    # Clicks

    def _at(self, event: events.MouseEvent) -> Heading | Row | None:
        return self.placed.at_line(event.get_content_offset_capture(self).y + round(self.scroll_y))

    def on_click(self, event: events.Click) -> None:
        """Open the session that was clicked; with Ctrl or Shift choose it."""
        match self._at(event):
            case Heading(group=group) if not self._is_narrowed:
                self._fold(group)
            case Row(session=session, stop=stop):
                if event.ctrl or event.meta:
                    self.put_cursor(stop)
                    self._anchor = stop
                    self.choose(self.chosen ^ {session.session_id})
                elif event.shift:
                    self._anchor = self.cursor if self._anchor is None else self._anchor
                    self.put_cursor(stop)
                    self._choose_stretch()
                else:
                    self._anchor = None
                    self.put_cursor(stop)
                    self.action_open()
            case _:
                pass

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Light the row under the mouse."""
        at = self._at(event)
        hover = None if at is None else at.stop
        if hover != self._hover:
            self._hover = hover
            self.refresh()

    def on_leave(self) -> None:
        """Put the light out."""
        self._hover = None
        self.refresh()

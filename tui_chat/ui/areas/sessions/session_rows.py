"""The rows of the session list: keys, mouse, selection, and how a line looks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import SessionSummary
from tui_chat.ui.ago import ago
from tui_chat.ui.areas.sessions.session_groups import (
    ARCHIVED,
    GroupHeading,
    GroupLayout,
    SessionGroup,
    SessionLine,
    Usual,
    fork_source,
)
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.row_list import RowList, clipped

NO_SESSION_HERE = "There is no session under the cursor."


class SessionRows(RowList):
    """The sessions in their groups: one is open, one under the cursor, some may be selected."""

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
        Binding("enter", "open", "Open", tooltip="Open"),
        pane_key("space", "choose", "Select", "Select several", shown=True),
        pane_key("u", "sessions.undo", "Undo", "Undo the last change"),
        pane_key("shift+up", "choose_to(-1)", "Select up", "Extend the selection"),
        Binding("shift+down", "choose_to(1)", "Select down", show=False),
        pane_key("ctrl+a", "choose_all", "Select all", "Select all"),
        pane_key("left,right", "fold", "Fold", "Fold or unfold side calls, or the group"),
    ]

    class Stayed(Message):
        """Enter was pressed where no session could be opened; the focus stays."""

    class SelectionChanged(Message):
        """The selection changed, possibly to none."""

    def __init__(self) -> None:
        super().__init__("session-rows")
        self.layout_now = GroupLayout()
        self.chosen: set[str] = set()
        """Ids of the selected sessions."""
        self.folded = {ARCHIVED}
        """Keys of the groups of which only the heading is shown."""
        self.unfolded: set[str] = set()
        """Ids of the sessions whose side conversations are shown."""
        self._is_filtered: bool = False
        self._usual: Usual | None = None
        self._current: str | None = None
        self._awaits_current = False
        """True if the cursor goes to the open session once that is listed: a new one is opened
        before it is listed."""
        self._streaming: Collection[str] = ()
        self._now = 0.0
        self._shows_pins = False
        self._anchor: int | None = None
        """The row from which a range is being selected."""

    @property
    def under_cursor(self) -> SessionSummary | None:
        """The session under the cursor; None on a folded group."""
        item = self.layout_now.item_at(self.cursor)
        return item if isinstance(item, SessionSummary) else None

    @property
    def targets(self) -> tuple[SessionSummary, ...]:
        """The sessions for keys: selected, else under the cursor, with their folded sides."""
        if self.chosen:
            by_id = {s.session_id: s for g in self.layout_now.groups for s in g.sessions}
            return self._with_folded(s for s in by_id.values() if s.session_id in self.chosen)
        return () if self.under_cursor is None else self._with_folded((self.under_cursor,))

    def _with_folded(self, sessions: Iterable[SessionSummary]) -> tuple[SessionSummary, ...]:
        """Return sessions with the side conversations that are folded away below them."""
        by_id: dict[str, SessionSummary] = {}
        for session in sessions:
            by_id[session.session_id] = session
            if not self.layout_now.is_unfolded(session.session_id):
                below = self.layout_now.all_below(session.session_id)
                by_id |= {side.session_id: side for side in below}
        return tuple(by_id.values())

    # Rows and lines

    @property
    def row_count(self) -> int:
        return self.layout_now.row_count

    @property
    def line_count(self) -> int:
        return self.layout_now.line_count

    def lines_of(self, row: int) -> tuple[int, int]:
        """Return the lines of a row, the heading included for the first of a group."""
        return self.layout_now.lines_of(row)

    def row_at(self, line: int) -> int:
        """Return the row of a line; -1 for the heading of an unfolded group."""
        shown = self.layout_now.at_line(line)
        return -1 if shown is None or shown.row is None else shown.row

    def show(
        self,
        groups: tuple[SessionGroup, ...],
        current: str | None,
        now: float,
        *,
        running: Collection[str] = (),
        empty: str = "",
        is_filtered: bool = False,
        shows_pins: bool = False,
        usual: Usual | None = None,
    ) -> None:
        """Show sessions, those of which only the `usual` is to be said in one line. The cursor
        stays on its session, else at its row.

        In a list that was scrolled, the line of the cursor stays where it is on the screen, or out
        of sight. When another session is opened, the cursor goes there. A filtered list has no
        folded groups, and two lines of each session: they say what the filter found.
        """
        under = self.under_cursor
        stays = current == self._current and not self._awaits_current
        kept = under.session_id if under is not None and stays else current
        before, was_in_sight = self._cursor_lines, self._is_in_sight
        shape = is_filtered, usual
        if groups is not self.layout_now.groups or shape != (self._is_filtered, self._usual):
            self._is_filtered, self._usual = shape
            self.layout_now = self._laid_out(groups)
            if self.chosen:
                there = {s.session_id for g in groups for s in g.sessions}
                self.choose(self.chosen & there)
        self._current, self._now, self.empty_text = current, now, empty
        self._streaming, self._shows_pins = running, shows_pins
        row = None if kept is None else self.layout_now.row_of(kept)
        self._awaits_current = not stays and kept is not None and row is None
        self.cursor = min(self.cursor if row is None else row, max(self.row_count - 1, 0))
        if under is None or kept != under.session_id:
            self.resized()
        else:
            self._update_around_cursor(self._cursor_lines[1] - before[1], reveal=was_in_sight)
        self.refresh_changed()

    def _laid_out(self, groups: tuple[SessionGroup, ...]) -> GroupLayout:
        if self._is_filtered:
            return GroupLayout(groups, (), None)
        return GroupLayout(groups, self.folded, self.unfolded, self._usual, self.layout_now)

    def choose(self, session_ids: set[str]) -> None:
        """Select exactly these sessions."""
        if session_ids != self.chosen:
            self.chosen = session_ids
            self.post_message(self.SelectionChanged())
            self.refresh_changed()

    def cursor_moved(self) -> None:
        """Stop waiting for the open session: the user went elsewhere."""
        self._awaits_current = False

    @property
    def _cursor_lines(self) -> tuple[int, int]:
        """The first line of the cursor's row, and the line after its last."""
        first, count = self.lines_of(self.cursor) if self.row_count else (0, 0)
        return first, first + count

    @property
    def _is_in_sight(self) -> bool:
        """True if the cursor is not scrolled away."""
        top, (first, end) = self.scroll_offset.y, self._cursor_lines
        return first < top + self.scrollable_content_region.height and end > top

    def _update_around_cursor(self, moved: int, *, reveal: bool) -> None:
        """Take the new extent; scroll by the lines that the cursor's session has moved."""
        self.update_extent()
        if moved and self.scroll_y:
            self.scroll_to(y=self.scroll_y + moved)
        if reveal:
            self.scroll_to_cursor()

    # Rendering

    def draw_line(self, line: int, width: int) -> Strip:
        shown = self.layout_now.at_line(line)
        match shown:
            case None:
                return Strip.blank(width, self.palette())
            case GroupHeading():
                emphasis = "" if shown.row is None else self.emphasis(shown.row)
                segments = heading(shown, width, emphasis, self.palette)
                names = (emphasis,) if emphasis else ()
            case SessionLine(session=session, sides=sides):
                state = SessionState(
                    is_open=session.session_id == self._current,
                    is_chosen=session.session_id in self.chosen,
                    is_streaming=session.session_id in self._streaming,
                    shows_pin=self._shows_pins and session.pinned,
                    level=shown.level,
                    sides=f"{'▸' if shown.is_folded else '▾'}{sides:,}" if sides else "",
                    emphasis=self.emphasis(shown.row),
                )
                names = state.names
                if shown.line == 0:
                    segments = first_line(session, state, width, self._now, self.palette)
                else:
                    segments = second_line(session, state, width, self.palette)
        return Strip(segments).adjust_cell_length(width, self.palette(*names))

    # Keys

    def action_move(self, step: int) -> None:
        """Move the cursor, and end the selection of a range."""
        self._anchor = None
        super().action_move(step)

    def action_page(self, direction: int) -> None:
        """Move by the lines in sight, less two that stay."""
        if not self.row_count:
            return
        first, _ = self.lines_of(self.cursor)
        page = max(self.scrollable_content_region.height - 2, 1)
        line = min(max(first + direction * page, 0), self.line_count - 1)
        row = self.row_at(line)
        row = self.row_at(line + 1) if row < 0 else row  # a heading
        self.action_move(row - self.cursor or direction)

    async def action_open(self) -> None:
        is_heading = self.under_cursor is None
        await self.open_session()
        if is_heading:
            self.action_fold()

    async def open_session(self) -> None:
        """Open the session under the cursor; without one, the focus stays."""
        if self.under_cursor is None:
            self.post_message(self.Stayed())
        else:
            await self.run_action(f"sessions.open({self.under_cursor.session_id!r})")

    def action_choose(self) -> None:
        """Select or deselect the session under the cursor, and go to the next one."""
        if not self.row_count:
            self.notify(NO_SESSION_HERE)
        elif self.under_cursor is None:
            self.action_fold()
        else:
            self.choose(self.chosen ^ {self.under_cursor.session_id})
            self.action_move(1)

    def action_choose_to(self, step: int) -> None:
        """Move the cursor, and select the range from where the selection began."""
        if self._anchor is None:
            self._anchor = self.cursor
        self.set_cursor(self.cursor + step)
        self._choose_range(self._anchor)

    def _choose_range(self, anchor: int) -> None:
        between = self.layout_now.between(anchor, self.cursor)
        self.choose({session.session_id for session in between})

    def action_choose_all(self) -> None:
        self.choose({session.session_id for session in self.layout_now.sessions()})

    def action_fold(self) -> None:
        """Fold or unfold the side conversations of the session, else its group."""
        session = self.under_cursor
        if session is not None and not self._is_filtered:
            layout = self.layout_now
            for session_id in (session.session_id, session.parent_id):
                if layout.sides_of(session_id):
                    self._fold_sides(session_id)
                    return
        group = self.layout_now.group_at(self.cursor)
        if group is not None and not self._is_filtered:
            self._fold(group)

    def _fold_sides(self, session_id: str) -> None:
        self.unfolded ^= {session_id}
        self.layout_now = self._laid_out(self.layout_now.groups)
        self.cursor = self.layout_now.row_of(session_id) or 0
        self._anchor = None
        self.resized()
        self.refresh_changed()

    def _fold(self, group: SessionGroup) -> None:
        self.folded ^= {group.key}
        self.layout_now = self._laid_out(self.layout_now.groups)
        self.cursor = self.layout_now.row_of_group(group.key) or 0
        self._anchor = None
        self.resized()
        self.refresh_changed()

    # Clicks

    def line_clicked(self, line: int, event: events.Click) -> None:
        """Open the clicked session, or select it with Ctrl or Shift; fold a clicked group."""
        match self.layout_now.at_line(line):
            case GroupHeading(group=group) if not self._is_filtered:
                self._fold(group)
            case SessionLine(session=session, row=row):
                if event.ctrl or event.meta:
                    self.set_cursor(row)
                    self._anchor = row
                    self.choose(self.chosen ^ {session.session_id})
                elif event.shift:
                    self._anchor = self.cursor if self._anchor is None else self._anchor
                    self.set_cursor(row)
                    self._choose_range(self._anchor)
                else:
                    self._anchor = None
                    self.set_cursor(row)
                    self.call_later(self.action_open)
            case _:
                pass


STATUS_MARKS = {"streaming": "●", "failed": "!", "interrupted": "~"}
FORK_TITLE = 24
"""Cells of the title of the session that one was forked from."""
_TAG_CELLS = 4
"""Fewest cells in which a tag is shown."""

Paint = Callable[..., Style]
"""From style names, the later over the earlier, to a style."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """The state of a session that its lines show besides its facts."""

    is_open: bool = False
    is_chosen: bool = False
    """True if it is selected."""
    is_streaming: bool = False
    shows_pin: bool = False
    level: int = 0
    """1 for a side conversation below its session, 2 for one below that."""
    sides: str = ""
    """The number of its side conversations, with a mark; empty for none."""
    emphasis: str = ""
    """`cursor`, `hover`, or nothing."""

    @property
    def is_side(self) -> bool:
        """True for a side conversation below its session."""
        return self.level > 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the styles of the whole line."""
        return (self.emphasis,) if self.emphasis else (("chosen",) if self.is_chosen else ())

    @property
    def detail(self) -> str:
        """The style of secondary text."""
        return "cursor-detail" if self.emphasis == "cursor" else "detail"


def heading(line: GroupHeading, width: int, emphasis: str, paint: Paint) -> list[Segment]:
    """Draw the name of a group, and the number of its sessions if it is folded."""
    names = (emphasis,) if emphasis else ()
    count = f"{len(line.group.sessions):,} " if line.is_folded else ""
    arrow = " ▸ " if line.is_folded else " ▾ "
    title = clipped(one_line(line.group.title), max(width - 4 - len(count), 1))
    gap = " " * max(width - 3 - cell_len(title) - len(count), 0)
    style = paint(*names, "heading")
    return [Segment(arrow, paint(*names, "detail")), Segment(f"{title}{gap}{count}", style)]


def first_line(
    summary: SessionSummary, state: SessionState, width: int, now: float, paint: Paint
) -> list[Segment]:
    """Draw title, status of the newest reply, and age."""
    names = state.names
    time = ago(summary.updated, now)
    status = "streaming" if state.is_streaming else summary.status
    mark = STATUS_MARKS.get(status, "")
    is_side = state.is_side or "subagent" in summary.tags
    pin = "↑ " if state.shows_pin else "  " * (state.level - 1) + "└ " if is_side else ""
    sides = f"{state.sides} " if state.sides else ""
    right = f"{mark} " if mark else ""
    room = width - 2 - len(pin) - len(sides) - cell_len(right) - len(time) - 2
    title = clipped(one_line(summary.title) or "Untitled", max(room, 1))
    used = 2 + len(pin) + cell_len(title) + len(sides) + cell_len(right) + len(time) + 1
    strong = ("open",) if state.is_open else ("unread",) if summary.unread else ()
    style = paint(*names, *strong)
    segments = [
        *_gutter(summary, state, paint),
        Segment(pin, paint(*names, state.detail)),
        Segment(title, style),
        Segment(" " * max(width - used, 0), style),
    ]
    if sides:
        segments.append(Segment(sides, paint(*names, state.detail)))
    if mark:
        segments.append(Segment(right, paint(*names, status)))
    segments.append(Segment(f"{time} ", paint(*names, state.detail)))
    return segments


def second_line(
    summary: SessionSummary, state: SessionState, width: int, paint: Paint
) -> list[Segment]:
    """Draw what it is a fork of, program, role and model, and as many tags as fit."""
    names = state.names
    facts = (summary.client, summary.role_name, summary.model)
    facts = [one_line(fact, 80) for fact in facts if fact]
    if source := fork_source(summary):
        facts.insert(0, f"fork of {clipped(one_line(source), FORK_TITLE)}")
    words = clipped(" · ".join(facts), max(width - 3, 1))
    left = width - 3 - cell_len(words)
    tags = ""
    for tag in summary.tags:
        piece = f" #{one_line(tag, 40)}"
        if cell_len(tags) + min(cell_len(piece), _TAG_CELLS + 2) > left:
            break
        tags = clipped(tags + piece, left)
    return [
        Segment("▌ " if state.is_open else "  ", paint(*names, "bar")),
        Segment(words, paint(*names, state.detail)),
        Segment(tags, paint(*names, "tag")),
    ]


def _gutter(summary: SessionSummary, state: SessionState, paint: Paint) -> list[Segment]:
    """Draw a bar beside the open session, and a mark for selected and unread ones."""
    names = state.names
    mark = "✓" if state.is_chosen else "•" if summary.unread else " "
    style = "chosen-mark" if state.is_chosen else "unread-mark"
    return [
        Segment("▌" if state.is_open else " ", paint(*names, "bar")),
        Segment(mark, paint(*names, style)),
    ]

"""The rows of the session list: groups under headings, side conversations below their session.

1. Sessions are grouped by time, the newest first. Pinned sessions are the first group, archived
   ones the last, folded at first.
2. Side conversations (titles, subagents) follow the session that they belong to, whatever their own
   time and tags, folded at first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import SessionSummary
from tui_chat.ui.ago import ago
from tui_chat.ui.widgets.content_list import LABEL, ContentList, unfolded
from tui_chat.ui.widgets.pane_key import MOVES, pane_key

ARCHIVED = "Archived"
"""Key and title of the group of archived sessions."""
NO_SESSION_HERE = "There is no session under the cursor."
_COUNTED = 100
"""The newest sessions, whose most frequent role and model are not written on their rows."""

Summaries = Sequence[SessionSummary]


@dataclass(frozen=True, slots=True)
class SessionRow:
    """The heading of a group, or a session."""

    key: str
    """Names the row while it exists, so that it stays folded or not: a group, or a session's id."""
    level: int
    """0 for a heading, 1 for a session, more for the side conversations below it."""
    title: str = ""
    session: SessionSummary | None = None
    """None for a heading."""
    below: int = 0
    """The number of rows directly below it: sessions of a group, side conversations."""


def session_rows(summaries: Summaries, now: float) -> list[SessionRow]:
    """Return all rows, none folded; `now` is in seconds since the epoch."""
    shown, sides = _without_sides([each for each in summaries if not each.archived])
    groups = {"Pinned": [each for each in shown if each.pinned]}
    today = _midnight(now)
    for summary in sorted(shown, key=lambda each: each.updated, reverse=True):
        if not summary.pinned:
            groups.setdefault(_span(summary.updated, today), []).append(summary)
    groups[ARCHIVED] = [each for each in summaries if each.archived]
    rows: list[SessionRow] = []
    for title, sessions in groups.items():
        members = [row for session in sessions for row in _family(session, sides, 1)]
        if members:
            rows += (SessionRow(title, 0, title, below=len(members)), *members)
    return rows


_Sides = Mapping[str, list[SessionSummary]]
"""Side conversations by the id of their session."""


def _without_sides(summaries: Summaries) -> tuple[Summaries, _Sides]:
    """Return the sessions of their own, and the side conversations of sessions in the list."""
    parents = {summary.session_id: summary.parent_id for summary in summaries}
    own: list[SessionSummary] = []
    sides: defaultdict[str, list[SessionSummary]] = defaultdict(list)
    for summary in summaries:
        above, seen = summary.parent_id, {summary.session_id}
        while above not in seen and parents.get(above):
            seen.add(above)
            above = parents[above]
        is_side = summary.parent_id in parents and above not in seen  # no circle
        (sides[summary.parent_id] if is_side else own).append(summary)
    return own, sides


def _family(summary: SessionSummary, sides: _Sides, level: int) -> Iterator[SessionRow]:
    """Yield a session, and below it its side conversations, each with its own."""
    below = sides.get(summary.session_id, ())
    yield SessionRow(summary.session_id, level, session=summary, below=len(below))
    for side in below:
        yield from _family(side, sides, level + 1)


def _midnight(moment: float) -> datetime:
    """Return the local midnight at which the day of a moment began. Raises as `fromtimestamp`."""
    return datetime.combine(datetime.fromtimestamp(moment).astimezone().date(), datetime.min.time())


def _span(moment: float, today: datetime) -> str:
    """Return the name of the day, the week, the month or the year of a moment."""
    try:
        day = _midnight(moment)
    except (OverflowError, OSError, ValueError):
        return "Earlier"
    for days, title in ((0, "Today"), (1, "Yesterday"), (7, "Last 7 days")):
        if day >= today - timedelta(days=days):
            return title
    if day.year == today.year:
        return f"{day:%B}"
    return f"{day:%B %Y}" if today - day < timedelta(days=365) else f"{day.year}"


def usual_facts(summaries: Summaries) -> tuple[str, str]:
    """Return the role and model that most of the newest sessions have."""
    newest = [each for each in summaries[:_COUNTED] if not each.archived]
    counts = Counter((each.role_name, each.model) for each in newest)
    return counts.most_common(1)[0][0] if counts else ("", "")


def matches(summary: SessionSummary, words: Iterable[str]) -> bool:
    """Return True if a session has all words (casefolded) in its title, role, model, folder,
    program or tags; `#word` begins a tag.
    """
    facts = (summary.title, summary.role_name, summary.model, summary.folder, summary.client)
    text = "\n".join((*facts, *(f"#{tag}" for tag in summary.tags))).casefold()
    return all((f"\n{word}" if word.startswith("#") else word) in text for word in words)


STATUS_MARKS = {
    "streaming": ("● ", "$text-success"),
    "failed": ("! ", "bold $text-error"),
    "interrupted": ("~ ", "bold $text-warning"),
}


class SessionList(ContentList):
    """The sessions in their groups: one is open, one under the cursor, some may be selected."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", tooltip="Open; on a heading: fold"),
        pane_key("space", "select", "Select", "Select several, or fold a group", shown=True),
        pane_key("shift+up", "select_to(-1)", "Select up", "Extend the selection"),
        Binding("shift+down", "select_to(1)", "Select down", show=False),
        pane_key("shift+end", "select_to_end", "Select all", "Select all below"),
        pane_key("left,right", "fold", "Fold", "Fold or unfold side calls, or the group"),
        pane_key("g", "first", MOVES, "Top"),
        pane_key("G", "last", MOVES, "End"),
    ]

    class SelectionChanged(Message):
        """The selection changed, possibly to none."""

    def __init__(self) -> None:
        super().__init__()
        self.selected: set[str] = set()
        """Ids of the selected sessions."""
        self._all_rows: Sequence[SessionRow] = ()
        self._rows: Sequence[SessionRow] = ()
        """Those that are not folded away."""
        self._toggled: set[str] = set()
        """Keys of the rows that are folded, or of those folded at first that are not."""
        self._is_filtered: bool = False
        self._usual = ("", "")
        self._current: str | None = None
        self._awaits_current = False
        """True if the cursor goes to the open session once that is listed: a new one is opened
        before it is listed."""
        self._streaming: Collection[str] = ()
        self._now = 0.0
        self._anchor: int | None = None
        """The row from which a range is being selected."""

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def own_ids(self) -> list[str]:
        """The ids of the sessions in unfolded groups, without side conversations."""
        return [row.key for row in self._rows if row.level == 1]

    @property
    def row(self) -> SessionRow | None:
        """The row under the cursor; None in an empty list."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    @property
    def under_cursor(self) -> SessionSummary | None:
        """The session under the cursor; None on a heading."""
        return self.row.session if self.row is not None else None

    @property
    def targets(self) -> Sequence[SessionSummary]:
        """The sessions for keys: selected, else under the cursor, with their folded sides."""
        under = self.under_cursor
        wanted = self.selected or ({under.session_id} if under is not None else set[str]())
        found: dict[str, SessionSummary] = {}
        folded_level: int | None = None
        for row in self._all_rows:
            if folded_level is not None and row.level <= folded_level:
                folded_level = None
            session = row.session
            if session is None or not (session.session_id in wanted or folded_level is not None):
                continue
            found[session.session_id] = session
            if folded_level is None and row.below and self._is_folded(row):
                folded_level = row.level
        return tuple(found.values())

    def show(
        self,
        rows: Sequence[SessionRow],
        current: str | None,
        now: float,
        *,
        running: Collection[str] = (),
        empty: str = "",
        is_filtered: bool = False,
        usual: tuple[str, str] = ("", ""),
    ) -> None:
        """Show rows; the cursor stays on its session, and in a list that was scrolled at its line
        of the screen. When another session is opened, the cursor goes there. A filtered list has
        nothing folded.
        """
        before, line = self.row, self.cursor
        stays = current == self._current and not self._awaits_current and before is not None
        kept = before.key if before is not None and stays else current
        self._all_rows, self._is_filtered = rows, is_filtered
        self._current, self._now, self.empty_text = current, now, empty
        self._streaming, self._usual = running, usual
        self._rows = [*unfolded(rows, self._is_folded)]
        self.select(self.selected & {row.key for row in rows})
        found = self._row_of(kept)
        self._awaits_current = not stays and kept is not None and found is None
        if found is None:  # it is gone: the next session, not a heading that has its line now
            found = self._session_near(max(line, 1))
        self.cursor = min(found, max(len(self._rows) - 1, 0))
        self.update_extent()
        if not stays:
            self.scroll_to_cursor()
        elif self.scroll_y:
            self.scroll_to(y=self.scroll_y + self.cursor - line)
        self.refresh_changed()

    def _row_of(self, key: str | None) -> int | None:
        """Return the row with a key; of one that is folded away, that of what hides it."""
        numbers = {row.key: number for number, row in enumerate(self._rows)}
        shown: int | None = None
        for row in self._all_rows if key is not None else ():
            if row.key in numbers:
                shown = numbers[row.key]
            if row.key == key:
                return shown
        return None

    def _session_near(self, number: int) -> int:
        """Return a row if it is a session's, else the nearest such one, those below it first."""
        for near in (number, number + 1, number - 1):
            if 0 <= near < len(self._rows) and self._rows[near].session is not None:
                return near
        return number

    def _is_folded(self, row: SessionRow) -> bool:
        is_folded_first = row.level > 0 or row.key == ARCHIVED
        return not self._is_filtered and is_folded_first is not (row.key in self._toggled)

    def select(self, session_ids: set[str]) -> None:
        """Select exactly these sessions."""
        if session_ids != self.selected:
            self.selected = session_ids
            self.post_message(self.SelectionChanged())
            self.refresh_changed()

    def cursor_moved(self) -> None:
        """Stop waiting for the open session: the user went elsewhere."""
        self._awaits_current = False

    # Rendering

    def emphasis(self, row: int) -> str:
        is_selected = self._rows[row].key in self.selected
        return super().emphasis(row) or ("selected" if is_selected else "")

    def row_content(self, row: int) -> tuple[Content, Content]:
        shown = self._rows[row]
        if (session := shown.session) is not None:
            fact = self._session_fact(session, shown)
            return self._session_content(session, shown, self.room_beside(fact)), fact
        is_folded = self._is_folded(shown)
        title = f"{'▸ ' if is_folded else ''}{one_line(shown.title)}"
        count = f"{shown.below:,}" if is_folded else ""
        return Content.styled(title, f"bold {LABEL}"), Content.styled(count, LABEL)

    def _session_content(self, session: SessionSummary, row: SessionRow, room: int) -> Content:
        """Return mark, title, tags, and what is not usual: program, folder, source, role, model, as
        far as it fits into `room` cells: a title that is whole must not look cut.
        """
        is_side = row.level > 1 or "subagent" in session.tags
        if session.session_id in self.selected:
            mark = "✓ ", "bold $text-accent"
        elif session.unread:
            mark = "• ", "bold $text-accent"
        else:
            mark = "◆ " if session.pinned else "", "$text-primary"
        branch = f"{'  ' * max(row.level - 2, 0)}└ " if is_side else ""
        is_open = session.session_id == self._current
        strong = "bold $text-primary" if is_open else "bold" if session.unread else ""
        facts = [session.client, session.folder]
        if session.fork_of and session.title != f"Fork of {session.fork_of}":
            facts.append(f"fork of {session.fork_of}")
        own = (session.role_name, session.model)
        facts += (fact for fact, usual in zip(own, self._usual, strict=True) if fact != usual)
        content = Content.assemble(
            (branch, LABEL),
            mark,
            (one_line(session.title) or "Untitled", strong),
            *((f" #{one_line(tag, 40)}", "$text-accent") for tag in session.tags),
        )
        for fact in filter(None, facts):
            longer = content + Content.styled(f" · {one_line(fact, 80)}", LABEL)
            content = longer if longer.cell_length <= room else content
        return content

    def _session_fact(self, session: SessionSummary, row: SessionRow) -> Content:
        status = "streaming" if session.session_id in self._streaming else session.status
        sides = f"{'▸' if self._is_folded(row) else '▾'}{row.below:,} " if row.below else ""
        mark = STATUS_MARKS.get(status, ("", ""))
        return Content.assemble((sides, LABEL), mark, (ago(session.updated, self._now), LABEL))

    # Keys

    def action_move(self, step: int) -> None:
        """Move the cursor, and end the selection of a range."""
        self._anchor = None
        super().action_move(step)

    def action_first(self) -> None:
        """Go to the first session; its heading is above it."""
        self.set_cursor(1)

    async def action_open(self) -> None:
        """Open the session; on a heading, fold or unfold the group."""
        row = self.row
        await self.open_session()
        if row is not None and row.session is None:
            self.action_fold()

    async def open_session(self) -> None:
        """Open the session under the cursor; without one, the focus stays."""
        if self.under_cursor is not None:
            await self.run_action(f"sessions.open({self.under_cursor.session_id!r})")

    def action_select(self) -> None:
        """Select or deselect the session under the cursor, and go to the next; fold a group."""
        if self.row is None:
            self.notify(NO_SESSION_HERE)
        elif self.under_cursor is None:
            self.action_fold()
        else:
            self.select(self.selected ^ {self.under_cursor.session_id})
            self.action_move(1)

    def action_select_to(self, step: int) -> None:
        """Move the cursor, and select the range from where the selection began."""
        if self._anchor is None:
            self._anchor = self.cursor
        target = self.cursor + step
        if 0 <= target < len(self._rows) and self._rows[target].session is None:
            target += 1 if step > 0 else -1  # past a heading
        self.set_cursor(target)
        first, last = sorted((self._anchor, self.cursor))
        rows = self._rows[first : last + 1]
        self.select({row.key for row in rows if row.session is not None})

    def action_select_to_end(self) -> None:
        self.action_select_to(len(self._rows))

    def action_fold(self) -> None:
        """Fold or unfold what is below the row, else what it is below of."""
        numbers = [n for n in range(self.cursor, -1, -1) if n < len(self._rows)]
        level = self._rows[self.cursor].level if numbers else 0
        heads = (n for n in numbers if n == self.cursor or self._rows[n].level < level)
        number = next((n for n in heads if self._rows[n].below), None)
        if number is None or self._is_filtered:
            self.notify("Nothing folds here.")
            return
        self._toggled ^= {self._rows[number].key}
        self._rows = [*unfolded(self._all_rows, self._is_folded)]
        self.update_extent()
        self._anchor = None
        self.set_cursor(number)

    # Clicks

    def row_clicked(self, row: int, event: events.Click) -> None:
        """Open the clicked session, or fold a clicked group."""
        self.set_cursor(row)
        self._anchor = None
        self.call_later(self.action_open)

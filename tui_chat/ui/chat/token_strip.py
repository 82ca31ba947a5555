"""The strip beside a long conversation: how many tokens each of its turns took.

A row stands for one turn, or for several if there are more turns than rows; then it shows the
largest. The bar of the turn under the cursor is highlighted, and a click goes to a turn.

Here a turn is what the user said and all up to the next time. The table of contents and the export
of a part use the same turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.usage import BYTES_PER_TOKEN, NO_USAGE
from tui_chat.ui.widgets.after_refresh import call_after_refresh
from tui_chat.ui.widgets.component_styles import ComponentStyles

if TYPE_CHECKING:
    from tui_chat.models.session import Entry

_WORDS = 60
"""Characters of the words that a turn is listed by."""
LEAST_TURNS = 12
"""Turns from which a conversation has a strip."""
WIDTH = 2
_BLOCKS = "▏▎▍▌▋▊▉█"


@dataclass(slots=True)
class UserTurn:
    """One turn."""

    first: int
    """Index of its first message, which is the user's except for what precedes the first one."""
    count: int = 0
    """The number of its messages."""
    calls: int = 0
    """The number of tool calls."""
    reported: int = 0
    """Tokens that its replies read anew and wrote, as the provider reported them."""
    characters: int = 0
    """Characters of its texts and calls."""


def user_turns(entries: Sequence[Entry]) -> list[UserTurn]:
    """Return the turns of a branch, in order."""
    turns: list[UserTurn] = []
    for index, entry in enumerate(entries):
        message = entry.message
        if message.role == "user" or not turns:
            turns.append(UserTurn(index))
        turn = turns[-1]
        turn.count += 1
        turn.characters += len(message.content)
        if calls := message.tool_calls:
            turn.calls += len(calls)
            turn.characters += sum(len(call.arguments) for call in calls)
        if (usage := entry.usage) is not NO_USAGE:
            turn.reported += max((usage.input or 0) - (usage.cached or 0), 0) + (usage.output or 0)
    return turns


def tokens_of(turns: Sequence[UserTurn]) -> tuple[list[int], bool]:
    """Return each turn's tokens, and True if reported, else False: estimated from the texts."""
    if any(turn.reported for turn in turns):
        return [turn.reported for turn in turns], True
    return [turn.characters // BYTES_PER_TOKEN for turn in turns], False


def words_of(entry: Entry) -> str:
    """Return the words that a turn is listed by: how its first message begins."""
    message = entry.message
    words = one_line(message.content[: 4 * _WORDS], _WORDS)
    if message.semantics.summary is not None:
        return f"Summary: {words}"
    return words or (f"[{message.parts[0].kind}]" if message.parts else f"[{message.role}]")


def facts_of(turn: UserTurn, tokens: int, *, is_reported: bool) -> str:
    """Return the facts about a turn in the table of contents."""
    about = "" if is_reported else "~"
    facts = [
        f"{about}{tokens:,} tokens" if tokens else "",
        f"{turn.calls:,} call{'s' * (turn.calls != 1)}" if turn.calls else "",
        f"{turn.count:,} message{'s' * (turn.count != 1)}",
    ]
    return " · ".join(filter(None, facts))


def turn_at(turns: Sequence[UserTurn], index: int) -> int:
    """Return the number of the turn that a message belongs to."""
    low, high = 0, len(turns)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if turns[middle].first <= index else (low, middle)
    return low


class TokenStrip(Widget):
    """Shows the tokens of each turn of a branch."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"token-strip--bar", "token-strip--here"}
    DEFAULT_CSS = f"""
    TokenStrip {{
        width: {WIDTH};
        height: 1fr;
        display: none;
        & .token-strip--bar {{ color: $foreground 30%; }}
        & .token-strip--here {{ color: $accent; }}
    }}
    """

    @dataclass
    class TurnChosen(Message):
        """A turn was clicked."""

        index: int
        """The index of its first message."""

    def __init__(self) -> None:
        super().__init__()
        self._palette = ComponentStyles(self, "token-strip")
        self._entries: Sequence[Entry] = ()
        self._counted: Sequence[Entry] = ()
        """The entries whose turns are counted: the previous ones for a frame."""
        self._turns: list[UserTurn] = []
        self._tokens: list[int] = []
        self._most = 1
        self._is_reported = False
        self._cursor: int | None = None
        """The index of the message under the cursor."""
        self._bars: dict[int, str] = {}
        """The bars of rows that were drawn, for the present height."""

    def show(self, entries: Sequence[Entry]) -> None:
        """Show the turns of a branch; a short one has no strip."""
        if entries is self._entries:
            return
        self._entries = entries
        users = (entry for entry in entries if entry.message.role == "user")
        self.display = len(list(islice(users, LEAST_TURNS))) == LEAST_TURNS
        # A branch of 10,000 messages takes as long to count as to open, so it is on the screen
        # first.
        call_after_refresh(self, self._count_turns)

    def _count_turns(self) -> None:
        if self._counted is self._entries:
            return
        self._counted = self._entries
        self._turns = user_turns(self._entries) if self.display else []
        self._tokens, self._is_reported = tokens_of(self._turns)
        self._most = max(self._tokens, default=0) or 1
        self._bars.clear()
        self.refresh()

    def show_cursor(self, index: int | None) -> None:
        """Highlight the turn of a message."""
        before, self._cursor = self._row_under(self._cursor), index
        after = self._row_under(index)
        if after != before:
            rows = [Region(0, row, WIDTH, 1) for row in (before, after) if row is not None]
            self.refresh(*rows)

    def notify_style_update(self) -> None:
        self._palette.clear()
        super().notify_style_update()

    def on_resize(self) -> None:
        self._bars.clear()

    def _turns_of(self, row: int) -> range:
        """Return the turns of a row; none below the strip, which may have become lower."""
        height, count = self.size.height, len(self._turns)
        if row >= height:
            return range(0)
        if count <= height:
            return range(row, min(row + 1, count))
        return range(row * count // height, (row + 1) * count // height)

    def _row_under(self, index: int | None) -> int | None:
        """Return the row that stands for the turn of a message."""
        height, count = self.size.height, len(self._turns)
        if index is None or not count:
            return None
        turn = turn_at(self._turns, index)
        return turn if count <= height else ((turn + 1) * height - 1) // count

    def _bar(self, row: int) -> str:
        numbers = self._turns_of(row)
        if not numbers:
            return ""
        tokens = max(self._tokens[number] for number in numbers)
        # By the square root: one long turn must not flatten all others.
        eighths = round(sqrt(tokens / self._most) * WIDTH * len(_BLOCKS))
        full, rest = divmod(max(eighths, 1), len(_BLOCKS))
        return "█" * full + (_BLOCKS[rest - 1] if rest else "")

    def render_line(self, y: int) -> Strip:
        bar = self._bars.get(y)
        if bar is None:
            bar = self._bars[y] = self._bar(y)
        if not bar:
            return Strip.blank(self.size.width, self._palette())
        style = "here" if y == self._row_under(self._cursor) else "bar"
        return Strip([Segment(bar.ljust(WIDTH), self._palette(style))], WIDTH)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        numbers = self._turns_of(event.y)
        if numbers:
            tokens = max(self._tokens[number] for number in numbers)
            most = next(number for number in numbers if self._tokens[number] == tokens)
            facts = facts_of(self._turns[most], tokens, is_reported=self._is_reported)
            self.tooltip = f"Turn {most + 1:,} of {len(self._turns):,}: {facts}"

    def on_click(self, event: events.Click) -> None:
        numbers = self._turns_of(event.y)
        if numbers and self._counted is self._entries:
            self.post_message(self.TurnChosen(self._turns[numbers[0]].first))

"""The list of ways to go on, between the conversation and the composer."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_chat.models.visible import one_line
from tui_chat.ui.chat.asking import Asked, AskedKind, Candidate

_MARKS: dict[AskedKind, str] = {"command": "/", "path": "@", "argument": ""}
"""What stands before what is asked for."""


class Suggestions(OptionList, can_focus=False):
    """Candidates for what is being typed; hidden where there are none."""

    DEFAULT_CSS = """
    Suggestions {
        display: none;
        height: auto;
        max-height: 9;
        margin: 0 1;
        border: none;
        padding: 0;
        background: $surface;
        color: $foreground;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._candidates: Sequence[Candidate] = ()
        self.asked: Asked | None = None
        """What they are candidates for."""
        self.is_marked = False
        """Whether the mark was put where it is by hand."""

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose."""
        return bool(self.display)

    def chosen_for(self, asked: Asked | None) -> Candidate | None:
        """Return the candidate to take for what is asked now.

        Keys may come faster than candidates: of those for a moment ago, the first that still
        fits is taken.
        """
        then = self.asked
        if not self.is_open or self.highlighted is None or asked is None or then is None:
            return None
        if asked == then:
            return self._candidates[self.highlighted]
        if (asked.kind, asked.start, asked.command) != (then.kind, then.start, then.command):
            return None
        fitting = (c for c in self._candidates if _name(c, asked).startswith(asked.words))
        return next(fitting, None)

    def in_common(self, asked: Asked) -> str:
        """Return what Tab makes of what is typed where several go on as it does: as far as they
        are alike, with its `/` or `@`. Nothing where that is no further, where one is marked, or
        where the last part of the first one begins so: then that is meant.
        """
        chosen = self.chosen_for(asked)
        if chosen is None or self.is_marked:
            return ""
        names = (_name(candidate, asked) for candidate in self._candidates)
        going_on = [name for name in names if name.startswith(asked.words)]
        alike = _name(chosen, asked)
        _, slash, own = alike.rpartition("/")
        is_meant = bool(slash) and own.startswith(asked.words)
        if is_meant or alike not in going_on or len(going_on) == 1:
            return ""
        while not all(name.startswith(alike) for name in going_on):
            alike = alike[:-1]
        return _MARKS[asked.kind] + alike if len(alike) > len(asked.words) else ""

    def offer(self, asked: Asked, candidates: Sequence[Candidate]) -> None:
        """Show candidates for what was asked; none hide the list."""
        self.asked = asked
        if not candidates:
            self.close()
            return
        if candidates != self._candidates or not self.is_open:
            self._candidates = candidates
            self.is_marked = False
            width = min(max(cell_len(candidate.label) for candidate in candidates), 40)
            self.clear_options()
            self.add_options([_option(candidate, width) for candidate in candidates])
            self.highlighted = 0
            self.display = True

    def close(self) -> None:
        """Hide the list."""
        if self.display:
            self.display = False
            self._candidates = ()
            self.clear_options()

    def move(self, by: int) -> None:
        """Move the mark."""
        self.is_marked = True
        if by > 0:
            self.action_cursor_down()
        else:
            self.action_cursor_up()


def _name(candidate: Candidate, asked: Asked) -> str:
    return candidate.text.removeprefix(_MARKS[asked.kind])


def _option(candidate: Candidate, width: int) -> Option:
    line = Text(one_line(candidate.label), no_wrap=True, overflow="ellipsis")
    if candidate.detail:
        gap = max(width - line.cell_len, 0) + 2
        line.append(" " * gap + one_line(candidate.detail), style="dim")
    return Option(line)

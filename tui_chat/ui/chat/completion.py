"""Completion in the composer: what is typed that can be completed, and the list of suggestions.

A command, its argument or a path is a `CompletionQuery`; the composer of the conversation, which
knows commands and files, answers it with suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line

CompletionKind = Literal["command", "argument", "path"]

_COMMAND = re.compile(r"/([a-z-]*|[A-Za-z][\w-]*(?::\S*)?)")
_ARGUMENT = re.compile(r"/([a-z-]+) +(.*)")
_PATH = re.compile(r"(?:^|(?<=\s))@(\S*)\Z")

_MARKS: dict[CompletionKind, str] = {"command": "/", "path": "@", "argument": ""}
"""The mark before each kind of text."""


@dataclass(frozen=True, slots=True)
class CompletionQuery:
    """Typed text that can be completed."""

    kind: CompletionKind
    words: str
    """The text, without `/` and `@`."""
    start: int
    """Column in the cursor's line at which a suggestion is inserted."""
    command: str = ""
    """The command of an argument."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One completion."""

    text: str
    """The text that replaces the typed one."""
    label: str
    detail: str = ""
    is_complete: bool = True
    """True if nothing need be typed after it, so that Enter may submit it."""
    typed_is_complete: bool = False
    """True if the typed text, a folder, is complete too: Enter needs a mark to insert this."""


def completion_query_at(row: int, before: str) -> CompletionQuery | None:
    """Return what can be completed at the cursor; `before` is its line up to the cursor."""
    if row == 0 and (match := _COMMAND.fullmatch(before)):
        return CompletionQuery("command", match[1], 0)
    if row == 0 and (match := _ARGUMENT.fullmatch(before)):
        return CompletionQuery("argument", match[2], match.start(2), match[1])
    if match := _PATH.search(before):
        return CompletionQuery("path", match[1], match.start())
    return None


class SuggestionList(OptionList, can_focus=False):
    """The list of suggestions above the composer; hidden if there are none."""

    DEFAULT_CSS = """
    SuggestionList {
        display: none;
        height: auto;
        max-height: 9;
        margin: 0 1;
        border: none;
        padding: 0;
        background: $surface;
        color: $foreground;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, toggled: Callable[[], None]) -> None:
        """`toggled` is called when the list is shown or hidden."""
        super().__init__()
        self._toggled = toggled
        self._suggestions: Sequence[Suggestion] = ()
        self.completion: CompletionQuery | None = None
        """The query that the suggestions answer."""
        self.is_marked = False
        """True if the user moved the mark."""

    @property
    def is_open(self) -> bool:
        """True while suggestions are shown."""
        return bool(self.display)

    def chosen_for(self, query: CompletionQuery | None) -> Suggestion | None:
        """Return the suggestion to insert for a query.

        Keys may be faster than suggestions: of those for an earlier query, the first that still
        fits is returned.
        """
        then = self.completion
        if not self.is_open or self.highlighted is None or query is None or then is None:
            return None
        if query == then:
            return self._suggestions[self.highlighted]
        if (query.kind, query.start, query.command) != (then.kind, then.start, then.command):
            return None
        fitting = (c for c in self._suggestions if _name(c, query).startswith(query.words))
        return next(fitting, None)

    def offer(self, query: CompletionQuery, suggestions: Sequence[Suggestion]) -> None:
        """Show suggestions for a query; none hide the list."""
        self.completion = query
        if not suggestions:
            self.close()
            return
        if suggestions != self._suggestions or not self.is_open:
            self._suggestions = suggestions
            self.is_marked = False
            width = min(max(cell_len(suggestion.label) for suggestion in suggestions), 40)
            self.clear_options()
            self.add_options([_option(suggestion, width) for suggestion in suggestions])
            self.highlighted = 0
            if not self.display:
                self.display = True
                self._toggled()

    def close(self) -> None:
        """Hide the list."""
        if self.display:
            self.display = False
            self._suggestions = ()
            self.clear_options()
            self._toggled()

    def move(self, by: int) -> None:
        """Move the mark to the next (1) or previous (-1) suggestion."""
        self.is_marked = True
        if by > 0:
            self.action_cursor_down()
        else:
            self.action_cursor_up()


def _name(suggestion: Suggestion, query: CompletionQuery) -> str:
    return suggestion.text.removeprefix(_MARKS[query.kind])


def _option(suggestion: Suggestion, width: int) -> Option:
    line = Text(one_line(suggestion.label), no_wrap=True, overflow="ellipsis")
    if suggestion.detail:
        gap = max(width - line.cell_len, 0) + 2
        line.append(" " * gap + one_line(suggestion.detail), style="dim")
    return Option(line)

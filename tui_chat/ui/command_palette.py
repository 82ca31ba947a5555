"""The command palette: actions found by their titles and by other words that people use."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches

from rich.table import Column, Table
from rich.text import Text
from textual.widgets import Input
from textual.widgets.option_list import Option

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """An action that the palette offers."""

    title: str
    run: Callable[[], Awaitable[object]]
    key: str = ""
    """As the screen shows it; empty if it has none."""
    area: str = ""
    """The pane that it belongs to, as its title says; empty for the app's."""
    aliases: tuple[str, ...] = ()
    """Other words that people search for, in lower case."""

    @property
    def id(self) -> str:
        """Its name among all entries."""
        return f"{self.area}: {self.title}"


_PANE_WORDS = {
    "Send": "submit, ask",
    "Stop the reply": "stop, cancel, abort, interrupt, pause",
    "New line": "newline, multiline, several lines",
    "Find in this conversation": (
        "search in conversation, find in chat, find in conversation, find here, grep"
    ),
    "Save a picture or file of this message; again for the next": (
        "attachment, download, image, audio"
    ),
    "Unfold reasoning, calls, long text": "expand, collapse, fold, thinking, show more",
    "Previous version": "swipe left, sibling, alternative",
    "Next version": "swipe right, sibling, alternative",
    "Copy the message or the selection": "copy, copy last, copy reply, yank, clipboard",
    "Copy a code block of this message; again for the next": "copy code, snippet",
    "Copy the conversation": "copy all, clipboard",
    "Open a link of this message; again for the next": "url, browser, link",
    "Regenerate this reply": "retry, redo, swipe, ask again",
    "Continue this reply": "continue, go on, more, resume",
    "Edit this message as a new version": (
        "edit message, edit last message, edit and resend, resend, change, rewrite"
    ),
    "Fork session from here": "fork, branch off, duplicate, clone",
    "Delete from here (this message and all below)": "delete message, remove, rewind",
    "Pin message (always included)": "keep, always send, sticky, favorite, star",
    "Mute message (not sent), or unmute it": (
        "mute, hide message, hide, exclude, leave out, omit, skip, ignore, unmute, unhide, "
        "disable message, include again"
    ),
    "Show the request that made the reply": "payload, debug, what was sent",
    "Show where this message is in the request": "locate, reveal",
    "Enter a tool call's result by hand": "tools, tool result, function call",
    "Copy the exact body": "copy request, json, raw, copy body",
    "Copy as curl": "copy request",
    "Notes": "warnings, problems, diagnostics",
}
PANE_ALIASES = {title: tuple(words.split(", ")) for title, words in _PANE_WORDS.items()}
"""Words for the actions of panes, by their titles."""


def match_score(entry: PaletteEntry, query: str) -> float:
    """Return how well an entry matches what is typed; 0 if it does not.

    A whole title of the app goes before other whole names, these before beginnings, beginnings
    before words, words before misspelled ones; titles before aliases, and the app's actions before
    those of a pane.
    """
    query = " ".join(query.casefold().split())
    title = entry.title.casefold().removesuffix("…")
    aliases = entry.aliases
    steps = (
        (not query, 1),
        (query == title and not entry.area, 120),
        (query == title or query in aliases, 100),
        (title.startswith(query), 80),
        (_begins_word(title, query), 70),
        (any(_begins_word(alias, query) for alias in aliases), 60),
        (query in title, 50),
        (_has_words(entry, query), 45),
    )
    for holds, score in steps:
        if holds:
            return score if entry.area else score + 1
    if len(query) < _SHORTEST_MISSPELLED:
        return 0
    words = {*_WORD.findall(title), *aliases}
    is_meant = any(_abbreviates(query, word) for word in words) or get_close_matches(
        query, words, 1, _LIKENESS
    )
    return (_MOST_MISSPELLED - bool(entry.area)) if is_meant else 0


_MOST_MISSPELLED = 41
"""The score of an entry that has a misspelled or abbreviated word."""
_SHORTEST_MISSPELLED = 4
"""Letters that a misspelled or abbreviated word has at least."""
_LIKENESS = 0.79
"""The likeness of a word to one that is misspelled; see `difflib`."""
_WORD = re.compile(r"\w+")


def _abbreviates(query: str, word: str) -> bool:
    """Return True if a word has these letters in this order, from its first on, and few others."""
    if not word.startswith(query[0]) or 2 * len(query) < len(word):
        return False
    letters = iter(word)
    return all(letter in letters for letter in query)


def _begins_word(text: str, query: str) -> bool:
    return f" {query}" in f" {text}"


def _has_words(entry: PaletteEntry, query: str) -> bool:
    text = " ".join((entry.area, entry.title, *entry.aliases)).casefold()
    return all(_begins_word(text, word) for word in query.split())


class CommandPalette(ChoiceDialog):
    """Offers all actions; typing filters them. The result is the id of an entry, or None."""

    DEFAULT_CSS = """
    CommandPalette {
        align: center top;
        & > Vertical { margin-top: 3; }
    }
    """

    min_width = 84
    hint = "Enter run · Esc close"

    def __init__(self, entries: Sequence[PaletteEntry], recent: Sequence[str]) -> None:
        """`recent`: ids of the entries that were chosen before, the newest first."""
        self._entries = {entry.id: entry for entry in entries}
        self._recent = {id: -rank for rank, id in enumerate(recent)}
        choices = [Choice(id, entry.title) for id, entry in self._entries.items()]
        super().__init__("Commands", choices, current="")

    def on_mount(self) -> None:
        """Say what to type; `ChoiceDialog` shows all entries."""
        self.query_one(Input).placeholder = "Type what you want to do"

    def matching(self, words: str) -> list[Choice]:
        """Return the choices that match, the best first, then what was used last."""
        scores = {c.id: match_score(self._entries[c.id], words) for c in self.choices}
        # misspelled words count only where nothing has the words
        least = _MOST_MISSPELLED if max(scores.values(), default=0) > _MOST_MISSPELLED else 0
        matches = [choice for choice in self.choices if scores[choice.id] > least]
        oldest = -len(self._recent) - 1
        matches.sort(key=lambda c: (-scores[c.id], -self._recent.get(c.id, oldest)))
        return matches

    def option(self, choice: Choice) -> Option:
        """Return the line of an entry: its title, its pane, and its key at the right."""
        entry = self._entries[choice.id]
        line = Table.grid(
            Column(ratio=1, no_wrap=True, overflow="ellipsis"), Column(justify="right"), expand=True
        )
        title = Text(f" {entry.title}")
        if entry.area:
            title.append(f"  {entry.area}", style="dim")
        line.add_row(title, Text(f"{entry.key} ", style="dim"))
        return Option(line, id=choice.id)

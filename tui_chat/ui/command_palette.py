"""The command palette: actions found by their titles and by other words that people use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from rich.table import Column, Table
from rich.text import Text
from textual.fuzzy import FuzzySearch
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


PANE_ALIASES: dict[str, tuple[str, ...]] = {
    "Send": ("submit", "ask"),
    "Stop the reply": ("stop", "cancel", "abort", "interrupt"),
    "Find": ("search in conversation", "grep"),
    "Save a picture or file of this message; again, the next": (
        "attachment",
        "download",
        "image",
        "audio",
    ),
    "Unfold reasoning, calls, long text": ("expand", "collapse", "fold", "thinking", "show more"),
    "Previous version": ("swipe left", "sibling", "alternative"),
    "Next version": ("swipe right", "sibling", "alternative"),
    "Copy the message or the selection": ("copy", "yank", "clipboard"),
    "Copy a code block of this message; again, the next": ("copy code", "snippet"),
    "Copy the conversation": ("copy all", "clipboard"),
    "Open a link of this message; again, the next": ("url", "browser", "link"),
    "Regenerate this reply": ("retry", "redo", "swipe", "ask again"),
    "Continue this reply": ("continue", "go on", "more", "resume"),
    "Edit this message, as another version": ("edit message", "change", "rewrite"),
    "Fork session from here": ("fork", "branch off", "duplicate", "clone"),
    "Delete this message and what follows": ("delete message", "remove", "rewind"),
    "Pin message (always included)": ("keep", "always send", "sticky"),
    "Show the request that made the reply": ("payload", "debug", "what was sent"),
    "Show where this message is in the request": ("locate", "reveal"),
    "Enter a tool call's result by hand": ("tools", "tool result", "function call"),
    "Tag": ("label",),
    "Put into a folder": ("move", "group"),
    "Archive, or restore": ("hide", "done"),
    "Budget": ("tokens", "context size"),
    "Diff": ("compare requests", "what changed"),
    "Copy body": ("copy request", "json", "curl"),
    "Copy as HTTP": ("curl", "copy request"),
    "Notes": ("warnings", "problems", "diagnostics"),
}
"""Words for the actions of panes, by their titles."""

_FUZZY = FuzzySearch()


def match_score(entry: PaletteEntry, query: str) -> float:
    """Return how well an entry matches what is typed; 0 if it does not.

    Whole names go before beginnings, beginnings before words, words before scattered letters;
    titles before aliases, and the app's actions before those of a pane.
    """
    query = " ".join(query.casefold().split())
    title = entry.title.casefold().removesuffix("…")
    aliases = entry.aliases
    steps = (
        (not query, 1),
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
    if len(query) < _SHORTEST_SCATTERED:
        return 0
    scattered = _FUZZY.match(query, title)[0]
    return min(scattered, 40) if entry.area else min(scattered * 1.1, _MOST_SCATTERED)


_MOST_SCATTERED = 41
"""The score that scattered letters have at most."""
_SHORTEST_SCATTERED = 3
"""Letters that are looked for one by one; fewer are in almost every title."""


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
        & > Vertical { margin-top: 3; width: 84; }
        OptionList { max-height: 60vh; }
    }
    """

    def __init__(self, entries: Sequence[PaletteEntry], recent: Sequence[str]) -> None:
        """`recent`: ids of the entries that were chosen before, the newest first."""
        self._entries = {entry.id: entry for entry in entries}
        self._recent = {id: -at for at, id in enumerate(recent)}
        choices = [Choice(id, entry.title) for id, entry in self._entries.items()]
        super().__init__("Commands", choices, current="")

    def on_mount(self) -> None:
        """Show all entries."""
        super().on_mount()
        self.query_one(Input).placeholder = "Type what you want to do"

    def matching(self, words: str) -> list[Choice]:
        """Return the choices that match, the best first, then what was used last."""
        scores = {c.id: match_score(self._entries[c.id], words) for c in self.choices}
        # scattered letters count only where nothing has the words
        least = _MOST_SCATTERED if max(scores.values(), default=0) > _MOST_SCATTERED else 0
        found = [choice for choice in self.choices if scores[choice.id] > least]
        oldest = -len(self._recent) - 1
        found.sort(key=lambda c: (-scores[c.id], -self._recent.get(c.id, oldest)))
        return found

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

"""The command palette: actions found by their titles and by other words that people use."""

from __future__ import annotations

from textual.command import Hit, Hits
from textual.system_commands import SystemCommandsProvider

from tui_chat.ui.actions import ACTIONS

_ALIASES = {action.title: action.aliases for action in ACTIONS if action.aliases}
_ALIAS_WEIGHT = 0.8
"""Factor of an alias's score: a title with the same words comes first."""


class ActionProvider(SystemCommandsProvider):
    """Offers what `App.get_system_commands` yields, found by aliases as well."""

    async def search(self, query: str) -> Hits:
        """Yield the commands whose title or aliases match the query."""
        matcher = self.matcher(query)
        commands = self.app.get_system_commands(self.screen)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Unknown]
        for title, help_text, callback, *_ in commands:
            aliases = _ALIASES.get(title.rpartition(": ")[2], "")
            score = max(matcher.match(title), _ALIAS_WEIGHT * matcher.match(aliases))
            if score > 0:
                yield Hit(score, matcher.highlight(title), callback, help=help_text)

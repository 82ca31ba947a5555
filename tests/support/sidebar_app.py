"""A session list of some width, alone."""

from __future__ import annotations

from textual.app import App, ComposeResult

from tui_chat.models.session import SessionSummary
from tui_chat.ui.sessions.rows import SessionList, session_rows
from tui_chat.ui.themes import color_defaults

NOW = 1_750_000_000.0
"""2025-06-15 15:06:40 UTC, a Sunday."""
DAY = 86_400.0


def summary(index: int, title: str = "", **more: object) -> SessionSummary:
    facts: dict[str, object] = {
        "session_id": f"s{index}",
        "title": title or f"Session {index}",
        "role_name": "",
        "model": "model-x",
        "endpoint": "e",
        "message_count": 2,
        "total_tokens": 10,
        "status": "complete",
        "updated": NOW - index * 60,
    }
    return SessionSummary(**{**facts, **more})  # pyright: ignore[reportArgumentType]


class Stage(App[None]):
    """Nothing but the list."""

    CSS = "SessionList { width: 30; }"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return color_defaults(self.current_theme.dark)

    def compose(self) -> ComposeResult:
        yield SessionList()

    @property
    def list(self) -> SessionList:
        return self.query_one(SessionList)

    def show(self, summaries: tuple[SessionSummary, ...]) -> None:
        self.list.show(session_rows(summaries, NOW), None, NOW)

    def lines(self) -> list[str]:
        return [self.list.render_line(y).text.rstrip() for y in range(self.list.size.height)]

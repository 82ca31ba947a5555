"""A session list of some width, and a record of what it posts."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.support.recorded_actions import RecordedActions
from tui_chat.models.session import SessionSummary
from tui_chat.ui.areas.sessions import SessionList
from tui_chat.ui.areas.sessions.session_rows import SessionRows

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

    def __init__(self) -> None:
        super().__init__()
        self.actions = RecordedActions(self, "sessions", self._take_targets)

    def compose(self) -> ComposeResult:
        yield SessionList()

    @property
    def list(self) -> SessionList:
        return self.query_one(SessionList)

    def lines(self) -> list[str]:
        view = self.query_one(SessionRows)
        return [view.render_line(y).text.rstrip() for y in range(view.size.height)]

    def titles(self) -> list[str]:
        """Return headings, and of each session its first line, as far as there are any."""
        return [line for line in self.lines() if line and "model-x" not in line]

    def _take_targets(self, action: str) -> tuple[str, ...]:
        """Return the ids of the chosen sessions, and clear the selection as the area does."""
        if action in ("new", "open", "undo"):
            return ()
        if action == "rename_listed":
            session = self.list.rows.under_cursor
            return () if session is None else (session.session_id,)
        return tuple(session.session_id for session in self.list.take_targets())


async def shown(
    pilot: Pilot[None], summaries: tuple[SessionSummary, ...], current: str | None = None
) -> Stage:
    app = pilot.app
    assert isinstance(app, Stage)
    app.list.show(summaries, current, NOW)
    app.list.focus()
    await pilot.pause()
    return app


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and let what they ask for be posted from widget to widget."""
    await pilot.press(*keys)
    await pilot.pause()
    await pilot.pause()

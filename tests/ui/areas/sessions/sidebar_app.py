"""A session list of some width, and a record of what it posts."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot

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
        self.posted: list[tuple[object, ...]] = []

    def compose(self) -> ComposeResult:
        yield SessionList()

    @property
    def sessions(self) -> SessionList:
        return self.query_one(SessionList)

    def lines(self) -> list[str]:
        view = self.query_one(SessionRows)
        return [view.render_line(y).text.rstrip() for y in range(view.size.height)]

    def titles(self) -> list[str]:
        """Return headings, and of each session its first line, as far as there are any."""
        return [line for line in self.lines() if line and "model-x" not in line]

    def note(self, event: Message) -> None:
        session_id = getattr(event, "session_id", None)
        ids = getattr(event, "session_ids", (session_id,) if session_id else ())
        facts = [
            (name, value)
            for name in ("pinned", "archived", "unread")
            if (value := getattr(event, name, None)) is not None
        ]
        self.posted.append((type(event).__name__, *ids, *facts))

    on_session_list_opened = note
    on_session_list_new_requested = note
    on_session_list_rename_requested = note
    on_session_list_mark_requested = note
    on_session_list_tags_requested = note
    on_session_list_folder_requested = note
    on_session_list_delete_requested = note
    on_session_list_undo_requested = note


async def shown(
    pilot: Pilot[None], summaries: tuple[SessionSummary, ...], current: str | None = None
) -> Stage:
    app = pilot.app
    assert isinstance(app, Stage)
    app.sessions.show(summaries, current, NOW)
    app.sessions.focus()
    await pilot.pause()
    return app


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and let what they ask for be posted from widget to widget."""
    await pilot.press(*keys)
    await pilot.pause()
    await pilot.pause()

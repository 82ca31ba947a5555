"""The ways from the preset editor to the request and from the request to lore, in the app."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.support.app import rows_shown
from tests.support.preset_app import SIZE, app_with, edited, press
from tui_chat.ui.app import TuiChat
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.presets.pane import PresetPane

MESSAGES: list[dict[str, object]] = [
    {"id": "rule", "role": "system", "content": "Be brief."},
    {"id": "off", "role": "user", "content": "Never.", "enabled": False},
    {"id": "spot", "type": "placeholder"},
    {"id": "at", "role": "user", "content": "It rains.", "anchorTarget": "spot"},
    {"id": "idle", "type": "placeholder"},
    {"id": "history", "type": "chat_history"},
]


def told(app: TuiChat) -> list[str]:
    return [note.message for note in app.notifications.shown]


async def walk_to(pilot: Pilot[None], pane: PresetPane, name: str) -> None:
    """Press w on the row of a message."""
    await pilot.press("f3")
    pane.rows.light(next(i for i, m in enumerate(pane.edits.preset.messages) if m.id == name))
    pane.focus()
    await press(pilot, "w")


async def test_w_says_that_nothing_is_sent_and_why(tmp_path: Path) -> None:
    async with app_with(tmp_path, MESSAGES).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        app = pilot.app
        inspector = app.query_one(Inspector)
        for protocol in ("1", "3"):  # also in another protocol
            inspector.view_shown = "payload"
            await walk_to(pilot, pane, "rule")
            await press(pilot, protocol)
            await walk_to(pilot, pane, "off")
            assert told(app) == ["None of it is in this request."]
            app.notifications.clear()
            assert inspector.view_shown == "context"
            row = inspector.views.current.row_here
            assert row.hint == "preset message “off” is not sent: disabled."
            shown = rows_shown(inspector.views.current)
            assert any(each.startswith("Not sent") for each in shown)

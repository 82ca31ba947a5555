"""Messages that are sent as one, in the preset editor."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.app import settle
from tests.support.preset_app import (
    SIZE,
    app_with,
    edited,
    line_of,
    lines,
    told,
)


async def test_messages_that_are_sent_as_one_are_bracketed(tmp_path: Path) -> None:
    history = {"id": "history", "type": "chat_history"}
    named = [{"id": each, "content": each.upper()} for each in ("alpha", "beta", "gamma")]
    named[1]["enabled"] = False  # type: ignore[assignment]
    async with app_with(tmp_path, [*named, history]).run_test(size=SIZE) as pilot:
        file = tmp_path / "presets" / "mine.json"
        whole = json.loads(file.read_text())
        whole |= {
            "policies": {"depths": "joined", "squashSystem": True},
            "systemPlacement": "in_place",
        }
        file.write_text(json.dumps(whole))
        pane = await edited(pilot)
        rows = [lines(pane)[line_of(pane, each)] for each in ("alpha", "beta", "gamma")]
        assert [row[4] for row in rows] == ["┌", "┊", "└"]
        pane.rows.action_first()
        await settle(pilot)
        assert "It is sent as one message with “gamma”." in told(pane)

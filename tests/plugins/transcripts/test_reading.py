"""Reading long conversations of other programs: contents, export of a part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, OptionList

from tests.plugins.transcripts.test_viewer import viewer_of
from tests.support.app import settle, until
from tests.support.exports import claude_code, lines
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.transcript import Transcript

TURNS = 15


@pytest.fixture
def viewer(tmp_path: Path) -> TuiChat:
    records: list[dict[str, Any]] = []
    for number in range(TURNS):
        before = f"a{number - 1}" if number else None
        reply = {"type": "text", "text": f"Reply {number}"}
        records += [
            claude_code(f"u{number}", before, f"Question {number}"),
            claude_code(f"a{number}", f"u{number}", reply, message_id=f"m{number}"),
        ]
    file = tmp_path / "long.jsonl"
    file.write_bytes(lines(*records))
    return viewer_of(tmp_path, file)


async def test_the_contents_lead_to_a_turn(viewer: TuiChat):
    async with viewer.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: viewer.is_workspace_open)
        transcript = viewer.query_one(Transcript)
        await until(pilot, lambda: transcript.has_focus)
        await viewer.run_action("conversation.contents")
        await until(pilot, lambda: len(viewer.screen_stack) > 1)
        await until(pilot, lambda: bool(viewer.screen.query(OptionList)))
        offered = viewer.screen.query_one(OptionList)
        assert offered.option_count == TURNS
        await settle(pilot)
        assert offered.render_line(0).text.split() == ["1", "Question", "0", "2", "messages"]
        viewer.screen.query_one(Input).value = "question 7"
        await until(pilot, lambda: offered.option_count == 2)  # also the seventh turn
        await pilot.press("down", "enter")
        await until(pilot, lambda: transcript.current_index == 14)
        assert transcript.has_focus


async def test_a_part_is_exported(viewer: TuiChat, tmp_path: Path):
    async with viewer.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: viewer.is_workspace_open)
        transcript = viewer.query_one(Transcript)
        await until(pilot, lambda: transcript.has_focus)
        transcript.go_to(5)
        await viewer.run_action("conversation.export", transcript)
        await until(pilot, lambda: len(viewer.screen_stack) > 1)
        for words in ("turn", "jsonl"):
            await until(pilot, lambda: bool(viewer.screen.query(OptionList)))
            asked = viewer.screen
            asked.query_one(Input).value = words
            await until(pilot, lambda asked=asked: asked.query_one(OptionList).option_count == 1)
            await pilot.press("enter")
            await until(pilot, lambda asked=asked: viewer.screen is not asked)
        await until(pilot, lambda: bool(viewer.screen.query(Input)))
        target = tmp_path / "part.jsonl"
        viewer.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, target.exists)
        told = [json.loads(line)["content"] for line in target.read_text().splitlines()]
        assert told == ["Question 2", "Reply 2"]

"""Pictures of the view Cases: the plan before it is sent, and the replies beside each other."""

from __future__ import annotations

import json
from pathlib import Path

from tests.plugins.prompt_lab.ui.test_cases_view import PRESET, edit, open_cases
from tests.support.app import make_app, opened, settle, until
from tests.support.pictures import Album

TESTS = [
    {
        "description": "tells the answer",
        "vars": {"draft": "What is 2+2?"},
        "assert": [{"type": "not-contains", "value": "4"}],
    },
    {"description": "too long", "vars": {"draft": "And why is the sky blue?"}},
    {
        "description": "does not ask back, although that is what it is for",
        "vars": {"draft": "Is a whale a fish?"},
        "assert": [{"type": "regex", "value": "\\?\\s*$"}],
    },
]


async def test_cases(album: Album, tmp_path: Path) -> None:
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "tutor.json").write_text(json.dumps(PRESET))
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "tutor.eval.json").write_text(json.dumps({"tests": TESTS}))
    async with album.of(make_app(tmp_path, model="mirror")) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        await app.workspace.presets.choose("tutor")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        await until(pilot, lambda: len(view.rows) > 5)
        await album.take(pilot, "plan")
        cases = view.cases
        assert cases is not None
        await pilot.press("enter")
        await until(pilot, lambda: not cases.is_sending and not cases.missing)
        view.set_cursor(view.first_case_row)
        await settle(pilot)
        await album.take(pilot, "replies")

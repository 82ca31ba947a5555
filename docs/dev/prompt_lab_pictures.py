"""Draws the pictures of docs/prompt-lab.md from the real app, offline.

uv run python docs/dev/prompt_lab_pictures.py
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

from textual.pilot import Pilot

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))


from tests.support.app import make_app, opened, settle, until  # noqa: E402
from tui_chat.library.editing.edits import change_message  # noqa: E402
from tui_chat.models.prices import Prices  # noqa: E402
from tui_chat.plugins.practice.provider import PracticeTransport  # noqa: E402
from tui_chat.plugins.practice.script import read_script  # noqa: E402
from tui_chat.plugins.prompt_lab.cases_view import CasesView  # noqa: E402
from tui_chat.ui.inspector.pane import Inspector  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
SIZE = (120, 36)
PRESET = {
    "systemPlacement": "in_place",
    "presetMessages": [
        {"id": "role", "name": "Tutor", "content": "You are a patient tutor."},
        {"id": "history", "type": "chat_history"},
        {"id": "reminder", "name": "Reminder", "content": "Be brief.", "insertionPoint": -1},
    ],
}
TESTS = [
    {
        "description": "tells the answer",
        "vars": {"draft": "What is 17 times 6?"},
        "assert": [{"type": "not-contains", "value": "102"}],
    },
    {"description": "does not ask back", "vars": {"draft": "Why is the sky blue?"}},
    {"description": "lectures", "vars": {"draft": "I do not understand fractions."}},
]
EDITED = "Never tell the answer: ask what leads to it."
REPLIES = (
    "You know 17 times 3, I think. What is it? Then take it twice.",
    "What color is the light of the sun? What may happen to it on its way through air?",
    "Imagine a pizza cut into four. How much of it is one piece?",
    "17 times 6 is 102.",
    "Because air scatters short waves more than long ones.",
    "A fraction has a numerator and a denominator, and denotes a quotient.",
)


def script() -> dict[str, object]:
    """Return a script whose replies to the edited preset differ from those to the saved one."""
    drafts = [test["vars"]["draft"] for test in TESTS]  # type: ignore[index]
    whens = [f"{system}\n{draft}" for system in (EDITED, "Be brief.") for draft in drafts]
    pairs = zip(whens, REPLIES, strict=True)
    return {"scripts": [{"when": when, "replies": [reply]} for when, reply in pairs]}


async def main() -> None:
    """Draw the pictures."""
    with tempfile.TemporaryDirectory() as created:
        folder = Path(created)
        for name in ("presets", "cases"):
            (folder / name).mkdir()
        (folder / "presets" / "tutor.json").write_text(json.dumps(PRESET))
        (folder / "cases" / "tutor.eval.json").write_text(json.dumps({"tests": TESTS}))
        app = make_app(
            folder,
            model="gpt-5-mini",
            prices=Prices(input=Decimal("0.25"), output=Decimal(2)),
            transport=lambda: PracticeTransport(
                alias="script", script=read_script(json.dumps(script()).encode())
            ),
        )
        async with app.run_test(size=SIZE) as pilot:
            await pictures(pilot)


async def pictures(pilot: Pilot[None]) -> None:
    """Lead the app from state to state, and save a picture of each."""
    app = await opened(pilot)
    workspace = app.workspace
    assert workspace is not None
    await workspace.presets.choose("tutor")
    edits = workspace.state.preset_edits
    assert edits is not None
    preset = change_message(edits.preset, 2, content=EDITED)
    workspace.presets.edit("tutor", edits.record(preset, "edit"))
    await pilot.press("f3")
    await settle(pilot)
    await pilot.press("t")
    inspector = app.query_one(Inspector)
    await until(pilot, lambda: inspector.view_shown == "cases")
    view = inspector.views.current
    assert isinstance(view, CasesView)
    await until(pilot, lambda: view.cases is not None and bool(view.cases.plan.cells))
    await pilot.press("f11")
    await settle(pilot)
    save(pilot, "plan")
    await pilot.press("enter")
    cases = view.cases
    assert cases is not None
    await until(pilot, lambda: not cases.is_sending and not cases.missing)
    await pilot.press("n")
    await settle(pilot)
    save(pilot, "replies")


def save(pilot: Pilot[None], name: str) -> None:
    """Save a picture of the screen."""
    PICTURES.mkdir(exist_ok=True)
    pilot.app.save_screenshot(str(PICTURES / f"prompt-lab-{name}.svg"))


if __name__ == "__main__":
    asyncio.run(main())

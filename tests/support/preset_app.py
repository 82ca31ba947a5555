"""The app with a preset in its editor."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.scroll_view import ScrollView
from textual.widgets import Button, Static

from tests.support.app import make_app, opened, settle, until
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.base import Confirm
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.presets.pane import PresetPane

SIZE = (178, 45)
MESSAGES: list[dict[str, object]] = [
    {"id": "rule", "role": "system", "content": "Be brief."},
    {"id": "world", "type": "placeholder"},
    {"id": "lore", "role": "user", "content": "It rains.", "anchorTarget": "world"},
    {"id": "history", "type": "chat_history"},
    {"id": "note", "name": "Note", "role": "user", "content": "(Softly.)", "insertionPoint": -4},
]


def app_with(folder: Path, messages: Sequence[object] = MESSAGES, **more: object) -> TuiChat:
    """Return the app over a folder with the preset `mine`."""
    (folder / "presets").mkdir(exist_ok=True)
    file = folder / "presets" / "mine.json"
    file.write_text(json.dumps({"presetMessages": messages, "x-kept": 1}, indent=1))
    return make_app(folder, **more)  # type: ignore[arg-type]


@asynccontextmanager
async def editing(
    folder: Path, messages: Sequence[object] = MESSAGES, **more: object
) -> AsyncIterator[tuple[Pilot[None], PresetPane]]:
    """The app with the preset `mine` in its editor, the list under the keys."""
    async with app_with(folder, messages, **more).run_test(size=SIZE) as pilot:
        yield pilot, await edited(pilot)


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and let the screen come to rest."""
    await pilot.press(*keys)
    await settle(pilot)


async def edited(pilot: Pilot[None], preset: str = "mine") -> PresetPane:
    """Wait until the workspace is laid; go to the editor with a preset in it."""
    app = await opened(pilot)
    assert app.workspace is not None
    await app.workspace.presets.choose(preset)
    await pilot.press("f3")
    await settle(pilot)
    pane = app.query_one(PresetPane)
    assert pane.rows.has_focus
    pane.form.content.cursor_blink = False
    await followed(pilot, pane)
    return pane


def preset_of(pane: PresetPane) -> Preset:
    """Return the preset that is composed with; it is the one that is shown."""
    app = pane.app
    assert isinstance(app, TuiChat)
    assert app.workspace is not None
    assert pane.edits is not None
    assert app.workspace.state.preset is pane.edits.preset
    return app.workspace.state.preset


def message(pane: PresetPane, name: str) -> PresetMessage:
    return next(m for m in preset_of(pane).messages if m.id == name)


def ids(pane: PresetPane) -> list[str]:
    return [m.id for m in preset_of(pane).messages]


def lines(pane: PresetPane) -> list[str]:
    """The list as it is drawn."""
    rows = pane.rows
    height = rows.scrollable_content_region.height
    return [rows.render_line(y).text.rstrip() for y in range(height)]


def told(pane: PresetPane) -> str:
    """What is told in the line below the list."""
    return str(pane.query_one("#preset-status", Static).render())


def line_of(pane: PresetPane, words: str) -> int:
    """The line on which these words are drawn."""
    return next(y for y, line in enumerate(lines(pane)) if words in line)


def body(pane: PresetPane) -> str:
    """The request as the inspector has it."""
    app = pane.app
    assert isinstance(app, TuiChat)
    assert app.workspace is not None
    inspector = app.inspector.pane
    assert inspector is not None
    assert inspector.composed is not None
    return inspector.composed.payload.body.decode()


async def followed(pilot: Pilot[None], pane: PresetPane) -> None:
    """Wait until the request that is shown is of the preset as it is edited."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    inspector = app.query_one(Inspector)

    def is_shown() -> bool:
        inputs = inspector.composed.inputs if inspector.composed else None
        edits = pane.edits
        return inputs is not None and edits is not None and inputs.preset is edits.preset

    await until(pilot, is_shown)
    await settle(pilot)


async def let_go(pilot: Pilot[None]) -> None:
    """Forget what is not saved, so that the app can be left."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    if app.workspace is not None:
        app.workspace.presets.revert()


async def at_rest(pilot: Pilot[None], pane: PresetPane) -> None:
    """Wait for the request, and show its beginning; how far it scrolled depends on haste."""
    await followed(pilot, pane)
    for view in pilot.app.query_one(Inspector).query(ScrollView):
        view.scroll_to(y=0, animate=False, force=True)
    await settle(pilot)


async def said_yes(pilot: Pilot[None], answer: str = "yes") -> None:
    """Answer a question that is on its way."""
    await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
    await pilot.click(pilot.app.screen.query_one(f"#{answer}", Button))
    await settle(pilot)


def dialog_text(pilot: Pilot[None]) -> str:
    """The words of the dialog on top."""
    return "\n".join(str(each.render()) for each in pilot.app.screen.query(Static))


def ids_in(file: Path) -> list[str]:
    return [m["id"] for m in json.loads(file.read_text())["presetMessages"]]

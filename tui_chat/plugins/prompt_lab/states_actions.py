"""Earlier states of a preset in the app: compared as requests, and restored as an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.models.preset import Preset
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.prompt_lab.preset_states import PresetStates, with_changes
from tui_chat.ui.inspector.views import DIFF
from tui_chat.ui.questions import ask
from tui_chat.workspace.state import DiffBase

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace


async def choose_state(app: TuiChat, _: str) -> None:
    """List the states of the session's preset, and compare with or restore the chosen one."""
    workspace = await app.main.opened_workspace()
    name = workspace.state.preset_name
    states = await PresetStates.open(workspace.store)
    rows = await with_changes(states, await states.of_preset(name))
    if not rows:
        raise InputError(
            f"No earlier state of “{name}” is kept yet.", advice="Saving it keeps one."
        )
    choices = [(str(place), state.time, change) for place, (state, _, change) in enumerate(rows)]
    chosen = await ask(app, f"Saved states of “{one_line(name, 60)}”", choices, "0")
    if chosen is None:
        return
    state, preset, _ = rows[int(chosen)]
    what = (
        ("compare", "Compare the requests", "with this state, in the Diff view"),
        ("restore", "Restore", "as an edit; undo brings the present back"),
    )
    match await ask(app, f"The state of {state.time}", what):
        case "compare":
            await _compare(app, workspace, preset, f"the state of {state.time}")
        case "restore":
            _restore(app, workspace, preset, state.time)
        case _:
            pass


async def _compare(app: TuiChat, workspace: Workspace, preset: Preset, name: str) -> None:
    if workspace.state.request.viewed is not None:
        workspace.requests.return_to_live()
    workspace.requests.compare_with(DiffBase("state", name, preset=preset))
    await app.run_action(f"inspector.show_view('{DIFF}')")


def _restore(app: TuiChat, workspace: Workspace, preset: Preset, time: str) -> None:
    edits, name = workspace.state.preset_edits, workspace.state.preset_name
    if edits is None:
        raise InputError(f"The file of “{name}” has faults.", advice="Fix it first.")
    workspace.presets.edit(name, edits.record(preset, f"restore the state of {time}"))
    app.notify(f"Restored the state of {time}, unsaved. Undo brings back what was there.")

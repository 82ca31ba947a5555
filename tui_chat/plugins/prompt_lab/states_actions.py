"""Earlier states of a preset in the app: compared as requests, and restored as an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.models.preset import Preset
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.prompt_lab.cases_actions import reply_here
from tui_chat.plugins.prompt_lab.preset_states import (
    PresetState,
    PresetStates,
    reply_words,
    with_changes,
)
from tui_chat.request_recipe import read_recipe
from tui_chat.ui.inspector.views import DIFF
from tui_chat.ui.questions import ask

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace


async def choose_state(app: TuiChat, _: str) -> None:
    """List the states of the session's preset, and compare with or restore the chosen one."""
    workspace = await app.main.opened_workspace()
    states = await PresetStates.open(workspace.store)
    listed = await states.of_preset(workspace.state.preset_name)
    if not listed:
        raise InputError(
            f"No earlier state of “{workspace.state.preset_name}” is kept yet.",
            advice="Saving it keeps one.",
        )
    await _choose(app, workspace, states, listed, "")


async def show_state_of_reply(app: TuiChat, _: str) -> None:
    """Show which state of its preset made the reply under the cursor, or the last reply."""
    workspace = await app.main.opened_workspace()
    entry = reply_here(app, workspace)
    record = entry and await workspace.active_store.requests.get(entry.message.id)
    if record is None:
        raise InputError("No request of this program made this reply.")
    sent = read_recipe(record.recipe).preset
    states = await PresetStates.open(workspace.store)
    listed = await states.of_preset(workspace.state.preset_name)
    made = next((state for state in listed if state.sent == sent), None)
    if made is None:  # it was sent unsaved, or before states were kept
        made = PresetState(0, "", record.created, sent, sent)
        listed = (made, *listed)
    await _choose(app, workspace, states, listed, made.sha256)


async def _choose(
    app: TuiChat,
    workspace: Workspace,
    states: PresetStates,
    listed: tuple[PresetState, ...],
    current: str,
) -> None:
    name, replies = workspace.state.preset_name, await states.replies()
    rows = {str(place): row for place, row in enumerate(await with_changes(states, listed))}
    choices = [
        (place, state.time, _detail(state, change, reply_words(replies, state)))
        for place, (state, _, change) in rows.items()
    ]
    marked = next((place for place, (state, *_) in rows.items() if state.sha256 == current), "0")
    chosen = await ask(app, f"Saved states of “{one_line(name, 60)}”", choices, marked)
    if chosen is None:
        return
    state, preset, _ = rows[chosen]
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


def _detail(state: PresetState, change: str, made: str) -> str:
    change = change if state.number else "unsaved, as it was sent"
    return f"{change} · {made}" if made else change


async def _compare(app: TuiChat, workspace: Workspace, preset: Preset, name: str) -> None:
    if workspace.state.request.viewed is not None:
        workspace.live_request.return_to_live()
    workspace.live_request.compare_with_preset(preset, name)
    await app.run_action(f"inspector.show_view('{DIFF}')")


def _restore(app: TuiChat, workspace: Workspace, preset: Preset, time: str) -> None:
    edits, name = workspace.state.preset_edits, workspace.state.preset_name
    if edits is None:
        raise InputError(f"The file of “{name}” has faults.", advice="Fix it first.")
    workspace.presets.edit(name, edits.record(preset, f"restore the state of {time}"))
    app.notify(f"Restored the state of {time}, unsaved. Undo brings back what was there.")

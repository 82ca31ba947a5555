"""The dialogs of the inspector: which request it shows, and what it is compared with."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_chat.models.endpoint import Protocol
from tui_chat.ui.questions import ask, ask_text

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace


async def ask_diff_base(app: App[Any], workspace: Workspace, current: str) -> str | None:
    """Ask for the diff base: `last`, `protocol P`, `preset NAME` or `request ID`."""
    choices = [("last", "Last request sent to this endpoint", workspace.state.endpoint.name)]
    if edits := workspace.state.preset_edits:
        words = "this request without the unsaved edits" if edits.is_changed else "no unsaved edits"
        name = workspace.state.preset_name
        choices.append((f"preset {name}", f"{name}, as saved", words))
    choices += [
        (f"protocol {other}", other.label, "this request in another protocol")
        for other in Protocol
        if other is not workspace.state.endpoint.protocol
    ]
    for sent in reversed(await workspace.sent.of_session()):
        time = datetime.fromtimestamp(sent.request.created).astimezone().strftime("%d %b %H:%M:%S")
        what = f"{sent.request.endpoint}, {sent.request.protocol.label}"
        choices.append((f"request {sent.message_id}", f"Sent {time}", what))
    return await ask(app, "Compare with", choices, current)


async def ask_captured(app: App[Any]) -> str | None:
    """Ask for a captured request: a body, a curl command, a log line or a file's path."""
    about = (
        "Paste a request body of any protocol, a curl command, a log line, an exported turn, or "
        "the path of a file with one."
    )
    return await ask_text(app, "Open a captured request", about=about, enter="Enter open")

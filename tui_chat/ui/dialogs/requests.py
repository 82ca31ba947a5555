"""The dialogs of the inspector: which request it shows, and what it is compared with."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import App, ComposeResult
from textual.widgets import Input, Static

from tui_chat.errors import FieldError
from tui_chat.library.typed_fields import Field, FieldRows, Values, shown_values, typed_values
from tui_chat.models.endpoint import Protocol
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.questions import ask, ask_text
from tui_chat.workspace.state import WhatIf

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


_ROWS: FieldRows = (
    (
        Field("limit", "Context limit, in tokens", "number"),
        Field("messages", "Only the newest messages", "number"),
    ),
    (Field("model", "Model"), Field("endpoint", "Endpoint")),
)
_FIELDS = {field.name: field for row in _ROWS for field in row}


class WhatIfForm(FieldsForm):
    """Changes limit, model, endpoint and history length of a what-if request."""

    hint = "Enter show the request · Esc cancel · Tab next field"
    save_label = "Show"

    def __init__(self, workspace: Workspace) -> None:
        before = workspace.state.request.what_if or WhatIf()
        super().__init__("What if", _ROWS, shown_values(before, _FIELDS.values()), self._apply)
        self._workspace = workspace

    def fields_above(self) -> ComposeResult:
        yield Static("Empty fields keep the session's value.", classes="label")

    @on(Input.Submitted)
    def _submit(self) -> None:
        self.action_save()

    async def _apply(self, values: Values, overwrite: bool) -> None:
        for name in ("limit", "messages"):  # 32,000 and 32_000 are numbers too
            values = {**values, name: re.sub("[,_]", "", str(values[name]))}
        changes = WhatIf(**typed_values(values, _FIELDS, WhatIf))
        endpoints = {endpoint.name for endpoint in self._workspace.state.config.endpoints}
        if changes.endpoint and changes.endpoint not in endpoints:
            sentence = f"There is no endpoint “{changes.endpoint}”."
            advice = f"Known endpoints: {', '.join(sorted(endpoints))}."
            raise FieldError("endpoint", f"{sentence} {advice}")
        self._workspace.requests.set_what_if(changes)

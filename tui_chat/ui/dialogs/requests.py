"""The dialogs of the inspector: which request it shows, and what it is compared with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import App, ComposeResult
from textual.widgets import Input, Static

from tui_chat.errors import FieldError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.typed_fields import Field, FieldRows, Values, shown_values, typed_values
from tui_chat.models.endpoint import Protocol
from tui_chat.models.generation import request_kinds
from tui_chat.models.request import SideRequest
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Node
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.questions import ask, ask_text
from tui_chat.workspace.state import WhatIf

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace


async def ask_kind(
    app: App[Any], current: str, sent: Sequence[SideRequest]
) -> str | SideRequest | None:
    """Ask which action's request to show, or which of those `sent` beside the conversation."""
    choices = [(kind.name, kind.title, kind.summary) for kind in request_kinds().values()]
    past = {f"sent {index}": sent_request for index, sent_request in enumerate(sent)}
    for id, sent_request in past.items():
        time = datetime.fromtimestamp(sent_request.created).astimezone()
        ended = "" if sent_request.status == "complete" else f" · {sent_request.status}"
        about_it = f"{time:%Y-%m-%d %H:%M} · {sent_request.endpoint}/{sent_request.model}{ended}"
        choices.append((id, f"{sent_request.kind.title()}, sent", about_it))
    chosen = await ask(app, "Show the request of", choices, current)
    if chosen in past:
        return past[chosen]
    return chosen


async def ask_diff_base(app: App[Any], workspace: Workspace, current: str) -> str | None:
    """Ask for the diff base: `last`, `protocol P`, `preset NAME`, `branch ID` or `request ID`."""
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
    choices += [
        (f"preset {name}", name, "this request with another preset")
        for name in workspace.library.names("presets")
        if name != workspace.state.preset_name
    ]
    head = workspace.state.entries[-1].message.id if workspace.state.entries else ""
    lines = branch_lines(await workspace.branches.tree())
    excerpts = await workspace.branches.excerpts(line.first.message_id for line in lines)
    for branch in lines:
        if branch.leaf.message_id != head:
            words = one_line(excerpts.get(branch.first.message_id, ""), 40) or "no text"
            what = f"this request on another branch, from message {branch.number:,}"
            choices.append((f"branch {branch.leaf.message_id}", words, what))
    for sent in reversed(await workspace.sent.of_session()):
        time = datetime.fromtimestamp(sent.request.created).astimezone().strftime("%d %b %H:%M:%S")
        what = f"{sent.request.endpoint}, {sent.request.protocol.label}"
        choices.append((f"request {sent.message_id}", f"Sent {time}", what))
    return await ask(app, "Compare with", choices, current)


@dataclass(frozen=True, slots=True)
class BranchLine:
    """One branch, from where it parts to its end."""

    first: Node
    """Its first message that no branch above it has."""
    leaf: Node
    """Its last message."""
    level: int
    """The number of forks above it; 0 for the branch that began the session."""
    number: int
    """Place of its first message in the conversation, counted from 1."""
    count: int
    """Messages from there to its end."""


def branch_lines(nodes: Iterable[Node]) -> list[BranchLine]:
    """Return the branches of a tree, each below the one that it parts from."""
    children: dict[str | None, list[Node]] = {}
    for node in nodes:
        children.setdefault(node.parent_id, []).append(node)
    lines: list[BranchLine] = []
    waiting = [(node, min(index, 1), 1) for index, node in enumerate(children.get(None, ()))][::-1]
    while waiting:
        first, level, number = waiting.pop()
        leaf, count = first, 1
        parting: list[tuple[Node, int, int]] = []
        while below := children.get(leaf.message_id):
            parting += [(node, level + 1, number + count) for node in below[1:]]
            leaf, count = below[0], count + 1
        lines.append(BranchLine(first, leaf, level, number, count))
        waiting += parting[::-1]
    return lines


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

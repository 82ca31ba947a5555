"""The dialogs of the inspector: which request it shows, and what it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, Static, TextArea

from tui_chat.models.endpoint import Protocol
from tui_chat.models.generation import request_kinds
from tui_chat.models.request import SideRequest
from tui_chat.models.sanitize import sanitize
from tui_chat.ui.dialogs.branches import branch_lines
from tui_chat.ui.dialogs.forms import Form, number_text
from tui_chat.ui.questions import ask
from tui_chat.ui.widgets.safe_text import SafeTextArea

if TYPE_CHECKING:
    from tui_chat.workspace.state import WhatIf
    from tui_chat.workspace.workspace import Workspace


async def ask_kind(
    app: App[Any], current: str, sent: Sequence[SideRequest]
) -> str | SideRequest | None:
    """Ask which action's request to show, or which of those `sent` beside the conversation."""
    choices = [(kind.name, kind.title, kind.summary) for kind in request_kinds().values()]
    past = {f"sent {index}": each for index, each in enumerate(sent)}
    for id, each in past.items():
        at = datetime.fromtimestamp(each.created).astimezone()
        ended = "" if each.status == "complete" else f" · {each.status}"
        about_it = f"{at:%Y-%m-%d %H:%M} · {each.endpoint}/{each.model}{ended}"
        choices.append((id, f"{each.kind.title()}, sent", about_it))
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
    for branch in branch_lines(await workspace.branches.tree()):
        if branch.leaf.message_id != head:
            words = " ".join(sanitize(branch.first.words).split())[:40] or "no text"
            what = f"this request on another branch, from message {branch.number:,}"
            choices.append((f"branch {branch.leaf.message_id}", words, what))
    for sent in reversed(await workspace.request_history.of_session()):
        at = datetime.fromtimestamp(sent.request.created).astimezone().strftime("%d %b %H:%M:%S")
        what = f"{sent.request.endpoint}, {sent.request.protocol.label}"
        choices.append((f"request {sent.message_id}", f"Sent {at}", what))
    return await ask(app, "Compare with", choices, current)


class CapturedRequestForm(Form[str | None]):
    """Asks for a captured request: a body, a curl command, a log line or a file's path."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Open a captured request"
            words = (
                "Paste a request body of any protocol, a curl command, a log line, "
                "an exported turn, or the path of a file with one."
            )
            yield Static(words, classes="label")
            yield SafeTextArea(id="body", tab_behavior="focus")
            yield from self.buttons()

    def action_save(self) -> None:
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(text)
        else:
            self.show_fault("Paste a request first.", "body")


class WhatIfForm(Form["WhatIf | None"]):
    """Asks which of limit, model, endpoint and history length to change in a what-if request."""

    hint = "Enter shows the request · Esc cancels · Tab next field"
    save_label = "Show"

    def __init__(self, workspace: Workspace, now: WhatIf | None) -> None:
        super().__init__()
        self._endpoints = {endpoint.name for endpoint in workspace.state.config.endpoints}
        self._now = now

    def compose(self) -> ComposeResult:
        now = self._now
        with Vertical() as box:
            box.border_title = "What if"
            with VerticalScroll(id="fields", can_focus=False):
                yield Static("Empty fields keep the session's value.", classes="label")
                limit = number_text(now.limit if now else None)
                messages = number_text(now.messages if now else None)
                yield from self.pair(
                    ("Context limit, in tokens", Input(limit, id="limit")),
                    ("Only the newest messages", Input(messages, id="messages")),
                )
                yield from self.pair(
                    ("Model", Input(now.model if now else "", id="model")),
                    ("Endpoint", Input(now.endpoint if now else "", id="endpoint")),
                )
            yield from self.buttons()

    @on(Input.Submitted)
    def _submit(self) -> None:
        self.action_save()

    def action_save(self) -> None:
        """Answer with the changes if they are valid."""
        from tui_chat.workspace.state import WhatIf

        numbers: dict[str, int | None] = {}
        for field in ("limit", "messages"):
            digits = self.value(field).replace(",", "").replace("_", "")
            if digits and not (digits.isascii() and digits.isdigit()):
                self.show_fault("This must be a whole number.", field)
                return
            numbers[field] = int(digits) if digits else None
        endpoint = self.value("endpoint")
        if endpoint and endpoint not in self._endpoints:
            known = ", ".join(sorted(self._endpoints))
            self.show_fault(
                f"There is no endpoint “{endpoint}”. Known endpoints: {known}.", "endpoint"
            )
            return
        self.dismiss(WhatIf(numbers["limit"], endpoint, self.value("model"), numbers["messages"]))

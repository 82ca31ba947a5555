"""What the inspector asks for: a captured request, and what is to be another. Loaded when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Static, TextArea

from tui_chat.ui.forms import Form
from tui_chat.ui.widgets.safe_text import SafeTextArea

if TYPE_CHECKING:
    from tui_chat.workspace import Desk, WhatIf


class PasteRequest(Form[str | None]):
    """Asks for a request body, or something that contains one."""

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical() as box:
            box.border_title = "Open a captured request"
            words = (
                "Paste a request body of any of the four protocols, a curl command, a log line, "
                "an exported turn, or the path of a file with one."
            )
            yield Static(words, classes="label")
            yield SafeTextArea(id="body", tab_behavior="focus")
            yield from self.buttons()

    def action_keep(self) -> None:
        """Answer with what was pasted."""
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(text)
        else:
            self.complain("Nothing was pasted yet.", "body")


class AskWhatIf(Form["WhatIf | None"]):
    """Asks for another limit, model, endpoint, length of the history."""

    def __init__(self, desk: Desk, now: WhatIf | None) -> None:
        super().__init__()
        self._endpoints = {endpoint.name for endpoint in desk.config.endpoints}
        self._now = now

    def compose(self) -> ComposeResult:
        """Lay out the fields; what stays empty stays as it is."""
        now = self._now
        with Vertical() as box:
            box.border_title = "What if"
            with VerticalScroll(id="fields", can_focus=False):
                yield Static("What stays empty stays as it is in the session.", classes="label")
                with Horizontal(classes="pair"):
                    with Vertical():
                        yield Static("Context limit, in tokens", classes="label")
                        yield Input(_written(now.limit if now else None), id="limit")
                    with Vertical():
                        yield Static("Only the newest messages", classes="label")
                        yield Input(_written(now.messages if now else None), id="messages")
                with Horizontal(classes="pair"):
                    with Vertical():
                        yield Static("Model", classes="label")
                        yield Input(now.model if now else "", id="model")
                    with Vertical():
                        yield Static("Endpoint", classes="label")
                        yield Input(now.endpoint if now else "", id="endpoint")
            yield from self.buttons()

    def action_keep(self) -> None:
        """Answer with what stands in the fields."""
        from tui_chat.workspace import WhatIf

        numbers: dict[str, int | None] = {}
        for field in ("limit", "messages"):
            said = self.said(field).replace(",", "").replace("_", "")
            if said and not (said.isascii() and said.isdigit()):
                self.complain("This must be a whole number.", field)
                return
            numbers[field] = int(said) if said else None
        endpoint = self.said("endpoint")
        if endpoint and endpoint not in self._endpoints:
            known = ", ".join(sorted(self._endpoints))
            self.complain(f"There is no endpoint “{endpoint}”. There are: {known}.", "endpoint")
            return
        self.dismiss(WhatIf(numbers["limit"], endpoint, self.said("model"), numbers["messages"]))


def _written(number: int | None) -> str:
    return "" if number is None else str(number)

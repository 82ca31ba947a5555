"""The views beside each other in one line, each with the letter that shows it underlined."""

from __future__ import annotations

from enum import StrEnum

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui_chat.ui.widgets.one_pass import OnePassWidget


class View(StrEnum):
    """What can be seen of a request."""

    CONTEXT = "context"
    PAYLOAD = "payload"
    REQUEST = "request"
    DIFF = "diff"
    REPLY = "reply"
    BUDGET = "budget"


KEYS = {
    View.CONTEXT: "c",
    View.PAYLOAD: "p",
    View.REQUEST: "r",
    View.DIFF: "d",
    View.REPLY: "e",
    View.BUDGET: "b",
}
"""The letter of each: one of its name."""

_SHORT = {
    View.CONTEXT: "Ctx",
    View.PAYLOAD: "Pay",
    View.REQUEST: "Req",
    View.DIFF: "Diff",
    View.REPLY: "Re",
    View.BUDGET: "Bud",
}


class ViewTabs(OnePassWidget):
    """One line of tabs. Choosing one only says so; the owner sets `active`."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ViewTabs {
        height: 1;
        background: $background;
        color: $foreground;
    }
    """

    active: reactive[View] = reactive(View.PAYLOAD)
    """The view that is shown."""

    class Chosen(Message):
        """The user wants to see another view."""

        def __init__(self, view: View) -> None:
            super().__init__()
            self.view = view

    def render(self) -> Content:
        """Draw the tabs."""
        parts: list[tuple[str, str]] = []
        for view, text in self._labels():
            style = "bold reverse" if view is self.active else "$foreground 72%"
            at = text.lower().find(KEYS[view])
            pieces = [(text, style)]
            if at >= 0:
                pieces = [
                    (text[:at], style),
                    (text[at], f"{style} underline"),
                    (text[at + 1 :], style),
                ]
            parts += [piece for piece in pieces if piece[0]]
            parts.append((" ", ""))
        return Content.assemble(*parts)

    def _labels(self) -> list[tuple[View, str]]:
        labels: list[tuple[View, str]] = []
        for names, pad in ((None, " "), (None, ""), (_SHORT, "")):
            labels = [
                (view, f"{pad}{view.title() if names is None else names[view]}{pad}")
                for view in View
            ]
            if sum(len(text) + 1 for _, text in labels) - 1 <= self.size.width:
                break
        return labels

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        for view, text in self._labels():
            if 0 <= x < len(text) and view is not self.active:
                self.post_message(self.Chosen(view))
            x -= len(text) + 1

"""The two tab lines of the inspector: protocols, and views of the request."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.registry import PROTOCOLS
from tui_chat.ui.widgets.one_pass import OnePassWidget

OWN = "•"


class ProtocolTabs(OnePassWidget, can_focus=True):
    """One line of tabs. Choosing one only says so; the owner sets `active`."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "Previous protocol", show=False),
        Binding("right,l", "step(1)", "Next protocol", show=False),
    ]
    DEFAULT_CSS = """
    ProtocolTabs {
        height: 1;
        background: $surface;
        color: $foreground;
    }
    """

    active: reactive[Protocol] = reactive(Protocol.OPENAI_CHAT)
    """The protocol that is shown."""
    own: reactive[Protocol | None] = reactive[Protocol | None](None)
    """The protocol of the session's endpoint."""

    class Chosen(Message):
        """The user wants to see another protocol."""

        def __init__(self, protocol: Protocol) -> None:
            super().__init__()
            self.protocol = protocol

    def render(self) -> Content:
        """Draw the tabs."""
        parts: list[str | tuple[str, str]] = []
        for protocol, text in self._labels():
            if parts:
                parts.append(" ")
            if protocol is self.active:
                style = "bold underline" if self.has_focus else "bold"
                colours = "$block-cursor-foreground on $block-cursor-background"
                parts.append((text, f"{style} {colours}"))
            elif protocol is self.own:
                parts.append((text, "$foreground"))
            else:
                parts.append((text, "$foreground 72%"))
        return Content.assemble(*parts)

    def _labels(self) -> list[tuple[Protocol, str]]:
        """Return the tabs' texts, in the longest form that fits."""
        dots = {protocol: OWN if protocol is self.own else "" for protocol in PROTOCOLS}
        labels: list[tuple[Protocol, str]] = []
        for form in range(3):
            for pad in (" ", ""):
                labels = [
                    (each.protocol, f"{pad}{dots[each.protocol]}{each.tab_labels[form]}{pad}")
                    for each in PROTOCOLS.values()
                ]
                if sum(len(text) + 1 for _, text in labels) - 1 <= self.size.width:
                    return labels
        return labels

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        for protocol, text in self._labels():
            if 0 <= x < len(text):
                self.choose(protocol)
            x -= len(text) + 1

    def choose(self, protocol: Protocol) -> None:
        """Post a protocol that is not shown already."""
        if protocol is not self.active:
            self.post_message(self.Chosen(protocol))

    def action_step(self, step: int) -> None:
        """Choose the neighbour, round the end."""
        order = list(Protocol)
        self.choose(order[(order.index(self.active) + step) % len(order)])


class View(StrEnum):
    """The views of a request."""

    CONTEXT = "context"
    PAYLOAD = "payload"
    REQUEST = "request"
    DIFF = "diff"
    REPLY = "reply"
    BUDGET = "budget"
    LORE = "lore"
    CALLS = "calls"


VIEW_KEYS = {
    View.CONTEXT: "c",
    View.PAYLOAD: "p",
    View.REQUEST: "r",
    View.DIFF: "d",
    View.REPLY: "e",
    View.BUDGET: "b",
    View.LORE: "L",
    View.CALLS: "C",
}
"""The key of each view, a letter of its name."""

_SHORT = {
    View.CONTEXT: "Ctx",
    View.PAYLOAD: "Pay",
    View.REQUEST: "Req",
    View.DIFF: "Diff",
    View.REPLY: "Re",
    View.BUDGET: "Bud",
    View.LORE: "Lore",
    View.CALLS: "Calls",
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
    has_lore: reactive[bool] = reactive(False)
    """True if lorebooks are searched; else there is no tab for them."""

    has_calls: reactive[bool] = reactive(False)
    """True if the session was recorded; else there is no tab for its calls."""

    class ViewChosen(Message):
        """The user wants to see another view."""

        def __init__(self, view: View) -> None:
            super().__init__()
            self.view = view

    def render(self) -> Content:
        """Draw the tabs."""
        parts: list[tuple[str, str]] = []
        for view, text in self._labels():
            style = "bold reverse" if view is self.active else "$foreground 72%"
            at = text.lower().find(VIEW_KEYS[view].lower())
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

    @property
    def views(self) -> tuple[View, ...]:
        """The views that have a tab."""
        hidden = {view for view, has in self._optional() if not has and view is not self.active}
        return tuple(view for view in View if view not in hidden)

    def _optional(self) -> tuple[tuple[View, bool], ...]:
        return (View.LORE, self.has_lore), (View.CALLS, self.has_calls)

    def _labels(self) -> list[tuple[View, str]]:
        labels: list[tuple[View, str]] = []
        for names, pad in ((None, " "), (None, ""), (_SHORT, "")):
            labels = [
                (view, f"{pad}{view.title() if names is None else names[view]}{pad}")
                for view in self.views
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
                self.post_message(self.ViewChosen(view))
            x -= len(text) + 1

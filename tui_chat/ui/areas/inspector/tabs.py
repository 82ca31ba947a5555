"""The two tab lines of the inspector: protocols, and views of the request."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.registry import PROTOCOLS
from tui_chat.ui.areas.inspector.view import PAYLOAD, ViewPath, views
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

    @dataclass
    class Chosen(Message):
        """The user wants to see another protocol."""

        protocol: Protocol

    def render(self) -> Content:
        parts: list[str | tuple[str, str]] = []
        for protocol, text in self._labels():
            if parts:
                parts.append(" ")
            if protocol is self.active:
                style = "bold underline" if self.has_focus else "bold"
                colors = "$block-cursor-foreground on $block-cursor-background"
                parts.append((text, f"{style} {colors}"))
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
        """Choose the neighbor, round the end."""
        order = list(Protocol)
        self.choose(order[(order.index(self.active) + step) % len(order)])


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

    active: reactive[str] = reactive(PAYLOAD)
    """The name of the view that is shown."""
    facts: reactive[frozenset[str]] = reactive(frozenset[str]())
    """The available ones of the facts that views need; a view has no tab if its fact is missing."""

    @dataclass
    class ViewChosen(Message):
        """The user wants to see another view."""

        view: str

    def render(self) -> Content:
        parts: list[tuple[str, str]] = []
        for view, text in self._labels():
            style = "bold reverse" if view.name == self.active else "$foreground 72%"
            key_index = text.lower().find(view.key.lower())
            pieces = [(text, style)]
            if key_index >= 0:
                pieces = [
                    (text[:key_index], style),
                    (text[key_index], f"{style} underline"),
                    (text[key_index + 1 :], style),
                ]
            parts += [piece for piece in pieces if piece[0]]
            parts.append((" ", ""))
        return Content.assemble(*parts)

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the views that have a tab."""
        return tuple(view.name for view in self._with_tabs())

    def _with_tabs(self) -> list[ViewPath]:
        facts = {"", *self.facts}
        return [v for v in views().values() if v.needs in facts or v.name == self.active]

    def _labels(self) -> list[tuple[ViewPath, str]]:
        labels: list[tuple[ViewPath, str]] = []
        for is_short, pad in ((False, " "), (False, ""), (True, "")):
            labels = [
                (view, f"{pad}{view.short if is_short else view.label}{pad}")
                for view in self._with_tabs()
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
            if 0 <= x < len(text) and view.name != self.active:
                self.post_message(self.ViewChosen(view.name))
            x -= len(text) + 1

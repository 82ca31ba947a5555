"""The two tab lines of the inspector: protocols with their digits, and views of the request."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.registry import PROTOCOLS
from tui_chat.ui.inspector.views import PAYLOAD, View, views
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.row_list import clipped

OWN = "•"
_DIGIT = "$text-accent"
_FORMS = ((99, 3), (99, 1), (7, 1), (6, 1), (5, 1), (0, 1))
"""Maximum length of the protocols' names, and the gap; widest form first. The last form names only
the protocol that is shown."""
_SHORT = {Protocol.OPENAI_CHAT: "OpenAI", Protocol.OPENAI_RESPONSES: "Responses"}
"""The names of protocols that have a shorter one here."""
_VIEW_FORMS = ((False, 3), (False, 2), (False, 1), (True, 1))
"""Whether the labels of the views are short, and the gap, the widest form first."""


class ProtocolTabs(Widget, can_focus=True):
    """One line of tabs. Choosing one asks for a request; with it the owner sets `active`."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("left,h", "step(-1)", "protocol", "Previous protocol"),
        pane_key("right,l", "step(1)", "protocol", "Next protocol"),
    ]
    DEFAULT_CSS = """
    ProtocolTabs {
        height: 1;
        padding: 0 1;
        background: $background;
        color: $foreground;
    }
    """

    active: reactive[Protocol] = reactive(Protocol.OPENAI_CHAT)
    """The protocol that is shown."""
    own: reactive[Protocol | None] = reactive[Protocol | None](None)
    """The protocol of the session's endpoint."""

    def render(self) -> Content:
        parts: list[tuple[str, str]] = []
        labels, gap = self._labels()
        for protocol, digit, name in labels:
            if parts:
                parts.append((" " * gap, ""))
            if protocol is not self.active:
                style = "$foreground" if protocol is self.own else "$foreground 72%"
                parts += [(digit, _DIGIT), (name, style)]
            elif self.has_focus:
                colors = "$block-cursor-foreground on $block-cursor-background"
                parts.append((digit + name, f"bold {colors}"))
            else:
                parts += [(digit, f"{_DIGIT} on $panel"), (name, "bold $foreground on $panel")]
        return Content.assemble(*(part for part in parts if part[0]))

    def _labels(self) -> tuple[list[tuple[Protocol, str, str]], int]:
        """Return the digits and names of the tabs and the gap between them, in the longest form
        that fits.
        """
        labels: list[tuple[Protocol, str, str]] = []
        gap = 1
        for cells, gap in _FORMS:
            labels = []
            for number, protocol in enumerate(PROTOCOLS, 1):
                most = cells or 99 * (protocol is self.active)
                mark = OWN if protocol is self.own else " " if most else ""
                name = clipped(_SHORT.get(protocol, protocol.label), most)
                labels.append((protocol, str(number), f"{mark}{name}"))
            if sum(len(digit + name) + gap for _, digit, name in labels) - gap <= self.size.width:
                break
        return labels, gap

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        labels, gap = self._labels()
        for protocol, digit, name in labels:
            if 0 <= x < len(digit + name):
                self.choose(protocol)
            x -= len(digit + name) + gap

    def choose(self, protocol: Protocol, *, is_first: bool = False) -> None:
        """Show the request in a protocol that is not shown already, or in the first one."""
        if protocol is not self.active or is_first:
            self.call_later(self.run_action, f"inspector.show_in_protocol('{protocol}')")

    def action_step(self, step: int) -> None:
        """Choose the neighbor, round the end."""
        order = list(Protocol)
        self.choose(order[(order.index(self.active) + step) % len(order)])


class ViewTabs(Widget):
    """One line of tabs, above a rule that marks the active one, which the owner sets."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ViewTabs {
        height: 1;
        padding-left: 1;
        background: $background;
        color: $foreground;
    }
    """

    active: reactive[str] = reactive(PAYLOAD)
    """The name of the view that is shown."""
    facts: reactive[frozenset[str]] = reactive(frozenset[str]())
    """The available ones of the facts that views need; a view has no tab if its fact is missing."""

    def __init__(self, choose: Callable[[str], object]) -> None:
        super().__init__()
        self._choose = choose

    def render(self) -> Content:
        parts: list[tuple[str, str]] = []
        labels, gap = self._labels()
        for view, text in labels:
            style = "bold $foreground" if view.name == self.active else "$foreground 72%"
            parts += [(text, style), (" " * gap, "")]
        return Content.assemble(*parts)

    @property
    def active_span(self) -> tuple[int, int]:
        """The first column of the active tab's text, and the one behind it; equal if no tab is
        visible.
        """
        start = self.gutter.left
        labels, gap = self._labels()
        for view, text in labels if self.display else ():
            if view.name == self.active:
                return start, start + len(text)
            start += len(text) + gap
        return 0, 0

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the views that have a tab."""
        return tuple(view.name for view in self._with_tabs())

    def _with_tabs(self) -> list[View]:
        facts = {"", *self.facts}
        return [v for v in views().values() if v.needs in facts or v.name == self.active]

    def _labels(self) -> tuple[list[tuple[View, str]], int]:
        """Return the labels and the gap between them, in the longest form that fits."""
        labels: list[tuple[View, str]] = []
        gap = 1
        for is_short, gap in _VIEW_FORMS:
            labels = [(each, each.short if is_short else each.label) for each in self._with_tabs()]
            if sum(len(text) + gap for _, text in labels) - gap <= self.size.width:
                break
        return labels, gap

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        labels, gap = self._labels()
        for view, text in labels:
            if 0 <= x < len(text) + gap and view.name != self.active:
                self._choose(view.name)
            x -= len(text) + gap

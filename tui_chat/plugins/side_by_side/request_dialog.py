"""The request of a slot, as the inspector draws it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tui_chat.compose import Composed
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.views import InspectorState


class RequestBody(PayloadView, inherit_bindings=False):
    """A body to read: nothing of it is edited here, and no origin is gone to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in PayloadView.BINDINGS
        if isinstance(binding, Binding)
        and "." not in binding.action
        and binding.action not in ("find", "follow", "enter", "hit(1)", "hit(-1)")
    ]


class RequestDialog(Dialog[None]):
    """Shows a request."""

    DEFAULT_CSS = """
    RequestDialog > Vertical { width: 94%; max-width: 94%; height: 92%; max-height: 92%; }
    RequestDialog PayloadView { height: 1fr; background: $surface; }
    """

    def __init__(self, title: str, composed: Composed) -> None:
        super().__init__()
        self._title = title
        self._state = InspectorState(composed)
        self._view = RequestBody()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, self._title)
            yield self._view
            yield Static("↑ ↓ scroll · Esc close", classes="hint")

    def on_mount(self) -> None:
        self._view.show_state(self._state)

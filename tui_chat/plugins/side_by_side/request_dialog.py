"""The request of a slot, or how those of two slots differ, as the inspector draws them."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tui_chat.compose import Composed
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.inspector.diff import DiffView
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.rows_view import ViewRow
from tui_chat.ui.inspector.views import Baseline, InspectorState


class RequestBody(PayloadView, inherit_bindings=False):
    """A body to read: nothing of it is edited here, and no origin is gone to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in PayloadView.BINDINGS
        if isinstance(binding, Binding)
        and "." not in binding.action
        and binding.action not in ("find", "follow", "enter", "hit(1)", "hit(-1)")
    ]


class RequestDifference(DiffView):
    """The difference of two bodies."""

    choice = ""

    def choose(self, row: ViewRow) -> bool:
        super().choose(row)
        return True  # nothing leads elsewhere from here


class RequestDialog(Dialog[None]):
    """Shows a request; with a `base` named, the difference from it."""

    DEFAULT_CSS = """
    RequestDialog > Vertical { width: 94%; max-width: 94%; height: 92%; max-height: 92%; }
    RequestDialog PayloadView, RequestDialog DiffView { height: 1fr; background: $surface; }
    """

    def __init__(self, title: str, composed: Composed, base: tuple[str, Composed] | None = None):
        super().__init__()
        self._title = title
        against = Baseline() if base is None else Baseline(base[0], base[1].payload)
        self._state = InspectorState(composed, baseline=against)
        self._view = RequestBody() if base is None else RequestDifference()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, self._title)
            yield self._view
            yield Static("↑ ↓ scroll · Esc close", classes="hint")

    def on_mount(self) -> None:
        self._view.show_state(self._state)

"""The toasts on the screen: how many at once, which of them give way, and where they stand.

1. The newest toast is always shown, together with as many others as leave the conversation
   visible.
2. When there are too many, the oldest of the least severe is removed. A removed warning or error
   is shown again as soon as there is room; a removed information is not.
3. Equal messages are shown once. Only the top screen shows toasts, so none appear below a dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING, cast

from textual.app import App
from textual.notifications import Notification, Notify, SeverityLevel
from textual.screen import Screen
from textual.signal import Signal
from textual.widget import Widget

from tui_chat.errors import TuiChatError

if TYPE_CHECKING:
    from tui_chat.workspace.events import WorkspaceEvent

TALL = 28
"""Lines from which a terminal has room for another toast."""
MAX_TOASTS, MAX_TOASTS_LOW = 3, 2
"""Toasts shown at once, and on a terminal with fewer than `TALL` lines."""
MAX_WAITING = 10
"""Removed toasts that wait to be shown again. Of a hundred errors only the last ones are, so that
they do not go on for minutes.
"""

TOAST_CSS = """
ToastRack { dock: top; align: right top; }  /* not over what is being typed */
ModalScreen ToastRack { dock: bottom; align: right bottom; }
ToastRack.-below Toast { display: none; }
Toast { padding: 0 1; max-width: 100%; }
"""

MIN_SECONDS: dict[SeverityLevel, float] = {"information": 4, "warning": 6, "error": 12}
"""How long a toast is shown at least."""
MAX_SECONDS = 40.0
CHARACTERS_PER_SECOND = 18
"""How fast people read."""

_RANKS: dict[SeverityLevel, int] = {"information": 0, "warning": 1, "error": 2}


class Notifications:
    """Decides which toasts an app shows."""

    def __init__(self, app: App[None], columns_beside_chat: Callable[[], int]) -> None:
        """`columns_beside_chat` returns the width of what stands at the right of the chat: toasts
        leave it visible.
        """
        self._app = app
        self._columns_beside_chat = columns_beside_chat
        self._waiting: tuple[Notification, ...] = ()
        """Removed before their time, to be shown again."""

    def handle(self, event: WorkspaceEvent, undo_key: str) -> None:
        """Show a toast for an event of the workspace that needs one. `undo_key` restores what was
        deleted.
        """
        from tui_chat.workspace import events

        app = self._app
        match event:
            case events.BackgroundReplyEnded(title, entry):
                failed = entry.status == "failed"
                what = f"the reply failed: {entry.error}" if failed else "the reply is there."
                severity = "warning" if failed else "information"
                app.notify(f"“{title}”: {what}", severity=severity, markup=False)
            case events.Done():
                undo = f" {undo_key} brings it back." if event.undoable else ""
                app.notify(f"{event.sentence}{undo}", markup=False)
            case events.Failed(error):
                show_error(app, error)
            case _:
                pass

    def watch_screens(self) -> None:
        """Hide toasts on every screen below the top one from now on; the app must be running."""
        changes = cast("Signal[Screen[object]]", self._app.screen_change_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        changes.subscribe(self._app, self._show_only_on, immediate=True)

    def _show_only_on(self, top: Screen[object]) -> None:
        for screen in cast("Iterable[Screen[object]]", self._app.screen_stack):
            for rack in screen.query("ToastRack"):
                rack.set_class(screen is not top, "-below")

    def place(self) -> None:
        """Place the toasts over the chat."""
        for rack in self._app.screen.query("ToastRack"):
            rack.styles.padding = (0, self._columns_beside_chat(), 0, 0)

    def make_room(self, event: Notify) -> None:
        """Remove what must give way to a new toast; ignore the new one if its message is shown."""
        new = event.notification
        shown = list(self._app._notifications)  # pyright: ignore[reportPrivateUsage]  Textual has no other way
        if any(other.message == new.message for other in shown):
            event.prevent_default()
            return
        self._waiting = tuple(each for each in self._waiting if each.message != new.message)
        while len(shown) >= self._max_toasts:
            removed = min(shown, key=_rank)
            shown.remove(removed)
            self._remove(removed)
            if _rank(removed):
                self._waiting = (*self._waiting, removed)[-MAX_WAITING:]

    def _remove(self, notification: Notification) -> None:
        del self._app._notifications[notification]  # pyright: ignore[reportPrivateUsage]  see `make_room`
        for holder in self._app.screen.query("ToastHolder"):
            if holder.id is not None and holder.id.endswith(notification.identity):
                holder.remove()

    def show_waiting(self) -> None:
        """Show a waiting toast again if there is room."""
        if self._waiting and len(self._app._notifications) < self._max_toasts:  # pyright: ignore[reportPrivateUsage]  see `make_room`
            first, *rest = self._waiting
            self._waiting = tuple(rest)
            self._app.post_message(Notify(replace(first, raised_at=time())))

    @property
    def _max_toasts(self) -> int:
        return MAX_TOASTS if self._app.size.height >= TALL else MAX_TOASTS_LOW


def reading_seconds(message: str, severity: SeverityLevel) -> float:
    """Return how long to show a toast."""
    return min(max(len(message) / CHARACTERS_PER_SECOND, MIN_SECONDS[severity]), MAX_SECONDS)


def show_error(node: App[None] | Widget, error: TuiChatError) -> None:
    """Show an error and its advice in a toast."""
    text = f"{error}\n{error.advice}".strip()
    node.notify(text, severity="error", markup=False)


def _rank(notification: Notification) -> int:
    return _RANKS[notification.severity]

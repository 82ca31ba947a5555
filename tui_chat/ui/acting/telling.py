"""Telling: what is said for a while, and how much of it at once.

1. The newest is always shown, and as many of the others as leave the conversation in sight.
2. For one that is told, one goes: the oldest of those that weigh least. A warning or an error is
   told again as soon as there is room; "Copied" is not.
3. Equal words are told once. Under a dialog nothing is told: it is told over it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import time
from typing import cast

from textual import on
from textual.app import App
from textual.notifications import Notification, Notify, SeverityLevel
from textual.screen import Screen
from textual.signal import Signal

from tui_chat.errors import TuiChatError
from tui_chat.models.sanitize import sanitize
from tui_chat.ui.panes import TALL, Panes

MOST, MOST_LOW = 3, 2
"""Notices at once, and on a terminal with few lines."""
MOST_WAITING = 10
"""Of a hundred faults the last ones are told, and not each of them for minutes."""

_WEIGHTS: dict[SeverityLevel, int] = {"information": 0, "warning": 1, "error": 2}


class Telling(App[None]):
    """Says things for a while, where the request beside the conversation stays in sight."""

    CSS = """
    ToastRack { dock: top; align: right top; }  /* not over what is being typed */
    ModalScreen ToastRack { dock: bottom; align: right bottom; }
    ToastRack.-below Toast { display: none; }
    Toast { padding: 0 1; max-width: 100%; }
    """
    _panes: Panes
    _waiting: tuple[Notification, ...] = ()
    """What had to go before its time, and is told again."""

    def on_mount(self) -> None:
        """Look out for dialogs."""
        changes = cast("Signal[Screen[object]]", self.screen_change_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        changes.subscribe(self, self._tell_over, immediate=True)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Say something for a while. Nothing that others wrote is obeyed, if it is no markup."""
        self._place_toasts()
        message = sanitize(message)
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    def show_error(self, error: TuiChatError) -> None:
        """Tell what is wrong and what to do about it."""
        words = f"{error}\n{error.advice}".strip()
        self.notify(words, severity="error", timeout=12, markup=False)

    def on_notify(self, event: Notify) -> None:
        """Make room for what is told now, if it is not being told already."""
        told = event.notification
        shown = list(self._notifications)
        if any(other.message == told.message for other in shown):
            event.prevent_default()
            return
        self._waiting = tuple(each for each in self._waiting if each.message != told.message)
        while len(shown) >= self._most:
            goes = min(shown, key=_weight)
            shown.remove(goes)
            self._take_away(goes)
            if _weight(goes):
                self._waiting = (*self._waiting, goes)[-MOST_WAITING:]

    def _take_away(self, told: Notification) -> None:
        del self._notifications[told]
        for holder in self.screen.query("ToastHolder"):
            if holder.id is not None and holder.id.endswith(told.identity):
                holder.remove()

    def _unnotify(self, notification: Notification, refresh: bool = True) -> None:
        """Tell what waits, where something was told long enough."""
        super()._unnotify(notification, refresh)
        if self._waiting and len(self._notifications) < self._most:
            again, *rest = self._waiting
            self._waiting = tuple(rest)
            self.post_message(Notify(replace(again, raised_at=time())))

    @property
    def _most(self) -> int:
        return MOST if self.size.height >= TALL else MOST_LOW

    @on(Panes.Arranged)
    def _place_toasts(self) -> None:
        for rack in self.screen.query("ToastRack"):
            rack.styles.padding = (0, self._panes.right_of_chat, 0, 0)

    def _tell_over(self, top: Screen[object]) -> None:
        screens = cast("Iterable[Screen[object]]", self.screen_stack)
        for screen in screens:
            for rack in screen.query("ToastRack"):
                rack.set_class(screen is not top, "-below")


def _weight(notification: Notification) -> int:
    return _WEIGHTS[notification.severity]

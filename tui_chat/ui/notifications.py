"""Notifications: Textual's toasts, kept in a log; and what events of the workspace say."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App
from textual.notifications import Notification, SeverityLevel
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import sanitize

if TYPE_CHECKING:
    from tui_chat.errors import TuiChatError
    from tui_chat.workspace.events import WorkspaceEvent

MAX_LOGGED = 500
"""Notifications in the log."""
SECONDS: dict[SeverityLevel, float] = {"information": 5, "warning": 8, "error": 15}
"""Seconds that a notification is shown."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One notification."""

    message: str
    severity: SeverityLevel
    created: float
    """Seconds since the epoch."""


class Notifications:
    """The notifications of an app: those on the screen, and a log."""

    def __init__(self, app: App[None], now: Callable[[], float]) -> None:
        """`now` returns seconds since the epoch."""
        self._app = app
        self._now = now
        self.log: deque[Notice] = deque(maxlen=MAX_LOGGED)
        """The last notifications, oldest first."""

    @property
    def shown(self) -> tuple[Notification, ...]:
        """Those on the screen."""
        return tuple(self._app._notifications)  # pyright: ignore[reportPrivateUsage]  there is no public way

    def add(self, message: str, severity: SeverityLevel) -> Notice:
        """Log a message and return it as it may be shown."""
        notice = Notice(sanitize(message).strip(), severity, self._now())
        self.log.append(notice)
        return notice

    def make_room(self, new: Notification) -> None:
        """Let what only informs, or says the same, give way to a new one."""
        for each in self.shown:
            if each.severity == "information" or each.message == new.message:
                self._app._unnotify(each, refresh=False)  # pyright: ignore[reportPrivateUsage]
                # with the row around it, which Textual would leave
                for screen in self._app.screen_stack[-1:]:
                    screen.query(f"#--textual-toast-{each.identity}").remove()

    def clear(self) -> None:
        """Show none; the log stays."""
        self._app.clear_notifications()


def notify_of(app: App[None], event: WorkspaceEvent, undo_key: str) -> None:
    """Show a notification for an event that needs one. `undo_key` restores what was deleted."""
    from tui_chat.workspace import events

    match event:
        case events.ReplySettled(title=title, entry=entry) if title and entry is not None:
            from tui_chat.workspace.session_list import quoted_title

            failed = entry.status == "failed"
            what = f"the reply failed: {entry.error}" if failed else "the reply has arrived."
            severity = "warning" if failed else "information"
            app.notify(f"{quoted_title(title)}: {what}", severity=severity, markup=False)
        case events.Done():
            undo = f" {undo_key} undoes it." if event.undoable else ""
            app.notify(f"{event.sentence}{undo}", markup=False)
        case events.Failed(error):
            show_error(app, error)
        case _:
            pass


def show_error(node: App[None] | Widget, error: TuiChatError) -> None:
    """Show an error and its advice."""
    node.notify(f"{error}\n{error.advice}".strip(), severity="error", markup=False)

"""Notifications: one at a time in front of the keys in the footer, covering nothing; and a log.

1. The newest notification is shown, for as long as it takes to read it. A warning or an error that
   it replaces before it could be read is shown again afterwards; an information is not.
2. A notification that does not fit beside the keys has lines above them, up to `MOST_LINES` with
   the keys; what stands above gives way. The log has the whole text of each.
3. A key that is pressed after the time that it takes to read it ends it: the user has gone on. What
   was wrong with a command ends at once when the command is changed or another one is run.
4. All end when the session is left, but for those that are newer than the key or click that did it.
   One about messages of a session ends when its messages change, too; one that says that a reply is
   still arriving, or that there is no message yet, when that is no longer so.
5. The footer of the main screen shows it; on a dialog, a line at the bottom of the screen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import App
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.timer import Timer
from textual.widget import Widget

from tui_chat.errors import NotYet
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import sanitize

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.signal import Signal

    from tui_chat.errors import TuiChatError
    from tui_chat.workspace.events import WorkspaceEvent

MOST_LINES = 4
"""Lines that a notification takes at most."""
MAX_WAITING = 10
"""Notifications that wait to be shown again."""
MAX_LOGGED = 500
"""Notifications in the log."""

MIN_SECONDS: dict[SeverityLevel, float] = {"information": 4, "warning": 6, "error": 12}
"""Seconds that a notification is shown at least."""
MAX_SECONDS = 40.0
CHARACTERS_PER_SECOND = 18
"""Characters that people read in a second."""
MIN_READING = 3.0
"""Seconds in which no key ends a notification."""

_STYLES: dict[SeverityLevel, tuple[str, str]] = {
    "information": ("", "$foreground"),
    "warning": ("! ", "$text-warning"),
    "error": ("✗ ", "$text-error"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Notice:
    """One notification."""

    message: str
    severity: SeverityLevel
    created: float
    """Seconds since the epoch."""
    seconds: float
    """Seconds that it is shown."""
    inputs: int = 0
    """How often something had been pressed or clicked when it was created."""
    is_refusal: bool = False
    """True for a `Refusal`."""


class Refusal(str):
    """A notification's message that is true until a reply ends or there is a first message."""

    __slots__ = ()


class NotificationLine(Widget):
    """A line at the bottom of a screen that shows a notification; a click ends it."""

    DEFAULT_CSS = """
    NotificationLine {
        dock: bottom;
        height: auto;
        min-height: 1;
        max-height: 4;
        background: $panel;
        color: $foreground;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.notice: Notice | None = None
        self.end_notice: Callable[[], None] = lambda: None
        """Ends the notification before its time."""
        self._waiting = 0
        self._log_hint = ""

    def show_notice(self, notice: Notice | None, waiting: int = 0, log_hint: str = "") -> None:
        """Show a notification, how many others wait, and how to open the log; None ends it."""
        self.notice, self._waiting, self._log_hint = notice, waiting, log_hint
        self.refresh(layout=True)

    def _notice_content(self, width: int) -> Content:
        """Return the notification, cut to the lines that it may take."""
        notice = self.notice
        if notice is None:
            return Content("")
        text = " · ".join(filter(None, map(str.strip, notice.message.splitlines())))
        more = f" · {self._waiting} more: {self._log_hint}" if self._waiting else ""
        content = _content(notice, text, more)
        room = self._most_lines * width
        while room > 0 and content.get_height({}, width) > self._most_lines:
            room = room * 9 // 10
            content = _content(notice, f"{text[:room]}…", f" · {self._log_hint} has all of it")
        return content

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the lines of the notification; 1 without one."""
        lines = self._notice_content(width).get_height({}, width)
        return min(lines, self._most_lines) or 1

    @property
    def _most_lines(self) -> int:
        """Return the lines that a notification may take."""
        return MOST_LINES

    def render(self) -> Content:
        return self._notice_content(self.size.width)

    def on_click(self, event: events.Click) -> None:
        if self.notice is not None:
            event.stop()
            event.prevent_default()
            self.end_notice()


def _content(notice: Notice, text: str, more: str) -> Content:
    mark, style = _STYLES[notice.severity]
    return Content.assemble(" ", (mark, f"bold {style}"), (text, style), (more, "$foreground 67%"))


class Notifications:
    """Decides which notification an app shows, and keeps the log."""

    def __init__(self, app: App[None], now: Callable[[], float], log_hint: str) -> None:
        """`now` returns seconds since the epoch; `log_hint` says how to open the log."""
        self._app = app
        self._now = now
        self._log_hint = log_hint
        self.log: deque[Notice] = deque(maxlen=MAX_LOGGED)
        """The last notifications, oldest first."""
        self._current: Notice | None = None
        self._shown_at = 0.0
        """The time at which the current one was shown, in seconds since the epoch."""
        self._waiting: tuple[Notice, ...] = ()
        """Replaced before their time, to be shown again; the next one last."""
        self._inputs = 0
        """How often something was pressed or clicked."""
        self._session_id = ""
        """The active session."""
        self._refusing: tuple[bool, bool] = False, False
        """Whether a reply is arriving in the active session, and whether that has messages."""
        self._about_messages: Notice | None = None
        """The last one about messages of the active session."""
        self._timer: Timer | None = None
        self._line: NotificationLine | None = None
        """The line that shows the current one."""

    @property
    def shown(self) -> tuple[Notice, ...]:
        """Those that wait to be shown again, and the one on the screen."""
        return (*self._waiting, *((self._current,) if self._current else ()))

    def handle(self, event: WorkspaceEvent, undo_key: str) -> None:
        """Show a notification for an event that needs one. `undo_key` restores what was deleted."""
        from tui_chat.workspace import events

        app = self._app
        match event:
            case events.ReplySettled(title=title, entry=entry) if title and entry is not None:
                from tui_chat.workspace.session_list import quoted_title

                failed = entry.status == "failed"
                what = f"the reply failed: {entry.error}" if failed else "the reply has arrived."
                severity = "warning" if failed else "information"
                app.notify(f"{quoted_title(title)}: {what}", severity=severity, markup=False)
                self._end_refusals()
            case events.Done():
                undo = f" {undo_key} undoes it." if event.undoable else ""
                app.notify(f"{event.sentence}{undo}", markup=False)
                self._about_messages = self._current if event.session_id else None
            case events.BranchChanged():
                if self._current is not None and self._current is self._about_messages:
                    self.end_current()
            case events.Failed(error):
                show_error(app, error)
            case events.ReplySettled():
                self._end_refusals()
            case _:
                pass

    def add(self, message: str, severity: SeverityLevel, seconds: float | None = None) -> None:
        """Show a message, by default for as long as it takes to read it, and log it."""
        is_refusal = isinstance(message, Refusal)
        message = sanitize(message).strip()
        if seconds is None:
            seconds = reading_seconds(message, severity)
        notice = Notice(message, severity, self._now(), seconds, self._inputs, is_refusal)
        self.log.append(notice)
        self._waiting = tuple(waiting for waiting in self._waiting if waiting.message != message)
        replaced = self._current
        is_serious = replaced is not None and replaced.severity != "information"
        if replaced and is_serious and replaced.message != message and not self._could_be_read:
            self._waiting = (*self._waiting, replaced)[-MAX_WAITING:]
        self._show(notice)

    def withdraw(self, message: str) -> None:
        """End a notification, if it is shown or waits."""
        message = sanitize(message).strip()
        self._waiting = tuple(waiting for waiting in self._waiting if waiting.message != message)
        if self._current is not None and self._current.message == message:
            self.end_current()

    def follow_session(self, session_id: str) -> None:
        """If another session is active, end what was said before the key or click that opened it;
        it stays in the log.
        """
        if session_id == self._session_id:
            return
        self._session_id = session_id
        self._waiting = tuple(n for n in self._waiting if n.inputs >= self._inputs)
        if self._current is not None and self._current.inputs < self._inputs:
            self.end_current()

    def follow_messages(self, *, is_arriving: bool, has_messages: bool) -> None:
        """End the refusals if a reply of the active session ends, or its first message comes."""
        if self._refusing != (is_arriving, has_messages):
            self._refusing = is_arriving, has_messages
            self._end_refusals()

    def _end_refusals(self) -> None:
        self._waiting = tuple(notice for notice in self._waiting if not notice.is_refusal)
        if self._current is not None and self._current.is_refusal:
            self.end_current()

    def clicked(self) -> None:
        """Note that what is said from now on is said of something later."""
        self._inputs += 1

    def key_pressed(self) -> None:
        """End the current one if there was time to read it."""
        self._inputs += 1
        if self._could_be_read:
            self.end_current()

    @property
    def _could_be_read(self) -> bool:
        """True if the current one has been shown for as long as reading it takes."""
        current = self._current
        if current is None:
            return False
        seconds = max(len(current.message) / CHARACTERS_PER_SECOND, MIN_READING)
        return self._now() - self._shown_at >= min(seconds, current.seconds)

    def clear(self) -> None:
        """Show none; the log stays."""
        self._waiting = ()
        self._show(None)

    def end_current(self) -> None:
        """Show the next one that waits, or none."""
        waiting = self._waiting
        self._waiting = waiting[:-1]
        self._show(waiting[-1] if waiting else None)

    def watch_screens(self) -> None:
        """Show the current one on the screen on top from now on; the app must be running."""
        changes = cast("Signal[Screen[object]]", self._app.screen_change_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        changes.subscribe(self._app, lambda _: self._app.call_next(self._screen_changed))

    def _screen_changed(self) -> None:
        if self._current is not None:
            self._draw()

    def _show(self, notice: Notice | None) -> None:
        self._current, self._shown_at = notice, self._now()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if notice is not None and self._app.is_running:
            self._timer = self._app.set_timer(notice.seconds, self.end_current)
        self._draw()

    def _draw(self) -> None:
        app = self._app
        if not app.screen_stack:
            return
        screen = app.screen
        line = next(iter(screen.query(NotificationLine)), None)
        if self._line is not None and self._line is not line:
            self._line.show_notice(None)
        if line is None and self._current is not None and screen.is_attached:
            line = DialogNotificationLine()
            screen.mount(line)
        self._line = line
        if line is not None:
            line.end_notice = self.end_current
            line.show_notice(self._current, len(self._waiting), self._log_hint)


class DialogNotificationLine(NotificationLine):
    """The line of a dialog, which is there only while it shows something."""

    def show_notice(self, notice: Notice | None, waiting: int = 0, log_hint: str = "") -> None:
        """Show a notification; None hides the line."""
        self.display = notice is not None
        super().show_notice(notice, waiting, log_hint)


@dataclass
class NoticeOutdated(Message):
    """What a notification says no longer applies: the app ends it."""

    message: str


def reading_seconds(message: str, severity: SeverityLevel) -> float:
    """Return how long to show a notification."""
    return min(max(len(message) / CHARACTERS_PER_SECOND, MIN_SECONDS[severity]), MAX_SECONDS)


def show_error(node: App[None] | Widget, error: TuiChatError) -> None:
    """Show an error and its advice."""
    text = error_text(error)
    message = Refusal(text) if isinstance(error, NotYet) else text
    node.notify(message, severity="error", markup=False)


def error_text(error: TuiChatError) -> str:
    """Return what the notification of an error says."""
    return f"{error}\n{error.advice}".strip()

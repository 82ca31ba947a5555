"""Keys typed ahead: they are handled in order, each where the one before has put the focus.

1. Over a slow line `Ctrl+F` and the words to search for arrive as one. Without a queue the words
   would go to the draft before the dialog is there, and words after the `/` of a list would act
   as its keys. So after a key that moves the focus, the next ones wait until it has moved, until
   the workers that it started end without asking anything, or until a time limit.
2. A field handles letters itself, but Backspace, Enter or Esc are looked up last of all, by the
   app. Letters typed after them would be handled first, in a field that the key has left or in a
   dialog that it has closed. So what follows such a key waits until the key has been handled: a
   marker message posted behind it the same way tells when.
3. A key that closes a dialog may open the next one or move the focus: what follows waits while the
   worker of that dialog is running.
4. Until the workspace is open, workers wait for it, and keys wait for them: the words for a new
   session must not go to the one that was open last. Before that, keys wait for the first focus.
5. While a session is being opened, by a key or by the mouse, every key waits until the composer
   holds its draft, however long that takes. A time limit here would send words to a session that
   they were not typed for.
6. A letter that is bound in its other case only is handed over in that case.
7. A worker that ends before the key has been handled may be that of an earlier key, whose end is
   told late: it ends no waiting until the key's marker is back.
8. The other time limits start when the key itself has been handled: a busy program handles a timer
   before the key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, cast

from textual import events
from textual.app import App, ScreenStackError
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.signal import Signal
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.chat.drafts import SessionSwitched
from tui_chat.ui.sessions.rows import SessionList
from tui_chat.ui.verbs import VERBS

if TYPE_CHECKING:
    from tui_chat.ui.key_clock import KeyClock
    from tui_chat.ui.main_screen import MainScreen

TIME_LIMIT = 1.0
"""Seconds that keys wait for a focus or for the key before them."""
MARKER_TRIPS = 4
"""The number of times that a marker follows a key to the app: the first goes with the key, the
others behind what handling it posted.
"""
DIALOG_GROUPS = ("dialog", "open", "palette", "inspect")
"""Groups of the workers that may ask something, open a session or show a request."""

_KEEPING_FOCUS = (
    *("border-left", "border-right", "zoom", "first", "latest", "regenerate", "stop", "edit"),
    *("keep-captured", "mute-tool-results", "unmute-all", "replay", "export-turn"),
    *("help", "quit", "suspend"),
)
FOCUS_MOVING_ACTIONS = frozenset(
    (
        *(each.run for each in VERBS if not each.place and each.id not in _KEEPING_FOCUS),
        *("sessions.find", "sessions.rename", "conversation.edit", "conversation.find"),
        *("tool_calls.answer", "tool_calls.edit_arguments"),
        *("preset_editor.filter", "preset_editor.add"),
    )
)
"""Actions, of the app and of panes, that open a dialog or move the focus."""


@dataclass
class KeyMarker(Message):
    """Reaches the app once everything that was posted before it has been handled."""

    trips: int
    """The number of times that it is to be posted again."""


class KeyQueue:
    """Hands keys to the app one after the other, and keeps those whose place is yet to come.

    The app calls `on_event` for every event, and `on_message` for the messages that tell what has
    become of a key.
    """

    def __init__(
        self,
        app: App[None],
        main: MainScreen,
        clock: KeyClock,
        deliver: Callable[[events.Event], Awaitable[None]],
    ) -> None:
        """`deliver` handles an event as an app without a queue does."""
        self._clock = clock
        clock.are_keys_waiting = lambda: bool(self._pending)
        self._app = app
        self._main = main
        self._deliver = deliver
        self._pending: tuple[events.Key | events.Paste, ...] = ()
        """Keys that wait for their turn."""
        self._waiting_for: Literal["", "key", "focus"] = ""
        """The event that they wait for: the end of a key's handling, or a new focus."""
        self._time_limit: Timer | None = None
        self._has_letters = False
        """True if letters are on their way to a field."""
        self._marker: KeyMarker | None = None
        self._marker_target: MessagePump | None = None
        """The target that `_marker` was posted to."""
        self._has_worker_ended = False
        """True if the last dialog worker ended while the key was on its way."""
        self._screen_before: Screen[object] | None = None
        """The screen on which the key that is waited for was pressed."""
        self._workers_before: frozenset[Worker[object]] = frozenset()
        """The dialog workers that were running then."""

    @property
    def is_idle(self) -> bool:
        """True if no key waits, and none is being handled."""
        return not self._pending and not self._waiting_for

    def watch_screens(self) -> None:
        """Notice dialogs from now on; the app must be running."""
        changes = cast("Signal[Screen[object]]", self._app.screen_change_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        changes.subscribe(self._app, self._screen_changed, immediate=True)

    async def on_event(self, event: events.Event) -> None:
        """Queue keys and pasted text; deliver any other event at once."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._pending += (event,)
            self._clock.key_moved()
            if not self._waiting_for:
                await self._deliver_pending()
            elif self._time_limit is None and self._waiting_for == "key":
                self._start_time_limit()
        elif isinstance(event, events.MouseUp) and not event.is_forwarded and not self._waiting_for:
            self._remember_dialogs()
            clicked = self._app.mouse_over
            await self._deliver(event)
            self._post_marker(MARKER_TRIPS, clicked)
        else:
            await self._deliver(event)

    async def on_message(self, message: Message) -> None:
        """Go on with what waits if a message says that it need not: a marker, or that a session
        was opened or not, or that the last worker that may ask something has ended.
        """
        match message:
            case KeyMarker():
                await self._marker_came(message)
            case SessionSwitched() if not self._waiting_for:
                await self._deliver_pending()
            case SessionList.Stayed():
                self._end_focus_wait()
            case Worker.StateChanged():
                ended = cast("Worker[object]", message.worker)  # pyright: ignore[reportUnknownMemberType]  so in Textual
                if ended.group in DIALOG_GROUPS and not self._dialog_workers:
                    self._last_worker_ended()
            case _:
                pass

    async def _deliver_pending(self) -> None:
        """Deliver pending keys to the focus, up to one that must be waited for."""
        if not self._app.screen_stack:
            return  # the app is ending
        self._waiting_for = ""
        self._screen_before, self._workers_before = None, frozenset()
        if self._time_limit is not None:
            self._time_limit.stop()
            self._time_limit = None
        if self._pending and self._is_starting:
            self._wait_for_focus()
        while self._pending and not self._waiting_for and not self._is_between_sessions:
            event, *rest = self._pending
            if isinstance(event, events.Key):
                event = self._in_bound_case(event)
            if isinstance(event, events.Paste) or self._is_letter(event):
                self._pending, self._has_letters = tuple(rest), True
                self._clock.key_moved()
                await self._deliver(event)
            elif self._has_letters:
                self._has_letters = False
                self._post_marker(MARKER_TRIPS)  # until the field has handled its letters
            else:
                self._pending = tuple(rest)
                self._clock.key_moved()
                await self._deliver_and_wait(event)

    def _in_bound_case(self, key: events.Key) -> events.Key:
        """Return a letter in the case that is bound where only one is: Shift and Caps Lock make no
        difference there. In a field it is text.
        """
        other, bound = key.key.swapcase(), self._app.screen.active_bindings
        is_letter = len(key.key) == 1 and not self._is_letter(key)
        if is_letter and key.key not in bound and other in bound:
            return events.Key(other, key.character)
        return key

    async def _deliver_and_wait(self, key: events.Key) -> None:
        if self._moves_focus(key):
            self._wait_for_focus()
        else:
            self._waiting_for = "key"
            self._remember_dialogs()
        await self._deliver(key)
        self._post_marker(MARKER_TRIPS)

    def _is_letter(self, key: events.Key) -> bool:
        """Return True if the focused field handles a key itself, in its turn."""
        focused, composer = self._app.focused, self._main.panes.chat.composer
        if focused is composer and composer.edits(key.key):
            return True
        return focused is not None and focused.check_consume_key(key.key, key.character)

    def _moves_focus(self, key: events.Key) -> bool:
        """Return True if a key, pressed now, opens a dialog or moves the focus."""
        bound = self._app.screen.active_bindings.get(key.key)
        if bound is None or not bound.enabled:
            return False
        action, sessions = bound.binding.action, self._main.panes.sessions
        opens_session = (bound.node is sessions.rows and action == "open") or (
            bound.node is sessions.filter and action == "submit"
        )
        return opens_session or action in FOCUS_MOVING_ACTIONS

    @property
    def _is_starting(self) -> bool:
        """True until the composer has the focus for the first time. On a page nothing has the focus
        before the first key.
        """
        app = self._app
        has_focus = app.focused is not None or not app.app_focus
        return not has_focus and not self._main.is_workspace_open and len(app.screen_stack) == 1

    @property
    def _is_between_sessions(self) -> bool:
        """True if keys have no session to go to; a dialog on top takes them all the same."""
        return self._main.panes.chat.drafts.is_switching and len(self._app.screen_stack) == 1

    # --- waiting until a key has been handled --------------------------------------------

    def _post_marker(self, trips: int, target: Widget | None = None) -> None:
        """Post a marker the way that a key or a click went: to `target`, else to the focus."""
        self._waiting_for, self._marker = self._waiting_for or "key", KeyMarker(trips)
        try:
            self._marker_target = target or self._app.focused or self._top_screen
        except ScreenStackError:  # the app is closing
            return
        if not self._marker_target.post_message(self._marker):
            self._app.call_next(self._deliver_pending)
        elif self._pending and self._time_limit is None and self._waiting_for == "key":
            self._start_time_limit()

    async def _marker_came(self, marker: KeyMarker) -> None:
        """Post the marker once more, or go on: here, or where the key leads."""
        if marker is not self._marker:
            return
        if marker.trips > 1:
            self._post_marker(marker.trips - 1)
            return
        self._marker = None
        if self._waiting_for == "focus" and not (
            self._has_worker_ended and not self._dialog_workers
        ):
            self._start_time_limit()
        elif self._screen_before is not None and self._leads_on():
            self._wait_for_focus()
            self._start_time_limit()
        else:
            await self._deliver_pending()

    def _leads_on(self) -> bool:
        """Return True if the key started a dialog worker, or answered one that still runs."""
        answered = self._screen_before not in self._app.screen_stack
        workers = self._dialog_workers
        if not answered:
            workers -= self._workers_before
        return len(self._app.screen_stack) == 1 and bool(workers)

    def _remember_dialogs(self) -> None:
        self._screen_before, self._workers_before = self._top_screen, self._dialog_workers

    @property
    def _top_screen(self) -> Screen[object]:
        return self._app.screen

    @property
    def _dialog_workers(self) -> frozenset[Worker[object]]:
        """The running workers that may ask something."""
        workers = cast("list[Worker[object]]", list(self._app.workers))
        return frozenset(
            worker for worker in workers if worker.group in DIALOG_GROUPS and not worker.is_finished
        )

    def _start_time_limit(self) -> None:
        if self._time_limit is not None:
            self._time_limit.stop()
        self._time_limit = self._app.set_timer(TIME_LIMIT, self._time_is_up)

    async def _time_is_up(self) -> None:
        focus_will_move = not self._main.is_workspace_open or self._is_between_sessions
        target = self._marker_target
        marker_will_come = self._marker is not None and target is not None and target.is_running
        if marker_will_come or (self._waiting_for == "focus" and focus_will_move):
            self._start_time_limit()
        else:
            await self._deliver_pending()

    # --- waiting for a new focus ---------------------------------------------------------

    def _wait_for_focus(self) -> None:
        self._waiting_for, self._has_worker_ended = "focus", False
        self._app.watch(self._app.screen, "focused", self._focus_moved, init=False)

    def _focus_moved(self, focused: Widget | None) -> None:
        if focused is not None:
            self._end_focus_wait()

    def _end_focus_wait(self) -> None:
        if self._waiting_for == "focus":
            self._waiting_for, self._marker = "key", None  # and not twice
            self._app.call_next(self._deliver_pending)

    def _last_worker_ended(self) -> None:
        if self._marker is None:
            self._end_focus_wait()
        elif self._waiting_for == "focus":
            self._has_worker_ended = True
            self._start_time_limit()  # in case the marker's target is removed with it

    def _screen_changed(self, screen: Screen[object]) -> None:
        if not getattr(screen, "takes_keys_typed_ahead", True):
            # No key that was typed before the question could be read is an answer to it.
            self._pending = ()
            self._app.call_next(self._deliver_pending)
        elif self._waiting_for == "focus":
            self._app.watch(screen, "focused", self._focus_moved)

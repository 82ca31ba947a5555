"""Keys typed ahead: one coroutine hands them over, each where the one before has put the focus.

1. Over a slow line `Ctrl+F` and the words to search for arrive as one. So a key is handed over when
   the one before has been handled with what follows: a dialog that a worker opens, another focus,
   or a session that is being opened, whose draft must be in the composer first.
2. A field handles its letters in its own turn, so letters are handed over at once; Backspace, Enter
   or Esc wait for them.
3. While a session is being opened, by a key or by the mouse, every key waits until the composer
   holds its draft, however long that takes. The other waits have a limit.
4. A question that must not be answered by a key typed ahead drops what waits.
5. A letter that is bound in its other case only is handed over in that case.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, cast

from textual import events
from textual.app import App
from textual.message import Message
from textual.screen import Screen
from textual.signal import Signal
from textual.widget import Widget
from textual.worker import Worker

from tui_chat.ui.widgets.after_refresh import call_after_refresh

if TYPE_CHECKING:
    from tui_chat.ui.key_clock import KeyClock
    from tui_chat.ui.main_screen import MainScreen

TIME_LIMIT = 1.0
"""Seconds that keys wait for what the key before them opens."""
MARKER_TRIPS = 4
"""The number of times that a marker follows a key: the first goes with the key, the others behind
what handling it posted.
"""
DIALOG_GROUPS = ("dialog", "open", "inspect")
"""Groups of the workers that may ask something, open a session or show a request."""
_LOOK = 0.005
"""Seconds between looks at what keys wait for."""


class KeyMarker(Message):
    """Follows a key to the app, and is there when the key has been handled."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived = asyncio.Event()


class _Before(NamedTuple):
    """What there was before an event was handled."""

    target: Widget | None
    """The widget that it was for."""
    screen: Screen[object]
    dialogs: frozenset[Worker[object]]
    """The running workers that may ask something."""


class KeyQueue:
    """Hands keys to the app one after the other; the app calls `on_event` for every event."""

    def __init__(
        self,
        app: App[None],
        main: MainScreen,
        clock: KeyClock,
        deliver: Callable[[events.Event], Awaitable[None]],
    ) -> None:
        """`deliver` handles an event as an app without a queue does."""
        self._app, self._main, self._clock, self._deliver = app, main, clock, deliver
        clock.are_keys_waiting = lambda: bool(self._pending)
        self._pending: deque[events.Key | events.Paste] = deque()
        self._click: _Before | None = None
        """The state before a click, which may open something."""
        self._arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._has_letters = False
        """True if letters are on their way to a field."""
        self.is_idle = True
        """True if no key waits, and none is being handled."""

    def start(self) -> None:
        """Hand keys over from now on; the app must be running."""
        self._task = asyncio.create_task(self._hand_over())
        changes = cast("Signal[Screen[object]]", self._app.screen_change_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        changes.subscribe(self._app, self._screen_changed, immediate=True)

    def stop(self) -> None:
        """Hand over no more keys."""
        if self._task is not None:
            self._task.cancel()

    async def on_event(self, event: events.Event) -> None:
        """Queue keys and pasted text; handle any other event at once."""
        if event.is_forwarded:
            await self._deliver(event)
        elif isinstance(event, events.Key | events.Paste):
            self._pending.append(event)
            self._clock.key_moved()
            self._wake()
        elif isinstance(event, events.MouseUp) and self.is_idle:
            self._click = self._before(self._app.mouse_over)
            await self._deliver(event)
            self._wake()
        else:
            await self._deliver(event)

    def _wake(self) -> None:
        self.is_idle = False
        self._arrived.set()

    def _before(self, target: Widget | None) -> _Before:
        """Return what there is before an event for a widget is handled."""
        return _Before(target, self._app.screen, self._dialogs)

    def _screen_changed(self, screen: Screen[object]) -> None:
        if not getattr(screen, "takes_keys_typed_ahead", True):
            self._pending.clear()

    async def _hand_over(self) -> None:
        while True:
            if self._click is not None:
                before, self._click = self._click, None
                await self._wait_for_effect(before)
            elif not self._pending:
                self.is_idle = not self._has_letters
                self._arrived.clear()
                if self._has_letters:
                    await self._handled(self._app.focused)
                    self._has_letters = False
                    continue
                await self._arrived.wait()
            else:
                await self._until(lambda: self._has_place, inf)
                if self._pending:
                    await self._hand_over_next()

    async def _hand_over_next(self) -> None:
        """Hand over the next event, and wait for its effect."""
        event = self._pending[0]
        if isinstance(event, events.Key):
            event = self._in_bound_case(event)
        is_text = isinstance(event, events.Paste) or self._is_letter(event)
        if self._has_letters and not is_text:
            await self._handled(self._app.focused)
            self._has_letters = False
            return
        self._pending.popleft()
        self._clock.key_moved()
        before = self._before(self._app.focused)
        try:
            await self._deliver(event)
        except Exception as error:
            self._app._handle_exception(error)  # pyright: ignore[reportPrivateUsage]  as Textual does
        if is_text:
            self._has_letters = True
        else:
            await self._wait_for_effect(before)

    async def _wait_for_effect(self, before: _Before) -> None:
        """Wait until what an event opens is open: a dialog, a session, or another focus."""
        app = self._app
        await self._handled(before.target)
        drawn = asyncio.Event()
        call_after_refresh(app, drawn.set)
        await drawn.wait()
        answered = before.screen not in app.screen_stack
        opening = self._dialogs if answered else self._dialogs - before.dialogs
        await self._until(
            lambda: not (opening & self._dialogs) or len(app.screen_stack) > 1, TIME_LIMIT
        )
        if len(app.screen_stack) > 1:
            await self._until(lambda: app.focused is not None, TIME_LIMIT / 4)

    async def _handled(self, target: Widget | None) -> None:
        """Wait until what was posted to a widget, and what came of it, has been handled."""
        for _ in range(MARKER_TRIPS):
            marker = KeyMarker()
            place = target if target is not None and target.is_attached else self._app.focused
            if not (place or self._app.screen).post_message(marker):
                return  # it is gone
            with suppress(TimeoutError):
                await asyncio.wait_for(marker.arrived.wait(), TIME_LIMIT)

    async def _until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Wait until something holds; the limit counts from when a session can take the keys: what
        a key began before that goes on only then.
        """
        end = monotonic() + seconds
        while self._app.screen_stack and not holds():
            if not self._main.is_workspace_open:
                end = monotonic() + seconds
            elif monotonic() > end:
                return
            await asyncio.sleep(_LOOK)

    @property
    def _has_place(self) -> bool:
        """True if keys have somewhere to go: a dialog, or the composer of an open session."""
        app = self._app
        if len(app.screen_stack) != 1:
            return True
        is_ready = app.focused is not None or not app.app_focus or self._main.is_workspace_open
        panes = self._main.panes
        return is_ready and not (panes.chat.drafts.is_switching or panes.inspector.is_focus_due)

    @property
    def _dialogs(self) -> frozenset[Worker[object]]:
        """The running workers that may ask something."""
        workers = cast("list[Worker[object]]", list(self._app.workers))
        return frozenset(
            worker for worker in workers if worker.group in DIALOG_GROUPS and not worker.is_finished
        )

    def _in_bound_case(self, key: events.Key) -> events.Key:
        """Return a letter in the case that is bound where only one is: Shift and Caps Lock make no
        difference there. In a field it is text.
        """
        other, bound = key.key.swapcase(), self._app.screen.active_bindings
        is_letter = len(key.key) == 1 and not self._is_letter(key)
        if is_letter and key.key not in bound and other in bound:
            return events.Key(other, key.character)
        return key

    def _is_letter(self, key: events.Key) -> bool:
        """Return True if the focused field handles a key itself, in its turn."""
        focused, composer = self._app.focused, self._main.panes.chat.composer
        if focused is composer and composer.edits(key.key):
            return True
        return focused is not None and focused.check_consume_key(key.key, key.character)

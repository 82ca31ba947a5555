"""Typing ahead: what follows a key that leads elsewhere is typed there, however soon it comes.

Over a slow line `Ctrl+F` and the words to search for arrive as one. They would be in the draft
before the dialog stands, and words after the `/` of a list would be its keys. So what is typed
after such a key is kept until something else has the focus; an errand that ends without asking,
or patience that does, brings it to where the focus is.
"""

from __future__ import annotations

from typing import cast

from textual import events, on
from textual.screen import Screen
from textual.signal import Signal
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker

from tui_chat.ui.acting.shell import Shell
from tui_chat.ui.actions import ACTIONS
from tui_chat.ui.sidebar import SessionList

PATIENCE = 1.0
"""Seconds to wait at most."""

_IDS = (
    *("help", "palette", "search", "new", "sessions", "find", "preset", "inspector"),
    *("model", "theme", "use-preset", "preset-files", "role", "roles", "profile", "lorebooks"),
    *("branches", "import", "export", "rename", "attach", "system", "what-if", "captured"),
)
LEADING = frozenset(
    (
        *(action.run for action in ACTIONS if action.id in _IDS),
        *("filter", "rename", "tags", "folder", "edit", "answer"),
        *("want('filter')", "want('add')", "want('more')"),
    )
)
"""Actions, of the app and of panes, that ask something or go to another place."""


class TypingAhead(Shell):
    """Keeps keys while the place is made that they are for."""

    _ahead: list[events.Key | events.Paste] | None = None
    """What was typed ahead; None while nothing is waited for."""
    _patience: Timer | None = None

    def on_mount(self) -> None:
        """Look out for dialogs."""
        changes = cast("Signal[Screen[object]]", self.screen_change_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        changes.subscribe(self, self._wait_for_focus, immediate=True)

    async def on_event(self, event: events.Event) -> None:
        """Take what is typed before anybody else does."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self._ahead is not None:
                self._ahead.append(event)
                return
            if isinstance(event, events.Key) and self._leads(event):
                self._ahead = []
                self._patience = self.set_timer(PATIENCE, self._give)
                self.watch(self.screen, "focused", self._focus_moved, init=False)
        await super().on_event(event)

    def _leads(self, key: events.Key) -> bool:
        """Whether a key leads elsewhere, here and now."""
        here = self.focused
        if not self.is_laid or (here and here.check_consume_key(key.key, key.character)):
            return False
        bound = self.screen.active_bindings.get(key.key)
        if bound is None or not bound.enabled:
            return False
        action = bound.binding.action
        opens = (bound.node is self._sessions.rows and action == "open") or (
            bound.node is self._sessions.filter and action == "submit"
        )  # a session, to be written in
        return opens or action in LEADING

    @on(SessionList.Stayed)
    def _stay(self) -> None:
        """Wait no longer where no session was opened."""
        if self._ahead is not None:
            self.call_next(self._give)

    def _wait_for_focus(self, screen: Screen[object]) -> None:
        if self._ahead is not None:
            self.watch(screen, "focused", self._focus_moved)

    def _focus_moved(self, focused: Widget | None) -> None:
        if focused is not None and self._ahead is not None:
            self.call_next(self._give)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Wait no longer where an errand ended, and none is left that may ask something."""
        ended = cast("Worker[object]", event.worker)  # pyright: ignore[reportUnknownMemberType]  so in Textual
        asking = any(one.group == ended.group and not one.is_finished for one in self.workers)
        if self._ahead is not None and ended.group == "dialog" and not asking:
            self.call_next(self._give)

    async def _give(self) -> None:
        """Have what was typed where the focus is now; it may lead on to another place."""
        typed, self._ahead = self._ahead or [], None
        if self._patience is not None:
            self._patience.stop()
        for event in typed:
            await self.on_event(event)

"""Typing ahead: what is typed is done in that order, each key where the last one led.

1. Over a slow line `Ctrl+F` and the words to search for arrive as one. They would be in the draft
   before the dialog stands, and words after the `/` of a list would be its keys. So what is typed
   after such a key is kept until something else has the focus; an errand that ends without
   asking, or patience that does, brings it to where the focus is.
2. A field takes letters itself, but what Backspace, Enter or Esc is bound to is looked up last of
   all, by the app: letters typed behind them would be there first, in a field that another key
   has left or in a dialog that it has closed. So what follows such a key is kept until the key is
   done: a message that goes the same way behind it tells when.
3. A key that closes a dialog may lead on, to the next question or to another place: what follows
   is kept while the errand of that dialog, or the command chosen in the palette, is under way.
4. Before the conversations are open an errand waits for them, and what follows waits with it: the
   words for a new session must not go to the one that was shown last.
5. While a session is being opened, by a key or by the mouse, every key waits until the composer
   holds its draft, however long that takes. A time limit here would send words to a session that
   they were not typed for.
6. The time limit for other places starts when the key itself has been handled: a busy program
   handles a timer before the key.
"""

from __future__ import annotations

from typing import Literal, cast

from textual import events, on
from textual.command import CommandPalette
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.signal import Signal
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker

from tui_chat.ui.acting.drafting import SessionSwitched
from tui_chat.ui.acting.shell import Shell
from tui_chat.ui.actions import ACTIONS
from tui_chat.ui.sidebar import SessionList

PATIENCE = 1.0
"""Seconds to wait at most."""
ROUNDS = 4
"""How often a message follows a key: with it to the app, and behind what was posted then."""

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


class Passed(Message):
    """Comes to the app when all that was posted before it has."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        """How often it is to go on."""


class TypingAhead(Shell):
    """Gives keys one after the other, and keeps those that are for a place yet to be made."""

    _ahead: tuple[events.Key | events.Paste, ...] = ()
    """What waits for its turn."""
    _waits: Literal["", "key", "place"] = ""
    """Whether until a key is done, or until the place is there where it leads."""
    _patience: Timer | None = None
    _has_letters: bool = False
    """Whether letters are on their way to a field."""
    _following: Passed | None = None
    _followed: MessagePump | None = None
    """Where `_following` was sent."""
    _pressed_on: Screen[object] | None = None
    """Where the key was pressed that is waited for."""
    _errands_then: frozenset[Worker[object]] = frozenset()
    """The errands that were under way then."""

    def on_mount(self) -> None:
        """Look out for dialogs."""
        changes = cast("Signal[Screen[object]]", self.screen_change_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        changes.subscribe(self, self._wait_for_focus, immediate=True)

    async def on_event(self, event: events.Event) -> None:
        """Take what is typed before anybody else does."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._ahead += (event,)
            if not self._waits:
                await self._go_on()
            elif self._patience is None and self._waits == "key":
                self._be_patient()
        elif isinstance(event, events.MouseUp) and not event.is_forwarded and not self._waits:
            self._pressed_on = self._on_top
            self._errands_then = self._errands
            clicked = self.mouse_over
            await super().on_event(event)
            self._follow(ROUNDS, clicked)
        else:
            await super().on_event(event)

    async def _go_on(self) -> None:
        """Give what was typed to where the focus is, up to a key that has to be waited for."""
        if not self.screen_stack:
            return  # the app is ending
        self._waits = ""
        self._pressed_on, self._errands_then = None, frozenset()
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        while self._ahead and not self._waits and not self._is_between_sessions:
            event, *rest = self._ahead
            if isinstance(event, events.Paste) or self._is_letter(event):
                self._ahead, self._has_letters = tuple(rest), True
                await super().on_event(event)
            elif self._has_letters:
                self._has_letters = False
                self._follow(ROUNDS)  # until the letters are there, and what they ask for
            else:
                self._ahead = tuple(rest)
                await self._press(event)

    async def _press(self, key: events.Key) -> None:
        """Have a key done that is more than a letter."""
        if self._leads(key):
            self._wait_for_place()
        else:
            self._waits = "key"
            self._pressed_on = self._on_top
            self._errands_then = self._errands
        await super().on_event(key)
        self._follow(ROUNDS)

    def _follow(self, rounds: int, place: Widget | None = None) -> None:
        """Send a message the way that a key or a click went: to `place`, else to the focus."""
        self._waits, self._following = self._waits or "key", Passed(rounds)
        self._followed = place or self.focused or self._on_top
        if not self._followed.post_message(self._following):
            self.call_next(self._go_on)
        elif self._ahead and self._patience is None and self._waits == "key":
            self._be_patient()

    @on(Passed)
    async def _passed(self, event: Passed) -> None:
        """Follow once more, else go on: here, or where the key leads."""
        if event is not self._following:
            return
        if event.rounds > 1:
            self._follow(event.rounds - 1)
        elif self._waits == "place":
            self._be_patient()
        elif self._pressed_on is not None and self._leads_on():
            self._wait_for_place()
            self._be_patient()
        else:
            await self._go_on()

    @property
    def _is_between_sessions(self) -> bool:
        """True if keys have no session to go to; a dialog on top takes them all the same."""
        return self.is_switching_session and len(self.screen_stack) == 1

    @on(SessionSwitched)
    async def _session_switched(self) -> None:
        if not self._waits:
            await self._go_on()

    def _leads_on(self) -> bool:
        """Whether the key began an errand, or answered the question of one that is under way."""
        answered = self._pressed_on not in self.screen_stack
        errands = self._errands if answered else self._errands - self._errands_then
        return len(self.screen_stack) == 1 and bool(errands)

    @property
    def _on_top(self) -> Screen[object]:
        return self.screen

    @property
    def _errands(self) -> frozenset[Worker[object]]:
        """The errands that may ask something."""
        workers = cast("list[Worker[object]]", list(self.workers))
        groups = ("dialog", "open")
        return frozenset(one for one in workers if one.group in groups and not one.is_finished)

    def _is_letter(self, key: events.Key) -> bool:
        """Whether the field takes a key itself, in its turn."""
        here = self.focused
        if here is self._composer and self._composer.edits(key.key):
            return True
        return here is not None and here.check_consume_key(key.key, key.character)

    def _leads(self, key: events.Key) -> bool:
        """Whether a key leads elsewhere, here and now."""
        if not self.is_laid:
            return False
        bound = self.screen.active_bindings.get(key.key)
        if bound is None or not bound.enabled:
            return False
        action = bound.binding.action
        opens = (bound.node is self._sessions.rows and action == "open") or (
            bound.node is self._sessions.filter and action == "submit"
        )  # a session, to be written in
        return opens or action in LEADING

    # Waiting for a place

    def _wait_for_place(self) -> None:
        self._waits = "place"
        self.watch(self.screen, "focused", self._focus_moved, init=False)

    def _be_patient(self) -> None:
        if self._patience is not None:
            self._patience.stop()
        self._patience = self.set_timer(PATIENCE, self._lose_patience)

    async def _lose_patience(self) -> None:
        place_will_come = not self.is_laid or self._is_between_sessions
        key_will_pass = self._followed is not None and self._followed.is_running
        if place_will_come if self._waits == "place" else key_will_pass:
            self._be_patient()
        else:
            await self._go_on()

    def _arrive(self) -> None:
        if self._waits == "place":
            self._waits, self._following = "key", None  # and not twice
            self.call_next(self._go_on)

    @on(SessionList.Stayed)
    def _stay(self) -> None:
        """Wait no longer where no session was opened."""
        self._arrive()

    def _wait_for_focus(self, screen: Screen[object]) -> None:
        if self._waits == "place":
            if not self.is_laid and _asks_for_consent(screen):
                self._ahead = ()  # they cannot be opened: no key is an answer to what is asked now
                self.call_next(self._go_on)
            else:
                self.watch(screen, "focused", self._focus_moved)

    def _focus_moved(self, focused: Widget | None) -> None:
        if focused is not None:
            self._arrive()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Wait no longer where an errand ended, and none is left that may ask something."""
        ended = cast("Worker[object]", event.worker)  # pyright: ignore[reportUnknownMemberType]  so in Textual
        if ended.group in ("dialog", "open") and not self._errands:
            self._arrive()

    def on_command_palette_closed(self, event: CommandPalette.Closed) -> None:
        """Wait for what a command leads to: it is done next."""
        if event.option_selected and self._waits:
            self._wait_for_place()
            self._be_patient()
            self.call_later(self.call_after_refresh, self._arrive_unless_asked)

    def _arrive_unless_asked(self) -> None:
        if not self._errands:
            self._arrive()


def _asks_for_consent(screen: Screen[object]) -> bool:
    from tui_chat.ui.dialogs.base import Confirm

    return isinstance(screen, Confirm)

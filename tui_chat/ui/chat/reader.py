"""A conversation on the screen, as it is read: other branches come, replies grow, messages unfold.

What is drawn of it is `Canvas`'s; what keys and clicks do is `Transcript`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from textual.timer import Timer

from tui_chat.models.reply import Reply
from tui_chat.models.session import Entry
from tui_chat.models.timing import NO_TIMING, Timing
from tui_chat.ui.chat.canvas import Canvas
from tui_chat.ui.chat.layouts import in_common

REDRAW = 1 / 30
"""Seconds between two redraws of a growing reply, at least; thrice its cost, if that is more."""


class Reader(Canvas):
    """The messages of a branch, and the reply that is growing at its end."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._dirty = False
        self._drawn = 0.0
        self._cost = 0.0
        self._timer: Timer | None = None
        self._clock: Timer | None = None
        self._session_id: str | None = None

    # What is shown

    def show(
        self,
        entries: tuple[Entry, ...],
        timing_of: Callable[[Entry], Timing] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Show a branch, root to head. Entries that are the same objects cost nothing.

        A reader who scrolled up stays where they are, unless a message of theirs is new or
        the branch is of another session; also where what came before is added, and where the
        first message is shown in another version, which `session_id` tells from another session.
        `timing_of` tells how quickly replies came.
        """
        if timing_of is not None:
            self._layouts.timing_of = timing_of
        same_session = session_id is not None and session_id == self._session_id
        self._session_id = session_id
        old = self.entries
        if entries is old:
            return
        self._dress()
        same = in_common(old, entries)
        above = _added_above(old, entries)
        goes_on = same_session or same > 0 or above > 0 or _is_next_version(old, entries)
        if not goes_on:
            self.cursor, self._unseen = None, False
        if same < min(len(old), len(entries)):
            self.screen.clear_selection()
        view = self._viewport
        keep = view.top if goes_on and not view.follows else None
        added = entries[len(old) + above :]
        speaks = any(entry.message.role == "user" for entry in added)
        if above and keep is not None:
            keep = keep._replace(message=keep.message + above)
        if above and self.cursor is not None:
            self.cursor += above
        if keep and (keep.message >= len(entries) or speaks):
            keep = None
        if speaks or (self.cursor is not None and self.cursor >= len(entries)):
            self.cursor = None
        self._unseen = self._unseen or (keep is not None and bool(added))
        self._layouts.take(entries)
        self._search.entries_changed()
        view.load(self._layouts.heights(), keep=keep)
        self._settle()
        self._run_clock()

    def welcome(self, text: str) -> None:
        """Set the Markdown of the first screen, shown while there are no entries."""
        if text != self._empty_text:
            self._dress()
            self._empty_text, self._empty = text, []
            self._settle()

    def stream(self, entry_id: str, reply: Reply, timing: Timing = NO_TIMING) -> None:
        """Show what has come of a streaming entry's reply; redraws a few dozen times a second."""
        if not self._layouts.offer(entry_id, reply, timing):
            return
        self._dirty = True
        if self._timer is None:
            wait = max(REDRAW, 3 * self._cost) - (monotonic() - self._drawn)
            if wait <= 0:
                self.flush()
            else:
                self._timer = self.set_timer(wait, self.flush)

    def flush(self) -> None:
        """Draw what `stream` was given and has waited."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not self._dirty:
            return
        self._dirty = False
        began = monotonic()
        before = self._sight()
        for index in self._layouts.grow():
            self._viewport.changed(index)
        if not self._viewport.follows:
            self._unseen = True
        self._settle_from(before)
        self._drawn = monotonic()
        self._cost = self._drawn - began

    def _run_clock(self) -> None:
        """Count the seconds of a streaming reply."""
        if self._layouts.streaming():
            if self._clock is None:
                self._clock = self.set_interval(1, self._tick)
        elif self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _tick(self) -> None:
        before = self._sight()
        self._layouts.tick()
        self._settle_from(before)

    def _refold(self, index: int) -> None:
        """Lay a message out again with its folds changed, its place on the screen kept."""
        view = self._viewport
        self._layouts(index).refold()
        view.changed(index)
        self._search.lines_changed()
        if view.follows and view.total > view.height:
            view.follows = index != len(self.entries) - 1
        self.screen.clear_selection()
        self._settle()


def _added_above(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> int:
    """Return how many messages came before those that were there, which are its end."""
    above = len(new) - len(old)
    ends = ((old[0], new[above]), (old[-1], new[-1])) if old and above > 0 else ()
    same = all(was.message.id == now.message.id != "" for was, now in ends)
    return above if ends and same else 0


def _is_next_version(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> bool:
    """Whether a branch that was read anew is of the same session."""
    return bool(old and new and old[0].message.id == new[0].message.id != "")

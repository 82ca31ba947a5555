"""The two lines around a conversation: whose it is above it, and what goes on below."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar, Literal, cast

from rich.cells import cell_len
from textual.app import App
from textual.content import Content
from textual.timer import Timer

from tui_chat.models.reply import Reply
from tui_chat.models.timing import NO_TIMING, Timing
from tui_chat.models.visible import one_line
from tui_chat.ui.chat.label import lasted
from tui_chat.ui.chat.lines import clipped
from tui_chat.ui.chat.progress import speed
from tui_chat.ui.keys import DEFAULT_KEYS, insert_keys
from tui_chat.ui.widgets.one_pass import OnePassWidget

Tone = Literal["hint", "warning", "error"]
"""How urgent a status is."""

HINT = "{help} help · {palette} commands · {sessions} sessions · {inspector} request"
"""What the strip says while nothing goes on; a key for each `{action}`."""
TRANSCRIPT_HINT = (
    "j k messages · y copy · c code · / find · e edit · r again · ← → versions · {help} all keys"
)
"""What it says while keys go to the transcript."""
READING_HINT = (
    "j k messages · y copy · c code · / find · ← → versions · {search} search · {help} all keys"
)
"""What it says there where nothing can be said."""
NO_REPLY = "No reply yet: {regenerate} asks for one"
"""What it says first where the conversation ends with the user's words."""
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class TitleLine(OnePassWidget):
    """The session's title, what it is bound to, and a quiet status at the right."""

    DEFAULT_CSS = """
    TitleLine { height: 1; padding: 0 1; background: $panel; color: $foreground; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._title: str = ""
        self._subtitle: str = ""
        self._status: str = ""
        self._tokens: str = ""

    def weigh(self, tokens: str) -> None:
        """Show how large the request is."""
        if tokens != self._tokens:
            self._tokens = tokens
            self.refresh()

    def show(self, title: str, subtitle: str, status: str) -> None:
        """Show these; each is cut where there is no room, the status last."""
        shown = one_line(title), one_line(subtitle), one_line(status)
        if shown != (self._title, self._subtitle, self._status):
            self._title, self._subtitle, self._status = shown
            self.refresh()

    def render(self) -> Content:
        """Draw the line."""
        width = self.content_size.width
        both = " · ".join(words for words in (self._status, self._tokens) if words)
        least = min(cell_len(self._title), 16) + min(cell_len(self._subtitle), 24) + 6
        fitting = (words for words in (both, self._tokens) if cell_len(words) + least <= width)
        status = next(fitting, "")
        room = width - (cell_len(status) + 2 if status else 0)
        title = clipped(self._title, max(room // 2 if self._subtitle else room, 1))
        left = room - cell_len(title) - 3
        subtitle = _fitted(self._subtitle, left) if self._subtitle and left >= 8 else ""
        between = "  " if subtitle else ""
        used = cell_len(title) + cell_len(between) + cell_len(subtitle) + cell_len(status)
        return Content.assemble(
            (title, "bold"),
            (between + subtitle, "$foreground 72%"),
            " " * max(width - used, 0),
            (status, "$foreground 67%"),
        )


NOT_SAVED = "Not saved yet"
"""What the line says while something is in memory only."""


class ActivityLine(OnePassWidget):
    """What goes on: a hint, a notice, or how a streaming reply gets on."""

    DEFAULT_CSS = """
    ActivityLine { height: 1; padding: 0 2; background: $background; color: $foreground; }
    """
    _TONES: ClassVar[dict[Tone, str]] = {
        "hint": "$foreground 67%",
        "warning": "$text-warning",
        "error": "$text-error",
    }

    def __init__(self) -> None:
        super().__init__()
        self._hint = insert_keys(HINT, DEFAULT_KEYS)
        self._words: str = ""
        self._tone: Tone = "hint"
        self._began: float | None = None
        self._timing = NO_TIMING
        self._reply: Reply | None = None
        self._asked = ""
        self._can_stop = True
        self._is_saved = self._is_reply_saved = True
        self._timer: Timer | None = None

    def say(self, words: str, tone: Tone = "hint") -> None:
        """Say something; no words bring the hint back."""
        self._words, self._tone = one_line(words), tone
        self.refresh()

    @property
    def is_saved(self) -> bool:
        """False while something that should be on the disk is in memory only."""
        return self._is_saved

    @is_saved.setter
    def is_saved(self, is_saved: bool) -> None:
        self._is_saved = is_saved
        self.refresh()

    @property
    def hint(self) -> str:
        """What is said while there is nothing else to say."""
        return self._hint

    @hint.setter
    def hint(self, words: str) -> None:
        if words != self._hint:
            self._hint = words
            self.refresh()

    def streams(self, asked: str | None, *, elsewhere: bool = False) -> None:
        """Tell that a reply of `asked` streams, or with None that none does; `elsewhere` that
        another program receives it.
        """
        self._can_stop = not elsewhere
        if asked is None:
            self._began = self._reply = None
            self._timing, self._is_reply_saved = NO_TIMING, True
            if self._timer is not None:
                self._timer.stop()
                self._timer = None
        elif self._began is None:
            self._began = monotonic()
            self._asked = one_line(asked, 60)
            self._timer = self.set_interval(0.1, self.refresh)
        self.refresh()

    def grew(self, reply: Reply, timing: Timing = NO_TIMING, *, is_saved: bool = True) -> None:
        """Take note of what has come; it is drawn with the next turn of the spinner."""
        self._reply, self._timing, self._is_reply_saved = reply, timing, is_saved

    def render(self) -> Content:
        """Draw the line."""
        width = self.content_size.width
        if self._began is None:
            words = self._words or self._hint
            if not self._is_saved:
                return Content.styled(
                    _fitted(f"{NOT_SAVED} · {words}", width), self._TONES["warning"]
                )
            return Content.styled(_fitted(words, width), self._TONES[self._tone])
        elapsed = monotonic() - self._began
        still = cast("App[object]", super().app).animation_level == "none"  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
        frame = "●" if still else _FRAMES[int(elapsed * 10) % len(_FRAMES)]
        facts = f"{self._progress()} · {lasted(elapsed)}"
        if not (self._is_saved and self._is_reply_saved):
            facts = f"{NOT_SAVED} · {facts}"
        stops = "Esc stops" if self._can_stop else "in another window"
        room = width - 2 - len(stops) - 2
        facts = clipped(facts, max(room, 1))
        gap = " " * max(width - 2 - cell_len(facts) - len(stops), 1)
        return Content.assemble(
            (f"{frame} ", "$text-success"),
            (facts, "$foreground 72%"),
            gap,
            (stops, "bold $foreground 80%"),
        )

    def _progress(self) -> str:
        reply = self._reply
        if reply is None or reply.is_empty:
            return f"Waiting for {self._asked}" if self._asked else "Waiting"
        verb = "Writing" if len(reply.content) else "Thinking"
        fast = speed(self._timing)
        return f"{verb} · {fast}" if fast else verb


def _fitted(words: str, width: int) -> str:
    """Leave out the last phrases of a hint that does not fit."""
    phrases = words.split(" · ")
    while len(phrases) > 1 and cell_len(" · ".join(phrases)) > width:
        phrases.pop()
    return clipped(" · ".join(phrases), max(width, 1))

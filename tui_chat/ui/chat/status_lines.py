"""The one-row widgets of the chat: its title, and what goes on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.usage import NO_TIMING, Timing
from tui_chat.ui.chat.rows import clipped

if TYPE_CHECKING:
    from tui_chat.models.reply import Reply

Tone = Literal["hint", "warning", "error"]
"""The urgency of a status."""

NO_REPLY = "No reply yet: {regenerate} generates one"
"""The hint if the branch ends with a user message."""
VERSIONS = (
    "Version {number} of {count}: ← → others",
    "Version {number} of {count}: Shift+Tab, then ← →",
)
"""The hint if the message under the cursor has several versions, and outside of the transcript if
the last reply has."""
FOUND = "Hit {number} of {count:,}: n N others, Esc back to the draft, {{search}} all results"
"""The hint in the transcript after a jump from global search."""
ONLY_FOUND = "The only hit: Esc back to the draft, {{search}} all results"
"""The same where the conversation has no other hit."""
NOT_SAVED = "Not saved yet"
"""Prefix of everything while something is only in memory."""
STALLED = 5.0
"""Seconds without data after which the line says so."""
_NOW = 2.0
"""Seconds in which a new attempt is called so, before the line says what it waits for."""
_QUIET = "$foreground 67%"
_FACT_STYLES = {
    "temporary": "$text-warning",
    "model": "$foreground 87%",
    "edits": "$text-warning",
}
_FACT_ACTIONS = {
    "model": "sessions.choose_model",
    "endpoint": "sessions.choose_model",
    "role": "sessions.choose_role",
    "edits": "request_edits.list",
    "tokens": "panes.toggle_area('inspector')",
    "cost": "main.usage",
}
"""What a click on a fact does."""


@dataclass(frozen=True, slots=True)
class ChatFacts:
    """The facts on the composer's border: whom one talks to, and what the request takes. A click on
    one shows more of it, or changes it.
    """

    model: str = ""
    endpoint: str = ""
    role: str = ""
    tokens: str = ""
    """The size of the request that Enter sends."""
    cost: str = ""
    """The cost of the session; empty if it is not known."""
    edits: int = 0
    """Edits by hand that change the request that Enter sends."""
    is_temporary: bool = False

    def line(self, width: int) -> Content:
        """Return the facts that fit a width in cells; the endpoint is left out first."""
        facts = {
            name: one_line(text, 60)
            for name, text in (
                ("temporary", "temporary" * self.is_temporary),
                ("model", self.model or "no model"),
                ("endpoint", self.endpoint),
                ("role", self.role),
                ("edits", self._edits_in_words),
                ("tokens", self.tokens),
                ("cost", self.cost),
            )
            if text
        }
        for name in ("endpoint", "role", "cost", "tokens", "edits", "temporary"):
            if cell_len(" · ".join(facts.values())) <= width:
                break
            facts.pop(name, None)
        separator = Content.styled(" · ", _QUIET)
        line = separator.join(self._styled(name, text) for name, text in facts.items())
        return line.truncate(max(width, 1), ellipsis=True)

    @property
    def _edits_in_words(self) -> str:
        count = self.edits
        return f"{count:,} edit{'s' * (count != 1)} by hand" if count else ""

    @staticmethod
    def _styled(name: str, text: str) -> Content:
        fact = Content.styled(text, _FACT_STYLES.get(name, _QUIET))
        if name in _FACT_ACTIONS:
            fact = fact.stylize(Style.from_meta({"@click": _FACT_ACTIONS[name]}))
        return fact


class TitleLine(Widget):
    """The session's title, what there is to know of it, and at the right a status.

    Each is cut if there is no room, the status first.
    """

    DEFAULT_CSS = """
    TitleLine { height: 1; padding: 0 1; background: $panel; color: $foreground; }
    TitleLine.-temporary { background: $warning 10%; }
    """

    title = reactive("")
    subtitle = reactive("")
    count = reactive("")
    """The number of messages, in words."""
    cost = reactive("")

    def render(self) -> Content:
        width = self.content_size.width
        title, subtitle = one_line(self.title), one_line(self.subtitle)
        least = min(cell_len(title), 16) + min(cell_len(subtitle), 24) + 6
        status = " · ".join(filter(None, (self.cost, self.count)))
        status = status if cell_len(status) + least <= width else ""
        room = width - (cell_len(status) + 2 if status else 0)
        title = clipped(title, max(room // 2 if subtitle else room, 1))
        left = room - cell_len(title) - 3
        subtitle = _fitting(subtitle, left) if subtitle and left >= 8 else ""
        gap = "  " if subtitle else ""
        used = cell_len(title) + cell_len(gap) + cell_len(subtitle) + cell_len(status)
        return Content.assemble(
            (title, "bold"),
            (gap + subtitle, "$foreground 72%"),
            " " * max(width - used, 0),
            (status, "$foreground 75%"),
        )


class ActivityLine(Widget):
    """The row below the conversation: the progress of a streaming reply, else a status, else a
    hint. Without any it stays, as the space above the composer: the text would jump if it went.
    """

    DEFAULT_CSS = """
    ActivityLine { height: 1; padding: 0 2; background: $background; color: $foreground; }
    """
    _TONES: ClassVar[dict[Tone, str]] = {
        "hint": _QUIET,
        "warning": "$text-warning",
        "error": "$text-error",
    }

    hint = reactive("")
    """What can be done just now that the footer does not say."""
    is_saved = reactive(True)
    """False while something is only in memory that should be on disk."""
    tool_state = reactive("")
    """The state of the waiting or running tool calls, in words."""

    def __init__(self) -> None:
        super().__init__()
        self._status: str = ""
        self._tone: Tone = "hint"
        self._model = ""
        self._is_streaming = False
        self._timing = NO_TIMING
        self._reply: Reply | None = None
        self._is_ours = True
        self._is_reply_saved = True
        self._timer: Timer | None = None
        self._last_data = 0.0
        """The time of the last received data, by the monotonic clock."""
        self._pause: tuple[str, str, float] | None = None
        """Another attempt that the request waits for: which, why, and when by that clock."""
        self._retry: tuple[str, float] | None = None
        """The key that sends a refused request again, and the time from which that may work."""
        self._countdown: Timer | None = None

    def show_retry(self, key: str, seconds: float) -> None:
        """Offer to send a refused request again, with a countdown of the wait that is asked for."""
        self.end_retry()
        self._retry = key, monotonic() + seconds
        self._countdown = self.set_interval(1, self.refresh, repeat=ceil(seconds) + 1)
        self.refresh()

    def end_retry(self) -> None:
        """Offer nothing any more."""
        self._retry = None
        if self._countdown is not None:
            self._countdown.stop()
            self._countdown = None
        self.refresh()

    async def on_click(self) -> None:
        if self._retry is not None and not self._is_streaming:
            await self.run_action("chat.regenerate")

    def _retry_offer(self) -> str:
        """Return the offer to send a refused request again; empty if there is none."""
        if self._retry is None:
            return ""
        key, start = self._retry
        left = start - monotonic()
        when = f"in {ceil(left)} s" if left > 0 else "now"
        return f"[Try again: {key}]  The provider is ready {when}"

    def show_status(self, text: str, tone: Tone = "hint") -> None:
        """Show a status; an empty one brings the hint back."""
        self._status, self._tone = one_line(text), tone
        self.refresh()

    def show_streaming(self, model: str | None, *, is_ours: bool = True) -> None:
        """Show that a model's reply streams, or with None that none does.

        `is_ours` is False if another program receives the reply.
        """
        self._is_ours = is_ours
        if model is None:
            self._is_streaming, self._reply, self._pause = False, None, None
            self._timing, self._is_reply_saved = NO_TIMING, True
            if self._timer is not None:
                self._timer.stop()
                self._timer = None
        elif not self._is_streaming:
            self.end_retry()
            self._is_streaming, self._last_data = True, monotonic()
            self._model = one_line(model, 60)
            self._timer = self.set_interval(1, self.refresh)
        self.refresh()

    def set_progress(self, reply: Reply, timing: Timing, *, is_saved: bool) -> None:
        """Set what came of the reply; it is drawn within a second, the first word at once."""
        if reply is not self._reply:
            self._last_data = monotonic()
        if self._pause is not None or self._reply is None or self._reply.is_empty:
            self.refresh()
        self._pause = None
        self._reply, self._timing, self._is_reply_saved = reply, timing, is_saved

    def show_pause(self, attempt: int, attempts: int, seconds: float, why: str) -> None:
        """Show that a request waits so many seconds for an attempt, the first being 1, and why."""
        self._pause = f"Retrying ({attempt} of {attempts})", one_line(why), monotonic() + seconds
        self.refresh()

    def _words(self) -> tuple[str, Tone]:
        """Return the words and the tone while no reply streams; no words for nothing to say."""
        offer = self._retry_offer()
        text, tone = (offer, "warning") if offer else (self._status or self.hint, self._tone)
        before = (NOT_SAVED * (not self.is_saved), self.tool_state)
        if any(before):
            tone = "warning"
        return " · ".join(filter(None, (*before, text))), tone

    def render(self) -> Content:
        width = self.content_size.width
        if not self._is_streaming:
            text, tone = self._words()
            return Content.styled(_fitting(text, width), self._TONES[tone])
        facts = self._wait() or self._progress()
        if not (self.is_saved and self._is_reply_saved):
            facts = f"{NOT_SAVED} · {facts}"
        stops = "Esc stop" if self._is_ours else "in another window"
        facts = clipped(facts, max(width - len(stops) - 2, 1))
        gap = " " * max(width - cell_len(facts) - len(stops), 1)
        return Content.assemble((facts, "$foreground 72%"), gap, (stops, "bold $foreground 80%"))

    def _wait(self) -> str:
        """Return when the next attempt begins, and why; empty if none is waited for."""
        if self._pause is None:
            return ""
        which, why, end = self._pause
        left = end - monotonic()
        if left < -_NOW:
            return ""
        return f"{which} {f'in {ceil(left)} s' if left > 0 else 'now'} · {why}"

    def _progress(self) -> str:
        from tui_chat.ui.chat.header_footer import format_duration, token_rate

        reply = self._reply
        if not self._is_ours:
            return "A reply is arriving"
        if reply is None or reply.is_empty:
            return f"Waiting for {self._model}" if self._model else "Waiting"
        verb = "Writing" if len(reply.content) else "Thinking"
        silent = monotonic() - self._last_data
        if silent >= STALLED:
            return f"{verb} · no data for {format_duration(silent // 1)}"
        rate = token_rate(self._timing)
        return f"{verb} · {rate}" if rate else verb


def _fitting(text: str, width: int) -> str:
    """Leave out the last phrases of a text that does not fit."""
    phrases = text.split(" · ")
    while len(phrases) > 1 and cell_len(" · ".join(phrases)) > width:
        phrases.pop()
    return clipped(" · ".join(phrases), max(width, 1))


@contextmanager
def asking(activity: ActivityLine, typed: str) -> Generator[None]:
    """Say that a server is asked for what is typed as `SERVER:NAME`."""
    activity.show_status(f"Asking {one_line(typed.partition(':')[0], 40)} …")
    try:
        yield
    finally:
        activity.show_status("")

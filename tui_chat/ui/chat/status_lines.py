"""The one-row widgets of the chat: its title, what is on the composer's border, what goes on."""

from __future__ import annotations

from math import ceil
from time import monotonic
from typing import ClassVar, Literal

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.ui.chat.rows import clipped

Tone = Literal["hint", "warning", "error"]
"""The urgency of a status."""

NO_REPLY = "No reply yet: {regenerate} generates one"
"""The hint if the branch ends with a user message."""
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
_LEAST_NAME = 8
"""Cells that the name of the model keeps where the other facts leave fewer."""


def _button(words: str, action: str) -> Content:
    return Content(words).stylize(Style.from_meta({"@click": action}))


@dataclass(frozen=True, slots=True)
class ChatFacts:
    """The facts on the composer's border: whom one talks to, and what the request takes. A click on
    one shows more of it, or changes it.
    """

    model: str = ""
    has_key: bool = True
    """False if the model's endpoint has no API key."""
    role: str = ""
    tokens: str = ""
    """The size of the request that Enter sends."""
    edits: int = 0
    """Edits by hand that change the request that Enter sends."""
    queued: int = 0
    """Messages that are sent after the reply."""

    def line(self, width: int) -> Content:
        """Return the facts in a width in cells: where there is no room, the model's name is cut."""
        choose, edits = "sessions.choose_model", self.edits
        before = [_button(f"{self.queued:,} queued", "composer.queue")] if self.queued else []
        after = [
            _button(one_line(words, 60), action).stylize(style)
            for words, action, style in (
                ("" if self.has_key else "no API key", choose, "$text-warning"),
                (self.role, "sessions.choose_role", ""),
                (
                    f"{edits:,} edit{'s' * (edits != 1)} by hand" if edits else "",
                    "inspector.show_view('notes')",
                    "$text-warning",
                ),
                (self.tokens, "panes.toggle_area('inspector')", ""),
            )
            if words
        ]
        others = sum(fact.cell_length + 3 for fact in (*before, *after))
        name = clipped(one_line(self.model or "no model", 60), max(width - others, _LEAST_NAME))
        facts = [*before, _button(name, choose).stylize("$foreground"), *after]
        line = Content.styled(" · ", "$label").join(facts).stylize_before("$label")
        return line.truncate(max(width, 1), ellipsis=True)


class TitleLine(Widget):
    """The session's title and what there is to know of it; at the right, that text has come below
    what is shown.
    """

    DEFAULT_CSS = """
    TitleLine { height: 1; padding: 0 3; color: $label; }
    """

    title = reactive("")
    facts: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    is_temporary = reactive(False)
    """True for a session that is not stored; a button keeps it."""
    has_new_text = reactive(False)

    def render(self) -> Content:
        words, width = [one_line(self.title), *map(one_line, self.facts)], self.content_size.width
        button, mark = Content(""), Content("")
        if self.is_temporary:
            words[0] = "Temporary session · not stored"
            keep = _button("[ Keep ]", "sessions.keep_temporary")
            button = Content("  ") + keep.stylize("$text-warning")
        if self.has_new_text:
            mark = Content("  ") + _button("↓ new text", "conversation.latest_message")
        room = max(width - button.cell_length - mark.cell_length, 1)
        left = Content(" · ".join(filter(None, words))).truncate(room, ellipsis=True) + button
        return left.pad_right(max(width - left.cell_length - mark.cell_length, 0)) + mark


class ActivityLine(Widget):
    """The row below the conversation: a status, else a hint. Without any it stays, as the space
    above the composer: the text would jump if it went.
    """

    DEFAULT_CSS = """
    ActivityLine { height: 1; padding: 0 3; background: $background; color: $label; }
    """
    _TONES: ClassVar[dict[Tone, str]] = {
        "hint": "$label",
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
        self._is_streaming = False
        """True while a reply of ours streams."""
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

    def show_streaming(self, *, is_streaming: bool) -> None:
        """Show how a reply of ours can be stopped, or that none streams."""
        if not is_streaming:
            self._is_streaming, self._pause, self._is_reply_saved = False, None, True
            if self._timer is not None:
                self._timer.stop()
                self._timer = None
        elif not self._is_streaming:
            self.end_retry()
            self._is_streaming, self._last_data = True, monotonic()
            self._timer = self.set_interval(1, self.refresh)
        self.refresh()

    def data_received(self, *, is_saved: bool) -> None:
        """Note that something of the reply came."""
        if self._pause is not None or self._is_reply_saved is not is_saved:
            self.refresh()
        self._last_data, self._pause, self._is_reply_saved = monotonic(), None, is_saved

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
            return Content.styled(clipped(text, max(width, 1)), self._TONES[tone])
        silent = monotonic() - self._last_data >= STALLED
        facts = self._wait() or ("No data is arriving" if silent else "")
        if not (self.is_saved and self._is_reply_saved):
            facts = " · ".join(filter(None, (NOT_SAVED, facts)))
        stops = "Esc stop"
        facts = clipped(facts, max(width - len(stops) - 2, 1))
        gap = " " * max(width - cell_len(facts) - len(stops), 1)
        return Content.assemble(facts, gap, (stops, "bold"))

    def _wait(self) -> str:
        """Return when the next attempt begins, and why; empty if none is waited for."""
        if self._pause is None:
            return ""
        which, why, end = self._pause
        left = end - monotonic()
        if left < -_NOW:
            return ""
        return f"{which} {f'in {ceil(left)} s' if left > 0 else 'now'} · {why}"

"""The one-row widgets of the chat: its title, what is on the composer's border, what goes on."""

from __future__ import annotations

from typing import ClassVar, Literal

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.ui.widgets.plain_links import PlainLinks
from tui_chat.ui.widgets.row_list import clipped

Tone = Literal["hint", "warning", "error"]
"""The urgency of a status."""

NO_REPLY = "No reply yet: {regenerate} generates one"
"""The hint if the branch ends with a user message."""
QUEUE_WAITS = "Enter sends the next queued message · /queue lists them"
"""The hint if messages are queued and no reply arrives."""
NOT_SAVED = "Not saved yet"
"""Prefix of everything while something is only in memory."""
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
        """Return the facts in a width in cells: where there is no room, the role is left out, then
        the model's name is cut.
        """
        whole = self._line(width, self.role)
        is_cut = "…" in whole.plain and "…" not in f"{self.model}{self.role}"
        return self._line(width, "") if is_cut else whole

    def _line(self, width: int, role: str) -> Content:
        choose, edits = "sessions.choose_model", self.edits
        before = [_button(f"{self.queued:,} queued", "composer.queue")] if self.queued else []
        after = [
            _button(one_line(words, 60), action).stylize(style)
            for words, action, style in (
                ("" if self.has_key else "no API key", choose, "$text-warning"),
                (role, "sessions.choose_role", ""),
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


class TitleLine(PlainLinks):
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
            mark = Content("  ") + _button("↓ new text", "conversation.end")
        room = max(width - button.cell_length - mark.cell_length, 1)
        left = Content(" · ".join(filter(None, words))).truncate(room, ellipsis=True) + button
        return left.pad_right(max(width - left.cell_length - mark.cell_length, 0)) + mark


class ActivityLine(PlainLinks):
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

    is_streaming = reactive(False)
    """True while a reply of ours streams, which Esc stops."""
    is_reply_saved = reactive(True)
    pause = reactive("")
    """Another attempt that the request waits for, in words; empty if it waits for none."""
    _status = reactive("")
    _tone: reactive[Tone] = reactive[Tone]("hint")

    def show_status(self, text: str, tone: Tone = "hint") -> None:
        """Show a status; an empty one brings the hint back."""
        self._status, self._tone = one_line(text), tone

    def watch_is_streaming(self, value: bool) -> None:
        """Say nothing more of a reply that ended."""
        if not value:
            self.data_received(is_saved=True)

    def data_received(self, *, is_saved: bool) -> None:
        """Note that something of the reply came."""
        self.pause, self.is_reply_saved = "", is_saved

    def _words(self) -> tuple[str, Tone]:
        """Return the words and the tone while no reply streams; no words for nothing to say."""
        before = (NOT_SAVED * (not self.is_saved), self.tool_state)
        words = " · ".join(filter(None, (*before, self._status or self.hint)))
        return words, "warning" if any(before) else self._tone

    def render(self) -> Content:
        width = self.content_size.width
        if not self.is_streaming:
            text, tone = self._words()
            while cell_len(text) > width and " · " in text:
                text = text.rpartition(" · ")[0]
            return Content.styled(clipped(text, max(width, 1)), self._TONES[tone])
        is_saved, stops = self.is_saved and self.is_reply_saved, "Esc stop"
        facts = " · ".join(filter(None, (NOT_SAVED * (not is_saved), self.pause)))
        facts = clipped(facts, max(width - len(stops) - 2, 1))
        gap = " " * max(width - cell_len(facts) - len(stops), 1)
        return Content.assemble(facts, gap, (stops, "bold"))

"""The chat pane: title, conversation, activity and editor, one over the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from tui_chat.models.reply import Reply
from tui_chat.models.session import Entry
from tui_chat.models.timing import NO_TIMING, Timing
from tui_chat.ui.chat.attached import AttachedLine
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.strips import (
    HINT,
    NO_REPLY,
    READING_HINT,
    TRANSCRIPT_HINT,
    ActivityLine,
    TitleLine,
    Tone,
)
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.keys import DEFAULT_KEYS, insert_keys
from tui_chat.ui.widgets.one_pass import OnePassContainer

if TYPE_CHECKING:
    from tui_chat.ui.chat.find_bar import FindBar


class ChatPane(Vertical, OnePassContainer):
    """A conversation and the draft of its next message.

    It shows what it is given. What the user wants is posted by its parts: see `Composer`
    and `Transcript` for their messages, which bubble through here.
    """

    DEFAULT_CSS = """
    ChatPane { background: $background; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.title_line = TitleLine()
        self.transcript = Transcript()
        self.find_bar: FindBar | None = None
        """None until words are first to be found."""
        self.activity = ActivityLine()
        self.attached = AttachedLine()
        self.composer = Composer()
        self.only_reads = False
        """Whether nothing can be said here."""
        self._wants_reply = False
        """Whether the conversation ends with what nobody has answered."""
        self._keys: Mapping[str, str] = DEFAULT_KEYS

    def compose(self) -> ComposeResult:
        """Put them over each other."""
        yield self.title_line
        yield self.transcript
        yield self.activity
        yield self.composer.suggestions
        yield self.attached
        yield self.composer

    def show(
        self,
        session_title: str,
        subtitle: str,
        entries: tuple[Entry, ...],
        empty_text: str = "",
        timing_of: Callable[[Entry], Timing] | None = None,
        *,
        session_id: str | None = None,
        is_part: bool = False,
        elsewhere: bool = False,
    ) -> None:
        """Show a session: its title, what it is bound to, and its branch.

        `empty_text` is Markdown for the first screen, where there are no entries. `timing_of`
        tells how quickly replies came and what they cost. `session_id` tells other versions from
        other sessions, where there is one. `is_part` says that these are the last
        entries of more that are still to come, `elsewhere` that another program receives the
        reply that streams.
        """
        count = len(entries)
        status = f"{count:,} message{'s' * (count != 1)}" if count and not is_part else ""
        self.title_line.show(session_title, subtitle, status)
        self.transcript.welcome(empty_text)
        self.transcript.show(entries, timing_of, session_id)
        if self.find_bar is not None and self.find_bar.display:
            self.transcript.tell_found()  # how many there are now
        self.composer.past.show(entries, session_id)
        streaming = next((e for e in entries[-2:] if e.status == "streaming"), None)
        asked = None if streaming is None else streaming.model
        self.activity.streams(asked, elsewhere=elsewhere)
        last = entries[-1].message.role if entries and not is_part else "assistant"
        self._wants_reply = last == "user" and not self.only_reads
        self._hint(self.transcript.has_focus)

    def name_keys(self, keys: Mapping[str, str]) -> None:
        """Take the keys that hints are to name, one for each action."""
        self._keys = keys
        self._hint(self.transcript.has_focus)

    def _hint(self, in_transcript: bool) -> None:
        hint = HINT if not in_transcript else READING_HINT if self.only_reads else TRANSCRIPT_HINT
        hint = f"{NO_REPLY} · {hint}" if self._wants_reply else hint
        self.activity.hint = insert_keys(hint, self._keys)

    def stream(
        self, entry_id: str, reply: Reply, timing: Timing = NO_TIMING, unsaved: str = ""
    ) -> None:
        """Show what has come of a streaming entry's reply; call it as often as you like.
        `unsaved` says why it could not be stored, empty if it could.
        """
        self.transcript.stream(entry_id, reply, timing)
        self.activity.grew(reply, timing, is_saved=not unsaved)

    def attach(self, labels: tuple[str, ...]) -> None:
        """Show what goes with the draft."""
        self.attached.show(labels)
        self.composer.has_files = bool(labels)

    def set_status(self, words: str, tone: Tone = "hint") -> None:
        """Say something in the activity line; no words bring the hint back."""
        self.activity.say(words, tone)

    @on(Transcript.FindRequested)
    async def find(self) -> None:
        """Ask for words, and find them in the conversation."""
        if self.find_bar is None:
            from tui_chat.ui.chat.find_bar import FindBar

            self.find_bar = FindBar()
            await self.mount(self.find_bar, after=self.transcript)
        self.find_bar.open()

    def on_find_bar_changed(self, event: FindBar.Changed) -> None:
        """Find other words."""
        self.transcript.find(event.words)

    def on_find_bar_step_requested(self, event: FindBar.StepRequested) -> None:
        """Go to another hit."""
        self.transcript.action_hit(event.step)

    def on_find_bar_left(self) -> None:
        """Give the keys back to the conversation, or to the editor while a pane covers it."""
        if self.transcript.focusable:
            self.transcript.focus()
        else:
            self.composer.focus()

    def focus_moved(self, focused: Widget) -> None:
        """End finding once the focus is neither on the words nor on the conversation."""
        bar = self.find_bar
        if bar is not None and focused is not self.transcript and bar not in focused.ancestors:
            bar.close()

    @on(Transcript.Found)
    def _found(self, event: Transcript.Found) -> None:
        if self.find_bar is not None:
            self.find_bar.show(event.number, event.count, event.is_on)

    @on(Transcript.Focused)
    def _transcript_focused(self, event: Transcript.Focused) -> None:
        self._hint(event.has_focus)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the editor."""
        self.composer.focus(scroll_visible)
        return self

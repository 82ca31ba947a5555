"""The chat pane: title, conversation, activity and composer, one above the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Self

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from tui_chat.models.usage import NO_TIMING, Timing
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.line_painter import COLUMN_WIDTH
from tui_chat.ui.chat.queue_lines import QueueLines
from tui_chat.ui.chat.status_lines import (
    FOUND,
    NO_REPLY,
    ONLY_FOUND,
    VERSIONS,
    ActivityLine,
    AttachmentLine,
    ChatFacts,
    TitleLine,
)
from tui_chat.ui.chat.token_strip import TokenStrip
from tui_chat.ui.chat.tool_question import ToolQuestion
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.key_names import DEFAULT_KEYS, NO_KEY, insert_keys

if TYPE_CHECKING:
    from textual.layout import WidgetPlacement

    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.welcome import Welcome
    from tui_chat.ui.widgets.find_bar import FindBar


class ReadOnlyLine(Static):
    """Replaces the composer, and says why nothing can be sent."""

    DEFAULT_CSS = """
    ReadOnlyLine {
        height: auto;
        max-height: 3;
        padding: 0 1;
        background: $panel;
        color: $foreground 72%;
    }
    """


class PaneRow(Vertical):
    """Contains a part of the pane."""


class PaneContainers(NamedTuple):
    """The containers of the pane's parts: areas, which do what the parts ask for."""

    conversation: Widget
    """That of the transcript and the strip of tokens."""
    tool_calls: Widget
    """That of the question about a tool call."""
    attachments: Widget
    """That of the line of attachments."""
    composer: Widget
    """That of the composer."""


class ChatPane(Vertical):
    """A conversation and the draft of its next message. It shows what it is given."""

    DEFAULT_CSS = (
        f"""
    /* What is below the conversation is as wide as its text. */
    ChatPane > .-tool-calls, ChatPane > .-attachments, ChatPane > .-composer,
    ChatPane > QueueLines, ChatPane > ActivityLine, ChatPane > FindBar {{
        max-width: {COLUMN_WIDTH};
    }}
    ChatPane > SuggestionList {{ max-width: {COLUMN_WIDTH - 2}; }}
    """
        """
    ChatPane { background: $background; }
    ChatPane > .-conversation {
        width: 100%;  /* `1fr` would leave the margin of the suggestions beside it free */
        height: 1fr;
        layout: horizontal;
        & > Transcript { width: 1fr; }
    }
    ChatPane > .-tool-calls {
        height: auto;
        max-height: 60%;
        & > ToolQuestion { max-height: 100%; }
    }
    ChatPane > .-attachments { height: auto; }
    ChatPane > .-composer { height: auto; max-height: 40%; & > Composer { max-height: 100%; } }
    ChatPane.-low > .-composer { max-height: 3; }
    """
    )

    def __init__(self, read_only: str = "") -> None:
        """`read_only` says why nothing can be sent from here; empty if it can."""
        super().__init__()
        self.containers = PaneContainers(PaneRow(), PaneRow(), PaneRow(), PaneRow())
        """An area replaces them by areas of its own; without one, nobody does what is asked."""
        self.title_line = TitleLine()
        self.transcript = Transcript()
        self.token_strip = TokenStrip()
        self.find_bar: FindBar | None = None
        """Made when words are first searched for."""
        self.tool_question = ToolQuestion(self._is_focus_free)
        self.activity = ActivityLine()
        self.queue = QueueLines()
        self.attachments = AttachmentLine()
        self.composer = Composer()
        self.read_only = read_only
        self._awaits_reply = False
        """True if the branch ends with a user message."""
        self._last: Entry | None = None
        """The last message, if all are shown and others can follow it."""
        self._found = ""
        """Which hit of a search of all conversations is shown; empty for none."""
        self._keys: Mapping[str, str] = DEFAULT_KEYS
        self._count = self._cost = ""
        """What the title line says of the session: its messages, in words, and its cost."""

    def compose(self) -> ComposeResult:
        for name, container in self.containers._asdict().items():
            container.add_class("-" + name.replace("_", "-"))
        yield self.title_line
        with self.containers.conversation:
            yield self.transcript
            yield self.token_strip
        with self.containers.tool_calls:
            yield self.tool_question
        yield self.activity
        yield self.queue
        yield self.composer.suggestions
        with self.containers.attachments:
            yield self.attachments
        with self.containers.composer:
            yield self.composer
        if self.read_only:
            self.composer.display, self.composer.disabled = False, True
            yield ReadOnlyLine(self.read_only, markup=False)

    def process_layout(self, placements: list[WidgetPlacement]) -> list[WidgetPlacement]:
        """Put what is narrower than the title in the middle, as the text is. Textual's `align`
        moves all together, as far as the widest allows.
        """
        width = max((placement.region.right for placement in placements), default=0)
        return [_centered(placement, width) for placement in placements]

    def show(
        self,
        session_title: str,
        subtitle: str,
        entries: tuple[Entry, ...],
        when_empty: Welcome | None = None,
        timing_of: Callable[[Entry], Timing] | None = None,
        *,
        session_id: str | None = None,
        is_part: bool = False,
        elsewhere: bool = False,
    ) -> None:
        """Show a session: its title, what it is bound to, and its branch.

        `when_empty` is shown if there are no entries.
        `timing_of` returns the timing and cost of a finished reply. `session_id` tells another
        version of the first message from another session; None if the session is not stored.
        `is_part` is True if earlier entries are still being loaded, `elsewhere` if another
        program receives the streaming reply.
        """
        count = len(entries)
        title = self.title_line
        title.title, title.subtitle = session_title, subtitle
        self._count = f"{count:,} message{'s' * (count != 1)}" if count and not is_part else ""
        self._update_status()
        self.transcript.show_when_empty(when_empty)
        self.transcript.show(entries, timing_of, session_id)
        if not is_part:
            self.token_strip.show(entries)
        if self.find_bar is not None and self.find_bar.display:
            self.transcript.post_find_status()  # the count may have changed
        self.composer.prompt_history.show(entries, session_id)
        streaming = next((e for e in entries[-2:] if e.status == "streaming"), None)
        model = None if streaming is None else streaming.model
        self.activity.show_streaming(model, is_ours=not elsewhere)
        last = entries[-1] if entries and not is_part and not self.read_only else None
        self._awaits_reply = last is not None and last.message.role == "user"
        self._last = last
        self._update_hint(in_transcript=self.transcript.has_focus)

    def mark_temporary(self, is_temporary: bool) -> None:
        """Show whether the session is a temporary one, of which nothing is stored."""
        for row in (self.title_line, self.composer):
            row.set_class(is_temporary, "-temporary")

    def show_facts(self, facts: ChatFacts) -> None:
        """Show on the composer's border whom one talks to, and what that takes."""
        self._cost = facts.cost if self.read_only else ""  # then there is no composer
        self._update_status()
        self.composer.show_facts(facts.line)

    def _update_status(self) -> None:
        self.title_line.status = " · ".join(filter(None, (self._cost, self._count)))

    def set_hint_keys(self, keys: Mapping[str, str]) -> None:
        """Set the keys that hints name, by action."""
        self._keys = keys
        usable = {name: "" if key == NO_KEY else key for name, key in keys.items()}
        self.transcript.set_button_keys(usable["regenerate"], usable["model"])
        self.tool_question.focus_key = keys["tool-call"]
        self._update_hint(in_transcript=self.transcript.has_focus)

    def _update_hint(self, *, in_transcript: bool) -> None:
        hint = self._found if in_transcript else ""
        hint = hint or (NO_REPLY if self._awaits_reply else self._version(in_transcript))
        self.activity.hint = insert_keys(hint, self._keys)

    def _version(self, in_transcript: bool) -> str:
        """Return which version the message under the cursor is, outside of the transcript the last
        reply; empty for one without others.
        """
        entry = self.transcript.current if in_transcript and self._last else self._last
        if entry is None or entry.siblings < 2:
            return ""
        if not in_transcript and entry.message.role != "assistant":
            return ""
        words = VERSIONS[not in_transcript]
        return words.format(number=entry.sibling + 1, count=entry.siblings)

    def stream(
        self, entry_id: str, reply: Reply, timing: Timing = NO_TIMING, unsaved: str = ""
    ) -> None:
        """Show the reply of a streaming entry as far as it came. May be called for every token.

        `unsaved` says why the reply could not be stored; empty if it is stored.
        """
        self.transcript.stream(entry_id, reply, timing)
        self.activity.set_progress(reply, timing, is_saved=not unsaved)

    def show_attachments(self, labels: tuple[str, ...]) -> None:
        """Show the draft's attachments."""
        self.attachments.show(labels)
        self.composer.has_attachments = bool(labels)

    async def find(self, words: str = "") -> None:
        """Open the find bar; without words it has the last ones."""
        if self.find_bar is None:
            from tui_chat.ui.widgets.find_bar import FindBar

            self.find_bar = FindBar("words in this conversation")
            await self.mount(self.find_bar, after=self.containers.conversation)
        self.find_bar.open(words)

    def show_message(self, message_id: str, words: tuple[str, ...] = ()) -> bool:
        """Go to a message and mark words in it. Return False if it is not on this branch."""
        if self.find_bar is not None:
            self.find_bar.display = False  # it has other words
        return self.transcript.show_message(message_id, words)

    def on_resize(self, event: events.Resize) -> None:
        """Give the composer its border and a line where 40 % of the height are less."""
        self.set_class(event.size.height < 8, "-low")

    def on_find_bar_words_changed(self, event: FindBar.WordsChanged) -> None:
        self.transcript.find(event.words)

    def on_find_bar_step_requested(self, event: FindBar.StepRequested) -> None:
        self.transcript.action_hit(event.step)

    def on_find_bar_exited(self) -> None:
        """Focus the transcript, or the composer while a pane covers the transcript."""
        if self.transcript.focusable:
            self.transcript.focus()
        else:
            self.composer.focus()

    def focus_moved(self, focused: Widget) -> None:
        """End the search when neither the find bar nor the transcript has the focus."""
        if focused is self.composer:
            self.tool_question.consider_focus()
        bar = self.find_bar
        if bar is not None and focused is not self.transcript and bar not in focused.ancestors:
            bar.close()

    # --- the waiting tool call -----------------------------------------------------------

    def _is_focus_free(self) -> bool:
        """Return True if nothing is being written or done that another focus would disturb."""
        is_idle = self.composer.has_focus and not (self.composer.text or self.attachments.count)
        return self.screen.is_current and (is_idle or self.transcript.has_focus)

    def focus_tool_question(self) -> None:
        """Focus the question about the waiting tool call, if there is one."""
        if self.tool_question.call is not None:
            self.tool_question.focus()

    def on_tool_question_left(self, event: ToolQuestion.Left) -> None:
        """Focus the composer, and type there what was meant for it."""
        self.focus()
        if event.typed:
            self.composer.insert_text(event.typed)

    @on(Transcript.CursorMoved)
    def _show_turn(self) -> None:
        self.token_strip.show_cursor(self.transcript.current_index)
        self._update_hint(in_transcript=self.transcript.has_focus)

    @on(TokenStrip.TurnChosen)
    def _go_to_turn(self, event: TokenStrip.TurnChosen) -> None:
        self.transcript.go_to(event.index)
        self.transcript.focus()

    @on(Transcript.FindStatus)
    def _show_find_status(self, event: Transcript.FindStatus) -> None:
        self._found = ""
        if self.find_bar is not None:
            self.find_bar.show(event.number, event.count, event.is_on)
        if event.is_on and not (self.find_bar is not None and self.find_bar.display):
            words = FOUND if event.count > 1 else ONLY_FOUND
            self._found = words.format(number=event.number, count=event.count)
        self._update_hint(in_transcript=self.transcript.has_focus)

    @on(Transcript.SearchLeft)
    def _search_left(self) -> None:
        self.focus()

    @on(Transcript.FocusChanged)
    def _transcript_focus_changed(self, event: Transcript.FocusChanged) -> None:
        self._update_hint(in_transcript=event.has_focus)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the composer; the transcript if nothing can be sent."""
        (self.transcript if self.read_only else self.composer).focus(scroll_visible)
        return self


def _centered(placement: WidgetPlacement, width: int) -> WidgetPlacement:
    free = width - placement.region.width - placement.margin.width
    return placement._replace(region=placement.region.translate((free // 2, 0)))

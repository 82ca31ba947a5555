"""One message, laid out part by part.

1. A message is a column of parts: its head, its reasoning, its sections of text, its tool
   calls, and a foot that says how it ended.
2. A part knows its height: estimated until it is laid out, exact from then on. Small
   messages are laid out whole; of a long one, only the parts that are looked at.
3. A growing message keeps the parts that can no longer change and lays out its last one.
4. When the reply is whole, its message takes over the parts of the growing one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from tui_chat.models.message import ToolCall
from tui_chat.models.session import Entry
from tui_chat.models.timing import NO_TIMING, Timing
from tui_chat.ui.chat import label
from tui_chat.ui.chat.calls import LISTED, CallState, answer_line, call_lines, said_by
from tui_chat.ui.chat.finding import thought_of
from tui_chat.ui.chat.folding import FOLDED, Fold, fold_line, small_lines
from tui_chat.ui.chat.foot import foot_lines
from tui_chat.ui.chat.lines import BLANK, Line, Run
from tui_chat.ui.chat.parts import Code, Growing, Part, framed, ready
from tui_chat.ui.chat.progress import Live

AT_ONCE = 24_000
"""Characters up to which a message is laid out whole."""


class Around(NamedTuple):
    """What a message's layout must know of its neighbours."""

    day: str = ""
    """The day it was written on, where the message before it was written on another."""
    answered: frozenset[str] = frozenset()
    """Ids of its tool calls whose results follow it."""
    is_last: bool = True
    """Whether nothing follows but results of its calls."""


ALONE = Around()


class MessageLayout:
    """A message's parts at one width."""

    def __init__(
        self,
        entry: Entry,
        width: int,
        *,
        around: Around = ALONE,
        unfolded: Collection[str] = (),
        live: Live | None = None,
        timing: Timing = NO_TIMING,
        grown: MessageLayout | None = None,
    ) -> None:
        self.entry = entry
        self.parts: list[Part] = []
        self.height = 0
        """In lines; exact as far as its parts are."""
        self.fill = "user" if entry.message.role == "user" else ""
        """Name of the style of the whole message's background."""
        self._width = max(width, 8)
        self._around = around
        self._live = live
        self._timing = timing
        self._unfolded = unfolded
        small = entry.message.role in ("system", "tool")
        if grown is None or not grown._becomes(entry, self._width):
            grown = None
        if grown is not None:
            self._body, self._thought = grown._body, grown._thought
        else:
            self._body = Growing(
                self._width, ("quiet",) if small else (), verbatim=entry.message.role != "assistant"
            )
            self._thought = Growing(self._width - 2, ("reasoning",))
            if live is None or live.reply is None:
                self._body.feed(entry.message.content)
                self._thought.feed(thought_of(entry.message))
        self._blocks = 0
        self._apart = False
        self._body_at = 0
        self._parts_changed()
        if live and live.reply:
            self.grow(live)

    def lines(self, part: int) -> list[Line]:
        """Return a part's lines; the message's height becomes as exact as they are."""
        column = self.parts[part]
        known = column.height
        lines = column.lines
        self.height += column.height - known
        return lines

    @property
    def folds(self) -> list[str]:
        """Keys of what can be unfolded."""
        return [key for *_, key in self._toggles()]

    @property
    def folded(self) -> list[Fold]:
        """What is folded now."""
        return [
            Fold(part, 0 if key == self._key("text") else line, line, key, self._text_of(key))
            for part, line, key in self._toggles()
            if key not in self._unfolded
        ]

    def _toggles(self) -> Iterator[tuple[int, int, str]]:
        """Yield the lines that fold and unfold: part, line, and the key of what."""
        for index, part in enumerate(self.parts):
            if part.height <= 2 * FOLDED or index < self._body_at:
                for number, line in enumerate(self.lines(index)):
                    if line.action and line.action.name == "toggle":
                        yield index, number, line.action.key

    def _text_of(self, key: str) -> str:
        """Return what a fold hides."""
        message = self.entry.message
        if key == self._key("text"):
            return message.content
        if key == self._key("thought"):
            return thought_of(message)
        calls = {self._key(f"call/{i}"): call for i, call in enumerate(message.tool_calls)}
        return said_by(calls[key]) if key in calls else ""

    @property
    def codes(self) -> list[Code]:
        """The blocks of code in its text; their parts are those of the column."""
        if self.entry.message.role in ("system", "tool"):
            return []
        return [code._replace(part=code.part + self._body_at) for code in self._body.codes]

    @property
    def waiting_call(self) -> str | None:
        """The id of the first tool call that waits for an answer."""
        if not self._awaits:
            return None
        calls = self.entry.message.tool_calls
        return next((call.id for call in calls if call.id not in self._around.answered), None)

    def grow(self, live: Live) -> None:
        """Take what has come of the reply since the last time."""
        began = self._live is None or self._live.reply is None
        self._live = live
        if live.reply is None:
            return
        thought = self._thought.parts
        thoughts = (len(thought), thought[-1] if thought else None)
        bare = not self._body.parts
        first = self._body.follow(live.reply.content)
        for index, block in enumerate(live.reply.reasoning[self._blocks :], self._blocks):
            if index > self._blocks:
                self._thought.next_rope()
                self._blocks, self._apart = index, True
            if self._apart and len(block.text):
                self._apart = False
                if self._thought.parts:
                    self._thought.feed("\n\n")
            self._thought.follow(block.text)
        thought = self._thought.parts
        same = thoughts == (len(thought), thought[-1] if thought else None)
        if began or bare or not same or live.reply.calls or len(live.reply.refusal):
            self._parts_changed()
        else:
            self._body_grew(first)

    def tick(self, live: Live) -> None:
        """Say how it gets on."""
        if self._live:
            self._live = live
            self._set(0, self._head())

    def refold(self) -> None:
        """Lay out again what was folded or unfolded."""
        self._parts_changed()

    def _becomes(self, entry: Entry, width: int) -> bool:
        """Take the rest of the finished entry, if what has grown here is its beginning."""
        reply = self._live.reply if self._live else None
        if reply is None or self._width != width or entry.status == "streaming":
            return False
        text, thought = entry.message.content, thought_of(entry.message)
        said, thought_so_far = reply.text, reply.thought
        if not (text.startswith(said) and thought.startswith(thought_so_far)):
            return False
        self._body.feed(text[len(said) :])
        self._thought.feed(thought[len(thought_so_far) :])
        return True

    def _key(self, what: str) -> str:
        message = self.entry.message
        return f"{message.id or id(self.entry)}/{what}"

    def _is_open(self, what: str) -> bool:
        return self._key(what) in self._unfolded

    def _parts_changed(self) -> None:
        """Put the column together; what is laid out already stays so."""
        entry = self.entry
        role = entry.message.role
        if role in ("system", "tool"):
            text, key = entry.message.content, self._key("text")
            folded = small_lines(text, self._width, key=key, open_=key in self._unfolded)
            self.parts = [self._head(), ready(folded)]
        else:
            apart = self._reasoning()
            body = self._body.parts
            lead = [Part(lambda: [BLANK], 1)] if apart and body else []
            above = [self._head(), *apart, *lead]
            self._body_at = len(above)
            self.parts = [*above, *body, *self._calls(), *self._foot()]
        if len(entry.message.content) <= AT_ONCE and self._live is None:
            for part in self.parts:
                _ = part.lines
        self.height = sum(part.height for part in self.parts)

    def _body_grew(self, first: int) -> None:
        """Exchange the parts of the text from `first` on, where nothing stands below it."""
        at = self._body_at + first
        new = self._body.parts[first:]
        self.height += sum(p.height for p in new) - sum(p.height for p in self.parts[at:])
        self.parts[at:] = new
        self._set(0, self._head())

    def _set(self, at: int, part: Part) -> None:
        self.height += part.height - self.parts[at].height
        self.parts[at] = part

    def _head(self) -> Part:
        return ready(
            label.head(self.entry, self._width, self._around.day, self._live, self._timing)
        )

    def _reasoning(self) -> list[Part]:
        thought = self._thought
        sealed = any(block.encrypted for block in self.entry.message.semantics.reasoning)
        if not thought.parts:
            words = "Thought, sealed by the provider"
            return [ready([Line((Run(f"  {words}", ("fold",)),))])] if sealed else []
        open_ = self._is_open("thought")
        thinking = self._live is not None and not self._body.parts
        verb = "Thinking" if thinking else "Thought"
        count = thought.words
        words = f"{verb} for {label.number(count)} word{'s' * (count != 1)}"
        line = fold_line(self._key("thought"), words, self._width, open_=open_)
        if not open_:
            return [ready([line])]
        bar = (Run("│ ", ("quote-bar",)),)
        return [ready([line]), *(framed(part, bar) for part in thought.parts)]

    @property
    def _awaits(self) -> bool:
        """Whether the conversation waits for results of this message's calls."""
        return self._live is None and self._around.is_last and self.entry.status == "complete"

    def _calls(self) -> list[Part]:
        reply = self._live.reply if self._live else None
        calls = self.entry.message.tool_calls
        count = len(reply.calls) if reply else len(calls)
        if reply:
            arrived = reply.calls[:LISTED]
            calls = tuple(ToolCall(call.id, call.name, str(call.arguments)) for call in arrived)
        if not calls:
            return []
        made: list[Line] = [BLANK] if self._body.parts else []
        for index, call in enumerate(calls[:LISTED]):
            what = f"call/{index}"
            made += call_lines(
                call,
                self._width,
                key=self._key(what),
                unfolded=self._is_open(what),
                state=self._state(call),
            )
        if count > LISTED:
            made.append(Line((Run(f"  … {count - LISTED:,} more calls", ("fold",)),)))
        if self._awaits:
            made += answer_line(calls, self._around.answered)
        return [ready(made)]

    def _state(self, call: ToolCall) -> CallState:
        if self._live is not None:
            return "arriving"
        if call.id in self._around.answered:
            return "answered"
        return "awaits" if self._awaits else "unanswered"

    def _foot(self) -> list[Part]:
        refusal = self.entry.message.semantics.refusal
        if self._live and self._live.reply:
            refusal = str(self._live.reply.refusal)
        lines = foot_lines(self.entry, refusal, self._width)
        return [ready(lines)] if lines else []

"""One message, laid out part by part.

1. A message is a column of parts: its head, its reasoning, its sections of text, its tool
   calls, and a foot that says how it ended.
2. A part knows its height: estimated until it is laid out, exact from then on. Small
   messages are laid out whole; of a long one, only the parts that are looked at.
3. A growing message keeps the parts that can no longer change and lays out its last one.
4. When the reply is whole, its message takes over the parts of the growing one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tui_chat.model.message import ToolCall
from tui_chat.model.reply import Reply, Rope
from tui_chat.model.session import Entry
from tui_chat.model.visible import one_line
from tui_chat.ui.chat import label
from tui_chat.ui.chat.code import code_lines
from tui_chat.ui.chat.lines import BLANK, Action, Line, Run, Styles, clipped, indented, run, wrap
from tui_chat.ui.chat.markdown import plain_lines, section_lines
from tui_chat.ui.chat.sections import Section, Sections

AT_ONCE = 24_000
"""Characters up to which a message is laid out whole."""
FOLDED = 4
"""Lines that a system or tool message shows before it is unfolded."""
SHOWN = 200_000
"""Characters of a tool call or tool message that are laid out when it is unfolded."""


class Part:
    """Some lines of a message, laid out when they are looked at."""

    __slots__ = ("_draw", "_lines", "height")

    def __init__(self, draw: Callable[[], list[Line]], estimate: int) -> None:
        self._draw = draw
        self._lines: list[Line] | None = None
        self.height = estimate
        """In lines; exact once `lines` was asked for."""

    @property
    def lines(self) -> list[Line]:
        """The part's lines."""
        if self._lines is None:
            self._lines = self._draw()
            self.height = len(self._lines)
        return self._lines


class Growing:
    """The sections of a text that may still grow, and their parts."""

    def __init__(self, width: int, styles: Styles = (), *, verbatim: bool = False) -> None:
        self.parts: list[Part] = []
        self._sections = Sections()
        self._settled = 0
        self._counted = 0
        self._words = 0
        self._width, self._styles, self._verbatim = width, styles, verbatim
        self._chunks = 0
        self._offset = 0

    def follow(self, rope: Rope) -> None:
        """Take what the rope has more than the last time."""
        new = "".join((*rope.chunks[self._chunks :], rope.tail))[self._offset :]
        self._chunks, self._offset = len(rope.chunks), len(rope.tail)
        self.feed(new)

    def next_rope(self) -> None:
        """Expect the beginning of another rope."""
        self._chunks = self._offset = 0

    def feed(self, text: str) -> None:
        """Add text at the end."""
        if not text:
            return
        self._sections.feed(text)
        settled = self._sections.settled
        del self.parts[self._settled :]
        for section in settled[self._settled :]:
            self.parts.append(self._part(section))
        self._settled = len(settled)
        if last := self._sections.open:
            self.parts.append(self._part(last))

    @property
    def words(self) -> int:
        """Words, where a wide character counts as one."""
        for section in self._sections.settled[self._counted :]:
            self._words += label.count_words(section.source)
        self._counted = len(self._sections.settled)
        last = self._sections.open
        return self._words + (label.count_words(last.source) if last else 0)

    def _part(self, section: Section) -> Part:
        verbatim = self._verbatim and section.kind != "code"
        gap = bool(self.parts) and (section.blank if verbatim else section.gap)

        def draw() -> list[Line]:
            lines = section_lines(section, self._width, self._styles, verbatim=verbatim)
            return [BLANK, *lines] if gap else lines

        return Part(draw, estimate(section.source, self._width) + gap)


@dataclass(frozen=True, slots=True)
class Live:
    """What a streaming reply has beyond its entry."""

    seconds: float
    """Since it was asked for, as far as the screen knows."""
    reply: Reply | None = None


class MessageLayout:
    """A message's parts at one width."""

    def __init__(
        self,
        entry: Entry,
        width: int,
        *,
        day: str = "",
        unfolded: Collection[str] = (),
        live: Live | None = None,
        grown: MessageLayout | None = None,
    ) -> None:
        self.entry = entry
        self.parts: list[Part] = []
        self.height = 0
        """In lines; exact as far as its parts are."""
        self.fill = "user" if entry.message.role == "user" else ""
        """Name of the style of the whole message's background."""
        self._width = max(width, 8)
        self._day = day
        self._live = live
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
                self._thought.feed(_thought(entry))
        self._blocks = 0
        self._apart = False
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
        return [
            line.action.key
            for index, part in enumerate(self.parts)
            if part.height <= 2 * FOLDED
            for line in self.lines(index)
            if line.action and line.action.name == "toggle"
        ]

    def grow(self, live: Live) -> None:
        """Take what has come of the reply since the last time."""
        self._live = live
        if live.reply:
            self._body.follow(live.reply.content)
            for index, block in enumerate(live.reply.reasoning[self._blocks :], self._blocks):
                if index > self._blocks:
                    self._thought.next_rope()
                    self._blocks, self._apart = index, True
                if self._apart and len(block.text):
                    self._apart = False
                    if self._thought.parts:
                        self._thought.feed("\n\n")
                self._thought.follow(block.text)
        self._parts_changed()

    def tick(self, seconds: float) -> None:
        """Say how long it has been."""
        if self._live:
            self._live = Live(seconds, self._live.reply)
            self.parts[0] = self._head()

    def refold(self) -> None:
        """Lay out again what was folded or unfolded."""
        self._parts_changed()

    def _becomes(self, entry: Entry, width: int) -> bool:
        """Take the rest of the finished entry, if what has grown here is its beginning."""
        reply = self._live.reply if self._live else None
        if reply is None or self._width != width or entry.status == "streaming":
            return False
        text, thought = entry.message.content, _thought(entry)
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
            self.parts = [self._head(), self._small()]
        else:
            apart = self._reasoning()
            body = self._body.parts
            lead = [Part(lambda: [BLANK], 1)] if apart and body else []
            self.parts = [self._head(), *apart, *lead, *body, *self._calls(), *self._foot()]
        if len(entry.message.content) <= AT_ONCE and self._live is None:
            for part in self.parts:
                _ = part.lines
        self.height = sum(part.height for part in self.parts)

    def _head(self) -> Part:
        lines = label.head(self.entry, self._width, self._day, self._live and self._live.seconds)
        return _ready(lines)

    def _reasoning(self) -> list[Part]:
        thought = self._thought
        sealed = any(block.encrypted for block in self.entry.message.semantics.reasoning)
        if not thought.parts:
            words = "Thought, sealed by the provider"
            return [_ready([Line((Run(f"  {words}", ("fold",)),))])] if sealed else []
        open_ = self._is_open("thought")
        thinking = self._live is not None and not self._body.parts
        verb = "Thinking" if thinking else "Thought"
        count = thought.words
        words = f"{verb} for {label.number(count)} word{'s' * (count != 1)}"
        line = self._fold_line("thought", open_, words)
        if not open_:
            return [_ready([line])]
        bar = (Run("│ ", ("quote-bar",)),)
        return [_ready([line]), *(_framed(part, bar) for part in thought.parts)]

    def _fold_line(self, what: str, open_: bool, words: str, more: str = "") -> Line:
        mark = "▾ " if open_ else "▸ "
        runs = [Run(mark, ("fold-mark",)), run(words, "fold")]
        room = self._width - sum(len(piece.text) for piece in runs) - 2
        if more and room > 8:
            runs.append(run("  " + clipped(one_line(more), room), "quiet"))
        clip = wrap(runs, self._width)[0].runs
        return Line(clip, action=Action("toggle", self._key(what)))

    def _calls(self) -> list[Part]:
        reply = self._live.reply if self._live else None
        calls = self.entry.message.tool_calls
        if reply:
            calls = tuple(ToolCall(call.id, call.name, str(call.arguments)) for call in reply.calls)
        return [self._call(index, call) for index, call in enumerate(calls)]

    def _call(self, index: int, call: ToolCall) -> Part:
        what = f"call/{index}"
        open_ = self._is_open(what)
        name = one_line(call.name, 60) or "tool"
        line = self._fold_line(what, open_, f"calls {name}", "" if open_ else call.arguments)
        above = [BLANK] if index == 0 and self._body.parts else []
        below: list[Line] = []
        if open_:
            below = code_lines(_pretty(call.arguments)[:SHOWN], "json", self._width)
        return _ready([*above, line, *below])

    def _small(self) -> Part:
        """Lay out a system or tool message: some lines, or all of it once unfolded."""
        message = self.entry.message
        open_ = self._is_open("text")
        shown = message.content[: SHOWN if open_ else FOLDED * self._width]
        lines = plain_lines(shown, self._width, ("quiet",))
        many = len(lines) > FOLDED or len(shown) < len(message.content)
        if not many:
            return _ready(lines)
        words = f"{label.number(label.count_words(message.content[:SHOWN]))} words"
        line = self._fold_line("text", open_, "fold" if open_ else f"all {words}")
        if not open_:
            return _ready([*lines[: FOLDED - 1], line])
        if len(shown) < len(message.content):
            left = len(message.content) - len(shown)
            lines.append(Line((Run(f"… {label.number(left)} more characters", ("fold",)),)))
        return _ready([*lines, line])

    def _foot(self) -> list[Part]:
        refusal = self.entry.message.semantics.refusal
        if self._live and self._live.reply:
            refusal = str(self._live.reply.refusal)
        lines: list[Line] = []
        if refusal:
            lines = [BLANK, *plain_lines(f"Declined: {refusal}", self._width, ("warning",))]
        lines += label.foot(self.entry, self._width)
        return [_ready(lines)] if lines else []


def estimate(text: str, width: int) -> int:
    """Guess how many lines a text takes, without reading it word by word."""
    return text.count("\n") + 1 + len(text) // max(width, 1)


def _ready(lines: list[Line]) -> Part:
    part = Part(lambda: lines, len(lines))
    _ = part.lines
    return part


def _framed(part: Part, bar: tuple[Run, ...]) -> Part:
    return Part(lambda: indented(part.lines, bar, bar), part.height)


def _thought(entry: Entry) -> str:
    return "\n\n".join(b.text for b in entry.message.semantics.reasoning if b.text)


def _pretty(arguments: str) -> str:
    if len(arguments) > SHOWN:
        return arguments
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments

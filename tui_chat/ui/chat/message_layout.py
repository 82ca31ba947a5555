"""One message, laid out part by part.

1. A message is a column of parts: its header, its reasoning, its sections of text, its sources,
   its tool calls, and a footer that says how it ended.
2. A part's height is an estimate until it is laid out. Small messages are laid out whole; of a
   long one, only the parts that are looked at.
3. A growing message keeps the parts that can no longer change and lays out its last one.
4. When a reply is complete, its message takes over the parts of the growing one, unless its text
   has citations, whose marks come then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tui_chat.models.citations import NO_REFERENCES, Source
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.usage import NO_TIMING, Timing
from tui_chat.ui.chat.header_footer import ButtonKeys, count_words, footer_lines, header_lines
from tui_chat.ui.chat.layout_inputs import (
    NO_NEIGHBORS,
    LayoutOptions,
    Neighbors,
    ReplyProgress,
)
from tui_chat.ui.chat.markdown import plain_lines
from tui_chat.ui.chat.message_parts import (
    CodeBlock,
    GrowingText,
    LayoutPart,
    barred_part,
    finished_part,
)
from tui_chat.ui.chat.sources import (
    LISTED_AT_ONCE,
    failure_lines,
    marked_text,
    source_lines,
    sources_label,
)
from tui_chat.ui.chat.text_lines import (
    BLANK,
    ClickAction,
    TextLine,
    TextRun,
    clipped,
    indented,
    safe_run,
    wrap,
)
from tui_chat.ui.chat.tool_calls import (
    LISTED,
    SHOWN,
    CallState,
    call_lines,
    searchable_text,
)

if TYPE_CHECKING:
    from tui_chat.models.session import Entry

LAID_OUT_WHOLE = 24_000
"""Characters up to which a message is laid out whole."""
FOLDED_LINES = 4
"""Lines that a system or tool message shows while it is folded."""


class FoldedText(NamedTuple):
    """A text that is folded, and the line that unfolds it."""

    part: int
    first: int
    """The first line of the part that shows the beginning of the folded text."""
    line: int
    """The line that unfolds it."""
    key: str
    text: str
    """The whole text, with what is shown of it."""


class MessageLayout:
    """A message's parts at one width."""

    def __init__(
        self,
        entry: Entry,
        width: int,
        *,
        neighbors: Neighbors = NO_NEIGHBORS,
        unfolded: Collection[str] = (),
        progress: ReplyProgress | None = None,
        timing: Timing = NO_TIMING,
        grown: MessageLayout | None = None,
        options: LayoutOptions | None = None,
    ) -> None:
        """Lay out an entry at a width in cells.

        `unfolded` has the keys of what is unfolded, `progress` is of a streaming reply and
        `timing` of a finished one. `grown` is the layout of the streaming entry that this one
        replaces.
        """
        self.entry = entry
        self.parts: list[LayoutPart] = []
        self.height = 0
        """Lines of the message; as exact as the heights of its parts."""
        self.fill = "user" if entry.message.role == "user" else ""
        """Name of the style of the whole message's background."""
        self._width = max(width, 8)
        self._neighbors = neighbors
        self._options = options or LayoutOptions()
        self._progress = progress
        self._timing = timing
        self._unfolded = unfolded
        self._is_small = entry.message.role in ("system", "tool")
        self._verbatim = entry.message.role != "assistant"
        references = entry.message.semantics.references
        is_cited = bool(references.citations)
        if grown is not None and not is_cited and grown._continues_as(entry, self._width):
            self._body, self._reasoning = grown._body, grown._reasoning
        else:
            sources = references.sources if is_cited and not self._verbatim else ()
            self._body, self._reasoning = self._empty_texts(sources)
            if progress is None or progress.reply is None:
                text = entry.message.content
                self._body.feed(marked_text(text, references) if sources else text)
                self._reasoning.feed(reasoning_text(entry.message))
        self._restarts = 0
        """The number of new beginnings of the provider when the reply last grew."""
        self._reasoning_blocks = 0
        self._needs_break = False
        """True if the next reasoning text begins another block."""
        self._body_at = 0
        """Index of the first part of the text."""
        self.assemble()
        if progress and progress.reply:
            self.grow(progress)

    def lines(self, part: int) -> list[TextLine]:
        """Return a part's lines, and make its height in the message's exact."""
        laid_out = self.parts[part]
        before = laid_out.height
        lines = laid_out.lines
        self.height += laid_out.height - before
        return lines

    @property
    def folds(self) -> list[str]:
        """Keys of what can be folded."""
        return [key for *_, key in self._fold_lines()]

    @property
    def folded(self) -> list[FoldedText]:
        """The texts that are folded now."""
        return [
            FoldedText(part, 0 if key == self._key("text") else line, line, key, self._text_of(key))
            for part, line, key in self._fold_lines()
            if key not in self._unfolded
        ]

    def _fold_lines(self) -> Iterator[tuple[int, int, str]]:
        """Yield the lines that fold and unfold: part, line, key."""
        for index, part in enumerate(self.parts):
            if part.height <= 2 * FOLDED_LINES or index < self._body_at:
                for number, line in enumerate(self.lines(index)):
                    if line.action and line.action.name == "toggle":
                        yield index, number, line.action.key

    def _text_of(self, key: str) -> str:
        """Return the text of a fold."""
        message = self.entry.message
        if key == self._key("text"):
            return message.content
        if key == self._key("thought"):
            return reasoning_text(message)
        calls = {self._key(f"call/{i}"): call for i, call in enumerate(message.tool_calls)}
        return searchable_text(calls[key]) if key in calls else ""

    @property
    def code_blocks(self) -> list[CodeBlock]:
        """The blocks of code in its text, with indices of the message's parts."""
        if self._is_small:
            return []
        blocks = self._body.code_blocks
        return [block._replace(part=block.part + self._body_at) for block in blocks]

    @property
    def waiting_call(self) -> int | None:
        """The position of the first tool call that waits for a result."""
        if not self._waits_for_results:
            return None
        count = len(self.entry.message.tool_calls)
        return next((at for at in range(count) if at not in self._neighbors.results), None)

    def grow(self, progress: ReplyProgress) -> None:
        """Add what the reply gained since the last call, and update the header."""
        is_first = self._progress is None or self._progress.reply is None
        self._progress = progress
        if progress.reply is None:
            self._replace(0, self._header())
            return
        reply = progress.reply
        if reply.restarts != self._restarts:
            self._restarts, is_first = reply.restarts, True
            self._body, self._reasoning = self._empty_texts()
            self._reasoning_blocks, self._needs_break = 0, False
        parts = self._reasoning.parts
        reasoning_before = len(parts), parts[-1] if parts else None
        had_no_body = not self._body.parts
        first_changed = self._body.follow(reply.content)
        blocks = reply.reasoning[self._reasoning_blocks :]
        for index, block in enumerate(blocks, self._reasoning_blocks):
            if index > self._reasoning_blocks:
                self._reasoning.follow_next_rope()
                self._reasoning_blocks, self._needs_break = index, True
            if self._needs_break and len(block.text):
                self._needs_break = False
                if self._reasoning.parts:
                    self._reasoning.feed("\n\n")
            self._reasoning.follow(block.text)
        parts = self._reasoning.parts
        reasoning_grew = reasoning_before != (len(parts), parts[-1] if parts else None)
        below_body = reply.calls or reply.parts or len(reply.refusal)
        if is_first or had_no_body or reasoning_grew or below_body:
            self.assemble()
        else:
            self._replace_body(first_changed)

    @property
    def names_keys(self) -> bool:
        """True if it names a key, which depends on the focus."""
        return self._progress is None and self.entry.status in ("failed", "interrupted")

    def _continues_as(self, entry: Entry, width: int) -> bool:
        """Add the rest of the finished entry, and return True, if this is its beginning."""
        reply = self._progress.reply if self._progress else None
        if reply is None or self._width != width or entry.status == "streaming":
            return False
        text, reasoning = entry.message.content, reasoning_text(entry.message)
        if not (text.startswith(reply.text) and reasoning.startswith(reply.thought)):
            return False
        self._body.feed(text[len(reply.text) :])
        self._reasoning.feed(reasoning[len(reply.thought) :])
        return True

    def _empty_texts(self, sources: Sequence[Source] = ()) -> tuple[GrowingText, GrowingText]:
        """Return the text and the reasoning, both empty."""
        styles = ("quiet",) if self._is_small else ()
        body = GrowingText(
            self._width, styles, verbatim=self._verbatim, sources=sources, code=self._options.code
        )
        return body, GrowingText(self._width - 2, ("reasoning",))

    def _key(self, what: str) -> str:
        return f"{self.entry.message.id or id(self.entry)}/{what}"

    def _is_unfolded(self, what: str) -> bool:
        return self._key(what) in self._unfolded

    def assemble(self) -> None:
        """Put the parts together; those that are laid out stay so."""
        message = self.entry.message
        if self._is_small:
            key = self._key("text")
            is_open = key in self._unfolded
            lines = foldable_lines(message.content, self._width, key=key, is_open=is_open)
            self.parts = [self._header(), finished_part(lines)]
        else:
            reasoning, body = self._reasoning_parts(), self._body.parts
            replaced = self._replaced_parts()
            gap = [LayoutPart(lambda: [BLANK], 1)] if (reasoning or replaced) and body else []
            above = [self._header(), *replaced, *reasoning, *gap]
            self._body_at = len(above)
            below = (*self._source_parts(), *self._call_parts(), *self._footer())
            self.parts = [*above, *body, *below]
        if len(message.content) <= LAID_OUT_WHOLE and self._progress is None:
            for part in self.parts:
                _ = part.lines
        self.height = sum(part.height for part in self.parts)

    def _replace_body(self, first: int) -> None:
        """Replace the parts of the text from `first` on, which are the message's last."""
        index = self._body_at + first
        new = self._body.parts[first:]
        new_height = sum(part.height for part in new)
        self.height += new_height - sum(part.height for part in self.parts[index:])
        self.parts[index:] = new
        self._replace(0, self._header())

    def _replace(self, index: int, part: LayoutPart) -> None:
        self.height += part.height - self.parts[index].height
        self.parts[index] = part

    def _header(self) -> LayoutPart:
        day, progress = self._neighbors.day, self._progress
        speakers = self._options.speakers
        message_id = self.entry.message.id
        lines = header_lines(
            *(self.entry, self._width, day, progress, self._timing, speakers),
            is_muted=message_id in self._options.muted,
            is_edited=message_id in self._options.edited,
        )
        return finished_part(lines)

    def _replaced_parts(self) -> list[LayoutPart]:
        """Return the line about attempts that the provider gave up, and their unfolded texts."""
        reply = self._progress.reply if self._progress else None
        replaced = reply.replaced if reply else self.entry.message.semantics.replaced
        if not replaced:
            return []
        text = "\n\n".join(filter(None, replaced))
        label = "The provider started over"
        if not text:
            return [
                finished_part([TextLine((TextRun(clipped(f"  {label}", self._width), ("fold",)),))])
            ]
        count = count_words(text[:SHOWN])
        words = f"{count:,} word{'s' * (count != 1)}"
        label += f"; first attempt: {words}"
        if len(replaced) > 1:
            label = f"The provider started over {len(replaced)} times; before: {words}"
        label = clipped(label, self._width - 2)
        is_open = self._is_unfolded("replaced")
        line = fold_line(self._key("replaced"), label, self._width, is_open=is_open)
        if not is_open:
            return [finished_part([line])]
        bar = (TextRun("│ ", ("quote-bar",)),)
        lines = plain_lines(text[:SHOWN], self._width - 2, ("quiet",))
        return [finished_part([line]), finished_part(indented(lines, bar, bar))]

    def _reasoning_parts(self) -> list[LayoutPart]:
        reasoning = self._reasoning
        if not reasoning.parts:
            blocks = self.entry.message.semantics.reasoning
            if not any(block.encrypted for block in blocks):
                return []
            run = TextRun("  Reasoning, encrypted by the provider", ("fold",))
            return [finished_part([TextLine((run, *self._muted_reasoning))])]
        is_open = self._is_unfolded("thought")
        is_thinking = self._progress is not None and not self._body.parts
        verb = "Thinking" if is_thinking else "Reasoning"
        count = reasoning.words
        label = f"{verb} ({count:,} word{'s' * (count != 1)})"
        fold = fold_line(self._key("thought"), label, self._width, is_open=is_open)
        line = finished_part([replace(fold, runs=(*fold.runs, *self._muted_reasoning))])
        if not is_open:
            return [line]
        bar = (TextRun("│ ", ("quote-bar",)),)
        return [line, *(barred_part(part, bar) for part in reasoning.parts)]

    @property
    def _muted_reasoning(self) -> tuple[TextRun, ...]:
        is_muted = self.entry.message.muted.reasoning
        return (TextRun("  ◇ muted", ("muted-mark",)),) if is_muted else ()

    def _source_parts(self) -> list[LayoutPart]:
        references = self.entry.message.semantics.references
        if references == NO_REFERENCES or self._progress is not None:
            return []
        lines = [BLANK] if self._body.parts else []
        failures = failure_lines(references, self._width)
        if len(references.sources) <= LISTED_AT_ONCE:
            lines += source_lines(references, self._width)
            return [finished_part([*lines, *failures])]
        is_open = self._is_unfolded("sources")
        label = sources_label(references, self._width - 2, is_open=is_open)
        lines.append(fold_line(self._key("sources"), label, self._width, is_open=is_open))
        if not is_open:
            return [finished_part([*lines, *failures])]
        return [
            finished_part(lines),
            finished_part(source_lines(references, self._width) + failures),
        ]

    @property
    def _waits_for_results(self) -> bool:
        """True if the conversation waits for results of this message's calls."""
        is_complete = self._progress is None and self.entry.status == "complete"
        return is_complete and self._neighbors.is_last

    def _call_parts(self) -> list[LayoutPart]:
        reply = self._progress.reply if self._progress else None
        calls = self.entry.message.tool_calls
        count = len(reply.calls) if reply else len(calls)
        if reply:
            arrived = reply.calls[:LISTED]
            calls = tuple(ToolCall(call.id, call.name, str(call.arguments)) for call in arrived)
        if not calls:
            return []
        lines: list[TextLine] = [BLANK] if self._body.parts else []
        for index, call in enumerate(calls[:LISTED]):
            lines += call_lines(
                call,
                self._width,
                key=self._key(f"call/{index}"),
                unfolded=self._is_unfolded(f"call/{index}"),
                state=self._state(index, call),
            )
        if count > LISTED:
            lines.append(TextLine((TextRun(f"  … {count - LISTED:,} more calls", ("fold",)),)))
        return [finished_part(lines)]

    def _state(self, index: int, call: ToolCall) -> CallState:
        if self._progress is not None:
            return "arriving"
        if (self.entry.message.id, call.id) in self._options.muted_calls:
            return "muted"
        if call.id in self._options.subagents:
            return "subagent"
        if result := self._neighbors.results.get(index):
            return result
        return "awaits" if self._waits_for_results else "unanswered"

    def _footer(self) -> list[LayoutPart]:
        message = self.entry.message
        parts, refusal = message.parts, message.semantics.refusal
        if self._progress and (reply := self._progress.reply):
            parts, refusal = reply.parts, str(reply.refusal)
        options, is_last = self._options, self._neighbors.is_last
        key = "r" if options.is_focused else options.regenerate if is_last else ""
        keys = ButtonKeys(key, options.model_key)
        lines = footer_lines(self.entry, parts, refusal, self._width, keys)
        return [finished_part(lines)] if lines else []


def reasoning_text(message: Message) -> str:
    """Return the readable reasoning of a message."""
    return "\n\n".join(block.text for block in message.semantics.reasoning if block.text)


def fold_line(key: str, label: str, width: int, *, is_open: bool) -> TextLine:
    """Lay out the line that unfolds what `key` names, or folds it."""
    mark = TextRun("▾ " if is_open else "▸ ", ("fold-mark",))
    runs = wrap([mark, safe_run(label, "fold")], width)[0].runs
    return TextLine(runs, action=ClickAction("toggle", key))


def foldable_lines(text: str, width: int, *, key: str, is_open: bool) -> list[TextLine]:
    """Lay out a system or tool message: its first lines, or all of it if it is unfolded."""
    shown = text[: SHOWN if is_open else FOLDED_LINES * width]
    lines = plain_lines(shown, width, ("quiet",))
    if len(lines) <= FOLDED_LINES and len(shown) == len(text):
        return lines
    label = "fold" if is_open else f"all {count_words(text[:SHOWN]):,} words"
    line = fold_line(key, label, width, is_open=is_open)
    if not is_open:
        return [*lines[: FOLDED_LINES - 1], line]
    if left := len(text) - len(shown):
        lines.append(TextLine((TextRun(f"… {left:,} more characters", ("fold",)),)))
    return [*lines, line]

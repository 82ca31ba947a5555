"""The tokens of a reply, colored by how likely each was, and the alternatives of one of them."""

from __future__ import annotations

from asyncio import to_thread
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import exp
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Static

from tui_chat.models.sanitize import sanitize
from tui_chat.models.token_probabilities import TokenProbability, probability, unpack_tokens
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.widgets.line_view import LineView

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat

UNSURE = 0.5
"""The probability below which a token is one that the model was not sure of."""
_LEVELS = ((0.9, "sure"), (UNSURE, "likely"), (0.2, "unsure"), (0.0, "unlikely"))
"""The least probability of each style."""
_SIGNS = {ord("\n"): "↵", ord("\t"): "⇥"}


async def show_probabilities(app: TuiChat, _: str) -> None:
    """Show the tokens of the reply under the cursor, else of the newest that has some."""
    transcript = app.chat.transcript
    current = transcript.current
    entries = [*([current] if current else []), *reversed(transcript.entries)]
    message = next((e.message for e in entries if e.message.about.tokens), None)
    if message is None:
        app.notify(
            "No reply has the probabilities of its tokens. “Log probabilities” in the "
            "settings (/set logprobs 5) asks for them; not all providers send them.",
            markup=False,
        )
        return
    tokens = await to_thread(unpack_tokens, message.about.tokens)
    if tokens:
        await app.push_screen_wait(TokenProbabilities(tokens, message.content))


class TokenLine(NamedTuple):
    """A line of tokens: those from `first` on, the first and the last of them perhaps in part."""

    first: int
    texts: tuple[str, ...]


def lay_out(tokens: Iterable[tuple[str, bool]], width: int) -> list[TokenLine]:
    """Return lines of tokens for a width in cells: readable texts, and True at a line's end."""
    lines: list[TokenLine] = []
    first, line, used = 0, list[str](), 0

    def end_line(following: int) -> None:
        nonlocal first, line, used
        lines.append(TokenLine(first, tuple(line)))
        first, line, used = following, [], 0

    for index, (text, ends_line) in enumerate(tokens):
        if line and used + cell_len(text) > width:
            end_line(index)
        *pieces, text = chop_cells(text, width) if cell_len(text) > width > 1 else (text,)
        for piece in pieces:
            line.append(piece)
            end_line(index)
        line.append(text)
        used += cell_len(text)
        if ends_line:
            end_line(index + 1)
    if line:
        end_line(0)
    return lines


class TokenView(LineView):
    """The text of a reply, token by token, with a cursor on one of them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"tokens--{name}" for name in ("sure", "likely", "unsure", "unlikely", "cursor")
    }
    DEFAULT_CSS = """
    TokenView {
        width: 1fr;
        height: 100%;
        background: $surface;
        scrollbar-background: $surface;
        & .tokens--likely { color: $text-primary; }
        & .tokens--unsure { color: $text-warning; text-style: underline; }
        & .tokens--unlikely { color: $text-error; text-style: bold underline; }
        & .tokens--cursor { background: $primary 35%; text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1)", show=False),
        Binding("right,l", "move(1)", show=False),
        Binding("up,k", "move_line(-1)", show=False),
        Binding("down,j", "move_line(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "go_to(0)", show=False),
        Binding("end,G", "go_to(-1)", show=False),
        Binding("n", "next_unsure(1)", show=False),
        Binding("N", "next_unsure(-1)", show=False),
    ]

    class TokenHighlighted(Message):
        """The cursor is on another token."""

    def __init__(self, tokens: Sequence[TokenProbability]) -> None:
        super().__init__("tokens")
        self._tokens = tokens
        self._texts = [visible(token.text) for token in tokens]
        self._levels = [level_of(probability(token.logprob)) for token in tokens]
        self._lines: list[TokenLine] = []
        self._width = 0
        self.cursor = 0
        """The index of the token under the cursor."""

    def resized(self) -> None:
        if (width := self.scrollable_content_region.width) != self._width:
            self._width = width
            ends = ("\n" in token.text for token in self._tokens)
            self._lines = lay_out(zip(self._texts, ends, strict=True), width)
            self.strips.clear()
        self.set_extent(len(self._lines))
        self.bring_into_sight(self._line_of(self.cursor))
        self.refresh()

    def draw_row(self, y: int) -> Strip:
        width, number = self.scrollable_content_region.width, self.scroll_offset.y + y
        if number >= len(self._lines):
            return Strip.blank(width, self.palette())
        line = self._lines[number]
        place = self.cursor - line.first
        at = place if 0 <= place < len(line.texts) else -1
        return self.strip((number, at), lambda: self._paint(line, at, width))

    def _paint(self, line: TokenLine, place: int, width: int) -> Strip:
        segments = [
            Segment(
                text,
                self.palette(self._levels[line.first + index], "cursor" * (index == place)),
            )
            for index, text in enumerate(line.texts)
        ]
        return Strip(segments).adjust_cell_length(width, self.palette())

    # The cursor

    def _line_of(self, token: int) -> int:
        """Return the last line that has a token."""
        return max(bisect_right(self._lines, token, key=lambda line: line.first) - 1, 0)

    def move_to(self, token: int) -> None:
        """Put the cursor on a token, or the nearest one."""
        self.cursor = min(max(token, 0), len(self._tokens) - 1)
        self.bring_into_sight(self._line_of(self.cursor))
        self.refresh_changed()
        self.post_message(self.TokenHighlighted())

    def action_move(self, step: int) -> None:
        self.move_to(self.cursor + step)

    def action_move_line(self, step: int) -> None:
        number = self._line_of(self.cursor)
        line = self._lines[number]
        column = cell_len("".join(line.texts[: self.cursor - line.first]))
        self.move_to(self._token_at(min(max(number + step, 0), len(self._lines) - 1), column))

    def action_page(self, direction: int) -> None:
        self.action_move_line(direction * max(self.size.height - 1, 1))

    def action_go_to(self, token: int) -> None:
        self.move_to(token if token >= 0 else len(self._tokens) - 1)

    def action_next_unsure(self, step: int) -> None:
        """Go to the next token that was not sure, in either direction."""
        end = len(self._tokens) if step > 0 else -1
        for token in range(self.cursor + step, end, step):
            if self._levels[token] in ("unsure", "unlikely"):
                self.move_to(token)
                return

    def _token_at(self, number: int, column: int) -> int:
        """Return the token of a line at a column in cells, or its last one."""
        line = self._lines[number]
        for index, text in enumerate(line.texts):
            column -= cell_len(text)
            if column < 0:
                return line.first + index
        return line.first + len(line.texts) - 1

    def on_click(self, event: events.Click) -> None:
        number = self.line_under(event)
        if number < len(self._lines):
            self.move_to(self._token_at(number, event.get_content_offset_capture(self).x))


def visible(text: str) -> str:
    """Return the text of a token with signs for line breaks and tabs, and nothing hidden."""
    return sanitize(text.translate(_SIGNS), "exact")


def level_of(chance: float) -> str:
    """Return the style of a token with this probability."""
    return next(name for least, name in _LEVELS if chance >= least)


class TokenProbabilities(Dialog[None]):
    """Shows how likely each token of a reply was, and what could have stood in its place."""

    DEFAULT_CSS = """
    TokenProbabilities > Vertical { width: 140; }
    TokenProbabilities Horizontal { height: 30; max-height: 42vh; margin-top: 1; }
    TokenProbabilities VerticalScroll {
        width: 34;
        height: 100%;
        max-width: 50%;
        max-height: 100%;
        border-left: solid $primary 50%;
        padding-left: 1;
    }
    TokenProbabilities .hint { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+up", "scroll_alternatives(-1)", show=False),
        Binding("shift+down", "scroll_alternatives(1)", show=False),
    ]

    def __init__(self, tokens: Sequence[TokenProbability], text: str) -> None:
        """`text` is the whole text of the reply."""
        super().__init__()
        self._tokens = tokens
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, "Token probabilities")
            yield Static(summary(self._tokens, self._text), markup=False)
            with Horizontal():
                yield TokenView(self._tokens)
                with VerticalScroll() as alternatives:
                    alternatives.can_focus = False
                    yield Static(id="alternatives", markup=False)
            yield Static(id="legend")
            yield Static("← → token · ↑ ↓ line · n N unsure · Esc close", classes="hint")

    def on_mount(self) -> None:
        palette = self.query_one(TokenView).palette
        words = {"sure": "≥ 90%", "likely": "≥ 50%", "unsure": "≥ 20%", "unlikely": "< 20%"}
        legend = Text("  ").join(Text(words[name], palette(name)) for _, name in _LEVELS)
        self.query_one("#legend", Static).update(legend)
        self._show_alternatives()

    @on(TokenView.TokenHighlighted)
    def _show_alternatives(self) -> None:
        index = self.query_one(TokenView).cursor
        place = f"Token {index + 1:,} of {len(self._tokens):,}"
        self.query_one("#alternatives", Static).update(described(self._tokens[index], place))

    def action_scroll_alternatives(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def summary(tokens: Sequence[TokenProbability], text: str) -> str:
    """Return the figures of all tokens in words."""
    mean = sum(token.logprob for token in tokens) / len(tokens)
    unsure = sum(probability(token.logprob) < UNSURE for token in tokens)
    words = [
        f"{len(tokens):,} token{'s' * (len(tokens) != 1)}",
        f"{unsure:,} below {UNSURE:.0%}",
        f"perplexity {min(exp(-mean), 1e9):,.2f}",
    ]
    if "".join(token.text for token in tokens) != text:
        words.append("they are not the whole text of the reply")
    return " · ".join(words)


def described(token: TokenProbability, place: str) -> Text:
    """Return a token and its alternatives, a line each; the first says its place."""
    rows = [(token.text, token.logprob), *((o.text, o.logprob) for o in token.alternatives)]
    lines = Text(no_wrap=True, overflow="ellipsis")
    lines.append(f"{place}\n", style="dim")
    for number, (text, logprob) in enumerate(rows):
        style = "bold" if number == 0 or text == token.text else ""
        lines.append(f"{percentage(logprob)}  “{visible(text)}”\n", style=style)
        if number == 0:
            lines.append("\nAlternatives\n" if token.alternatives else "", style="dim")
    if not token.alternatives:
        lines.append("\nNo alternatives were sent: `/set logprobs 5` asks for five.", style="dim")
        lines.no_wrap = False
    return lines


def percentage(logprob: float) -> str:
    """Return the probability of a logarithm in percent, eight characters long."""
    chance = 100 * probability(logprob)
    if chance and chance < 0.01:
        return " < 0.01%"
    return f"{chance:7.2f}%"

"""Token counters: what a turn costs, counted once, and how exact the figure is.

The correction of estimated token counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ClassVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.json_text import to_json
from tui_chat.models.memo import Memo

if TYPE_CHECKING:
    from tui_chat.models.blocks import Extras, MediaBlock, MediaKind
    from tui_chat.models.envelope import ToolDefinition, Turn
    from tui_chat.models.text import Text

TURN_OVERHEAD = 4
"""Tokens that frame one turn: its role and its delimiters."""
REQUEST_OVERHEAD = 3
"""Tokens that prime the reply."""
TOOL_OVERHEAD = 8
"""Tokens that frame one tool definition."""

PART_TOKENS: dict[MediaKind, int] = {"image": 765, "audio": 500, "video": 5000, "file": 2000}
"""Estimated tokens of a part. Image: OpenAI's price of 1,024 by 1,024 pixels in high detail
(Anthropic's is at most about 1,600, Gemini's begins at 258). Audio: some fifteen seconds at
Gemini's 32 a second. Video: some twenty seconds of it. File: a document of two or three pages."""
_ALIKE = 400_000
"""Characters up to which two texts are compared token by token."""
_LONG_EXTRAS = 200
"""Characters from which keys of a message that are not known count: shorter ones are mostly ids,
which a model does not read."""
_SIGNATURES = ("thoughtSignature", "extra_content")
"""Keys of signatures, which a model does not read."""
_LEAST_OPAQUE = 500
"""Characters of a string without white space from which its tokens are estimated."""
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{500,}")
LOW_DETAIL = 85
"""OpenAI's price of an image in low detail."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The ratio of reported to estimated tokens of a model, from the usage of its replies.

    A pure value, kept for each model. Older replies weigh less.
    """

    estimated: float = 0.0
    """Estimated tokens, a weighted sum over replies."""
    reported: float = 0.0
    """Tokens that the provider counted for the same requests, weighted alike."""

    _FADING = 0.7
    LEAST: ClassVar[float] = 0.25
    MOST: ClassVar[float] = 4.0
    """The ratios beyond which a figure counts something else than what a request has: what the
    provider keeps or adds, or a part."""

    @property
    def ratio(self) -> float:
        """The factor for estimates, rounded to hundredths; 1 if unknown."""
        if self.estimated <= 0 or self.reported <= 0:
            return 1.0
        return round(min(max(self.reported / self.estimated, self.LEAST), self.MOST), 2)

    @classmethod
    def is_likely(cls, estimated: int, reported: int) -> bool:
        """Return True if a reported figure can be that of what was estimated."""
        return cls.LEAST * estimated <= reported <= cls.MOST * estimated

    def after(self, estimated: int, reported: int | None) -> Correction:
        """Return the correction after one more reply: the uncorrected estimate of its request
        (`Budget.uncorrected`) and the reported input tokens (including cached ones).
        """
        if estimated <= 0 or not reported or not self.is_likely(estimated, reported):
            return self
        return Correction(
            self.estimated * self._FADING + estimated, self.reported * self._FADING + reported
        )


NO_CORRECTION = Correction()


def media_tokens(part: MediaBlock) -> int:
    """Return the estimated tokens of an image, sound, video or file."""
    is_low = part.media == "image" and part.detail == "low"
    return LOW_DETAIL if is_low else PART_TOKENS[part.media]


class Counter:
    """Counts tokens with one vocabulary."""

    ratio = 1.0
    """The factor by which its counts are corrected."""

    def __init__(
        self,
        name: str,
        exact: bool,
        count: Callable[[str], int],
        encode: Callable[[str], Sequence[int]] | None = None,
    ) -> None:
        self.name = name
        """The vocabulary: `o200k`, `cl100k`, ..."""
        self.exact = exact
        """True if it is the model's own."""
        self.count = count
        """Tokens of a text."""
        self.uncorrected = self
        """The counter without correction; itself if it has none."""
        self._encode = encode
        """The tokens of a text, if the vocabulary exposes them."""
        self.text: Callable[[Text], int] = Memo(self._text)
        """Tokens of a text alone; counted once per text."""
        self.turn: Callable[[Turn], int] = Memo(self._turn)
        """Tokens of a turn, framing included; counted once per turn."""
        self.tools: Callable[[tuple[ToolDefinition, ...]], tuple[int, ...]] = Memo(
            self._tools, recent=4
        )
        """Estimated tokens of each tool definition."""
        self._times = lru_cache(maxsize=8)(partial(_Corrected, self))

    def alone(self, text: Text) -> int:
        """Return the tokens of a turn with nothing but this text."""
        return self.scaled(self.uncorrected.text(text) + TURN_OVERHEAD)

    def alike(self, one: str, other: str) -> int:
        """Return the length of the common token prefix of two texts. It can be less than the tokens
        of their common characters, which may end inside a token.
        """
        if self._encode is None or len(one) + len(other) > _ALIKE:
            return self.count(one[: common_prefix(one, other)])
        return common_prefix(self._encode(one), self._encode(other))

    def scaled(self, tokens: int) -> int:
        """Apply the correction to a count of the uncorrected counter."""
        return tokens

    def corrected(self, correction: Correction) -> Counter:
        """Return the counter with a correction, the same object for a ratio; itself for 1."""
        ratio = correction.ratio
        return self if self.exact or ratio == 1 else self._times(ratio)

    def _text(self, text: Text) -> int:
        return self.count(text.plain)

    def _tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[int, ...]:
        return tuple(map(self._tool, tools))

    def _turn(self, turn: Turn) -> int:
        return self.count(turn.text.plain) + self._framing(turn)

    def _framing(self, turn: Turn) -> int:
        """Return the tokens of a turn without its text."""
        tokens = TURN_OVERHEAD
        for call in turn.tool_calls:
            tokens += self.count(call.name) + self.count(call.arguments)
        if name := turn.name or turn.tool_name:
            tokens += self.count(name) + 1
        if turn.extras is not None:
            tokens += self._captured(turn, turn.extras)
        return tokens + sum(map(self._part, turn.parts)) if turn.parts else tokens

    def _captured(self, turn: Turn, extras: Extras) -> int:
        """Return the tokens of what only a captured protocol understands, such as other keys."""
        texts: list[str] = []
        keys = [extras.keys]
        for block in turn.blocks:
            if block.kind == "opaque":
                texts.append(to_json(block.value))
            elif block.kind == "reasoning":
                texts += [block.text, block.encrypted]
            elif block.extras is not None:
                keys.append({k: v for k, v in block.extras.keys.items() if k not in _SIGNATURES})
        texts += [text for each in keys if each and len(text := to_json(each)) >= _LONG_EXTRAS]
        return sum(map(self._json, filter(None, texts)))

    def _json(self, text: str) -> int:
        """Return the tokens of JSON; an estimate for a long string without spaces (encrypted)."""
        opaque = _OPAQUE.findall(text) if len(text) >= _LEAST_OPAQUE else []
        if opaque:
            text = _OPAQUE.sub("", text)
        return self.count(text) + sum(min(len(one) // 6, PART_TOKENS["file"]) for one in opaque)

    def _part(self, part: MediaBlock) -> int:
        return self.count(part.text) if part.text else media_tokens(part)

    def _tool(self, tool: ToolDefinition) -> int:
        schema = json.dumps(tool.parameters, separators=(",", ":"), ensure_ascii=False, default=str)
        return sum(map(self.count, (tool.name, tool.description, schema))) + TOOL_OVERHEAD


class _Corrected(Counter):
    """A counter with a correction. It multiplies the remembered counts of the uncorrected counter,
    so that a new ratio counts nothing again.
    """

    def __init__(self, first: Counter, ratio: float) -> None:
        super().__init__(first.name, False, lambda text: self.scaled(first.count(text)))
        self.ratio = ratio
        self.uncorrected = first
        self.text = lambda text: self.scaled(first.text(text))
        self.turn = lambda turn: self.scaled(first.turn(turn))
        self.tools = lambda tools: tuple(map(self.scaled, first.tools(tools)))

    def alike(self, one: str, other: str) -> int:
        """Return the length of the common token prefix of two texts."""
        return self.scaled(self.uncorrected.alike(one, other))

    def scaled(self, tokens: int) -> int:
        """Apply the correction to a count of the uncorrected counter."""
        return round(tokens * self.ratio)


def how_counted(counter: Counter, *, guessed: bool = False) -> str:
    """Describe a counter and its accuracy; `guessed` if tools or parts were counted."""
    if counter.exact and guessed:
        return f"counted with {counter.name}; tools, images and files are estimated"
    if counter.exact:
        return f"counted with {counter.name}, the model's own vocabulary"
    if counter.ratio == 1:
        return f"estimated with {counter.name}: the model's own vocabulary is not available"
    return f"estimated with {counter.name}, times {counter.ratio:.2f} as its replies reported"

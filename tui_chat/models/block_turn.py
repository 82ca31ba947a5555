"""A message of the built context as blocks, with an origin for every character of its texts.

It becomes `Turn` when all protocols read and write blocks; until then `models.flat` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, CallBlock, Extras, ResultBlock, TextBlock
from tui_chat.models.envelope import CacheMark
from tui_chat.models.message import MessageRole
from tui_chat.models.text import Origin, Text


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class BlockTurn:
    """One message of the built context. Compared by identity: what is derived from a turn is
    remembered for as long as the turn lives.
    """

    role: MessageRole
    blocks: tuple[Block, ...]
    origin: Origin
    """The origin of the turn as a whole."""
    name: str = ""
    """The name of its author. That of a tool is in the result block."""
    extras: Extras | None = None
    """Keys of the message itself; None if it was not captured."""
    cache_mark: CacheMark | None = None
    """At its end, placed by a preset. Those of a captured request are in the blocks."""
    spans: Mapping[int, Text] = field(default_factory=dict[int, Text])
    """The texts of text blocks, by index, that are not a verbatim piece of the turn's origin: with
    macros in them. The plain text of each is that of its block."""

    def text(self, index: int) -> Text:
        """Return the text of a text block with its origins."""
        known = self.spans.get(index)
        if known is not None:
            return known
        block = self.blocks[index]
        assert isinstance(block, TextBlock)
        before = self.blocks[:index]
        start = sum(len(b.text) for b in before if type(b) is TextBlock and not b.is_refusal)
        return Text.of(block.text, self.origin, start)

    @property
    def result(self) -> ResultBlock | None:
        """The head of the tool result that this is; None if it is none."""
        first = self.blocks[0] if self.blocks else None
        return first if type(first) is ResultBlock else None

    @property
    def calls(self) -> tuple[CallBlock, ...]:
        """The tool calls in it."""
        return tuple(block for block in self.blocks if type(block) is CallBlock)

    def captured_from(self, protocol: object) -> bool:
        """Return True if it was captured from a request of this protocol."""
        return self.extras is not None and self.extras.protocol is protocol


def kept_blocks(turn: BlockTurn, indices: Collection[int]) -> BlockTurn:
    """Return a turn with some of its blocks, in their order; the turn itself if it has no other."""
    if len(indices) == len(turn.blocks):
        return turn
    places = sorted(indices)
    spans = {
        new: turn.text(old) for new, old in enumerate(places) if type(turn.blocks[old]) is TextBlock
    }
    return replace(turn, blocks=tuple(turn.blocks[place] for place in places), spans=spans)


def with_block(turn: BlockTurn, index: int, block: Block, text: Text | None = None) -> BlockTurn:
    """Return a turn with another block at a place; `text`: that of the block, with its origins."""
    blocks = (*turn.blocks[:index], block, *turn.blocks[index + 1 :])
    spans = turn.spans if text is None else {**turn.spans, index: text}
    return replace(turn, blocks=blocks, spans=spans)


def with_each_block(turn: BlockTurn, change: Callable[[Block], Block]) -> BlockTurn:
    """Return a turn with each block changed, none of them being a text."""
    for index, block in enumerate(turn.blocks):
        if (changed := change(block)) is not block:
            turn = with_block(turn, index, changed)
    return turn

"""A message of the built context: blocks, with an origin for every character of their texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, Extras, TextBlock
from tui_chat.models.message import HasBlocks, MessageRole, is_words, text_blocks, text_place
from tui_chat.models.preset import CacheLifetime
from tui_chat.models.text import Origin, Text


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of a turn, and the rule that put it there."""

    kind: Literal["system", "skeleton", "before", "after", "depth", "history", "draft"]
    anchor: str = ""
    """The anchor's id, for `before`, `after` and the content of an anchor."""
    depth: int | None = None
    """The insertion point that was used, after clamping, for `depth`."""
    rule: str = ""
    """The rule, as a sentence."""
    asked: int | None = None
    """The insertion point in the preset: below 0 it counts from the newest message.
    None for the end of the conversation, which no insertion point names."""
    anchor_name: str = ""
    """The anchor's name; its id if it has none."""


IN_HISTORY = Placement("history", rule="It is part of the conversation.")
"""The place of a message of the conversation."""


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A place up to which a provider is asked to cache the prompt."""

    lifetime: CacheLifetime
    origin: Origin
    """The origin that placed it."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Turn(HasBlocks):
    """One message of the built context. Compared by identity: what is derived from a turn is
    remembered for as long as the turn lives.
    """

    role: MessageRole
    blocks: tuple[Block, ...]
    origin: Origin
    """The origin of the turn as a whole."""
    placement: Placement = IN_HISTORY
    name: str = ""
    """The name of its author. That of a tool is in the result block."""
    extras: Extras | None = None
    """Keys of the message itself; None if it was not captured."""
    cache_mark: CacheMark | None = None
    """At its end, placed by a preset. Those of a captured request are in the blocks."""
    spans: Mapping[int, Text] = field(default_factory=dict[int, Text])
    """The texts of text blocks, by index, that are not a verbatim piece of the turn's origin: with
    macros in them. The plain text of each is that of its block."""
    pieces: tuple[Turn, ...] = ()
    """The messages that are sent as this one; empty if it is one message."""

    @property
    def text(self) -> Text:
        """The text: all text blocks together, without refusals."""
        blocks = self.blocks
        if len(blocks) == 1 and is_words(blocks[0]):
            return self.text_at(0)
        texts = [self.text_at(index) for index, block in enumerate(blocks) if is_words(block)]
        return Text.join("", texts)

    def text_at(self, index: int) -> Text:
        """Return the text of a text block with its origins."""
        known = self.spans.get(index)
        if known is not None:
            return known
        block = self.blocks[index]
        assert isinstance(block, TextBlock)
        start = sum(
            len(b.text) for b in self.blocks[:index] if type(b) is TextBlock and is_words(b)
        )
        return Text.of(block.text, self.origin, start)

    def captured_from(self, protocol: object) -> bool:
        """Return True if it was captured from a request of this protocol."""
        return self.extras is not None and self.extras.protocol is protocol


def text_turn(
    role: MessageRole,
    text: Text,
    origin: Origin,
    placement: Placement = IN_HISTORY,
    cache_mark: CacheMark | None = None,
) -> Turn:
    """Return a turn that is one text."""
    blocks = text_blocks(text.plain)
    spans = {0: text} if blocks else dict[int, Text]()
    return Turn(role, blocks, origin, placement, cache_mark=cache_mark, spans=spans)


def with_text(turn: Turn, text: Text) -> Turn:
    """Return a turn with another text in place of its own. If it has several texts, the first one
    takes all.
    """
    places = [index for index, block in enumerate(turn.blocks) if is_words(block)]
    if not places:
        place = text_place(turn.blocks)
        before, after = turn.blocks[:place], turn.blocks[place:]
        blocks = (*before, TextBlock(text.plain), *after)
        return replace(turn, blocks=blocks, spans={place: text})
    whole = kept_blocks(turn, [i for i in range(len(turn.blocks)) if i not in places[1:]])
    first = whole.blocks[places[0]]
    assert isinstance(first, TextBlock)
    # Ids and signatures belong to the old text.
    is_kept = turn.extras is not None or text.plain == first.text
    extras = first.extras if is_kept else None
    block = replace(first, text=text.plain, extras=extras)
    return with_block(whole, places[0], block, text)


def kept_blocks(turn: Turn, indices: Collection[int]) -> Turn:
    """Return a turn with some of its blocks, in their order; the turn itself if it has no other."""
    if len(indices) == len(turn.blocks):
        return turn
    places = sorted(indices)
    spans = {
        new: turn.text_at(old)
        for new, old in enumerate(places)
        if type(turn.blocks[old]) is TextBlock
    }
    return replace(turn, blocks=tuple(turn.blocks[place] for place in places), spans=spans)


def with_block(turn: Turn, index: int, block: Block, text: Text | None = None) -> Turn:
    """Return a turn with another block at a place; `text`: that of the block, with its origins."""
    blocks = (*turn.blocks[:index], block, *turn.blocks[index + 1 :])
    spans = turn.spans if text is None else {**turn.spans, index: text}
    return replace(turn, blocks=blocks, spans=spans)


def with_each_block(turn: Turn, change: Callable[[Block], Block]) -> Turn:
    """Return a turn with each block changed, none of them being a text."""
    for index, block in enumerate(turn.blocks):
        if (changed := change(block)) is not block:
            turn = with_block(turn, index, changed)
    return turn

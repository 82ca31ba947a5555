"""A reply while it arrives, as `models.reply_growth` makes it of events."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.about import NOTHING_ABOUT, About
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.sources import NO_REFERENCES, References
from tui_chat.models.stream_events import Finished
from tui_chat.models.usage import NO_USAGE, Usage

_CHUNK = 4096

_B = TypeVar("_B")


@dataclass(frozen=True, slots=True)
class Rope:
    """A string with an append in constant time."""

    chunks: tuple[str, ...] = ()
    tail: str = ""
    _length: int = 0

    def add(self, text: str) -> Rope:
        """Return the string with `text` appended."""
        tail, length = self.tail + text, self._length + len(text)
        if len(tail) >= _CHUNK:
            return Rope((*self.chunks, tail), "", length)
        return Rope(self.chunks, tail, length)

    @classmethod
    def joined(cls, ropes: Sequence[Rope]) -> Rope:
        """Return several strings as one."""
        if len(ropes) == 1:
            return ropes[0]
        chunks = tuple(chunk for rope in ropes for chunk in (*rope.chunks, rope.tail))
        return cls(chunks, "", sum(map(len, ropes)))

    def __str__(self) -> str:
        return "".join((*self.chunks, self.tail))

    def __len__(self) -> int:
        return self._length


@dataclass(frozen=True, slots=True)
class BlockSoFar:
    """A block that may still be arriving."""

    block: Block
    """The block without the text or the arguments, which grow."""
    text: Rope = Rope()
    signature: Rope = Rope()
    """Of reasoning: what its extras have as `signature`."""
    number: int = 0
    """Its number among the reasoning or the calls of the reply."""
    is_whole: bool = False
    """See `TextDelta.is_whole`."""

    def whole(self) -> Block:
        """Return the block as far as it has arrived."""
        match self.block:
            case CallBlock():
                return replace(self.block, arguments=str(self.text))
            case TextBlock() | ReasoningBlock():
                return replace(self.block, text=str(self.text))
            case _:
                return self.block


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply as far as it has arrived."""

    model: str = ""
    id: str = ""
    earlier: tuple[BlockSoFar, ...] = ()
    """The blocks in order of arrival, without the last one, which grows as a rule."""
    last: BlockSoFar | None = None
    refusal: Rope = Rope()
    """The words in which the model refuses; they are a block after all others but the calls."""
    references: References = NO_REFERENCES
    """The sources of the reply."""
    begun: int = 0
    """Characters at the beginning of the text that this stream continues."""
    tokens: Rope = Rope()
    """See `About.tokens`."""
    usage: Usage = NO_USAGE
    finish: Finished | None = None
    size: int = 0
    """Characters counted toward `REPLY_SIZE`."""
    media_size: int = 0
    """Characters counted toward `MEDIA_SIZE`."""
    excess: str = ""
    """A sentence about the limit that the reply exceeded; empty if none."""

    @property
    def pieces(self) -> tuple[BlockSoFar, ...]:
        """The blocks so far, in order of arrival."""
        return self.earlier if self.last is None else (*self.earlier, self.last)

    def with_pieces(self, pieces: Sequence[BlockSoFar]) -> Reply:
        """Return the reply with other blocks."""
        return replace(self, earlier=tuple(pieces[:-1]), last=pieces[-1] if pieces else None)

    @property
    def content(self) -> Rope:
        """The text so far, without a refusal."""
        return Rope.joined([each.text for each in self.pieces if type(each.block) is TextBlock])

    @property
    def text(self) -> str:
        """The text so far, without a refusal."""
        return str(self.content)

    def continuing(self, text: str) -> Reply:
        """Return the reply with a text before it, which it continues."""
        pieces = list(self.pieces)
        if not pieces or pieces[0].block != TextBlock(""):
            pieces.insert(0, BlockSoFar(TextBlock("")))
        pieces[0] = replace(pieces[0], text=Rope().add(text + str(pieces[0].text)))
        return self.with_pieces(pieces)

    @property
    def reasoning(self) -> tuple[ReasoningBlock, ...]:
        """The reasoning so far."""
        return self._of(ReasoningBlock)

    @property
    def calls(self) -> tuple[CallBlock, ...]:
        """The tool calls so far."""
        return self._of(CallBlock)

    @property
    def parts(self) -> tuple[MediaBlock, ...]:
        """The pictures, sounds and files, each whole."""
        return self._of(MediaBlock)

    def _of(self, kind: type[_B]) -> tuple[_B, ...]:
        here = (each.whole() for each in self.pieces if type(each.block) is kind)
        return tuple(block for block in here if isinstance(block, kind))

    @property
    def thought(self) -> str:
        """The readable reasoning so far, its blocks separated by a blank line."""
        return "\n\n".join(block.text for block in self.reasoning if block.text)

    @property
    def is_empty(self) -> bool:
        """True if nothing readable, no part and no tool call has arrived."""
        return not len(self.refusal) and not any(
            len(each.text) if type(each.block) is TextBlock else type(each.block) is not OpaqueBlock
            for each in self.pieces
        )

    def message(
        self, protocol: Protocol, *, id: str = "", timestamp: float | None = None
    ) -> Message:
        """Return the reply as a message; `protocol` can replay its reasoning."""
        about = About(references=self.references, tokens=str(self.tokens))
        if about == NOTHING_ABOUT:
            about = NOTHING_ABOUT
        return Message("assistant", _blocks(self, protocol), id, timestamp=timestamp, about=about)


def with_call_ids(message: Message, taken: Collection[str]) -> Message:
    """Return a reply whose calls all have ids, no two the same: results and consent name a call by
    it. A call that came without one gets `call_1` and so on, the first that is not `taken`.
    """
    used: set[str] = set()
    blocks: list[Block] = []
    number = 1
    for block in message.blocks:
        if isinstance(block, CallBlock):
            id, again = block.id, 2
            while not id or id in used:
                if block.id:
                    id, again = f"{block.id}_{again}", again + 1
                elif (made := f"call_{number}") not in taken and made not in used:
                    id = made
                else:
                    number += 1
            used.add(id)
            block = replace(block, id=id)
        blocks.append(block)
    return replace(message, blocks=tuple(blocks)) if used else message


MADE_ID = re.compile(r"call_[1-9]\d*")
"""The ids that `with_call_ids` gives: a protocol that needs none does not get them."""


def _blocks(reply: Reply, protocol: Protocol) -> tuple[Block, ...]:
    """Return the blocks of a reply, in order of arrival."""
    is_plain = _is_plain([each.block for each in reply.pieces])
    blocks: list[Block] = []
    for each in reply.pieces:
        block = each.whole()
        if type(block) is ReasoningBlock:
            extras = block.extras or Extras(protocol)
            if len(each.signature):
                extras = replace(extras, keys={"signature": str(each.signature), **extras.keys})
            block = replace(block, extras=extras)
        elif block.extras is None and not is_plain:
            block = replace(block, extras=_unmarked(block, protocol))
        blocks.append(block)
    if refusal := str(reply.refusal):
        place = len(blocks)
        while place and isinstance(blocks[place - 1], CallBlock):
            place -= 1
        blocks.insert(place, TextBlock(refusal, is_refusal=True))
    return tuple(blocks)


_ORDER: tuple[type[Block], ...] = (ReasoningBlock, TextBlock, MediaBlock, CallBlock)


def _is_plain(blocks: Iterable[Block]) -> bool:
    """Return True for blocks in the usual order, of which only reasoning has extras."""
    ranks: list[int] = []
    for block in blocks:
        is_marked = block.extras is not None and type(block) is not ReasoningBlock
        if is_marked or type(block) not in _ORDER:
            return False
        ranks.append(_ORDER.index(type(block)))
    return ranks == sorted(ranks) and ranks.count(1) <= 1


_TEXT_FORMS: Mapping[Protocol, str] = {Protocol.OPENAI_CHAT: "content", Protocol.GEMINI: ""}


def _unmarked(block: Block, protocol: Protocol) -> Extras | None:
    """Return the extras of a block that came without any, in a reply that is not plain: its
    protocol sends it back in its place.
    """
    match block:
        case TextBlock():
            form = _TEXT_FORMS.get(protocol)
            return None if form is None else Extras(protocol, form)
        case CallBlock():
            return Extras(protocol)
        case MediaBlock() if protocol is not Protocol.OPENAI_RESPONSES:
            return Extras(protocol)
        case _:
            return None

"""A reply while it arrives: `advance` folds the events of a stream into it, within limits.

A protocol's parser turns bytes into `StreamEvent`s. Folding them is pure, and its cost per event
does not depend on the reply's length. Beyond a limit the reply stops growing, and `Reply.excess`
says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import Literal, TypeAlias, TypeVar

from tui_chat.lazy_dataclass import dataclass
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
from tui_chat.models.json_text import to_json
from tui_chat.models.message import (
    MOST_SOURCES,
    NO_REFERENCES,
    NOTHING_ABOUT,
    About,
    Message,
    References,
    Source,
    with_refusal,
)
from tui_chat.models.token_probabilities import PACKED_SIZE, TokenProbability, pack_tokens
from tui_chat.models.usage import COUNTS, NO_USAGE, Usage

FinishReason = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "paused", "other"
]
REPLY_SIZE = 4_000_000
"""Maximum characters of a reply: text, reasoning, tool calls and opaque blocks together. Today's
longest replies, 128,000 tokens, have 0.6 million."""
MEDIA_SIZE = 28_000_000
"""Maximum characters of a reply's parts together, in base64: 20 MB of bytes, as in a request."""
MOST_PIECES = 5_000
"""Maximum pieces of a reply: runs of text, reasoning blocks, parts, calls and opaque blocks."""

_B = TypeVar("_B")

# --- events ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """The start of the reply."""

    model: str = ""
    """The model that answers, as the provider names it."""
    id: str = ""
    """The provider's id of the reply."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    text: str
    extras: Extras | None = None
    """Those of a text that begins here, unless the one before has the same."""
    is_whole: bool = False
    """True if it is a text by itself, which has a signature: it is not joined with others."""


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """More of a refusal, which is separate from the text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of a reasoning block; blocks are numbered in order of arrival."""

    index: int
    text: str = ""
    signature: str = ""
    """The next part of the signature, which the extras of the block have as `signature`."""
    extras: Extras | None = None
    """The other extras; the last ones count."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of a tool call; calls are numbered in order of arrival."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    """The next part of the arguments."""
    extras: Extras | None = None
    """The last ones count."""
    resets: bool = False
    """True if the arguments so far do not count: a server began with a placeholder for them."""


@dataclass(frozen=True, slots=True)
class OtherBlock:
    """A whole block that only the provider understands, such as a search it ran."""

    block: OpaqueBlock
    size: int
    """Characters of the block as compact JSON."""


@dataclass(frozen=True, slots=True)
class MediaPart:
    """A whole picture, sound or file, with what the provider needs to get it back."""

    part: MediaBlock


@dataclass(frozen=True, slots=True)
class SourceFound:
    """A source of the reply, or more about one; sources are numbered in order of arrival."""

    index: int
    source: Source


@dataclass(frozen=True, slots=True)
class TokensReported:
    """More of the text's tokens, with their probabilities."""

    tokens: tuple[TokenProbability, ...]


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage so far; fields that are None change nothing."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the reply and its reason."""

    reason: FinishReason
    raw: str
    """The provider's name for the reason."""
    detail: str = ""
    """The provider's explanation, if any, such as why a prompt was blocked."""


_Delta: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta | ToolCallDelta
StreamEvent: TypeAlias = (
    Started
    | _Delta
    | OtherBlock
    | MediaPart
    | SourceFound
    | TokensReported
    | UsageReport
    | Finished
)


def text_bytes(event: StreamEvent) -> int:
    """Return the bytes of text in an event, from which its tokens are estimated.

    Bytes, because an English letter is a fourth of a token and a Chinese one about a whole token.
    """
    return len(_words(event).encode("utf-8", "replace")) if isinstance(event, _Delta) else 0


def _words(delta: _Delta) -> str:
    return delta.arguments if isinstance(delta, ToolCallDelta) else delta.text


# --- the reply ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rope:
    """A string with an append in constant time."""

    chunks: tuple[str, ...] = ()
    tail: str = ""
    _length: int = 0

    def add(self, text: str) -> Rope:
        """Return the string with `text` appended."""
        tail, length = self.tail + text, self._length + len(text)
        if len(tail) >= 4096:
            return Rope((*self.chunks, tail), "", length)
        return Rope(self.chunks, tail, length)

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
    pieces: tuple[BlockSoFar, ...] = ()
    """The blocks so far, in order of arrival; the last one grows as a rule."""
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
    def length(self) -> int:
        """The number of characters of the text so far."""
        return sum(len(each.text) for each in self.pieces if type(each.block) is TextBlock)

    @property
    def text(self) -> str:
        """The text so far, without a refusal."""
        return "".join(str(each.text) for each in self.pieces if type(each.block) is TextBlock)

    def continuing(self, text: str) -> Reply:
        """Return the reply with a text before it, which it continues."""
        first, *others = self.pieces or (BlockSoFar(TextBlock("")),)
        if first.block != TextBlock(""):
            first, others = BlockSoFar(TextBlock("")), self.pieces
        first = replace(first, text=Rope().add(text + str(first.text)))
        return replace(self, pieces=(first, *others))

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


def _blocks(reply: Reply, protocol: Protocol) -> tuple[Block, ...]:
    """Return the blocks of a reply, in order of arrival."""
    is_plain = _is_plain([each.block for each in reply.pieces])
    blocks: list[Block] = []
    for each in reply.pieces:
        block = each.whole()
        if isinstance(block, ReasoningBlock):
            extras = block.extras or Extras(protocol)
            if len(each.signature):
                extras = replace(extras, keys={"signature": str(each.signature), **extras.keys})
            block = replace(block, extras=extras)
        elif block.extras is None and not is_plain:
            block = replace(block, extras=_unmarked(block, protocol))
        blocks.append(block)
    return tuple(with_refusal(blocks, words) if (words := str(reply.refusal)) else blocks)


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
    if isinstance(block, TextBlock):
        return Extras(protocol, _TEXT_FORMS[protocol]) if protocol in _TEXT_FORMS else None
    is_own = isinstance(block, MediaBlock) and protocol is not Protocol.OPENAI_RESPONSES
    return Extras(protocol) if is_own or isinstance(block, CallBlock) else None


MADE_ID = re.compile(r"call_[1-9]\d*")
"""The ids that `with_call_ids` gives: a protocol that needs none does not get them."""


def with_call_ids(message: Message, taken: Collection[str]) -> Message:
    """Return a reply whose calls all have ids, no two the same: results and consent name a call by
    it. A call that came without one gets `call_1` and so on, the first that is not `taken`.
    """
    used: set[str] = set()
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, CallBlock):
            ids = chain([block.id], (f"{block.id}_{number}" for number in count(2)))
            if not block.id:
                ids = (id for number in count(1) if (id := f"call_{number}") not in taken)
            block = replace(block, id=next(id for id in ids if id not in used))
            used.add(block.id)
        blocks.append(block)
    return replace(message, blocks=tuple(blocks)) if used else message


# --- its growth --------------------------------------------------------------------------


def advance(reply: Reply, event: StreamEvent) -> Reply:
    """Fold one event into the reply.

    Of an event that exceeds a limit, the part that fits is folded and `excess` is set; of later
    events, only those without content are folded.
    """
    match event:
        case Started():
            return replace(reply, model=event.model or reply.model, id=event.id or reply.id)
        case UsageReport():
            return replace(reply, usage=_newest(reply.usage, event.usage))
        case Finished():
            return replace(reply, finish=event)
        case SourceFound():
            return _with_source(reply, event)
        case _ if reply.excess:
            return reply
        case TokensReported():
            return _with_tokens(reply, event.tokens)
        case MediaPart(part=part):
            size = len(part.data) + len(part.url) + len(part.mime) + len(part.name)
            return _with_block(reply, part, media=size + _size_of_extras(part.extras))
        case OtherBlock(block=block):
            return _with_block(reply, block, event.size + len(block.name))
        case _:
            return _grown(reply, event)


def _grown(reply: Reply, event: _Delta) -> Reply:
    """Return the reply with more of a block. Text that exceeds the limit is cut; an incomplete
    signature or the like is useless, and is dropped.
    """
    if isinstance(event, TextDelta) and not (event.text or event.extras or event.is_whole):
        return reply
    place, pieces = _place(reply, event), reply.pieces
    if place >= MOST_PIECES:
        return _full(reply)
    size, excess = reply.size + _size_of(event), ""
    if size > REPLY_SIZE:
        words = _words(event)[: REPLY_SIZE - reply.size]
        size, excess = REPLY_SIZE, _TOO_LONG.format(REPLY_SIZE)
        match event:
            case ToolCallDelta(index=index):
                event = ToolCallDelta(index, arguments=words)
            case ReasoningDelta(index=index):
                event = ReasoningDelta(index, words)
            case _:
                event = type(event)(words)
    if isinstance(event, RefusalDelta):
        return replace(reply, refusal=reply.refusal.add(event.text), size=size, excess=excess)
    grown = _added(pieces[place] if place < len(pieces) else _begun(event), event)
    pieces = (*pieces[:place], grown, *pieces[place + 1 :])
    return replace(reply, pieces=pieces, size=size, excess=excess)


_TOO_LONG = "The reply is longer than {:,} characters; the rest was dropped."


def _full(reply: Reply) -> Reply:
    words = f"The reply has more than {MOST_PIECES:,} parts; the first {MOST_PIECES:,} are kept."
    return replace(reply, excess=words)


def _size_of(event: _Delta) -> int:
    """Return how many characters an event adds to the reply."""
    size = len(_words(event))
    match event:
        case RefusalDelta():
            return size
        case ReasoningDelta():
            size += len(event.signature)
        case ToolCallDelta():
            size += len(event.id) + len(event.name)
        case TextDelta():
            pass
    return size + _size_of_extras(event.extras)


def _size_of_extras(extras: Extras | None) -> int:
    if extras is None:
        return 0
    return len(extras.form) + (len(to_json(extras.keys)) if extras.keys else 0)


def _place(reply: Reply, event: _Delta) -> int:
    """Return the place of the block that an event adds to; behind the last one if it begins one."""
    pieces = reply.pieces
    end = len(pieces)
    last = pieces[-1] if pieces else None
    match event:
        case RefusalDelta():
            return 0
        case TextDelta():
            if last is None or type(last.block) is not TextBlock or last.is_whole or event.is_whole:
                return end
            return end - 1 if event.extras in (None, last.block.extras) else end
        case ReasoningDelta():
            kind = ReasoningBlock
        case ToolCallDelta():
            kind = CallBlock
    # As many of its kind are before it, and others.
    for place in chain(range(end - 1, end) if end else (), range(event.index, end)):
        if pieces[place].number == event.index and type(pieces[place].block) is kind:
            return place
    return end


def _begun(event: TextDelta | ReasoningDelta | ToolCallDelta) -> BlockSoFar:
    """Return the block that an event begins, without anything in it."""
    match event:
        case TextDelta():
            return BlockSoFar(TextBlock("", extras=event.extras), is_whole=event.is_whole)
        case ReasoningDelta():
            return BlockSoFar(ReasoningBlock(""), number=event.index)
        case ToolCallDelta():
            return BlockSoFar(CallBlock("", "", ""), number=event.index)


def _added(so_far: BlockSoFar, event: TextDelta | ReasoningDelta | ToolCallDelta) -> BlockSoFar:
    """Return a block with what an event adds to it."""
    block, text = so_far.block, so_far.text
    match event:
        case TextDelta():
            return replace(so_far, text=text.add(event.text))
        case ReasoningDelta():
            block = replace(block, extras=event.extras or block.extras)
            signature = so_far.signature.add(event.signature)
            return replace(so_far, block=block, text=text.add(event.text), signature=signature)
        case ToolCallDelta():
            assert isinstance(block, CallBlock)
            id, name, extras = event.id or block.id, event.name or block.name, event.extras
            block = replace(block, id=id, name=name, extras=extras or block.extras)
            text = (Rope() if event.resets else text).add(event.arguments)
            return replace(so_far, block=block, text=text)


def _with_block(
    reply: Reply, block: OpaqueBlock | MediaBlock, size: int = 0, media: int = 0
) -> Reply:
    """Return the reply with a whole block of so many characters. One that exceeds a limit is
    dropped, and `excess` is set.
    """
    size, media = size + reply.size, media + reply.media_size
    if len(reply.pieces) >= MOST_PIECES:
        return _full(reply)
    if size > REPLY_SIZE:
        return replace(reply, excess=_TOO_LONG.format(REPLY_SIZE))
    if media > MEDIA_SIZE:
        words = f"The pictures, sounds and files of the reply have more than {MEDIA_SIZE:,}"
        return replace(reply, excess=f"{words} characters; the rest was dropped.")
    pieces = (*reply.pieces, BlockSoFar(block))
    return replace(reply, pieces=pieces, size=size, media_size=media)


def _with_tokens(reply: Reply, tokens: Iterable[TokenProbability]) -> Reply:
    """Return the reply with more tokens, up to `PACKED_SIZE`; a reply does not end for that."""
    packed = reply.tokens
    for token in tokens:
        if len(packed) < PACKED_SIZE:
            packed = packed.add(pack_tokens((token,)))
    return replace(reply, tokens=packed)


def _with_source(reply: Reply, event: SourceFound) -> Reply:
    """Return the reply with one more source, or more about one, if there are not too many."""
    if event.index >= MOST_SOURCES:
        return reply
    known = reply.references.sources
    sources = [*known, *[Source()] * (event.index + 1 - len(known))]
    before, new = sources[event.index], event.source
    sources[event.index] = Source(
        new.title or before.title, new.url or before.url, new.file or before.file
    )
    return replace(reply, references=References(tuple(sources)))


def _newest(before: Usage, new: Usage) -> Usage:
    """Return the newer usage. A report without input is an empty one, with which some servers end:
    its zeros do not count.
    """

    def newest(name: str) -> int | None:
        count: int | None = getattr(new, name)
        earlier: int | None = getattr(before, name)
        is_empty = count is None or (count == new.input == 0 and earlier is not None)
        return earlier if is_empty else count

    return Usage(
        *map(newest, COUNTS),
        cache_write_1h=new.cache_write_1h or before.cache_write_1h,
        tier=new.tier or before.tier,
        cost=before.cost if new.cost is None else new.cost,
    )

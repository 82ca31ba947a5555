"""The growth of a reply: `advance` folds events into it, within limits.

A protocol's parser turns bytes into `StreamEvent`s. Folding them is pure, and its cost per event
does not depend on the reply's length. Beyond a limit the reply stops growing, and `Reply.excess`
says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from tui_chat.models.blocks import (
    CallBlock,
    Extras,
    ReasoningBlock,
    TextBlock,
)
from tui_chat.models.json_text import to_json
from tui_chat.models.reply import BlockSoFar, Reply, Rope
from tui_chat.models.sources import MOST_SOURCES, References, Source
from tui_chat.models.stream_events import (
    Finished,
    MediaPart,
    OtherBlock,
    ReasoningDelta,
    RefusalDelta,
    SourceFound,
    Started,
    StreamEvent,
    TextDelta,
    TokensReported,
    ToolCallDelta,
    UsageReport,
)
from tui_chat.models.token_probabilities import PACKED_SIZE, TokenProbability, pack_tokens
from tui_chat.models.usage import Usage

REPLY_SIZE = 4_000_000
"""Maximum characters of a reply: text, reasoning, tool calls and opaque blocks together. Today's
longest replies, 128,000 tokens, have 0.6 million."""
MEDIA_SIZE = 28_000_000
"""Maximum characters of a reply's parts together, in base64: 20 MB of bytes, as in a request."""
MOST_PIECES = 5_000
"""Maximum pieces of a reply: runs of text, reasoning blocks, parts, calls and opaque blocks."""

_REST_DROPPED = "the rest was dropped."

Content: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta | ToolCallDelta | OtherBlock


def advance(reply: Reply, event: StreamEvent) -> Reply:
    """Fold one event into the reply.

    Of an event that exceeds a limit, the part that fits is folded and `excess` is set; of later
    events, only those without content are folded.
    """
    if isinstance(event, SourceFound):
        return _with_source(reply, event)
    if isinstance(event, Started | UsageReport | Finished):
        return _advanced(reply, event, reply.size)
    if reply.excess:
        return reply
    if isinstance(event, MediaPart):
        return _with_part(reply, event)
    if isinstance(event, TokensReported):
        return _with_tokens(reply, event.tokens)
    admitted, excess = admitted_part(reply, event)
    if admitted is not None:
        reply = _advanced(reply, admitted, reply.size + size_of(admitted))
    return replace(reply, excess=excess) if excess else reply


def _with_part(reply: Reply, event: MediaPart) -> Reply:
    """Return the reply with a part. One that exceeds a limit is dropped, and `excess` is set."""
    part = event.part
    size = len(part.data) + len(part.url) + len(part.mime) + len(part.name)
    size += reply.media_size + _size_of_extras(part.extras)
    if _count(reply) >= MOST_PIECES:
        return replace(reply, excess=_too_many())
    if size > MEDIA_SIZE:
        words = f"The pictures, sounds and files of the reply have more than {MEDIA_SIZE:,}"
        return replace(reply, excess=f"{words} characters; {_REST_DROPPED}")
    return replace(reply, earlier=reply.pieces, last=BlockSoFar(part), media_size=size)


def _with_tokens(reply: Reply, tokens: Iterable[TokenProbability]) -> Reply:
    """Return the reply with more tokens, up to `PACKED_SIZE`; a reply does not end for that."""
    packed: list[str] = []
    size = len(reply.tokens)
    for token in tokens:
        if size >= PACKED_SIZE:
            break
        packed.append(pack_tokens((token,)))
        size += len(packed[-1])
    return replace(reply, tokens=reply.tokens.add("".join(packed))) if packed else reply


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


def _advanced(reply: Reply, event: Content | Started | UsageReport | Finished, size: int) -> Reply:
    """Return the reply with an event and this size. Each event makes one new reply and no more: it
    is most of what reading a stream costs.
    """
    match event:
        case Started():
            model, id = event.model or reply.model, event.id or reply.id
            return replace(reply, model=model, id=id)
        case TextDelta():
            last = reply.last
            if continues(last, event):
                if last is None or type(last.block) is not TextBlock:
                    return replace(reply, size=size)
                return replace(reply, size=size, last=replace(last, text=last.text.add(event.text)))
            block, text = TextBlock("", extras=event.extras), Rope().add(event.text)
            new = BlockSoFar(block, text, is_whole=event.is_whole)
            return replace(reply, size=size, earlier=reply.pieces, last=new)
        case RefusalDelta():
            return replace(reply, size=size, refusal=reply.refusal.add(event.text))
        case ReasoningDelta() | ToolCallDelta():
            return _grown(reply, event, size)
        case OtherBlock():
            return replace(reply, size=size, earlier=reply.pieces, last=BlockSoFar(event.block))
        case UsageReport():
            return replace(reply, usage=_newest(reply.usage, event.usage))
        case Finished():
            return replace(reply, finish=event)


def _grown(reply: Reply, event: ReasoningDelta | ToolCallDelta, size: int) -> Reply:
    """Return the reply with more of its reasoning or of a call, and with this size."""
    last, place = reply.last, _place(reply, event)
    if last is not None and place == len(reply.earlier):
        return replace(reply, size=size, last=_added(last, event))
    pieces = list(reply.pieces)
    if place is None:
        empty = CallBlock("", "", "") if isinstance(event, ToolCallDelta) else ReasoningBlock("")
        known = (each.number for each in reversed(pieces) if type(each.block) is type(empty))
        numbers = range(next(known, -1) + 1, event.index + 1)  # one: parsers leave no gaps
        pieces += [BlockSoFar(empty, number=number) for number in numbers]
        place = len(pieces) - 1
    pieces[place] = _added(pieces[place], event)
    return replace(reply, size=size, earlier=tuple(pieces[:-1]), last=pieces[-1])


def _added(so_far: BlockSoFar, event: ReasoningDelta | ToolCallDelta) -> BlockSoFar:
    """Return a block with what an event adds to it."""
    block, extras = so_far.block, event.extras or so_far.block.extras
    if isinstance(event, ToolCallDelta):
        assert isinstance(block, CallBlock)
        block = replace(block, id=event.id or block.id, name=event.name or block.name)
        text = (Rope() if event.resets else so_far.text).add(event.arguments)
        return replace(so_far, block=replace(block, extras=extras), text=text)
    text, signature = so_far.text.add(event.text), so_far.signature.add(event.signature)
    return replace(so_far, block=replace(block, extras=extras), text=text, signature=signature)


def _place(reply: Reply, event: ReasoningDelta | ToolCallDelta) -> int | None:
    """Return the place of the block that an event adds to; None if it begins one."""
    kind = CallBlock if isinstance(event, ToolCallDelta) else ReasoningBlock
    number, last, count = event.index, reply.last, len(reply.earlier)
    if last is not None and last.number == number and type(last.block) is kind:
        return count
    for place in range(number, count):  # as many of its kind are before it, and others
        each = reply.earlier[place]
        if each.number == number and type(each.block) is kind:
            return place
    return None


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
        *map(newest, ("input", "output", "cached", "cache_write", "reasoning")),
        cache_write_1h=new.cache_write_1h or before.cache_write_1h,
        tier=new.tier or before.tier,
        cost=before.cost if new.cost is None else new.cost,
    )


# --- limits ----------------------------------------------------------------------------


def size_of(event: Content) -> int:
    """Return how many characters an event adds to the reply."""
    match event:
        case TextDelta():
            return len(event.text) + _size_of_extras(event.extras)
        case RefusalDelta():
            return len(event.text)
        case ReasoningDelta():
            return len(event.text) + len(event.signature) + _size_of_extras(event.extras)
        case ToolCallDelta():
            names = len(event.id) + len(event.name)
            return len(event.arguments) + names + _size_of_extras(event.extras)
        case OtherBlock():
            return event.size + len(event.block.name)


def _size_of_extras(extras: Extras | None) -> int:
    if extras is None:
        return 0
    return len(extras.form) + (len(to_json(extras.keys)) if extras.keys else 0)


def admitted_part(reply: Reply, event: Content) -> tuple[Content | None, str]:
    """Return the part of an event that the limits admit (None if no part of it), and a sentence
    about the limit that it exceeds, or an empty one.

    Text is cut. Opaque data is useless in part and is dropped.
    """
    if _count(reply) >= MOST_PIECES and _begins_piece(reply, event):
        return None, _too_many()
    room = REPLY_SIZE - reply.size
    if size_of(event) <= room:
        return event, ""
    excess = f"The reply is longer than {REPLY_SIZE:,} characters; {_REST_DROPPED}"
    match event:
        case TextDelta() | RefusalDelta():
            kept = replace(event, text=event.text[:room])
        case ReasoningDelta():
            kept = ReasoningDelta(event.index, event.text[:room])
        case ToolCallDelta():
            kept = ToolCallDelta(event.index, arguments=event.arguments[:room])
        case OtherBlock():
            return None, excess
    return (kept if size_of(kept) <= room else None), excess


def _too_many() -> str:
    words = f"The reply has more than {MOST_PIECES:,} parts; the first {MOST_PIECES:,}"
    return f"{words} are kept."


def _count(reply: Reply) -> int:
    """Return the number of `Reply.pieces`."""
    return len(reply.earlier) + (reply.last is not None)


def _begins_piece(reply: Reply, event: Content) -> bool:
    """Return True if the event adds to `Reply.pieces`."""
    match event:
        case TextDelta():
            return not continues(reply.last, event)
        case RefusalDelta():
            return False
        case ReasoningDelta() | ToolCallDelta():
            return _place(reply, event) is None
        case OtherBlock():
            return True


def continues(last: BlockSoFar | None, delta: TextDelta) -> bool:
    """True if the delta continues the last block, or adds nothing."""
    if delta.is_whole:
        return False
    if last is not None and type(last.block) is TextBlock and not last.is_whole:
        return delta.extras in (None, last.block.extras)
    return not delta.text and delta.extras is None

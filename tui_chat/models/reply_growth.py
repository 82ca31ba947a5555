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
    MediaBlock,
    ReasoningBlock,
    TextBlock,
)
from tui_chat.models.citations import (
    MOST_CITATIONS,
    MOST_SEARCHES,
    MOST_SOURCES,
    Source,
)
from tui_chat.models.json_text import to_json
from tui_chat.models.reply import BlockSoFar, Reply, Rope
from tui_chat.models.stream_events import (
    Cited,
    Finished,
    MediaPart,
    OtherBlock,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Searched,
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

REPLY_SIZE = 8_000_000
"""Maximum characters of a reply: text, reasoning, tool calls and opaque blocks together."""
MEDIA_SIZE = 28_000_000
"""Maximum characters of a reply's parts together, in base64: 20 MB of bytes, as in a request."""
MOST_PARTS = 1_000
"""Maximum parts of a reply: pictures, sounds and files."""
TEXT_SIZE = 2_000_000
"""Maximum characters of a reply's text, refusal and reasoning. The longest replies of today's
models, 128,000 tokens, have 0.6 million."""
ARGUMENTS_SIZE = 4_000_000
"""Maximum characters of one tool call's arguments."""
MOST_CALLS = 1_000
"""Maximum tool calls of a reply."""
MOST_PIECES = 10_000
"""Maximum pieces of a reply: runs of text, reasoning blocks, parts, calls and opaque blocks."""

_REST_DROPPED = "the rest was dropped."

Words: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta
Content: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta | ToolCallDelta | OtherBlock
MOST_REPLACED = 20
"""Maximum replaced attempts that are kept apart; the texts of later ones are joined to the last."""


def advance(reply: Reply, event: StreamEvent) -> Reply:
    """Fold one event into the reply.

    Of an event that exceeds a limit, the part that fits is folded and `excess` is set; of later
    events, only those without content are folded.
    """
    if isinstance(event, SourceFound | Cited | Searched):
        return _referenced(reply, event)
    if isinstance(event, Started | UsageReport | Finished):
        return _advanced(reply, event, reply.size, reply.text_size)
    if reply.excess:
        return reply
    if isinstance(event, Restarted):
        return _restarted(reply)
    if isinstance(event, MediaPart):
        return _with_part(reply, event)
    if isinstance(event, TokensReported):
        return _with_tokens(reply, event.tokens)
    admitted, excess = admitted_part(reply, event)
    if admitted is not None:
        size = size_of(admitted)
        text_size = reply.text_size + (size if isinstance(admitted, Words) else 0)
        reply = _advanced(reply, admitted, reply.size + size, text_size)
    return replace(reply, excess=excess) if excess else reply


def _restarted(reply: Reply) -> Reply:
    """Return an empty reply that keeps the text so far as that of a replaced attempt. Its size
    still counts toward the limits, so that restarts without end come to an end.
    """
    text, replaced = reply.text[reply.begun :], reply.replaced
    if len(replaced) < MOST_REPLACED:
        replaced = (*replaced, text)
    else:
        replaced = (*replaced[:-1], f"{replaced[-1]}\n\n{text}")
    empty = Reply(
        begun=reply.begun,
        size=reply.size + 1,
        text_size=reply.text_size,
        media_size=reply.media_size,
        replaced=replaced,
        restarts=reply.restarts + 1,
    )
    begun = TextDelta(reply.text[: reply.begun])
    return _advanced(empty, begun, empty.size, empty.text_size) if reply.begun else empty


def _with_part(reply: Reply, event: MediaPart) -> Reply:
    """Return the reply with a part. One that exceeds a limit is dropped, and `excess` is set."""
    part = event.part
    size = len(part.data) + len(part.url) + len(part.mime) + len(part.name)
    size += _size_of_extras(part.extras)
    if excess := part_excess(reply, size):
        return replace(reply, excess=excess)
    pieces = reply.pieces
    return replace(reply, earlier=pieces, last=BlockSoFar(part), media_size=reply.media_size + size)


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


def _referenced(reply: Reply, event: SourceFound | Cited | Searched) -> Reply:
    """Return the reply with one more reference, if their limits allow it: it goes on anyway."""
    known = reply.references
    match event:
        case SourceFound():
            if event.index >= MOST_SOURCES:
                return replace(reply, references=replace(known, cut=True))
            missing = event.index + 1 - len(known.sources)
            sources = [*known.sources, *[Source()] * missing]
            before, new = sources[event.index], event.source
            sources[event.index] = Source(
                new.title or before.title, new.url or before.url, new.file or before.file
            )
            return replace(reply, references=replace(known, sources=tuple(sources)))
        case Cited(citation):
            if len(reply.citations) >= MOST_CITATIONS or citation.source >= len(known.sources):
                return replace(reply, references=replace(known, cut=True))
            return replace(reply, citations=(*reply.citations, citation.shifted(reply.begun)))
        case Searched():
            queries, failures = known.queries, known.failures
            if event.query and event.query not in queries and len(queries) < MOST_SEARCHES:
                queries = (*queries, event.query)
            if event.failure and event.failure not in failures and len(failures) < MOST_SEARCHES:
                failures = (*failures, event.failure)
            return replace(reply, references=replace(known, queries=queries, failures=failures))


def _advanced(
    reply: Reply,
    event: Content | Started | UsageReport | Finished,
    size: int,
    text_size: int,
) -> Reply:
    """Return the reply with an event and these sizes. Each event makes one new reply and no more:
    it is most of what reading a stream costs.
    """
    sizes = {"size": size, "text_size": text_size}
    match event:
        case Started():
            model, id = event.model or reply.model, event.id or reply.id
            return replace(reply, model=model, id=id, kept=event.kept or reply.kept)
        case TextDelta():
            last = reply.last
            if continues(last, event):
                if last is None or type(last.block) is not TextBlock:
                    return replace(reply, **sizes)
                return replace(reply, **sizes, last=replace(last, text=last.text.add(event.text)))
            block, text = TextBlock("", extras=event.extras), Rope().add(event.text)
            new = BlockSoFar(block, text, is_whole=event.is_whole)
            return replace(reply, **sizes, earlier=reply.pieces, last=new)
        case RefusalDelta():
            return replace(reply, **sizes, refusal=reply.refusal.add(event.text))
        case ReasoningDelta() | ToolCallDelta():
            return _grown(reply, event, sizes)
        case OtherBlock():
            return replace(reply, **sizes, earlier=reply.pieces, last=BlockSoFar(event.block))
        case UsageReport():
            return replace(reply, usage=_newest(reply.usage, event.usage))
        case Finished():
            return replace(reply, finish=event)


def _grown(reply: Reply, event: ReasoningDelta | ToolCallDelta, sizes: dict[str, int]) -> Reply:
    """Return the reply with more of its reasoning or of a call, and with these sizes."""
    last, place = reply.last, _place(reply, event)
    if last is not None and place == len(reply.earlier):
        return replace(reply, **sizes, last=_added(last, event))
    pieces = list(reply.pieces)
    if place is None:
        empty = CallBlock("", "", "") if isinstance(event, ToolCallDelta) else ReasoningBlock("")
        known = (each.number for each in reversed(pieces) if type(each.block) is type(empty))
        numbers = range(next(known, -1) + 1, event.index + 1)  # one: parsers leave no gaps
        pieces += [BlockSoFar(empty, number=number) for number in numbers]
        place = len(pieces) - 1
    pieces[place] = _added(pieces[place], event)
    return replace(reply, **sizes, earlier=tuple(pieces[:-1]), last=pieces[-1])


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
    if isinstance(event, ToolCallDelta) and event.index >= MOST_CALLS:
        words = f"The reply has more than {MOST_CALLS:,} tool calls; the first {MOST_CALLS:,}"
        return None, f"{words} are kept."
    if _count(reply) >= MOST_PIECES and _begins_piece(reply, event):
        words = f"The reply has more than {MOST_PIECES:,} parts; the first {MOST_PIECES:,}"
        return None, f"{words} are kept."
    if isinstance(event, ToolCallDelta):
        place = _place(reply, event)
        length = 0 if place is None else len(reply.pieces[place].text)
        room = min(ARGUMENTS_SIZE - length, REPLY_SIZE - reply.size)
        if len(event.arguments) > ARGUMENTS_SIZE - length:
            most = f"{ARGUMENTS_SIZE:,}"
            words = f"The arguments of a tool call are longer than {most} characters"
            return replace(event, arguments=event.arguments[:room]), f"{words}; {_REST_DROPPED}"
    room, most, what = REPLY_SIZE - reply.size, REPLY_SIZE, "reply"
    if isinstance(event, Words) and TEXT_SIZE - reply.text_size < room:
        room, most, what = TEXT_SIZE - reply.text_size, TEXT_SIZE, "text of the reply"
    if size_of(event) <= room:
        return event, ""
    excess = f"The {what} is longer than {most:,} characters; {_REST_DROPPED}"
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


def part_excess(reply: Reply, size: int) -> str:
    """Return a sentence about the limit that `size` more characters exceed; else empty."""
    count = sum(type(each.block) is MediaBlock for each in reply.pieces)
    most = min(MOST_PARTS, count + MOST_PIECES - _count(reply))
    if count >= most:
        words = f"The reply has more than {most:,} pictures, sounds and files; the first {most:,}"
        return f"{words} are kept."
    if size > MEDIA_SIZE - reply.media_size:
        words = f"The pictures, sounds and files of the reply have more than {MEDIA_SIZE:,}"
        return f"{words} characters; {_REST_DROPPED}"
    return ""


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

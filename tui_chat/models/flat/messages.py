"""A message of the flat model as blocks: `from_flat`.

1. A layout that no longer describes the message, because its text was edited, loses the order, the
   pieces that only a provider understands and the marks on texts. The marks on calls stay as long
   as their number does: Gemini refuses a call without its signature.
2. Citations were counted in the whole text; now each counts in its block. Those without a place are
   on the first text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from tui_chat.models.about import NOTHING_ABOUT, About
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    MediaBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from tui_chat.models.boundary import plain, read_own
from tui_chat.models.citations import References
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.anthropic import AnthropicForms
from tui_chat.models.flat.forms import NO_PIECE, FlatForms, cache_of
from tui_chat.models.flat.gemini import GeminiForms
from tui_chat.models.flat.ollama import OllamaForms
from tui_chat.models.flat.openai_chat import ChatForms
from tui_chat.models.flat.openai_responses import ResponsesForms
from tui_chat.models.flat.values import (
    NO_SEMANTICS,
    FlatMessage,
    FlatMuted,
    FlatReasoning,
    FlatSemantics,
    LayoutPiece,
    Part,
    ToolCall,
)
from tui_chat.models.message import NOT_MUTED, Message, Muted, place_citations

_Placed: TypeAlias = tuple[LayoutPiece, str | FlatReasoning | ToolCall | Part | None]
"""A piece of a layout and its content; None if the piece itself has it all."""

FORMS: dict[Protocol, FlatForms] = {
    forms.protocol: forms
    for forms in (ChatForms(), ResponsesForms(), AnthropicForms(), GeminiForms(), OllamaForms())
}


def from_flat(old: FlatMessage) -> Message:
    """Return a message of the flat model as blocks. Raises ValueError for what is no such one."""
    semantics, wire = old.semantics, old.semantics.wire
    blocks = _Reader(old).read()
    known = semantics.references
    fits = len(old.content) == known.length
    place_citations(blocks, (c if fits else replace(c, start=0, end=0) for c in known.citations))
    extras = None
    if wire is not None:
        extras = FORMS[wire.protocol].message(wire, old.role, blocks)
    return Message(
        old.role,
        tuple(blocks),
        old.id,
        "" if old.role == "tool" else old.name,
        old.timestamp,
        old.pinned,
        _muted(old.muted, blocks),
        NOTHING_ABOUT if semantics is NO_SEMANTICS else _about(semantics),
        extras,
    )


def block_mutes(muted: Mapping[str, Any], blocks: Sequence[Block]) -> dict[str, Any]:
    """Return what is muted of a message with these blocks, as JSON, from the JSON of the flat
    model. Raises ValueError.
    """
    old = read_own(FlatMuted, muted)
    return plain(_muted(old, blocks)) if "blocks" not in muted else dict(muted)


def _muted(old: FlatMuted, blocks: Sequence[Block]) -> Muted:
    if not (old.whole or old.reasoning or old.parts):
        return NOT_MUTED
    media = [index for index, block in enumerate(blocks) if isinstance(block, MediaBlock)]
    muted = {media[index] for index in old.parts if 0 <= index < len(media)}
    if old.reasoning:
        muted |= {i for i, block in enumerate(blocks) if isinstance(block, ReasoningBlock)}
    return Muted(old.whole, tuple(sorted(muted)))


def _about(semantics: FlatSemantics) -> About:
    known = semantics.references
    return About(
        References(known.sources, known.queries, known.failures, known.cut),
        semantics.kept_as,
        semantics.replaced,
        semantics.is_speaker_chosen,
        semantics.summary,
        semantics.brought,
        semantics.source,
        semantics.lore_timers,
        semantics.tokens,
    )


class _Reader:
    """Reads the blocks of one message."""

    def __init__(self, old: FlatMessage) -> None:
        semantics = old.semantics
        self._old = old
        self._wire = semantics.wire
        self._layout = semantics.layout
        source = self._layout or semantics.wire
        self._forms = FORMS[source.protocol] if source is not None else None
        self._blocks: list[Block] = []

    def read(self) -> list[Block]:
        """Return the blocks."""
        old = self._old
        if old.role == "tool":
            self._blocks.append(self._result())
        has_refusal = False
        for piece, content in _placed(old):
            has_refusal = has_refusal or piece.kind == "refusal"
            self._add(piece, content)
        if old.semantics.refusal and not has_refusal:
            self._add_refusal()
        return self._blocks

    def _result(self) -> ResultBlock:
        old = self._old
        pieces = self._layout.pieces if self._layout is not None else ()
        piece = next((piece for piece in pieces if piece.kind == "result"), NO_PIECE)
        extras = self._forms.result(piece, self._wire) if self._forms is not None else None
        cache, failed = cache_of(piece.cache), old.semantics.failed
        return ResultBlock(old.tool_call_id, old.name, failed, cache, extras)

    def _add_refusal(self) -> None:
        """Add the refusal that stands beside the content, before the calls."""
        blocks = self._blocks
        place = len(blocks)
        while place and isinstance(blocks[place - 1], CallBlock):
            place -= 1
        blocks.insert(place, TextBlock(self._old.semantics.refusal, is_refusal=True))

    def _add(self, piece: LayoutPiece, content: object) -> None:
        forms, wire, cache = self._forms, self._wire, cache_of(piece.cache)
        match content:
            case str():
                extras = self._of_text(piece)
                self._blocks.append(TextBlock(content, cache=cache, extras=extras))
            case FlatReasoning():
                self._blocks.append(self._reasoning(content, piece))
            case ToolCall():
                extras = forms.call(content, piece, wire) if forms is not None else None
                call = CallBlock(content.id, content.name, content.arguments, cache, extras)
                self._blocks.append(call)
            case Part():
                extras = forms.media(piece, wire) if forms is not None else None
                self._blocks.append(_media(content, piece, extras))
            case _:
                self._add_piece(piece)

    def _of_text(self, piece: LayoutPiece) -> Extras | None:
        forms = self._forms
        if forms is None:
            return None
        read = forms.said if self._old.role == "assistant" else forms.text
        return read(piece, self._wire)

    def _add_piece(self, piece: LayoutPiece) -> None:
        """Add a block that has its content in the piece."""
        if self._forms is None:
            return
        if piece.kind == "refusal" and self._old.semantics.refusal:
            extras, words = self._forms.refusal(piece), self._old.semantics.refusal
            cache = cache_of(piece.cache)
            self._blocks.append(TextBlock(words, is_refusal=True, cache=cache, extras=extras))
        elif piece.kind == "other":
            self._blocks.append(self._forms.opaque(piece, self._wire))

    def _reasoning(self, block: FlatReasoning, piece: LayoutPiece) -> ReasoningBlock:
        wire = self._wire
        if wire is not None and wire.protocol is Protocol.OPENAI_CHAT is not block.protocol:
            # A gateway's list of Anthropic's blocks.
            block = replace(block, protocol=Protocol.OPENAI_CHAT, kind="thinking_blocks")
        extras = FORMS[block.protocol].reasoning(block, piece, self._blocks)
        return ReasoningBlock(block.text, extras)


def _media(part: Part, piece: LayoutPiece, extras: Extras | None) -> MediaBlock:
    return MediaBlock(
        part.kind,
        part.mime,
        part.data,
        part.url,
        part.file_id,
        part.text,
        part.name,
        part.detail,
        part.protocol,
        cache_of(piece.cache),
        extras,
    )


def _placed(old: FlatMessage) -> Iterator[_Placed]:
    """Yield the pieces of a message in order, each with its content."""
    semantics, layout = old.semantics, old.semantics.layout
    if layout is None or not layout.fits(
        old.content, semantics.reasoning, old.tool_calls, old.parts
    ):
        yield from _default_order(old)
        return
    reasoning, calls, parts = iter(semantics.reasoning), iter(old.tool_calls), iter(old.parts)
    start = 0
    for piece in layout.pieces:
        match piece.kind:
            case "text":
                end = start + piece.length
                yield piece, old.content[start:end]
                start = end
            case "reasoning":
                yield piece, next(reasoning)
            case "call":
                yield piece, next(calls)
            case "part":
                yield piece, next(parts)
            case "result":
                pass
            case _:
                yield piece, None


def _default_order(old: FlatMessage) -> Iterator[_Placed]:
    """Yield reasoning, text, pictures and files, and calls."""
    layout = old.semantics.layout
    marks = [piece for piece in layout.pieces if piece.kind == "call"] if layout is not None else []
    if len(marks) != len(old.tool_calls):
        marks = [NO_PIECE] * len(old.tool_calls)
    yield from ((NO_PIECE, block) for block in old.semantics.reasoning)
    if len(old.content):
        yield NO_PIECE, old.content
    yield from ((NO_PIECE, part) for part in old.parts)
    yield from zip(marks, old.tool_calls, strict=True)

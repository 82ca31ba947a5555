"""A turn of the flat model as blocks: `blocks_of`.

1. A layout that no longer describes the message, because its text was edited, loses the order, the
   pieces that only a provider understands and the marks on texts. The marks on calls stay as long
   as their number does: Gemini refuses a call without its signature.
2. The texts are pieces of the turn's one text, so that their characters keep their origins.
3. Citations are counted in the whole text; here each counts in its block. Those without a place
   are on the first text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    MediaBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn
from tui_chat.models.flat.anthropic import AnthropicForms
from tui_chat.models.flat.forms import NO_PIECE, FlatForms, cache_of
from tui_chat.models.flat.gemini import GeminiForms
from tui_chat.models.flat.ollama import OllamaForms
from tui_chat.models.flat.openai_chat import ChatForms
from tui_chat.models.flat.openai_responses import ResponsesForms
from tui_chat.models.memo import Memo
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import LayoutPiece
from tui_chat.models.semantics import ReasoningBlock as FlatReasoning
from tui_chat.models.text import Text

_Placed: TypeAlias = tuple[LayoutPiece, Text | FlatReasoning | ToolCall | Part | None]
"""A piece of a layout and its content; None if the piece itself has it all."""

FORMS: dict[Protocol, FlatForms] = {
    forms.protocol: forms
    for forms in (ChatForms(), ResponsesForms(), AnthropicForms(), GeminiForms(), OllamaForms())
}


def _blocks_of(turn: Turn) -> BlockTurn:
    wire = turn.semantics.wire
    blocks, spans = _Reader(turn).read()
    _place_citations(turn, blocks)
    extras = None
    if wire is not None:
        extras = FORMS[wire.protocol].message(wire, turn.role, blocks)
    return BlockTurn(
        turn.role,
        tuple(blocks),
        turn.origin,
        "" if turn.role == "tool" else turn.name,
        extras,
        turn.cache_mark,
        spans,
    )


blocks_of = Memo(_blocks_of)
"""`blocks_of(turn)` is a turn as blocks, the same object for the same turn."""


class _Reader:
    """Reads the blocks of one turn."""

    def __init__(self, turn: Turn) -> None:
        semantics = turn.semantics
        self._turn = turn
        self._wire = semantics.wire
        self._layout = semantics.layout
        source = self._layout or semantics.wire
        self._forms = FORMS[source.protocol] if source is not None else None
        self._blocks: list[Block] = []
        self._spans: dict[int, Text] = {}

    def read(self) -> tuple[list[Block], dict[int, Text]]:
        """Return the blocks, and the texts of text blocks by index."""
        turn = self._turn
        if turn.role == "tool":
            self._blocks.append(self._result())
        has_refusal = False
        for piece, content in _placed(turn):
            has_refusal = has_refusal or piece.kind == "refusal"
            self._add(piece, content)
        if turn.semantics.refusal and not has_refusal:
            self._add_refusal()
        return self._blocks, self._spans

    def _result(self) -> ResultBlock:
        turn = self._turn
        pieces = self._layout.pieces if self._layout is not None else ()
        piece = next((piece for piece in pieces if piece.kind == "result"), NO_PIECE)
        extras = self._forms.result(piece, self._wire) if self._forms is not None else None
        cache, failed = cache_of(piece.cache), turn.semantics.failed
        return ResultBlock(turn.tool_call_id, turn.name, failed, cache, extras)

    def _add_refusal(self) -> None:
        """Add the refusal that stands beside the content, before the calls."""
        blocks = self._blocks
        place = len(blocks)
        while place and isinstance(blocks[place - 1], CallBlock):
            place -= 1
        blocks.insert(place, TextBlock(self._turn.semantics.refusal, is_refusal=True))

    def _add(self, piece: LayoutPiece, content: object) -> None:
        forms, wire, cache = self._forms, self._wire, cache_of(piece.cache)
        match content:
            case Text():
                extras = self._of_text(piece)
                self._spans[len(self._blocks)] = content
                self._blocks.append(TextBlock(content.plain, cache=cache, extras=extras))
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
        read = forms.said if self._turn.role == "assistant" else forms.text
        return read(piece, self._wire)

    def _add_piece(self, piece: LayoutPiece) -> None:
        """Add a block that has its content in the piece."""
        if self._forms is None:
            return
        if piece.kind == "refusal" and self._turn.semantics.refusal:
            extras, words = self._forms.refusal(piece), self._turn.semantics.refusal
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


def _placed(turn: Turn) -> Iterator[_Placed]:
    """Yield the pieces of a turn in order, each with its content."""
    semantics, layout = turn.semantics, turn.semantics.layout
    if layout is None or not layout.fits(
        turn.text, semantics.reasoning, turn.tool_calls, turn.parts
    ):
        yield from _default_order(turn)
        return
    reasoning, calls, parts = iter(semantics.reasoning), iter(turn.tool_calls), iter(turn.parts)
    start = 0
    for piece in layout.pieces:
        match piece.kind:
            case "text":
                is_whole = piece.length == len(turn.text)
                end = start + piece.length
                yield piece, turn.text if is_whole else turn.text[start:end]
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


def _default_order(turn: Turn) -> Iterator[_Placed]:
    """Yield reasoning, text, pictures and files, and calls."""
    layout = turn.semantics.layout
    marks = [piece for piece in layout.pieces if piece.kind == "call"] if layout is not None else []
    if len(marks) != len(turn.tool_calls):
        marks = [NO_PIECE] * len(turn.tool_calls)
    yield from ((NO_PIECE, block) for block in turn.semantics.reasoning)
    if len(turn.text):
        yield NO_PIECE, turn.text
    yield from ((NO_PIECE, part) for part in turn.parts)
    yield from zip(marks, turn.tool_calls, strict=True)


def _place_citations(turn: Turn, blocks: list[Block]) -> None:
    """Put each citation on the text block that it lies in, and count in that."""
    references = turn.semantics.references
    if not references.citations:
        return
    fits = references.fits(turn.text)
    start, is_first = 0, True
    for index, block in enumerate(blocks):
        if not isinstance(block, TextBlock) or block.is_refusal:
            continue
        end = start + len(block.text)
        placed = tuple(
            replace(citation, start=citation.start - start, end=citation.end - start)
            for citation in references.citations
            if fits and citation.end and start <= citation.start and citation.end <= end
        )
        if is_first:
            lost = (c for c in references.citations if not (fits and c.end))
            placed += tuple(replace(citation, start=0, end=0) for citation in lost)
        if placed:
            blocks[index] = replace(block, citations=placed)
        start, is_first = end, False

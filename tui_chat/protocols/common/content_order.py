"""A turn's content in the order in which it is sent.

1. A turn without a layout is reasoning, then text, parts, tool calls.
2. Where a protocol has one string for all text, blocks are separated by a line break (see
   `text_borders`).
3. The marks of a layout (ids, signatures, what only the provider understands) count only in the
   protocol they came from. In other protocols the order and the borders of the texts are kept,
   but not the borders of Gemini's model, which only show where a piece of the stream ended.
   Gemini's signatures are valid in Chat too, and back: Google's endpoint of it has them.
4. A layout that no longer fits, because the text was edited, loses the order, the pieces that
   only the provider understands and the marks on texts. The marks on tool calls stay as long as
   the number of calls does: Gemini refuses a call without its signature.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.media import detect_mime_of_base64, file_name, is_link, standard_base64
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import Layout, LayoutPiece, ReasoningBlock
from tui_chat.models.text import Text
from tui_chat.protocols.common.encoding import native_form

PlacedContent: TypeAlias = tuple[LayoutPiece, Text | ReasoningBlock | ToolCall | Part | None]
"""A piece of a layout and its content; None if the piece itself has it all."""

_OPENAI = (Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES)
_PLAIN_CALL = LayoutPiece("call")


def ordered_content(turn: Turn, protocol: Protocol) -> Sequence[PlacedContent]:
    """Return the pieces of a turn, with the marks to send back."""
    layout = turn.semantics.layout
    if turn.parts and native_form(turn, protocol) is None:
        turn = replace(turn, parts=tuple(_portable_part(part, protocol) for part in turn.parts))
    if layout is None:
        return _default_order(turn, ())
    is_native = layout.protocol is protocol
    if not layout.fits(turn.text, turn.semantics.reasoning, turn.tool_calls, turn.parts):
        calls = [piece for piece in layout.pieces if piece.kind == "call"]
        if not is_native:
            calls = [_bare(piece, layout.protocol, protocol) for piece in calls]
        return _default_order(turn, calls)
    if not is_native:
        return list(_without_marks(turn, layout, protocol))
    return list(_fill_layout(turn, layout.pieces))


def content_with_refusal(turn: Turn, protocol: Protocol) -> Sequence[PlacedContent]:
    """Return a turn's pieces with its refusal, at the end if it has no place of its own."""
    placed = ordered_content(turn, protocol)
    if not turn.semantics.refusal or any(piece.kind == "refusal" for piece, _ in placed):
        return placed
    return [*placed, (LayoutPiece("refusal"), None)]


def has_own_layout(turn: Turn, protocol: Protocol) -> bool:
    """Return True if the order of a turn's content came from this protocol."""
    layout = turn.semantics.layout
    return layout is not None and layout.protocol is protocol


def text_borders(turn: Turn) -> Sequence[int]:
    """Return the offsets in a turn's text at which a block of text ends and another one begins.

    What ends at a citation is no block, but a piece of one: Anthropic's model cites in the middle
    of a sentence. Neither is a text of Gemini's model, which is a piece of the stream.
    """
    layout = turn.semantics.layout
    if layout is None or not layout.fits(
        turn.text, turn.semantics.reasoning, turn.tool_calls, turn.parts
    ):
        return ()
    citations = turn.semantics.references.citations
    cited = {offset for citation in citations for offset in (citation.start, citation.end)}
    borders: list[int] = []
    offset, before, is_apart = 0, None, False
    for piece in layout.pieces:
        if piece.kind != "text":
            is_apart = True
            continue
        if not piece.length:
            continue
        if before is not None and (
            is_apart
            or turn.role != "assistant"
            or not (
                layout.protocol is Protocol.GEMINI
                or offset in cited
                or _is_cited(before)
                or _is_cited(piece)
            )
        ):
            borders.append(offset)
        offset += piece.length
        before, is_apart = piece, False
    return borders


def _is_cited(piece: LayoutPiece) -> bool:
    return bool(piece.extras) and bool(json.loads(piece.extras).get("citations"))


def merged_text(turn: Turn, protocol: Protocol, notes: list[Note]) -> Text:
    """Return a turn's text for places of one string; a note says if it has several blocks."""
    borders = text_borders(turn)
    if not borders:
        return turn.text
    notes.append(merged_note(turn, protocol))
    merged = turn.text[: borders[0]]
    for start, end in zip(borders, (*borders[1:], len(turn.text)), strict=True):
        merged = with_break(merged, turn.text[start:end])
    return merged


def with_break(before: Text, after: Text) -> Text:
    """Return two blocks of text as one, with a line break between them if there is none yet."""
    is_broken = before.plain.endswith("\n") or after.plain.startswith("\n")
    return before + after if is_broken else Text.join("\n", (before, after))


def merged_note(turn: Turn, protocol: Protocol) -> Note:
    """Return the note on blocks of text that are sent as one string."""
    sentence = f"{protocol.label} has one text here; the blocks of text are joined by line breaks."
    return Note(Level.INFO, "parts-merged", sentence, turn.origin)


def _portable_part(part: Part, protocol: Protocol) -> Part:
    """Return a part as it can be sent where it was not written: without invalid base64 and
    invalid links. No protocol can carry a part that has neither. A type that is missing is
    detected, and a file has the name that OpenAI requires.
    """
    if part.data and (data := standard_base64(part.data)) != part.data:
        part = replace(part, data=data)
    if part.data and not part.mime:
        part = replace(part, mime=detect_mime_of_base64(part.data))
    if part.url and not is_link(part.url) and part.protocol is not protocol:
        part = replace(part, url="")
    elif part.protocol is Protocol.GEMINI is not protocol and (part.url or part.file_id):
        part = replace(part, url="", file_id="")
    return _with_name(part, protocol) if part.kind == "file" and protocol in _OPENAI else part


def _with_name(part: Part, protocol: Protocol) -> Part:
    """Return a file as OpenAI takes it: bytes need a name [I: openai-agents-python#1513, laravel/ai
    #324], and Responses refuses one beside a link [I: langchainjs#9887].
    """
    if part.data and not part.name:
        return replace(part, name=file_name(part, 1))
    if part.url and protocol is Protocol.OPENAI_RESPONSES:
        return replace(part, name="")
    return part


def _fill_layout(turn: Turn, pieces: Sequence[LayoutPiece]) -> Iterator[PlacedContent]:
    """Yield the pieces with their contents."""
    reasoning, calls, parts = (
        iter(turn.semantics.reasoning),
        iter(turn.tool_calls),
        iter(turn.parts),
    )
    start = 0
    for piece in pieces:
        match piece.kind:
            case "text":
                yield piece, turn.text[start : start + piece.length]
                start += piece.length
            case "reasoning":
                yield piece, next(reasoning)
            case "call":
                yield piece, next(calls)
            case "part":
                yield piece, next(parts)
            case "other" | "result" | "refusal":
                yield piece, None


_SIGNING = {Protocol.GEMINI, Protocol.OPENAI_CHAT}


def _bare(piece: LayoutPiece, source: Protocol, target: Protocol) -> LayoutPiece:
    """Return a piece with the marks that count in another protocol than its own."""
    signature = piece.signature if {source, target} == _SIGNING else ""
    return LayoutPiece(piece.kind, piece.length, signature, cache=piece.cache)


def _without_marks(turn: Turn, layout: Layout, protocol: Protocol) -> Iterator[PlacedContent]:
    """Yield the pieces of a layout that came from another protocol."""
    pieces: list[LayoutPiece] = []
    joins = layout.protocol is Protocol.GEMINI and turn.role == "assistant"
    for piece in layout.pieces:
        bare = _bare(piece, layout.protocol, protocol)
        if piece.kind == "other":
            bare = piece
        elif piece.kind == "text":
            if not (piece.length or bare.signature):
                continue
            if joins and pieces and pieces[-1].kind == "text":
                before = pieces.pop()
                signature = bare.signature or before.signature
                bare = LayoutPiece("text", before.length + piece.length, signature)
        pieces.append(bare)
    yield from _fill_layout(turn, pieces)


def _default_order(turn: Turn, marks: Sequence[LayoutPiece]) -> Sequence[PlacedContent]:
    if len(marks) != len(turn.tool_calls):
        marks = [_PLAIN_CALL] * len(turn.tool_calls)
    placed: list[PlacedContent] = [
        (LayoutPiece("reasoning"), block) for block in turn.semantics.reasoning
    ]
    if len(turn.text):
        placed.append((LayoutPiece("text", len(turn.text)), turn.text))
    placed += [(LayoutPiece("part"), part) for part in turn.parts]
    return [*placed, *zip(marks, turn.tool_calls, strict=True)]

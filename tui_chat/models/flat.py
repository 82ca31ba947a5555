"""The flat model of messages, from before blocks, and its reader: `from_flat`.

`content` was one string, calls and parts stood beside it, `Layout` said how they were mixed, and
`WireForm` in which form a captured message came. The classes have the names of the keys in old rows
and files. Only the migration of the database and the reader of version 1 of our JSON use this.

1. A layout that no longer describes the message, because its text was edited, loses the order, the
   pieces that only a provider understands and the marks on texts. The marks on calls stay as long
   as their number does: Gemini refuses a call without its signature.
2. What a captured message wrote otherwise than we do without saying anything else, such as null for
   an empty text, is not kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import fields, replace
from typing import Annotated, Any, Literal, TypeAlias, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    Cache,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from tui_chat.models.boundary import Forms, plain, read_own
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import (
    NOT_MUTED,
    NOTHING_ABOUT,
    About,
    Message,
    MessageRole,
    Muted,
    with_refusal,
)

_ANTHROPIC, _GEMINI = Protocol.ANTHROPIC, Protocol.GEMINI
_CHAT, _RESPONSES = Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES

# --- the values --------------------------------------------------------------------------


def _as_media(part: object) -> object:
    """Read a picture, sound, video or file."""
    if not isinstance(part, Mapping):
        return part
    fields = cast("Mapping[str, object]", part)
    return {**fields, "media": fields.get("kind"), "owner": fields.get("protocol")}


Part = Annotated[MediaBlock, Forms(_as_media)]


@dataclass(frozen=True, slots=True)
class FlatMuted:
    """What of a message is left out of requests."""

    whole: bool = False
    reasoning: bool = False
    parts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FlatReasoning:
    """A piece of a model's reasoning, with what the provider needs to get it back."""

    protocol: Protocol
    text: str = ""
    signature: str = ""
    encrypted: str = ""
    id: str = ""
    kind: str = ""
    """The provider's word for it: `summary`, `reasoning_content`, `thinking_blocks`, or a detail of
    OpenRouter with its type, format and index (`reasoning.encrypted google-gemini-v1 #0`)."""


@dataclass(frozen=True, slots=True)
class LayoutPiece:
    """One stretch of a message: reasoning, text, a call, a part, or something else."""

    kind: Literal["reasoning", "text", "part", "call", "other", "refusal", "result"]
    length: int = 0
    """`text`: how many characters of the content it covers."""
    signature: str = ""
    """Gemini's `thoughtSignature`."""
    id: str = ""
    """The item id of Responses, or Chat's id of a sound."""
    phase: str = ""
    name: str = ""
    """The form, or of `other` the provider's word for it."""
    data: str = ""
    """`other`: the block as compact JSON."""
    cache: str = ""
    """The cache mark as compact JSON."""
    extras: str = ""
    """The keys that have no field here, as a compact JSON object."""
    spelled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of a message's pieces, and the data that must be replayed with them."""

    protocol: Protocol
    pieces: tuple[LayoutPiece, ...]

    def fits(self, content: Sized, reasoning: Sized, calls: Sized, parts: Sized) -> bool:
        """True if it still describes the message."""
        kinds = [piece.kind for piece in self.pieces]
        return (
            sum(piece.length for piece in self.pieces) == len(content)
            and kinds.count("reasoning") == len(reasoning)
            and kinds.count("call") == len(calls)
            and kinds.count("part") == len(parts)
        )


@dataclass(frozen=True, slots=True)
class WireForm:
    """The form in which a captured message was written."""

    protocol: Protocol
    shape: Literal["", "string", "parts", "null", "absent"] = ""
    joined: bool = False
    """True if it shared a wire message with the previous turn."""
    role: str = ""
    slot: str = ""
    """The field it stood in, where that is not the list of messages."""
    extras: str = ""


@dataclass(frozen=True, slots=True)
class FlatSemantics(About):
    """The semantics of one message."""

    reasoning: tuple[FlatReasoning, ...] = ()
    refusal: str = ""
    layout: Layout | None = None
    failed: bool | None = None
    wire: WireForm | None = None


_NO_SEMANTICS = FlatSemantics()


@dataclass(frozen=True, slots=True)
class FlatMessage:
    """A message."""

    role: MessageRole
    content: str = ""
    id: str = ""
    tool_calls: tuple[CallBlock, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    timestamp: float | None = None
    pinned: bool = False
    muted: FlatMuted = FlatMuted()
    semantics: FlatSemantics = _NO_SEMANTICS
    parts: tuple[Part, ...] = ()


# --- as blocks ---------------------------------------------------------------------------


def from_flat(old: FlatMessage) -> Message:
    """Return a message of the flat model as blocks. Raises ValueError for what is no such one."""
    semantics, wire = old.semantics, old.semantics.wire
    blocks = _Reader(old).read()
    extras, about = None, NOTHING_ABOUT
    if wire is not None:
        role = "" if wire.protocol is _GEMINI else wire.role
        form = "joined" if wire.joined else role or wire.slot
        extras = Extras(wire.protocol, form, _loaded(wire.extras))
    if semantics is not _NO_SEMANTICS:
        about = About(*(getattr(semantics, each.name) for each in fields(About)))
    name, muted = "" if old.role == "tool" else old.name, _muted(old.muted, blocks)
    facts = (old.id, name, old.timestamp, old.pinned, muted, about, extras)
    return Message(old.role, tuple(blocks), *facts)


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


_NO_PIECE = LayoutPiece("other")
"""Stands for the piece of a message without a layout."""
_Placed: TypeAlias = tuple[LayoutPiece, str | FlatReasoning | CallBlock | MediaBlock | None]
"""A piece of a layout and its content; None if the piece itself has it all."""
_PARTS = {"thinking": "part", "thinking text": "part with text"}
"""The forms of reasoning that is a part of the content, by the words of the flat model."""


class _Reader:
    """Reads the blocks of one message."""

    def __init__(self, old: FlatMessage) -> None:
        semantics = old.semantics
        self._old = old
        self._is_captured = semantics.wire is not None
        self._layout = semantics.layout
        source = semantics.layout or semantics.wire
        self._protocol = source.protocol if source is not None else None
        self._has_parts = semantics.wire is not None and semantics.wire.shape == "parts"
        self._blocks: list[Block] = []

    def read(self) -> list[Block]:
        """Return the blocks."""
        old, refusal = self._old, self._old.semantics.refusal
        if old.role == "tool":
            self._blocks.append(self._result())
        placed = list(_placed(old))
        for piece, content in placed:
            if (block := self._block(piece, content)) is not None:
                self._blocks.append(block)
        if refusal and "refusal" not in (piece.kind for piece, _ in placed):
            return with_refusal(self._blocks, refusal)
        return self._blocks

    def _block(self, piece: LayoutPiece, content: object) -> Block | None:
        """Return the block of a piece and its content; None for nothing."""
        cache, words = _cache_of(piece.cache), self._old.semantics.refusal
        match content:
            case str():
                return TextBlock(content, cache=cache, extras=self._of_text(piece))
            case FlatReasoning():
                return self._reasoning(content, piece)
            case CallBlock():
                return replace(content, cache=cache, extras=self._of_call(piece))
            case MediaBlock():
                return replace(content, cache=cache, extras=self._of_media(piece))
            case _ if piece.kind == "refusal" and words:
                extras = self._extras(piece)
                if self._protocol is _RESPONSES:
                    extras = self._pair(piece, "part" if piece.name == "more" else piece.name)
                return TextBlock(words, is_refusal=True, cache=cache, extras=extras)
            case _ if piece.kind == "other" and self._protocol is not None:
                is_field = self._protocol is _CHAT and not self._is_captured
                extras = Extras(_CHAT, "field") if is_field else None
                return OpaqueBlock(self._protocol, piece.name, json.loads(piece.data), extras)
            case _:
                return None

    def _extras(self, piece: LayoutPiece, form: str = "", **more: Json) -> Extras | None:
        """Return the extras of a piece. `more`: keys that have fields of their own in the flat
        model; an empty one is left out.
        """
        if self._protocol is None:
            return None
        keys = _loaded(piece.extras)
        if self._protocol is _GEMINI:
            more.setdefault("thoughtSignature", piece.signature)
        elif self._protocol is _CHAT and piece.signature and "thought_sig" not in piece.extras:
            more["extra_content"] = {"google": {"thought_signature": piece.signature}}
        keys.update({key: value for key, value in more.items() if value not in ("", None)})
        if piece.cache and self._protocol in (_CHAT, _RESPONSES):
            key = "prompt_cache_breakpoint" if '"mode"' in piece.cache else "cache_control"
            keys = {key: json.loads(piece.cache), **keys}
        return Extras(self._protocol, form, keys)

    def _result(self) -> ResultBlock:
        old = self._old
        pieces = self._layout.pieces if self._layout is not None else ()
        piece = next((piece for piece in pieces if piece.kind == "result"), _NO_PIECE)
        extras = self._extras(piece)
        if self._protocol in (_GEMINI, _RESPONSES):
            extras = self._extras(piece, piece.name, id=piece.id)
        if piece is _NO_PIECE and self._protocol is not _GEMINI:
            extras = None
        cache = _cache_of(piece.cache)
        return ResultBlock(old.tool_call_id, old.name, old.semantics.failed, cache, extras)

    def _of_text(self, piece: LayoutPiece) -> Extras | None:
        """Return the extras of a text; None if it is bare."""
        is_framed = bool(piece.extras or piece.cache or piece.id or piece.signature)
        is_framed = is_framed or self._has_parts
        if self._protocol is _RESPONSES and self._old.role == "assistant":
            if self._is_captured:
                return self._pair(piece, "part" if piece.name == "more" else piece.name)
            form = "message" if piece.id else "string"
            return self._pair(piece, form) if piece.id or piece.phase else None
        if self._protocol is _CHAT and not self._is_captured:
            form = "" if piece.extras else "content"
            return self._extras(piece, form) if piece is not _NO_PIECE else None
        form = piece.name if self._protocol is _CHAT else ""
        return self._extras(piece, form) if is_framed or self._protocol is _GEMINI else None

    def _pair(self, piece: LayoutPiece, form: str) -> Extras:
        """Return the extras of a text of a model of Responses: those of its item and its part."""
        item = _loaded(piece.extras)
        part = item.pop("content", {})
        marks = {"id": piece.id, "phase": piece.phase}
        item = {key: value for key, value in marks.items() if value} | item
        keys: JsonObject = {"item": item, "part": part}
        return Extras(_RESPONSES, form, {key: value for key, value in keys.items() if value})

    def _of_call(self, piece: LayoutPiece) -> Extras | None:
        if piece is _NO_PIECE and not self._is_captured and self._protocol is not _GEMINI:
            return None
        if self._protocol is _RESPONSES:
            return self._extras(piece, piece.name, id=piece.id)
        words = [word for word in ("custom", "function_call") if piece.name.startswith(word)]
        return self._extras(piece, "".join(words) if self._protocol is _CHAT else "")

    def _of_media(self, piece: LayoutPiece) -> Extras | None:
        if piece is _NO_PIECE and not self._is_captured and self._protocol is not _GEMINI:
            return None
        if self._protocol is _CHAT and piece.id:
            return self._extras(piece, "audio", id=piece.id)
        if self._protocol is _RESPONSES and not self._is_captured:
            keys = {"id": piece.id, "status": "completed", **_loaded(piece.extras)}
            return Extras(_RESPONSES, "image_generation_call", keys) if piece.id else None
        return self._extras(piece)

    def _reasoning(self, block: FlatReasoning, piece: LayoutPiece) -> ReasoningBlock:
        is_gateway = self._is_captured and self._protocol is _CHAT is not block.protocol
        if is_gateway:  # its list of Anthropic's blocks
            block = replace(block, protocol=_CHAT, kind="thinking_blocks")
        form, keys = _reasoning_keys(block, piece, self._blocks)
        if form.startswith("more"):
            return ReasoningBlock(block.text, Extras(block.protocol, form))
        known = {key: value for key, value in keys.items() if value not in ("", None)}
        if form == "thinking" and block.protocol is _CHAT:
            known = keys
        return ReasoningBlock(
            block.text, Extras(block.protocol, form, _loaded(piece.extras) | known)
        )


def _reasoning_keys(
    block: FlatReasoning, piece: LayoutPiece, before: Sequence[Block]
) -> tuple[str, JsonObject]:
    """Return the form of reasoning and its keys; `before` are the blocks before it."""
    signed = {"signature": block.signature}
    match block.protocol:
        case Protocol.ANTHROPIC:
            keys: JsonObject = {"data": block.encrypted} if block.encrypted else signed
            mark = {"cache_control": json.loads(piece.cache)} if piece.cache else {}
            return "redacted_thinking" if block.encrypted else "", keys | mark
        case Protocol.GEMINI:
            return "", {"thoughtSignature": block.signature or piece.signature}
        case Protocol.OPENAI_RESPONSES:
            is_more = piece.name == "more"
            if block.id and piece.name != "item":
                is_more = is_more or _item_before(before) == block.id
            words = ["more"] * is_more + ["content"] * (block.kind == "reasoning_text")
            return " ".join(words), {"id": block.id, "encrypted_content": block.encrypted}
        case Protocol.OPENAI_CHAT if block.kind.startswith("reasoning."):
            return _detail_keys(block, before)
        case Protocol.OPENAI_CHAT if block.kind == "thinking_blocks":
            if block.encrypted:
                return "redacted_thinking", {"data": block.encrypted}
            return "thinking", signed
        case Protocol.OPENAI_CHAT:
            form = _PARTS.get(block.kind, block.kind)
            return form, {**signed, "reasoning_opaque": block.encrypted}
        case _:
            return block.kind, {**signed, "data": block.encrypted}


def _detail_keys(block: FlatReasoning, before: Sequence[Block]) -> tuple[str, JsonObject]:
    """Return the form and the keys of a detail of OpenRouter."""
    form, *words = block.kind.split(" ")
    numbers = [int(word[1:]) for word in words if word[1:].isdecimal() and word[0] == "#"]
    details = (b.extras for b in before if isinstance(b, ReasoningBlock) and b.extras)
    index = sum(1 for extras in details if extras.form.startswith("reasoning."))
    return form, {
        "signature": block.signature,
        "data": block.encrypted,
        "id": block.id,
        "format": next((word for word in words if word[0] != "#"), ""),
        "index": numbers[0] if numbers else index,
    }


def _item_before(blocks: Sequence[Block]) -> str:
    """Return the id of the reasoning item that the last block is a part of; empty for none."""
    for block in reversed(blocks):
        extras = block.extras
        if not isinstance(block, ReasoningBlock) or extras is None:
            return ""
        if not extras.form.startswith("more"):
            return str(extras.keys.get("id", ""))
    return ""


def _loaded(text: str) -> JsonObject:
    """Return an object that the flat model keeps as compact JSON; empty for none."""
    return cast("JsonObject", json.loads(text)) if text else {}


def _cache_of(mark: str) -> Cache:
    """Return a cache mark, which the flat model keeps as its provider wrote it."""
    lifetime: Any = _loaded(mark).get("ttl", "default") if mark else ""
    return lifetime


def _placed(old: FlatMessage) -> Iterator[_Placed]:
    """Yield the pieces of a message in order, each with its content."""
    semantics, layout = old.semantics, old.semantics.layout
    if layout is None or not layout.fits(
        old.content, semantics.reasoning, old.tool_calls, old.parts
    ):
        yield from _default_order(old)
        return
    contents: dict[str, Iterator[FlatReasoning | CallBlock | MediaBlock]] = {
        "reasoning": iter(semantics.reasoning),
        "call": iter(old.tool_calls),
        "part": iter(old.parts),
    }
    start = 0
    for piece in layout.pieces:
        if piece.kind == "text":
            end = start + piece.length
            yield piece, old.content[start:end]
            start = end
        elif piece.kind != "result":
            yield piece, next(contents[piece.kind]) if piece.kind in contents else None


def _default_order(old: FlatMessage) -> Iterator[_Placed]:
    """Yield reasoning, text, pictures and files, and calls."""
    layout = old.semantics.layout
    marks = [piece for piece in layout.pieces if piece.kind == "call"] if layout is not None else []
    if len(marks) != len(old.tool_calls):
        marks = [_NO_PIECE] * len(old.tool_calls)
    yield from ((_NO_PIECE, block) for block in old.semantics.reasoning)
    if len(old.content):
        yield _NO_PIECE, old.content
    yield from ((_NO_PIECE, part) for part in old.parts)
    yield from zip(marks, old.tool_calls, strict=True)

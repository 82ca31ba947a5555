"""One turn as a message of Chat Completions. It depends on the turn alone, so it is encoded once.

1. Content is one string, or parts if the turn has several or was written so.
2. Beside tool calls or a refusal, empty content is null.
3. Reasoning that came through Chat is sent back in the same field; if that is plain text, only
   beside tool calls: there DeepSeek requires it, and elsewhere its older models refuse it. Google's
   signatures are sent back as `extra_content`, those of Gemini's own protocol to models of Gemini.
4. OpenAI's tool results hold no pictures: they follow in a user message, unless the request was
   captured so (OpenRouter and Ollama take them).
5. A spoken reply is sent as the id under which OpenAI keeps it for a while, instead of its
   transcript; the context removes the id when that time is over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field, replace
from functools import lru_cache

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree, tree_of
from tui_chat.models.media import data_url
from tui_chat.models.memo import Memo
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import LayoutPiece, ReasoningBlock, WireForm
from tui_chat.models.text import GLUE, Origin, Text
from tui_chat.protocols.common.cache_marks import mark_key
from tui_chat.protocols.common.content_order import has_own_layout, ordered_content
from tui_chat.protocols.common.encoding import (
    Items,
    constant,
    field_origin,
    field_string,
    merge_extras,
    native_form,
    parse_json,
)
from tui_chat.protocols.common.loss_notes import failure_note, file_note, turn_notes
from tui_chat.protocols.openai_chat.reasoning_fields import (
    PLAIN_FIELDS,
    THINKING_BLOCKS,
    THINKING_PART,
    THINKING_TEXT,
    can_be_sent_back,
    write_reasoning,
)
from tui_chat.protocols.openai_chat.undocumented_keys import (
    documented_turn,
    undocumented_reply_keys,
)
from tui_chat.protocols.roles import adapted_role

_CHAT = Protocol.OPENAI_CHAT
_IN_CONTENT = (THINKING_PART, THINKING_TEXT)
_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
"""The names of speakers that OpenAI accepts."""


@dataclass(frozen=True, slots=True, eq=False)
class TurnContent:
    """A turn in the form of this protocol."""

    tree: Obj
    follows: Obj | None = None
    """A user message with what a tool result could not hold, for after all results."""
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _ContentBuilder:
    """A message that is being built."""

    turn: Turn
    content: list[Tree] = field(default_factory=list[Tree])
    texts: list[Text] = field(default_factory=list[Text])
    calls: list[Tree] = field(default_factory=list[Tree])
    old_call: Tree | None = None
    follows: list[Tree] = field(default_factory=list[Tree])
    notes: list[Note] = field(default_factory=list[Note])
    marked: bool = False
    """True if a text has more to it than its words."""
    signs: bool = False
    """True if signatures are sent."""
    signature: str = ""
    """The last one of a text."""
    others: Items = field(default_factory=list[tuple[str, Tree]])
    """Keys of the message that only its server understands."""
    has_refusal: bool = False
    audio: Tree | None = None
    """A spoken reply by its id."""


@lru_cache(maxsize=8)
def turn_encoder(
    developer: bool, speaks: bool = False, google: bool = False, strict: bool = False
) -> Callable[[Turn], TurnContent]:
    """Return the encoder of turns, which keeps results. `speaks`: spoken replies go as ids.
    `google`: signatures of Gemini are sent. `strict`: the server refuses undocumented keys.
    """

    def compute(turn: Turn) -> TurnContent:
        if not strict or not (keys := undocumented_reply_keys(turn)):
            return _encode_turn(turn, developer, speaks, google)
        encoded = _encode_turn(documented_turn(turn), developer, speaks, google)
        sentence = f"Left out, since this server refuses unknown keys: {', '.join(keys)}."
        note = Note(Level.WARNING, "unknown-keys", sentence, turn.origin)
        return replace(encoded, notes=(*encoded.notes, note))

    return Memo(compute)


def _encode_turn(turn: Turn, developer: bool, speaks: bool, google: bool) -> TurnContent:
    layout = turn.semantics.layout
    building = _ContentBuilder(turn)
    building.signs = google or (layout is not None and layout.protocol is _CHAT)
    for piece, what in ordered_content(turn, _CHAT):
        if speaks and isinstance(what, Part) and what.kind == "audio" and piece.id:
            identity = field_string(piece.id, turn.origin, "id of the sound")
            building.audio = Obj((("id", identity),), turn.origin)
        else:
            _add_piece(building, piece, what)
    form = native_form(turn, _CHAT)
    role = adapted_role(turn.role, _CHAT, developer=developer)
    role = (form.role or turn.role) if form else role
    origin = turn.origin
    items: Items = [("role", constant(role))]
    if building.audio is None:
        items += _content(building, form.shape if form else "")
    else:
        items.append(("audio", building.audio))
    if building.signature:
        items.append(("extra_content", _signature(building.signature, origin)))
    items += building.others
    if turn.semantics.refusal and not building.has_refusal:
        items.append(("refusal", field_string(turn.semantics.refusal, origin, "refusal")))
    items += _reasoning_fields(building, form)
    named = form is not None or _NAME.fullmatch(turn.name) is not None
    if turn.name and named and (turn.role != "tool" or form is not None):
        items.append(("name", field_string(turn.name, origin, "name")))
    if building.old_call is not None:
        items.append(("function_call", building.old_call))
    if building.calls:
        items.append(("tool_calls", Arr(tuple(building.calls), origin)))
    if turn.role == "tool" and turn.tool_call_id:
        items.append(("tool_call_id", field_string(turn.tool_call_id, origin, "tool call id")))
    if form is not None:
        items = merge_extras(items, form.extras, origin)
    thoughts = turn.semantics.reasoning
    lost = () if form else [block for block in thoughts if not can_be_sent_back(block)]
    building.notes += turn_notes(turn, _CHAT, lost=lost, named=named)
    if turn.semantics.failed and form is None:
        building.notes.append(failure_note(turn))
    follows = None
    if building.follows:
        follows = Obj(
            (("role", constant("user")), ("content", Arr(tuple(building.follows), origin))), origin
        )
    return TurnContent(Obj(tuple(items), origin), follows, tuple(building.notes))


def _reasoning_fields(building: _ContentBuilder, form: WireForm | None) -> Items:
    turn = building.turn
    if not turn.semantics.reasoning:
        return []
    blocks = turn.semantics.reasoning
    if form is None:
        blocks = tuple(block for block in blocks if block.protocol is _CHAT)
    thoughts = write_reasoning(blocks)
    if form is None:
        if turn.tool_calls and THINKING_BLOCKS in thoughts:
            thoughts.setdefault("reasoning_content", "".join(block.text for block in blocks))
        is_bare = not turn.tool_calls and "reasoning_opaque" not in thoughts
        plain = [key for key in PLAIN_FIELDS if is_bare and thoughts.pop(key, None)]
        if plain:
            sentence = "Plain-text reasoning is sent back only with tool calls."
            note = Note(Level.INFO, "reasoning-left-out", sentence, turn.origin)
            building.notes.append(note)
    origin = field_origin(turn.origin, "reasoning")
    return [(key, tree_of(value, origin)) for key, value in thoughts.items()]


def _add_piece(building: _ContentBuilder, piece: LayoutPiece, what: object) -> None:
    turn, origin = building.turn, building.turn.origin
    match what:
        case Text():
            building.signature = piece.signature if building.signs else ""
            if not len(what) and native_form(turn, _CHAT) is None:
                return
            if building.calls:
                sentence = "The text after the tool calls is sent before them."
                building.notes.append(Note(Level.WARNING, "order-changed", sentence, origin))
            block: Items = [("type", constant("text")), ("text", Str(what))]
            own = native_form(turn, _CHAT) is not None
            is_bare = own and piece.name == "string"
            building.marked = building.marked or is_bare or bool(piece.extras)
            building.marked = building.marked or (own and bool(piece.cache))
            building.texts.append(what)
            building.content.append(Str(what) if is_bare else _marked(block, piece, turn))
        case ToolCall():
            own = native_form(turn, _CHAT) is not None
            if piece.name == "function_call":
                building.old_call = Obj(tuple(_function(what, origin, own=own)), origin)
            else:
                building.calls.append(_call(what, piece, origin, own=own, signs=building.signs))
        case ReasoningBlock() if what.kind in _IN_CONTENT and what.protocol is _CHAT:
            if what.text:
                building.content.append(_thinking_part(what, origin))
        case Part():
            part = _encode_part(what, origin)
            if part is not None and native_form(turn, _CHAT) is not None:
                building.content.append(_marked(part, piece, turn))
            elif part is None or turn.role in ("assistant", "system"):
                building.notes.append(file_note(turn, what, _CHAT))
            elif turn.role == "tool":
                building.follows.append(_marked(part, piece, turn))
                sentence = "Images and files of a tool result are sent in a user message after it."
                building.notes.append(Note(Level.WARNING, "part-moved", sentence, origin))
            else:
                building.content.append(_marked(part, piece, turn))
        case None if piece.kind == "other" and native_form(turn, _CHAT) is not None:
            building.content.append(parse_json(piece.data, origin, piece.name))
        case None if piece.kind == "other" and has_own_layout(turn, _CHAT):
            building.others.append((piece.name, parse_json(piece.data, origin, piece.name)))
        case None if piece.kind == "refusal" and turn.semantics.refusal:
            refusal = field_string(turn.semantics.refusal, origin, "refusal")
            block = [("type", constant("refusal")), ("refusal", refusal)]
            building.content.append(_marked(block, piece, turn))
            building.has_refusal = True
        case _:
            pass  # reasoning is beside the content


def _marked(block: Items, piece: LayoutPiece, turn: Turn) -> Obj:
    origin = turn.origin
    if piece.cache and native_form(turn, _CHAT) is not None:
        block.append((mark_key(piece.cache), parse_json(piece.cache, origin, "cache mark")))
    return Obj(tuple(merge_extras(block, piece.extras, origin)), origin)


def _content(building: _ContentBuilder, shape: str) -> Items:
    """Return the content as it was written, or as one writes it."""
    turn, content = building.turn, building.content
    if not content:
        match shape:
            case "absent":
                return []
            case "null":
                return [("content", Lit(None, GLUE))]
            case "parts" if not building.follows:
                return [("content", Arr((), turn.origin))]
            case "string":
                return [("content", Str(turn.text))]
            case _:
                empty = turn.role == "assistant" and (building.calls or turn.semantics.refusal)
                return [("content", Lit(None, GLUE) if empty else Str(turn.text))]
    only_text = len(content) == 1 == len(building.texts)
    if only_text and shape != "parts" and not building.marked:
        return [("content", Str(building.texts[0]))]
    is_reply = native_form(turn, _CHAT) is None and has_own_layout(turn, _CHAT)
    if is_reply and len(content) == len(building.texts) and not building.marked:
        return [("content", Str(turn.text))]  # the pieces only show where a signature came
    return [("content", Arr(tuple(content), turn.origin))]


def _thinking_part(block: ReasoningBlock, origin: Origin) -> Tree:
    """Return the part of the content with reasoning: Mistral's, or Anthropic's."""
    words = field_string(block.text, origin, "reasoning")
    if block.kind == THINKING_TEXT:
        items: Items = [("type", constant("thinking")), ("thinking", words)]
        if block.signature:
            items.append(("signature", field_string(block.signature, origin, "signature")))
        return Obj(tuple(items), origin)
    text = ("text", words)
    inner = Obj((("type", constant("text")), text), origin)
    return Obj((("type", constant("thinking")), ("thinking", Arr((inner,), origin))), origin)


def _signature(signature: str, origin: Origin) -> Tree:
    """Return Google's signature in its place.

    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    value = {"google": {"thought_signature": signature}}
    return tree_of(value, field_origin(origin, "thought signature"))


def _call(call: ToolCall, piece: LayoutPiece, origin: Origin, *, own: bool, signs: bool) -> Obj:
    """Return a call; `own`: as it was captured, without what it had not; `signs`: with Google's
    signature.
    """
    items: Items = [("id", field_string(call.id, origin, "tool call id"))] if call.id else []
    if piece.name == "custom":
        custom = [
            ("input" if key == "arguments" else key, value)
            for key, value in _function(call, origin, own=own)
        ]
        items.append(("type", constant("custom")))
        if custom or not own:
            items.append(("custom", Obj(tuple(custom), origin)))
    else:
        if piece.name != "untyped":
            items.append(("type", constant("function")))
        if (function := _function(call, origin, own=own)) or not own:
            items.append(("function", Obj(tuple(function), origin)))
    if piece.signature and signs and "thought_signature" not in piece.extras:
        items.append(("extra_content", _signature(piece.signature, origin)))
    return Obj(tuple(merge_extras(items, piece.extras, origin)), origin)


def _function(call: ToolCall, origin: Origin, *, own: bool) -> Items:
    arguments = field_string(call.arguments, origin, f"arguments of {call.name}")
    items = [("name", field_string(call.name, origin, "tool name")), ("arguments", arguments)]
    return [(key, text) for key, text in items if text.text.plain or not own]


_AUDIO_FORMAT = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def _encode_part(part: Part, origin: Origin) -> Items | None:
    """Return a part as it is sent; None if the protocol has no form for it."""
    if part.text:
        return [("type", constant("text")), ("text", field_string(part.text, origin, "document"))]
    match part.kind:
        case "image" if part.data or part.url:
            url = data_url(part.mime, part.data) if part.data else part.url
            inner: Items = [("url", field_string(url, origin, "picture"))]
            if part.detail:
                inner.append(("detail", constant(part.detail)))
            return _wrapped("image_url", inner, origin)
        case "audio" if part.data and part.mime in _AUDIO_FORMAT:
            data = ("data", field_string(part.data, origin, "sound"))
            return _wrapped(
                "input_audio", [data, ("format", constant(_AUDIO_FORMAT[part.mime]))], origin
            )
        case "file":
            return _encode_file(part, origin)
        case _:
            return None


def _encode_file(part: Part, origin: Origin) -> Items | None:
    inner: Items = []
    if part.name:
        inner.append(("filename", field_string(part.name, origin, "file name")))
    if part.file_id and part.protocol in (_CHAT, Protocol.OPENAI_RESPONSES):
        inner.append(("file_id", field_string(part.file_id, origin, "file id")))
    elif part.data:
        data = data_url(part.mime, part.data) if part.mime else part.data
        inner.append(("file_data", field_string(data, origin, "file")))
    elif part.url and part.protocol is _CHAT:
        inner.append(("file_data", field_string(part.url, origin, "file")))
    else:
        return None
    return _wrapped("file", inner, origin)


def _wrapped(kind: str, inner: Items, origin: Origin) -> Items:
    return [("type", constant(kind)), (kind, Obj(tuple(inner), origin))]

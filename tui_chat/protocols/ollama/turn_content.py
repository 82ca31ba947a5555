"""One turn as a message of `/api/chat`. It depends on the turn alone, so it is encoded once.

1. The content is one text. Texts that an image or another part separated have a blank line between
   them, and so has a document. Images are beside the text, without a place in it.
2. An image is base64: a link is not fetched. Any message may have images.
3. The arguments of a call are an object; broken arguments are wrapped in one. Ids are optional: a
   result names its tool, and its call's id if there is one.
4. Thinking that came from Ollama is sent back; the model's template decides what is used.
5. A refusal is sent back as text of the model.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree
from tui_chat.models.media import as_text
from tui_chat.models.memo import Memo
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import LayoutPiece, ReasoningBlock
from tui_chat.models.text import GLUE, Text, clean
from tui_chat.protocols.common.content_order import ordered_content
from tui_chat.protocols.common.encoding import (
    Items,
    arguments_note,
    arguments_object,
    constant,
    field_origin,
    field_string,
    merge_extras,
    native_form,
)
from tui_chat.protocols.common.loss_notes import failure_note, part_note, turn_notes

_OLLAMA = Protocol.OLLAMA
_DOCUMENT_SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True, eq=False)
class TurnContent:
    """A turn in the form of this protocol."""

    tree: Obj
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _ContentBuilder:
    """The parts of a message that is being built."""

    turn: Turn
    texts: list[Text] = field(default_factory=list[Text])
    """The texts between which a blank line is sent."""
    thinking: list[ReasoningBlock] = field(default_factory=list[ReasoningBlock])
    lost: list[ReasoningBlock] = field(default_factory=list[ReasoningBlock])
    """Reasoning that is not sent."""
    images: list[Tree] = field(default_factory=list[Tree])
    calls: list[Tree] = field(default_factory=list[Tree])
    notes: list[Note] = field(default_factory=list[Note])
    joins_text: bool = False
    """True if the next text continues the last one."""


def _encode_turn(turn: Turn) -> TurnContent:
    building = _ContentBuilder(turn)
    for piece, content in ordered_content(turn, _OLLAMA):
        _add_piece(building, piece, content)
    form, origin = native_form(turn, _OLLAMA), turn.origin
    items: Items = [("role", constant((form.role if form else "") or turn.role))]
    items += _content(building, form.shape if form else "")
    if building.thinking:
        thinking = "".join(block.text for block in building.thinking)
        items.append(("thinking", field_string(thinking, origin, "thinking")))
    if building.images:
        items.append(("images", Arr(tuple(building.images), origin)))
    if building.calls:
        items.append(("tool_calls", Arr(tuple(building.calls), origin)))
    if turn.role == "tool":
        items += _answered_call(turn)
    items = merge_extras(items, form.extras if form else "", origin)
    building.notes += turn_notes(turn, _OLLAMA, lost=building.lost, named=False)
    if turn.semantics.failed and form is None:
        building.notes.append(failure_note(turn))
    return TurnContent(Obj(tuple(items), origin), tuple(building.notes))


encode_turn = Memo(_encode_turn)
"""`encode_turn(turn)` is the turn as a message of this protocol."""


def _answered_call(turn: Turn) -> Items:
    items: Items = []
    if turn.name:
        items.append(("tool_name", field_string(turn.name, turn.origin, "tool name")))
    if turn.tool_call_id:
        identity = field_string(turn.tool_call_id, turn.origin, "tool call id")
        items.append(("tool_call_id", identity))
    return items


def _add_piece(building: _ContentBuilder, piece: LayoutPiece, content: object) -> None:
    turn, origin = building.turn, building.turn.origin
    if isinstance(content, Part):
        content = as_text(content)
    match content:
        case Text():
            if building.joins_text:
                building.texts[-1] += content
            else:
                building.texts.append(content)
            if building.images and len(building.texts) > 1:
                sentence = "Ollama has no place for an image within the text; it comes first."
                building.notes.append(Note(Level.WARNING, "order-changed", sentence, origin))
            building.joins_text = True
        case ReasoningBlock():
            (building.thinking if content.protocol is _OLLAMA else building.lost).append(content)
        case ToolCall():
            building.calls.append(_call(building, content, piece))
        case Part() if content.text:
            document = Text.of(clean(content.text), field_origin(origin, "document"))
            building.texts.append(document)
            building.joins_text = False
        case Part() if content.kind == "image" and content.data:
            building.images.append(field_string(content.data, origin, "image"))
            building.joins_text = False
        case Part():
            building.joins_text = False
            what = f"{content.kind} {content.mime}".strip()
            building.notes.append(part_note(turn, what, _OLLAMA))
        case None if piece.kind == "other" and _is_own(turn):
            image = cast("dict[str, Any]", json.loads(piece.data)).get("image")
            building.images.append(field_string(str(image or ""), origin, "image"))
        case _:
            pass  # a refusal follows the text


def _is_own(turn: Turn) -> bool:
    layout = turn.semantics.layout
    return layout is not None and layout.protocol is _OLLAMA


def _content(building: _ContentBuilder, shape: str) -> Items:
    """Return the content as it was written, or as one writes it."""
    turn = building.turn
    text = Text.join(_DOCUMENT_SEPARATOR, building.texts)
    if turn.semantics.refusal:
        refusal = clean(turn.semantics.refusal)
        text += Text.of(refusal, field_origin(turn.origin, "refusal"))
    if not len(text):
        if shape == "absent":
            return []
        if shape == "null":
            return [("content", Lit(None, GLUE))]
    return [("content", Str(text))]


def _call(building: _ContentBuilder, call: ToolCall, piece: LayoutPiece) -> Obj:
    turn, origin = building.turn, building.turn.origin
    items: Items = [("id", field_string(call.id, origin, "tool call id"))] if call.id else []
    function: Items = []
    is_native = native_form(turn, _OLLAMA) is not None
    if call.name or not is_native:
        function.append(("name", field_string(call.name, origin, "tool name")))
    if call.arguments or not is_native:
        arguments, is_object = arguments_object(call, origin)
        if not is_object:
            building.notes.append(arguments_note(turn, call))
        function.append(("arguments", arguments))
    if function or not is_native:
        items.append(("function", Obj(tuple(function), origin)))
    return Obj(tuple(merge_extras(items, piece.extras, origin)), origin)

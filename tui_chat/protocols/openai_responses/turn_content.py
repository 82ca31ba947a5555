"""One turn as items of a Responses input. They depend on the turn alone, so a turn is encoded once.

1. Each piece of the model's text is a message; one with an item id is sent whole, as it was
   received, any other in the short form.
2. Reasoning is sent back as the original item if it has what the server requires: its encrypted
   content, or, in a captured request, whatever it had.
3. A refusal is sent back as text of the model, and an image that it generated as its item.
4. OpenAI refuses an item whose id is not in the form of its type: it would refuse every later
   request of the session. If an id of a turn is not, none of the turn's ids is sent: a reasoning
   item and the item that follows it are sent both with their ids or both without. A captured
   request is unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.json_text import to_json
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree
from tui_chat.models.media import data_url
from tui_chat.models.memo import Memo
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import LayoutPiece, ReasoningBlock
from tui_chat.models.text import GLUE, Origin, Text
from tui_chat.protocols.common.cache_marks import mark_key
from tui_chat.protocols.common.content_order import (
    PlacedContent,
    content_with_refusal,
    has_own_layout,
    ordered_content,
)
from tui_chat.protocols.common.encoding import (
    Items,
    constant,
    field_string,
    merge_extras,
    native_form,
    parse_json,
)
from tui_chat.protocols.common.loss_notes import failure_note, file_note, part_note, turn_notes
from tui_chat.protocols.openai_responses.decode import REASONING_TEXT
from tui_chat.protocols.roles import adapted_role

_RESPONSES = Protocol.OPENAI_RESPONSES


@dataclass(frozen=True, slots=True, eq=False)
class TurnContent:
    """A turn as items."""

    items: tuple[Tree, ...]
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _ContentBuilder:
    """The items of an assistant turn that is being built."""

    turn: Turn
    items: list[Tree] = field(default_factory=list[Tree])
    notes: list[Note] = field(default_factory=list[Note])
    thinking: list[tuple[LayoutPiece, ReasoningBlock]] = field(
        default_factory=list[tuple[LayoutPiece, ReasoningBlock]]
    )
    """Blocks of the reasoning item that is being put together."""
    message: list[tuple[LayoutPiece, Tree]] = field(default_factory=list[tuple[LayoutPiece, Tree]])
    """Parts of the message that is being put together."""
    with_ids: bool = True
    """True if items go under the ids that they had."""
    lost: list[ReasoningBlock] = field(default_factory=list[ReasoningBlock])
    """Reasoning that is not sent."""


@lru_cache(maxsize=4)
def turn_encoder(developer: bool, captured: bool) -> Callable[[Turn], TurnContent]:
    """Return the encoder of turns, which keeps results. `captured`: a request of this protocol."""

    def compute(turn: Turn) -> TurnContent:
        return _encode_turn(turn, developer, captured)

    return Memo(compute)


def _encode_turn(turn: Turn, developer: bool, captured: bool) -> TurnContent:
    match turn.role:
        case "assistant":
            return _encode_assistant(turn, captured)
        case "tool":
            return _encode_result(turn, captured)
        case _:
            return _encode_message(turn, developer)


def _encode_message(turn: Turn, developer: bool) -> TurnContent:
    """Return a message of another role than the assistant's."""
    form = native_form(turn, _RESPONSES)
    if form is not None and form.slot == "item" and turn.semantics.layout is not None:
        pieces = turn.semantics.layout.pieces
        return TurnContent(tuple(parse_json(p.data, turn.origin, p.name) for p in pieces), ())
    role = adapted_role(turn.role, _RESPONSES, developer=developer)
    role = (form.role or turn.role) if form else role
    notes: list[Note] = []
    items: Items = [("role", constant(role)), *_content("content", turn, notes)]
    if form is not None:
        items = merge_extras(items, form.extras, turn.origin)
    notes += turn_notes(turn, _RESPONSES, named=False)
    return TurnContent((Obj(tuple(items), turn.origin),), tuple(notes))


_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID_STARTS = {
    "reasoning": "rs",
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fc",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctc",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "local_shell_call": "lsh",
    "shell_call": "sh",
    "apply_patch_call": "apc",
    "tool_search_call": "tsc",
    "compaction": "cmp",
}
"""The prefixes of OpenAI's ids, by the type of the item, as recorded answers have them."""


def _id_fits(kind: str, identity: object) -> bool:
    """Return True if an id is in the form that OpenAI gives to items of a type. None always fits,
    and so does any id of an unknown type.
    """
    if identity in (None, "") or kind not in _ID_STARTS:
        return True
    return (
        isinstance(identity, str)
        and identity.startswith(_ID_STARTS[kind])
        and _ID.fullmatch(identity) is not None
    )


def _ids_fit(placed: Sequence[PlacedContent]) -> bool:
    """Return True if the ids of all items of a turn are in the form of their types."""
    for piece, what in placed:
        match what:
            case ReasoningBlock():
                kind, identity = "reasoning", what.id
            case ToolCall():
                kind = "custom_tool_call" if piece.is_custom else "function_call"
                identity = piece.id
            case Part():
                kind, identity = "image_generation_call", piece.id
            case _ if piece.kind in ("text", "refusal"):
                kind, identity = "message", piece.id
            case _:
                continue
        if not _id_fits(kind, identity):
            return False
    return True


def _without_ids(turn: Turn) -> Note:
    sentence = "An item id is not in a form that OpenAI accepts; the message is sent without ids."
    return Note(Level.INFO, "item-id-left-out", sentence, turn.origin)


def _encode_result(turn: Turn, captured: bool) -> TurnContent:
    """Return the output of a function call."""
    form, origin = native_form(turn, _RESPONSES), turn.origin
    notes: list[Note] = []
    mark = next(
        (p for p, _ in ordered_content(turn, _RESPONSES) if p.kind == "result"),
        LayoutPiece("result"),
    )
    kind = "custom_tool_call_output" if mark.name == "custom" else "function_call_output"
    items: Items = [("type", constant(kind))]
    if mark.id and (captured or _id_fits(kind, mark.id)):
        items.append(("id", field_string(mark.id, origin, "item id")))
    elif mark.id:
        notes.append(_without_ids(turn))
    if turn.tool_call_id or form is None:
        items.append(("call_id", field_string(turn.tool_call_id, origin, "tool call id")))
    items += _content("output", turn, notes)
    if form is not None:
        items = merge_extras(items, form.extras, origin)
    notes += turn_notes(turn, _RESPONSES, named=True)
    if turn.semantics.failed:
        notes.append(failure_note(turn))
    return TurnContent((Obj(tuple(items), origin),), tuple(notes))


def _content(key: str, turn: Turn, notes: list[Note]) -> Items:
    """Return the content of a message that is not the model's, or the output of a call."""
    form, origin = native_form(turn, _RESPONSES), turn.origin
    blocks: list[Tree] = []
    marked = False
    for piece, what in ordered_content(turn, _RESPONSES):
        block: Items | None = None
        match what:
            case Text():
                block = [("type", constant("input_text")), ("text", Str(what))]
            case Part():
                block = _part(what, origin) if turn.role != "system" or form else None
                if block is None:
                    notes.append(file_note(turn, what, _RESPONSES))
            case None if piece.kind == "other" and form is not None:
                blocks.append(parse_json(piece.data, origin, piece.name))
            case _:
                pass
        if block is not None:
            marked = marked or bool(piece.extras or piece.cache)
            if piece.cache and form is not None:
                block.append((mark_key(piece.cache), parse_json(piece.cache, origin, "cache mark")))
            blocks.append(Obj(tuple(merge_extras(block, piece.extras, origin)), origin))
    match form.shape if form else "":
        case "absent" if not blocks:
            return []
        case "null" if not blocks:
            return [(key, Lit(None, GLUE))]
        case "parts":
            return [(key, Arr(tuple(blocks), origin))]
        case _:
            pass
    if not blocks or (len(blocks) == 1 and not turn.parts and not marked and len(turn.text)):
        return [(key, Str(turn.text))]
    return [(key, Arr(tuple(blocks), origin))]


def _part(part: Part, origin: Origin) -> Items | None:
    """Return a part as it is sent; None if the protocol has no form for it."""
    if part.text:
        return [
            ("type", constant("input_text")),
            ("text", field_string(part.text, origin, "document")),
        ]
    url = data_url(part.mime, part.data) if part.data and part.mime else part.data
    openai = part.protocol in (_RESPONSES, Protocol.OPENAI_CHAT)
    if part.kind == "image":
        items: Items = [("type", constant("input_image"))]
        if part.file_id and openai:
            items.append(("file_id", field_string(part.file_id, origin, "file id")))
        elif url or part.url:
            items.append(("image_url", field_string(url or part.url, origin, "picture")))
        else:
            return None
        return [*items, ("detail", constant(part.detail))] if part.detail else items
    if part.kind != "file":
        return None
    items = [("type", constant("input_file"))]
    if part.name:
        items.append(("filename", field_string(part.name, origin, "file name")))
    if part.file_id and openai:
        items.append(("file_id", field_string(part.file_id, origin, "file id")))
    elif url:
        items.append(("file_data", field_string(url, origin, "file")))
    elif part.url:
        items.append(("file_url", field_string(part.url, origin, "file")))
    else:
        return None
    return items


def _encode_assistant(turn: Turn, captured: bool) -> TurnContent:
    """Return the items of an assistant turn."""
    placed = content_with_refusal(turn, _RESPONSES)
    is_own = has_own_layout(turn, _RESPONSES)
    building = _ContentBuilder(turn, with_ids=captured or not is_own or _ids_fit(placed))
    if not building.with_ids:
        building.notes.append(_without_ids(turn))
    has_refusal = bool(turn.semantics.refusal) and not captured
    for piece, what in placed:
        if not (has_refusal and isinstance(what, Text) and not len(what)):
            _add_piece(building, piece, what, captured)
    _end_thinking(building)
    _end_message(building)
    if not building.items:
        building.items.append(_short(Str(turn.text), turn.origin))
    building.notes += turn_notes(turn, _RESPONSES, lost=building.lost, named=False)
    return TurnContent(tuple(building.items), tuple(building.notes))


def _add_piece(building: _ContentBuilder, piece: LayoutPiece, what: object, captured: bool) -> None:
    turn, origin = building.turn, building.turn.origin
    if isinstance(what, ReasoningBlock):
        _end_message(building)
        thinking = building.thinking
        is_next = piece.name == "item" or not what.id
        if thinking and (is_next or thinking[0][1].id != what.id):
            _end_thinking(building)
        building.thinking.append((piece, what))
        return
    _end_thinking(building)
    if isinstance(what, Text) or piece.kind == "refusal":
        if piece.name != "more":
            _end_message(building)
        text = Str(what) if isinstance(what, Text) else None
        content = text or field_string(turn.semantics.refusal, origin, "refusal")
        building.message.append((piece, content))
        return
    _end_message(building)
    if isinstance(what, ToolCall):
        own = native_form(turn, _RESPONSES) is not None
        building.items.append(_call(what, piece, origin, with_id=building.with_ids, own=own))
    elif isinstance(what, Part):
        is_own = has_own_layout(turn, _RESPONSES)
        if is_own and what.kind == "image" and what.data and piece.id and building.with_ids:
            building.items.append(_image_call(what, piece, origin))
        else:
            building.notes.append(file_note(turn, what, _RESPONSES))
    elif piece.kind == "other" and has_own_layout(turn, _RESPONSES):
        identity = _loaded(piece.data).get("id")
        if captured or _id_fits(piece.name, identity):
            building.items.append(parse_json(piece.data, origin, piece.name))
        else:
            building.notes.append(part_note(turn, f"{piece.name} {identity}", _RESPONSES))


def _short(text: Tree, origin: Origin, phase: str = "") -> Obj:
    items: Items = [("role", constant("assistant")), ("content", text)]
    if phase:
        items.append(("phase", field_string(phase, origin, "phase")))
    return Obj(tuple(items), origin)


def _end_message(building: _ContentBuilder) -> None:
    """Add the message whose parts are together."""
    parts, building.message = building.message, []
    if not parts:
        return
    turn, origin = building.turn, building.turn.origin
    first = parts[0][0]
    captured = native_form(turn, _RESPONSES) is not None and first.kind in ("text", "refusal")
    if not building.with_ids or not (first.id or captured):
        for _, text in parts:
            building.items.append(_short(text, origin, first.phase))
        return
    extras = _loaded(first.extras)
    if captured and first.name == "string":
        items: Items = [("role", constant("assistant")), ("content", parts[0][1])]
    else:
        blocks = tuple(_output_part(piece, text, origin, captured) for piece, text in parts)
        items = [("role", constant("assistant")), ("content", Arr(blocks, origin))]
        extras.pop("content", None)
    if first.id:
        items.insert(0, ("id", field_string(first.id, origin, "item id")))
    if first.phase:
        items.append(("phase", field_string(first.phase, origin, "phase")))
    if not captured:
        items = [("type", constant("message")), *items, ("status", constant("completed"))]
    if extras:
        items = merge_extras(items, to_json(extras), origin)
    building.items.append(Obj(tuple(items), origin))


def _output_part(piece: LayoutPiece, text: Tree, origin: Origin, captured: bool) -> Obj:
    refusal = piece.kind == "refusal"
    items: Items = [("type", constant("refusal" if refusal else "output_text"))]
    items.append(("refusal" if refusal else "text", text))
    if not captured and not refusal:
        items.append(("annotations", Arr(())))
    own = _loaded(piece.extras).get("content")
    return Obj(tuple(merge_extras(items, to_json(own), origin) if own else items), origin)


def _loaded(extras: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(extras)) if extras else {}


def _call(call: ToolCall, piece: LayoutPiece, origin: Origin, *, with_id: bool, own: bool) -> Obj:
    """Return a call; `own`: as it was captured, without what it had not."""
    custom = piece.is_custom
    items: Items = [("type", constant("custom_tool_call" if custom else "function_call"))]
    if piece.id and with_id:
        items.append(("id", field_string(piece.id, origin, "item id")))
    arguments = field_string(call.arguments, origin, f"arguments of {call.name}")
    if call.id or not own:
        items.append(("call_id", field_string(call.id, origin, "tool call id")))
    if call.name or not own:
        items.append(("name", field_string(call.name, origin, "tool name")))
    items.append(("input" if custom else "arguments", arguments))
    return Obj(tuple(merge_extras(items, piece.extras, origin)), origin)


def _image_call(part: Part, piece: LayoutPiece, origin: Origin) -> Obj:
    """Return an image as the item that it came in."""
    items: Items = [
        ("type", constant("image_generation_call")),
        ("id", field_string(piece.id, origin, "item id")),
        ("status", constant("completed")),
        ("result", field_string(part.data, origin, "picture")),
    ]
    return Obj(tuple(merge_extras(items, piece.extras, origin)), origin)


def _end_thinking(building: _ContentBuilder) -> None:
    """Add the reasoning item whose blocks are together."""
    blocks, building.thinking = building.thinking, []
    if not blocks:
        return
    origin = building.turn.origin
    first = blocks[0][1]
    encrypted = next((block.encrypted for _, block in blocks if block.encrypted), "")
    captured = native_form(building.turn, _RESPONSES) is not None
    if first.protocol is not _RESPONSES or not (encrypted or captured):
        building.lost += [block for _, block in blocks]
        return
    texts: dict[bool, list[Tree]] = {False: [], True: []}
    for _, block in blocks:
        if block.text:
            raw = block.kind == REASONING_TEXT
            kind = "reasoning_text" if raw else "summary_text"
            text = field_string(block.text, origin, "reasoning")
            texts[raw].append(Obj((("type", constant(kind)), ("text", text)), origin))
    items: Items = [("type", constant("reasoning"))]
    if first.id and building.with_ids:
        items.append(("id", field_string(first.id, origin, "item id")))
    items.append(("summary", Arr(tuple(texts[False]), origin)))
    if texts[True]:
        items.append(("content", Arr(tuple(texts[True]), origin)))
    if encrypted:
        items.append(("encrypted_content", field_string(encrypted, origin, "encrypted reasoning")))
    building.items.append(Obj(tuple(merge_extras(items, blocks[0][0].extras, origin)), origin))

"""One turn as content of generateContent. It depends on the turn alone, so it is encoded once.

1. Each piece is a part; a signature of Gemini is sent back on the part that it came with.
2. A call's args are an object; broken arguments are wrapped in one.
3. A tool's text is the `output` of its response, or the `error` if it failed.
4. A refusal is sent back as text of the model. Empty text is allowed.
"""

from __future__ import annotations

import json
import mimetypes
from base64 import b64encode
from dataclasses import field, replace
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree, tree_of
from tui_chat.models.memo import Memo
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import LayoutPiece, ReasoningBlock, WireForm
from tui_chat.models.text import Origin, Text
from tui_chat.protocols.common.content_order import (
    content_with_refusal,
    has_own_layout,
    merged_text,
    ordered_content,
)
from tui_chat.protocols.common.encoding import (
    Items,
    arguments_note,
    arguments_object,
    constant,
    field_origin,
    field_string,
    merge_extras,
    native_form,
    parse_json,
    sent_id,
)
from tui_chat.protocols.common.loss_notes import file_note, turn_notes
from tui_chat.protocols.gemini.spelling import as_spelled
from tui_chat.protocols.roles import adapted_role

_GEMINI = Protocol.GEMINI


@dataclass(frozen=True, slots=True, eq=False)
class TurnContent:
    """A turn in the form of this protocol."""

    parts: tuple[Obj, ...]
    content: Obj
    """The turn as a content by itself."""
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _ContentBuilder:
    """Parts that are being built."""

    turn: Turn
    form: WireForm | None
    parts: list[Obj] = field(default_factory=list[Obj])
    notes: list[Note] = field(default_factory=list[Note])
    lost: list[ReasoningBlock] = field(default_factory=list[ReasoningBlock])
    """Reasoning that is not sent."""


def _encode_turn(turn: Turn) -> TurnContent:
    form, origin = native_form(turn, _GEMINI), turn.origin
    building = _ContentBuilder(turn, form)
    if turn.role == "tool":
        building.parts.append(encode_result(turn, turn.name, building.notes))
    else:
        for piece, what in content_with_refusal(turn, _GEMINI):
            _add_piece(building, piece, what)
        if not building.parts and form is None:
            building.parts.append(_text(Str(turn.text), origin))
    building.notes += turn_notes(turn, _GEMINI, lost=building.lost, named=turn.role == "tool")
    role = adapted_role(turn.role, _GEMINI)
    parts = tuple(building.parts)
    return TurnContent(parts, content_of(turn, role, parts), tuple(building.notes))


encode_turn = Memo(_encode_turn)
"""`encode_turn(turn)` is the turn as content of this protocol."""


def content_of(turn: Turn, role: str, parts: tuple[Obj, ...]) -> Obj:
    """Return a content; the turn is its first."""
    form = native_form(turn, _GEMINI)
    items: Items = []
    if form is None or form.role != "absent":
        items.append(("role", constant((form.role if form else "") or role)))
    if parts or form is None or form.shape == "parts":
        items.append(("parts", Arr(parts, turn.origin)))
    return Obj(tuple(merge_extras(items, form.extras if form else "", turn.origin)), turn.origin)


def _add_piece(building: _ContentBuilder, piece: LayoutPiece, what: object) -> None:
    turn, origin = building.turn, building.turn.origin
    match what:
        case Text():
            building.parts.append(_text(Str(what), origin, piece))
        case ReasoningBlock():
            if what.protocol is not _GEMINI:
                building.lost.append(what)
                return
            items: Items = [
                ("text", field_string(what.text, origin, "thought")),
                ("thought", Lit(True)),
            ]
            if what.signature:
                items.append(
                    ("thoughtSignature", field_string(what.signature, origin, "signature"))
                )
            building.parts.append(_marked(items, piece, origin))
        case ToolCall():
            building.parts.append(_call(building, what, piece))
        case Part():
            part = _part(what, origin, is_own=building.form is not None)
            if part is None or (turn.role == "system" and building.form is None):
                building.notes.append(file_note(turn, what, _GEMINI))
                return
            if what.url and what.protocol is None and building.form is None:
                sentence = "Gemini fetches only some links; this one is sent unchanged."
                building.notes.append(Note(Level.INFO, "link-passed-on", sentence, origin))
            building.parts.append(_signed(part, piece, origin))
        case _:
            if piece.kind == "other" and has_own_layout(turn, _GEMINI):
                building.parts.append(cast("Obj", parse_json(piece.data, origin, piece.name)))
            elif piece.kind == "refusal" and turn.semantics.refusal:
                refusal = field_string(turn.semantics.refusal, origin, "refusal")
                building.parts.append(_text(refusal, origin))


def _text(text: Str, origin: Origin, piece: LayoutPiece | None = None) -> Obj:
    items: Items = [("text", text)]
    return _signed(items, piece, origin) if piece else Obj(tuple(items), origin)


def _signed(items: Items, piece: LayoutPiece, origin: Origin) -> Obj:
    if piece.signature:
        items.append(("thoughtSignature", field_string(piece.signature, origin, "signature")))
    return _marked(items, piece, origin)


def _marked(items: Items, piece: LayoutPiece, origin: Origin) -> Obj:
    items = merge_extras(items, piece.extras, origin)
    if piece.spelled:
        items = [
            (k, as_spelled(v, piece.spelled) if k in _HOLDERS and isinstance(v, Obj) else v)
            for k, v in items
        ]
    return as_spelled(Obj(tuple(items), origin), piece.spelled)


_HOLDERS = ("inlineData", "fileData", "functionCall", "functionResponse")


def _call(building: _ContentBuilder, call: ToolCall, piece: LayoutPiece) -> Obj:
    origin = building.turn.origin
    id = sent_id(building.turn, call.id)
    fields: Items = [("id", field_string(id, origin, "tool call id"))] if id else []
    if call.name or building.form is None:
        fields.append(("name", field_string(call.name, origin, "tool name")))
    if call.arguments or building.form is None:
        arguments, right = arguments_object(call, origin)
        if not right:
            building.notes.append(arguments_note(building.turn, call))
        fields.append(("args", arguments))
    return _signed([("functionCall", Obj(tuple(fields), origin))], piece, origin)


def encode_result(turn: Turn, name: str, notes: list[Note]) -> Obj:
    """Return a tool result as a part; `name` is the function's."""
    origin = turn.origin
    mark, media = LayoutPiece("result"), list[Tree]()
    for piece, what in ordered_content(turn, _GEMINI):
        if piece.kind == "other" and has_own_layout(turn, _GEMINI):
            return cast("Obj", parse_json(piece.data, origin, piece.name))
        if piece.kind == "result":
            mark = piece
        elif isinstance(what, Part):
            is_own = native_form(turn, _GEMINI) is not None
            part = _part(_as_bytes(what), origin, is_own=is_own)
            if part is None:
                notes.append(file_note(turn, what, _GEMINI))
            else:
                media.append(_marked(part, piece, origin))
    fields: Items = []
    if id := sent_id(turn, turn.tool_call_id):
        fields.append(("id", field_string(id, origin, "tool call id")))
    if name or native_form(turn, _GEMINI) is None:
        fields.append(("name", field_string(name or turn.tool_call_id or "_", origin, "tool name")))
    form = native_form(turn, _GEMINI)
    if form is None or form.shape != "absent":
        fields.append(("response", _response_object(turn, mark, notes)))
    if media:
        fields.append(("parts", Arr(tuple(media), origin)))
    return _marked([("functionResponse", Obj(tuple(fields), origin))], mark, origin)


def _as_bytes(part: Part) -> Part:
    """Return a document as bytes: a response holds no other text than its own."""
    if not part.text:
        return part
    data = b64encode(part.text.encode()).decode()
    return replace(part, mime=part.mime or "text/plain", data=data, text="")


def _response_object(turn: Turn, mark: LayoutPiece, notes: list[Note]) -> Tree:
    if mark.name == "object":
        try:
            value: Any = json.loads(turn.text.plain)
        except (ValueError, RecursionError):  # the text was edited and is no object any more
            value = None
        if isinstance(value, dict):
            return tree_of(cast("dict[str, Any]", value), field_origin(turn.origin, "response"))
    key = "error" if turn.semantics.failed else "output"
    return Obj(((key, Str(merged_text(turn, _GEMINI, notes))),), turn.origin)


def _part(part: Part, origin: Origin, *, is_own: bool) -> Items | None:
    """Return bytes, a link or a plain document as a part; None for another provider's file.
    `is_own`: as Gemini's own request had it, so that a type is not guessed.
    """
    if part.text:
        return [("text", field_string(part.text, origin, "document"))]
    guessed = None if is_own else mimetypes.guess_type(part.url.partition("?")[0])[0]
    mime = part.mime or guessed or ""
    named: Items = [("displayName", field_string(part.name, origin, "name"))] if part.name else []
    if part.data:
        kind = mime or _UNKNOWN.get(part.kind, "application/octet-stream")
        inner: Items = [
            ("mimeType", tree_of(kind)),
            ("data", field_string(part.data, origin, part.kind)),
            *named,
        ]
        return [("inlineData", Obj(tuple(inner), origin))]
    if part.url:
        inner = [("mimeType", tree_of(mime))] if mime else []
        inner += [("fileUri", field_string(part.url, origin, "link")), *named]
        return [("fileData", Obj(tuple(inner), origin))]
    return None


_UNKNOWN = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
"""The types that bytes of unknown type get: Gemini demands a type."""

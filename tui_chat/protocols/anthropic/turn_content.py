"""One turn as content of the Messages API. It depends on the turn alone, so it is encoded once.

1. Empty or blank text is refused: it is left out, and so is a turn that has nothing else.
2. Thinking is sent back unchanged, only if it is signed to the end, and only to Anthropic.
3. A tool's input is an object; broken arguments are wrapped in one.
4. A refusal is sent back as text of the model.
"""

from __future__ import annotations

from dataclasses import field

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note, Turn
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree, tree_of
from tui_chat.models.media import as_text
from tui_chat.models.memo import Memo
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import LayoutPiece, ReasoningBlock, WireForm
from tui_chat.models.text import GLUE, Origin, Text
from tui_chat.protocols.common.cache_marks import anthropic_mark, with_mark
from tui_chat.protocols.common.content_order import content_with_refusal, has_own_layout
from tui_chat.protocols.common.encoding import (
    Items,
    arguments_note,
    arguments_object,
    constant,
    field_string,
    merge_extras,
    native_form,
    parse_json,
)
from tui_chat.protocols.common.loss_notes import blank_text_note, file_note, turn_notes
from tui_chat.protocols.roles import adapted_role

_ANTHROPIC = Protocol.ANTHROPIC
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF = "application/pdf"


@dataclass(frozen=True, slots=True, eq=False)
class TurnContent:
    """A turn in the form of this protocol."""

    role: str
    blocks: tuple[Tree, ...]
    content: Tree | None
    """The `content` of the turn as a message by itself; None if it has none."""
    message: Obj
    """The turn as a message by itself."""
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _ContentBuilder:
    """Content that is being built."""

    turn: Turn
    form: WireForm | None
    blocks: list[Tree] = field(default_factory=list[Tree])
    texts: list[Text] = field(default_factory=list[Text])
    notes: list[Note] = field(default_factory=list[Note])
    marked: bool = False
    lost: list[ReasoningBlock] = field(default_factory=list[ReasoningBlock])
    """Reasoning that is not sent."""
    omits_blank: bool = False
    """True if text of nothing but white space was left out."""


def _encode_turn(turn: Turn) -> TurnContent:
    form, origin = native_form(turn, _ANTHROPIC), turn.origin
    building = _ContentBuilder(turn, form)
    result = LayoutPiece("result")
    for piece, what in content_with_refusal(turn, _ANTHROPIC):
        if piece.kind == "result":
            result = piece
        else:
            _add_piece(building, piece, what)
    if turn.cache_mark is not None and turn.role != "tool":
        building.blocks = list(with_mark(building.blocks, turn.cache_mark))
        building.marked = True
    content = _content(building)
    building.notes += turn_notes(turn, _ANTHROPIC, lost=building.lost, named=False)
    role = adapted_role(turn.role, _ANTHROPIC)
    blocks = tuple(building.blocks)
    if turn.role == "tool":
        blocks = (_result(turn, content, result),)
        blocks = with_mark(blocks, turn.cache_mark) if turn.cache_mark is not None else blocks
        content = Arr(blocks, origin)
    refusal = turn.semantics.refusal
    blank_refusal = bool(refusal) and not refusal.strip()
    if (building.omits_blank or blank_refusal) and content is not None:
        building.notes.append(blank_text_note(turn))
    items: Items = [("role", constant(role))]
    if content is not None:
        items.append(("content", content))
    if form is not None:
        items = merge_extras(items, form.extras, origin)
    return TurnContent(role, blocks, content, Obj(tuple(items), origin), tuple(building.notes))


encode_turn = Memo(_encode_turn)
"""`encode_turn(turn)` is the turn as content of this protocol."""


def _content(building: _ContentBuilder) -> Tree | None:
    """Return the content as it was written, or as one writes it; None if there is none."""
    turn, form, blocks = building.turn, building.form, building.blocks
    shape = form.shape if form else ""
    plain = len(blocks) == 1 == len(building.texts) and not building.marked
    if not blocks:
        match shape:
            case "string":
                return Str(turn.text)
            case "parts":
                return Arr((), turn.origin)
            case "null":
                return Lit(None, GLUE)
            case _:
                return None
    if plain and shape != "parts":
        return Str(building.texts[0])
    return Arr(tuple(blocks), turn.origin)


def _result(turn: Turn, content: Tree | None, piece: LayoutPiece) -> Obj:
    origin = turn.origin
    items: Items = [("type", constant("tool_result"))]
    if turn.tool_call_id or native_form(turn, _ANTHROPIC) is None:
        items.append(("tool_use_id", field_string(turn.tool_call_id, origin, "tool call id")))
    if content is not None:
        items.append(("content", content))
    failed = turn.semantics.failed
    if failed is not None:
        items.append(("is_error", Lit(failed, origin)))
    return _marked(items, piece, origin)


def _add_piece(building: _ContentBuilder, piece: LayoutPiece, what: object) -> None:
    turn, origin = building.turn, building.turn.origin
    match what:
        case Text():
            if not what.plain.strip() and building.form is None:
                building.omits_blank = building.omits_blank or bool(what.plain)
            else:
                building.texts.append(what)
                building.marked = building.marked or bool(piece.cache or piece.extras)
                building.blocks.append(_text(Str(what), origin, piece))
        case ReasoningBlock():
            block = _thinking(what, origin, captured=building.form is not None)
            if block is None:
                building.lost.append(what)
            else:
                building.blocks.append(_marked(block, piece, origin))
        case ToolCall():
            arguments, right = arguments_object(what, origin)
            if not right:
                building.notes.append(arguments_note(turn, what))
            items: Items = [("type", constant("tool_use"))]
            if what.id or building.form is None:
                items.append(("id", field_string(what.id, origin, "tool call id")))
            if what.name or building.form is None:
                items.append(("name", field_string(what.name, origin, "tool name")))
            items.append(("input", arguments))
            building.blocks.append(_marked(items, piece, origin))
        case Part():
            part = _part(what, origin, captured=building.form is not None)
            is_odd = turn.role in ("assistant", "system") and building.form is None
            if part is None or is_odd:
                building.notes.append(file_note(turn, what, _ANTHROPIC))
            else:
                building.blocks.append(_marked(part, piece, origin))
        case _:
            if piece.kind == "other" and has_own_layout(turn, _ANTHROPIC):
                building.blocks.append(parse_json(piece.data, origin, piece.name))
            elif piece.kind == "refusal" and turn.semantics.refusal.strip():
                refusal = field_string(turn.semantics.refusal, origin, "refusal")
                building.blocks.append(_text(refusal, origin))


def _text(text: Str, origin: Origin, piece: LayoutPiece | None = None) -> Obj:
    items: Items = [("type", constant("text")), ("text", text)]
    return _marked(items, piece, origin) if piece else Obj(tuple(items), origin)


def _marked(items: Items, piece: LayoutPiece, origin: Origin) -> Obj:
    if piece.cache:
        mark = parse_json(anthropic_mark(piece.cache), origin, "cache mark")
        items.append(("cache_control", mark))
    return Obj(tuple(merge_extras(items, piece.extras, origin)), origin)


def _thinking(block: ReasoningBlock, origin: Origin, *, captured: bool) -> Items | None:
    """Return a thinking block; None if it is unsigned or another provider's: it is refused."""
    if not block.is_anthropic:
        return None
    if block.encrypted:
        data = field_string(block.encrypted, origin, "redacted thinking")
        return [("type", constant("redacted_thinking")), ("data", data)]
    if not block.signature and not captured:
        return None
    items: Items = [
        ("type", constant("thinking")),
        ("thinking", field_string(block.text, origin, "thinking")),
    ]
    if block.signature:
        items.append(("signature", field_string(block.signature, origin, "signature")))
    return items


def _part(part: Part, origin: Origin, *, captured: bool) -> Items | None:
    """Return a picture or document; None if the protocol accepts none of its kind."""
    source: Items
    image = part.kind == "image"
    if not captured:
        part = as_text(part)  # as bytes, only PDF is accepted
    if part.file_id:
        if part.protocol is not _ANTHROPIC:
            return None
        source = [
            ("type", constant("file")),
            ("file_id", field_string(part.file_id, origin, "file id")),
        ]
    elif part.data:
        if not captured and part.mime not in (_IMAGES if image else (_PDF,)):
            return None
        source = [
            ("type", constant("base64")),
            *([("media_type", tree_of(part.mime))] if part.mime or not captured else []),
            ("data", field_string(part.data, origin, part.kind)),
        ]
    elif part.text:
        source = [
            ("type", constant("text")),
            ("media_type", constant("text/plain")),
            ("data", field_string(part.text, origin, "document")),
        ]
    elif part.url:
        source = [("type", constant("url")), ("url", field_string(part.url, origin, "link"))]
    else:
        return None
    if part.kind not in ("image", "file"):
        return None
    items: Items = [
        ("type", constant("image" if image else "document")),
        ("source", Obj(tuple(source), origin)),
    ]
    if part.name and not image:
        items.append(("title", field_string(part.name, origin, "title")))
    return items

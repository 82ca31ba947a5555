"""Turns as the `systemInstruction` and `contents` of a request.

1. All system turns, joined by a blank line, are the one `systemInstruction`; a later one is
   moved there with a note. A captured instruction keeps its parts.
2. A call must follow a user content: the model's turns before it are one content with it, and if
   no user content precedes that, the smallest possible one is added, with a note.
3. The results of a turn are in the user content that follows its calls, each with its function's
   name. A captured content that held several turns holds them again.
4. If there are only system turns, the smallest user content is added too.
5. Gemini 3 refuses a step of the current turn whose first function call has no signature. Calls
   of another model have none; the substitute that Google documents is sent, with a note.

One turn as content of generateContent. It depends on the turn alone, so it is encoded once.

1. Each piece is a part; a signature of Gemini is sent back on the part that it came with.
2. A call's args are an object; broken arguments are wrapped in one.
3. A tool's text is the `output` of its response, or the `error` if it failed.
4. A refusal is sent back as text of the model. Empty text is allowed.
"""

from __future__ import annotations

import json
import mimetypes
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Turn
from tui_chat.models.json_tree import Arr, Frame, Lit, Obj, Str, Tree, tree_of
from tui_chat.models.memo import Memo
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import Layout, LayoutPiece, ReasoningBlock, WireForm
from tui_chat.models.text import Origin, Text
from tui_chat.protocols.common.content_order import (
    content_with_refusal,
    has_own_layout,
    ordered_content,
)
from tui_chat.protocols.common.encoding import (
    FILLER,
    NOTHING_TO_SEND,
    Items,
    arguments_note,
    arguments_object,
    captured_origin,
    constant,
    field_origin,
    field_string,
    filler_note,
    merge_extras,
    native_form,
    parse_json,
)
from tui_chat.protocols.common.loss_notes import file_note, system_moved_note, turn_notes
from tui_chat.protocols.common.segments import plain_turns, run_memo, segments
from tui_chat.protocols.common.tool_pairing import variant
from tui_chat.protocols.gemini.settings import GeminiSettings
from tui_chat.protocols.gemini.spelling import as_spelled
from tui_chat.protocols.roles import adapt_roles, adapted_role, extract_system_instruction

_GEMINI = Protocol.GEMINI
STAND_IN = "skip_thought_signature_validator"
"""The signature that Google documents for calls which have none of their own."""

_FILLER = Obj((("role", constant("user")), ("parts", Arr((Obj((("text", constant(FILLER)),)),)))))


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
            part = _part(what, origin)
            if part is None or turn.role == "system":
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
    fields: Items = [("id", field_string(call.id, origin, "tool call id"))] if call.id else []
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
        if piece.kind == "result":
            mark = piece
        elif isinstance(what, Part):
            part = _part(_as_bytes(what), origin)
            if part is None:
                notes.append(file_note(turn, what, _GEMINI))
            else:
                media.append(_marked(part, piece, origin))
    fields: Items = []
    if turn.tool_call_id:
        fields.append(("id", field_string(turn.tool_call_id, origin, "tool call id")))
    if name or native_form(turn, _GEMINI) is None:
        fields.append(("name", field_string(name or turn.tool_call_id or "_", origin, "tool name")))
    form = native_form(turn, _GEMINI)
    if form is None or form.shape != "absent":
        fields.append(("response", _response_object(turn, mark)))
    if media:
        fields.append(("parts", Arr(tuple(media), origin)))
    return _marked([("functionResponse", Obj(tuple(fields), origin))], mark, origin)


def _as_bytes(part: Part) -> Part:
    """Return a document as bytes: a response holds no other text than its own."""
    if not part.text:
        return part
    data = b64encode(part.text.encode()).decode()
    return replace(part, mime=part.mime or "text/plain", data=data, text="")


def _response_object(turn: Turn, mark: LayoutPiece) -> Tree:
    if mark.name == "object":
        try:
            value: Any = json.loads(turn.text.plain)
        except (ValueError, RecursionError):  # the text was edited and is no object any more
            value = None
        if isinstance(value, dict):
            return tree_of(cast("dict[str, Any]", value), field_origin(turn.origin, "response"))
    key = "error" if turn.semantics.failed else "output"
    return Obj(((key, Str(turn.text)),), turn.origin)


def _part(part: Part, origin: Origin) -> Items | None:
    """Return bytes, a link or a plain document as a part; None for another provider's file."""
    if part.text:
        return [("text", field_string(part.text, origin, "document"))]
    mime = part.mime or mimetypes.guess_type(part.url.partition("?")[0])[0] or ""
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


def _role_and_part(role: str) -> Frame:
    """Return the frame of a content of one text."""
    named = ("role", constant(role))
    return Frame(
        lambda text, origin: (named, ("parts", Arr((Obj((("text", Str(text)),), origin),), origin)))
    )


_encode_plain = plain_turns(
    _GEMINI, {"user": _role_and_part("user"), "assistant": _role_and_part("model")}
)


@dataclass(slots=True)
class Conversation:
    """The encoding of the turns so far, or of one segment."""

    system: list[Turn] = field(default_factory=list[Turn])
    contents: list[Tree] = field(default_factory=list[Tree])
    notes: list[Note] = field(default_factory=list[Note])


def encode_messages(
    envelope: ChatEnvelope, turns: Sequence[Turn]
) -> tuple[Tree | None, tuple[Tree, ...], list[Note]]:
    """Return `systemInstruction`, or None where there is none, `contents`, and the notes."""
    conversation = Conversation()
    head = 0
    while head < len(turns) and turns[head].role == "system":
        head += 1
    conversation.system += turns[:head]
    cut = segments(turns[head:])
    if cut:
        cut[-1] = _with_signatures(envelope, cut[-1], conversation.notes)
    for run in cut:
        part = _segment(run)
        conversation.system += part.system
        conversation.contents += part.contents
        conversation.notes += part.notes
    if _begins_with_call(turns[head:]):
        conversation.contents.insert(0, _FILLER)
        conversation.notes.append(filler_note("Gemini accepts no tool call as the first content"))
    if not conversation.contents:
        if conversation.system:
            conversation.contents.append(_FILLER)
            conversation.notes.append(filler_note("Gemini requires a message to answer"))
        else:
            conversation.notes.append(NOTHING_TO_SEND)
    return _instruction(envelope, conversation), tuple(conversation.contents), conversation.notes


def _begins_with_call(turns: Sequence[Turn]) -> bool:
    """Return True if the first content has a tool call, and was not captured so."""
    spoken = [turn for turn in turns if turn.role != "system"]  # the rest is moved away
    for index, turn in enumerate(spoken):
        if turn.role != "assistant" or native_form(turn, _GEMINI) is not None:
            return False
        if turn.tool_calls:
            return index == 0 or _joins(spoken[index - 1], turn)
    return False


def _encode_segment(turns: Sequence[Turn]) -> Conversation:
    part = Conversation()
    run: list[Turn] = []
    alone: Tree | None = None
    caller: Turn | None = None
    for turn in turns:
        if turn.role == "system":
            why = "Gemini accepts none between other messages"
            part.notes.append(system_moved_note(turn, "moved to the system instruction", why))
            part.system.append(turn)
            continue
        plain = _encode_plain(turn)
        if plain is None:
            part.notes += encode_turn(turn).notes
        if run and _joins(run[-1], turn):
            run.append(turn)
            alone = None
            continue
        if run:
            part.contents.append(_content(run, caller) if alone is None else alone)
            caller = run[-1] if run[-1].tool_calls else None
        run, alone = [turn], plain
    if run:
        part.contents.append(_content(run, caller) if alone is None else alone)
    return part


_segment = run_memo(_encode_segment)


def _joins(before: Turn, turn: Turn) -> bool:
    """Return True if a turn belongs to the content of the turn before it."""
    form = native_form(turn, _GEMINI)
    if form is not None:
        return form.joined
    if turn.role == "assistant":
        return before.role == "assistant" and not before.tool_calls
    return turn.role == "tool" and before.role == "tool"


def _content(run: list[Turn], caller: Turn | None) -> Tree:
    """Return the content of a run of turns. Results are named after the calls before them."""
    if run[0].role != "tool" and len(run) == 1:
        return encode_turn(run[0]).content
    nameless = any(turn.role == "tool" and not turn.name for turn in run)
    if caller is not None and nameless:
        return _content_with_names((caller, *run))
    return encode_turn(run[0]).content if len(run) == 1 else _joined_content(tuple(run))


def _join_turns(run: Sequence[Turn]) -> Obj:
    parts = tuple(part for turn in run for part in encode_turn(turn).parts)
    return content_of(run[0], adapted_role(run[0].role, _GEMINI), parts)


def _name_results(run: Sequence[Turn]) -> Obj:
    names = {call.id: call.name for call in run[0].tool_calls}
    parts: list[Obj] = []
    for turn in run[1:]:
        if turn.role == "tool":
            parts.append(encode_result(turn, turn.name or names.get(turn.tool_call_id, ""), []))
        else:
            parts += encode_turn(turn).parts
    return content_of(run[1], "user", tuple(parts))


_joined_content = run_memo(_join_turns)
_content_with_names = run_memo(_name_results)


def _with_signatures(
    envelope: ChatEnvelope, turns: tuple[Turn, ...], notes: list[Note]
) -> tuple[Turn, ...]:
    """Return the last turns of a conversation, the calls of the current one signed."""
    model = envelope.parameters.model.value
    if "gemini-3" not in model or envelope.semantics.source is _GEMINI:
        return turns
    last = max((i for i, turn in enumerate(turns) if turn.role == "user"), default=-1)
    return tuple(
        _with_signature(turn, notes) if index > last and turn.tool_calls else turn
        for index, turn in enumerate(turns)
    )


def _with_signature(turn: Turn, notes: list[Note]) -> Turn:
    first = next((p for p, _ in ordered_content(turn, _GEMINI) if p.kind == "call"), None)
    if first is None or first.signature:
        return turn
    sentence = (
        "The first tool call has no thought signature, which Gemini 3 requires; Google's "
        "placeholder for calls of other models is sent."
    )
    notes.append(Note(Level.WARNING, "signature-stand-in", sentence, turn.origin))
    return variant(turn, STAND_IN, _add_signature)


def _add_signature(turn: Turn) -> Turn:
    pieces = [piece for piece, _ in ordered_content(turn, _GEMINI)]
    index = next(i for i, piece in enumerate(pieces) if piece.kind == "call")
    pieces[index] = replace(pieces[index], signature=STAND_IN)
    kept: list[LayoutPiece] = [piece for piece in pieces if piece.kind != "other"]
    semantics = replace(turn.semantics, layout=Layout(_GEMINI, tuple(kept)))
    return replace(turn, semantics=semantics)


def _instruction(envelope: ChatEnvelope, conversation: Conversation) -> Tree | None:
    """Return the `systemInstruction`."""
    turns = conversation.system
    if not turns:
        return None
    namespace = envelope.semantics.namespace(GeminiSettings)
    if len(turns) == 1 and native_form(turns[0], _GEMINI) is not None:
        parts = encode_turn(turns[0]).parts
        about = namespace.system_instruction
        items: Items = [("parts", Arr(parts, turns[0].origin))]
        if isinstance(about, dict):
            rest = cast(
                "Obj", tree_of(cast("dict[str, Any]", about), captured_origin("instruction"))
            )
            items += rest.items
        return as_spelled(Obj(tuple(items)), namespace.spelled)
    for turn in turns:
        conversation.notes += encode_turn(turn).notes
    text = extract_system_instruction(adapt_roles(turns, _GEMINI))
    if not text.plain:
        return None
    return Obj((("parts", Arr((Obj((("text", Str(text)),)),))),))

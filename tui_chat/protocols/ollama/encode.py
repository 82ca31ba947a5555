"""Encode an envelope as a request of Ollama's `/api/chat`.

1. `POST /api/chat`; roles as they are, system messages anywhere, consecutive equal roles.
2. The server checks nothing about calls and results. They are sent in the order that models were
   trained with: each call is directly followed by its result, which names its tool.
3. Settings are in `options`; the server ignores unknown ones. `stream` is
   always sent, since a stream is the default.
4. Ollama loads a model with a context length of its own and silently drops the oldest messages
   that exceed it. If the request was built for a context limit, that is sent as `num_ctx`.
5. The reasoning effort is `think`: a level, or false.

One turn as a message of `/api/chat`. It depends on the turn alone, so it is encoded once.

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
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, Turn
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree, tree_of
from tui_chat.models.media import as_text
from tui_chat.models.memo import Memo
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.semantics import UNSET, LayoutPiece, ReasoningBlock
from tui_chat.models.settings import ToolChoice
from tui_chat.models.text import GLUE, Text, clean
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.content_order import (
    has_own_layout,
    merged_note,
    ordered_content,
    text_borders,
    with_break,
)
from tui_chat.protocols.common.encoding import (
    NOTHING_TO_SEND,
    Items,
    arguments_note,
    arguments_object,
    captured_origin,
    constant,
    default_origin,
    field_origin,
    field_string,
    merge_extras,
    native_form,
    sent_id,
    setting_value,
)
from tui_chat.protocols.common.loss_notes import failure_note, file_note, turn_notes
from tui_chat.protocols.common.openai import write_tool
from tui_chat.protocols.common.reasoning_effort import AUTO, reasoning_by_word
from tui_chat.protocols.common.request_encoder import RequestEncoder, merged_items
from tui_chat.protocols.common.schemas import json_schema, schema_only_format
from tui_chat.protocols.common.tool_pairing import PairingRules
from tui_chat.protocols.common.tools import NAMES_ANY, strict_notes
from tui_chat.protocols.ollama.settings import (
    LEVELS,
    SCALARS,
    OllamaSettings,
    write_format,
    write_think,
)

_DOCUMENT_SEPARATOR = "\n\n"
_OLLAMA = Protocol.OLLAMA
_STREAM = default_origin("stream", "the reply is shown as it arrives")
_WHOLE = default_origin("stream", "the reply is wanted whole")
_CONTEXT = default_origin("num_ctx", "the context limit that this request was built for")
_RULES = PairingRules(NAMES_ANY, ids=False, named_results=True)
_CAPTURED_RULES = PairingRules(NAMES_ANY, captured=True, ids=False)


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
    borders: Sequence[int] = ()
    """See `text_borders`."""
    is_merged: bool = False
    """True if blocks of text became one."""
    offset: int = 0
    """Where the next piece of the turn's text begins."""


def _encode_turn(turn: Turn) -> TurnContent:
    building = _ContentBuilder(turn, borders=text_borders(turn))
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
    if id := sent_id(turn, turn.tool_call_id):
        identity = field_string(id, turn.origin, "tool call id")
        items.append(("tool_call_id", identity))
    return items


def _add_piece(building: _ContentBuilder, piece: LayoutPiece, content: object) -> None:
    turn, origin = building.turn, building.turn.origin
    if isinstance(content, Part):
        content = as_text(content)
    match content:
        case Text():
            if not building.joins_text:
                building.texts.append(content)
            elif building.offset in building.borders:
                building.texts[-1] = with_break(building.texts[-1], content)
                building.is_merged = True
            else:
                building.texts[-1] += content
            building.offset += len(content)
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
            building.notes.append(file_note(turn, content, _OLLAMA))
        case None if piece.kind == "other" and has_own_layout(turn, _OLLAMA):
            image = cast("dict[str, Any]", json.loads(piece.data)).get("image")
            building.images.append(field_string(str(image or ""), origin, "image"))
        case _:
            pass  # a refusal follows the text


def _content(building: _ContentBuilder, shape: str) -> Items:
    """Return the content as it was written, or as one writes it."""
    turn = building.turn
    text = Text.join(_DOCUMENT_SEPARATOR, building.texts)
    if turn.semantics.refusal:
        refusal = Text.of(clean(turn.semantics.refusal), field_origin(turn.origin, "refusal"))
        building.is_merged = building.is_merged or bool(len(text))
        text = with_break(text, refusal) if len(text) else refusal
    if building.is_merged:
        building.notes.append(merged_note(turn, _OLLAMA))
    if not len(text):
        if shape == "absent":
            return []
        if shape == "null":
            return [("content", Lit(None, GLUE))]
    return [("content", Str(text))]


def _call(building: _ContentBuilder, call: ToolCall, piece: LayoutPiece) -> Obj:
    turn, origin = building.turn, building.turn.origin
    id = sent_id(building.turn, call.id)
    items: Items = [("id", field_string(id, origin, "tool call id"))] if id else []
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


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    turns = request.paired_turns(_CAPTURED_RULES if request.captured else _RULES)
    messages: list[Tree] = []
    for turn in turns:
        message = encode_turn(turn)
        messages.append(message.tree)
        request.notes += message.notes
    body = [*request.model_items(), ("messages", Arr(tuple(messages)))]
    body += [*_tools(request), *_settings(request)]
    if request.captured:
        body = request.with_extras(request.with_namespace(body, ("options",)))
    if not messages:
        request.notes.append(NOTHING_TO_SEND)
    return request.encoded("/api/chat", Obj(tuple(body)))


def _tools(request: RequestEncoder) -> Items:
    """Return the tools. There is no choice among them."""
    functions, captured = request.functions(), request.captured
    written = functions if captured else [replace(tool, strict=None) for tool in functions]
    request.hosted_tools(())
    encoded = request.with_native_tools([write_tool(tool, captured) for tool in written])
    if not captured:
        request.notes += strict_notes(functions, _OLLAMA)
        if (choice := request.parameters.tool_choice) is not None:
            changes_nothing = choice.value == ToolChoice("auto") or not functions
            level = Level.INFO if changes_nothing else Level.WARNING
            request.leave_out(choice, "tool_choice", "Ollama has no such setting", level)
    return request.tools_items(encoded)


def _settings(request: RequestEncoder) -> Items:
    captured, items = request.captured, Items()
    if (form := schema_only_format(request)) is not None:
        schema = write_format(form.value)
        if isinstance(schema, dict):
            schema = json_schema(schema, form.value.dialect)
        items.append(("format", tree_of(schema, form.origin)))
    if (think := _think(request)) is not None:
        items.append(("think", setting_value(think)))
    if not captured:
        items += _unified_settings(request)
        is_streamed = request.parameters.stream
        items.append(("stream", Lit(is_streamed, _STREAM if is_streamed else _WHOLE)))
    options = _options(request)
    rest = request.envelope.semantics.namespace(OllamaSettings).options if captured else UNSET
    if rest is not UNSET:
        more = tree_of(rest, captured_origin("options"))
        if isinstance(more, Obj):
            more = Obj(tuple(merged_items(options, list(more.items))))
        items.append(("options", more))
    elif options:
        items.append(("options", Obj(tuple(options))))
    return items


def _unified_settings(request: RequestEncoder) -> Items:
    """Return log probabilities, as a captured request has them; note what Ollama lacks."""
    request.note_missing(
        *("verbosity", "replies", "store", "service_tier", "user_id", "parallel_tool_calls")
    )
    if (summary := request.parameters.reasoning_summary) is not None:
        why = "Ollama shows the reasoning of every model that reasons"
        request.leave_out(summary, "the reasoning summary", why, Level.INFO)
    return request.logprob_items("logprobs", "top_logprobs")


_EFFORTS = ("none", *LEVELS)


def _think(request: RequestEncoder) -> Sourced[str | bool] | None:
    """Return `think`: a level, false, or true where the model decides how much."""
    parameters = request.parameters
    effort = parameters.effort
    if request.captured and (effort is None or effort.value == AUTO):
        return None  # true, which the namespace has
    if request.captured and effort is not None and effort.value in _EFFORTS:
        return Sourced(write_think(effort.value), effort.origin)
    facts = request.facts if request.facts.efforts == () else ModelFacts(efforts=_EFFORTS)
    reasoning = reasoning_by_word(parameters, facts, request.notes)
    if reasoning.source is None:
        return None
    value = True if reasoning.effort == AUTO else write_think(reasoning.effort)
    return Sourced(value, reasoning.source.origin)


def _options(request: RequestEncoder) -> Items:
    stop = request.parameters.stop
    items = request.scalars(
        SCALARS,
        max_tokens=request.reply_limit(),
        stop=stop if stop is not None and stop.value else None,
    )
    budget = request.envelope.budget
    if budget is not None and budget.limit is not None:
        items.append(("num_ctx", tree_of(budget.limit, _CONTEXT)))
    return items

"""Turns as items of a Responses conversation: written, read, and fitted.

1. A turn of the model is several items, any other is one. A message directly after a message of the
   model begins another turn. So does an item of an unknown type that names a role, or that no turn
   of the model is open for: it is a turn of its own, of the form `item`.
2. The difference of a text of the model is taken on a pair, `{"item": its item, "part": its part}`:
   the first part of an item has both, those that follow it have the form `part`.
3. Reasoning is an item with parts, too. The first has the keys of the item, those that follow have
   the form `more`. A part of the reasoning itself, and not of its summary, has a form with
   `content`.
4. A message of the model with a part that is not known, and an item that has no unified form, are
   one block.

What is sent depends on the turn alone, so it is made once. What was captured from this protocol was
accepted as it was, and is written so; of any other turn:

1. Reasoning is sent back as the item that it was if it has its encrypted content, which the server
   requires.
2. A refusal is sent back as text of the model, and a picture that it made as its item. Any other
   picture or file of the model or of a system message is left out.
3. OpenAI refuses an item whose id is not in the form of its type: it would refuse every later
   request of the session. If an id of a turn is not, none of the turn's ids is sent: a reasoning
   item and the item that follows it are sent both with their ids or both without. Only a request
   that was captured itself is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, TypeGuard

from tui_chat.errors import InputError
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    extras_of,
    form_of,
    keys_of,
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Turn, kept_blocks
from tui_chat.models.media import data_url
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.payload import Obj
from tui_chat.models.text import Text
from tui_chat.protocols.common import reading
from tui_chat.protocols.common.losses import loss_notes, reason_note
from tui_chat.protocols.common.openai import media_at
from tui_chat.protocols.common.reading import items_of, learned, opaque, string
from tui_chat.protocols.common.trees import (
    Named,
    Word,
    dictionary,
    labelled,
    object_of,
    optional,
    plain,
    with_keys,
)
from tui_chat.protocols.common.turn_fit import merged_text, portable

RESPONSES = Protocol.OPENAI_RESPONSES
INSTRUCTIONS, INPUT = "instructions", "input"
"""The forms of a turn that is the key `instructions`, or the one string `input`."""
ITEM = "item"
STRING, PART, REPLY = "string", "part", "message"
"""The forms of a text of the model: the content of its item is one string, it continues the item
before, and it is an item as a reply has it, with `type` and `status`. Empty: the first part."""
MORE = "more"
CUSTOM = "custom"
"""The form of a call with free text, and of its output."""
IMAGE_CALL = "image_generation_call"
"""The form of a picture that the model made."""


def split_conversation(
    turns: Sequence[Turn], *, captured: bool = True
) -> tuple[JsonObject, Sequence[Turn]]:
    """Return the keys of a body that turns are texts of, and the turns that are items: all others,
    `instructions` being sent only if a captured request had it. `captured`: an input that was one
    string is one again.
    """
    body: JsonObject = {}
    if turns and form_of(turns[0], RESPONSES) == INSTRUCTIONS:
        body["instructions"], turns = merged_text(turns[0]), turns[1:]
    if captured and len(turns) == 1 and form_of(turns[0], RESPONSES) == INPUT:
        body["input"], turns = merged_text(turns[0]), ()
    return body, turns


def write_turns(turns: Sequence[Turn]) -> JsonObject:
    """Return the keys of a captured body with these turns."""
    body, turns = split_conversation(turns)
    return {"input": [item for turn in turns for item in write_items(turn)], **body}


def write_items(turn: Turn, *, developer: bool = False) -> list[JsonObject]:
    """Return a turn as items. Nothing is left out that the protocol has a form for."""
    form, role, is_own = form_of(turn, RESPONSES), turn.role, turn.captured_from(RESPONSES)
    if role == "assistant":
        return _write_model_turn(turn)
    if (head := turn.result) is not None:
        kind = "custom_tool_call" if form_of(head, RESPONSES) == CUSTOM else "function_call"
        written: JsonObject = {"type": Word(f"{kind}_output")}
        if head.call_id or not is_own:
            written["call_id"] = Named(head.call_id, "tool call id")
        written["output"] = _content(turn)
        written = with_keys(with_keys(written, head, RESPONSES), turn, RESPONSES)
        return [_ordered(written, ("type", "id", "call_id", "output"))]
    if form == ITEM:
        return [labelled(b.value, b.name) for b in turn.blocks if isinstance(b, OpaqueBlock)]
    is_developer = developer and role == "system" and not is_own
    word = "developer" if is_developer or form == "developer" else role
    return [with_keys({"role": Word(word), "content": _content(turn)}, turn, RESPONSES)]


def _content(turn: Turn) -> Json:
    """Return the content of a message that is not the model's, or the output of a call."""
    parts: list[Json] = []
    bare: Text | None = None
    for index, block in enumerate(turn.blocks):
        text = turn.text_at(index) if isinstance(block, TextBlock) else None
        if (part := write_part(block, text)) is not None:
            parts.append(part)
            is_framed = own(block, RESPONSES) is not None or getattr(block, "cache", "")
            bare = None if is_framed else text
    if not parts:
        return ""
    return bare if len(parts) == 1 and bare is not None else parts


def _ordered(written: JsonObject, keys: Sequence[str]) -> JsonObject:
    """Return an object with some keys first."""
    return {key: written[key] for key in keys if key in written} | written


# --- items of the model ------------------------------------------------------------------


def _write_model_turn(turn: Turn) -> list[JsonObject]:
    items: list[JsonObject] = []
    parts: list[Json] | None = None
    for index, block in enumerate(turn.blocks):
        match block:
            case TextBlock():
                pair = _write_pair(block, turn.text_at(index))
                if "item" not in pair and parts is not None:
                    parts.append(pair["part"])
                    continue
                item, parts = pair.get("item", {"role": Word("assistant")}), None
                if "part" in pair:
                    item["content"] = parts = [pair["part"]]
                keys = ("id", "role", "content", "phase")
                if form_of(block, RESPONSES) == REPLY:
                    keys = ("type", *keys, "status")
                items.append(_ordered(item, keys))
                continue
            case ReasoningBlock() if own(block, RESPONSES) is not None and not continues(block):
                more: list[Any] = list(takewhile(continues, turn.blocks[index + 1 :]))
                items.append(_write_thought([block, *more]))
            case CallBlock():
                items.append(_write_call(block))
            case MediaBlock() if form_of(block, RESPONSES) == IMAGE_CALL:
                items.append(_write_picture(block))
            case OpaqueBlock() if block.protocol is RESPONSES:
                items.append(labelled(block.value, block.name))
            case _:
                pass
        parts = None
    return items or [{"role": Word("assistant"), "content": ""}]


def _write_pair(block: TextBlock, text: Text | None = None) -> JsonObject:
    """Return the item and the part that a text of the model is, those that its form has."""
    form, is_refusal = form_of(block, RESPONSES), block.is_refusal
    item: JsonObject = {"role": Word("assistant")}
    if form == REPLY:
        item = {"type": Word("message"), **item, "status": Word("completed")}
    words = Named(block.text, "refusal") if is_refusal else text or block.text
    if form == STRING or own(block, RESPONSES) is None:
        return with_keys({"item": {**item, "content": words}}, block, RESPONSES)
    part: JsonObject = {"type": Word("refusal" if is_refusal else "output_text")}
    part["refusal" if is_refusal else "text"] = words
    if form == REPLY and not is_refusal:
        part["annotations"] = []
    pair = {"part": part} if form == PART else {"item": item, "part": part}
    return with_keys(pair, block, RESPONSES)


def _write_call(block: CallBlock) -> JsonObject:
    is_custom = form_of(block, RESPONSES) == CUSTOM
    written: JsonObject = {"type": Word("custom_tool_call" if is_custom else "function_call")}
    written |= optional("call_id", block.id, "tool call id")
    written |= optional("name", block.name, "tool name")
    key = "input" if is_custom else "arguments"
    written[key] = Named(block.arguments, f"arguments of {block.name}")
    return _ordered(with_keys(written, block, RESPONSES), ("type", "id"))


def _write_picture(block: MediaBlock) -> JsonObject:
    """Return a picture that the model made as the item that it came in."""
    written = {"type": Word(IMAGE_CALL), "result": Named(block.data, "picture")}
    return _ordered(with_keys(written, block, RESPONSES), ("type", "id", "status"))


def continues(block: Block) -> TypeGuard[ReasoningBlock]:
    """Return True for reasoning that is a further part of the item before."""
    return isinstance(block, ReasoningBlock) and form_of(block, RESPONSES).startswith(MORE)


def _write_thought(parts: Sequence[ReasoningBlock]) -> JsonObject:
    """Return the parts of a reasoning item as that item."""
    written: JsonObject = {"type": Word("reasoning"), "summary": []}
    for block in parts:
        key = "content" if form_of(block, RESPONSES).endswith("content") else "summary"
        if block.text:
            part = {"type": Word(_THOUGHT[key]), "text": Named(block.text, "reasoning")}
            written.setdefault(key, []).append(part)
    keys = ("type", "id", "summary", "content", "encrypted_content")
    return _ordered(with_keys(written, parts[0], RESPONSES), keys)


_THOUGHT = {"summary": "summary_text", "content": "reasoning_text"}
"""The types of the parts of a reasoning item, by their list."""


# --- parts -------------------------------------------------------------------------------


def write_part(block: Block, text: Text | None = None) -> JsonObject | None:
    """Return a block as a part of a message that is not the model's; None if there is no form for
    it. `text`: that of a text block with its origins.
    """
    match block:
        case OpaqueBlock():
            return labelled(block.value, block.name) if block.protocol is RESPONSES else None
        case TextBlock():
            written = {"type": Word("input_text"), "text": text or block.text}
        case MediaBlock(media="image" | "file") if not block.text:
            is_image = block.media == "image"
            key = "image_url" if is_image else "file_data" if block.data else "file_url"
            data = data_url(block.mime, block.data) if block.data and block.mime else block.data
            content = optional(key, data or block.url, "picture" if is_image else "file")
            if block.file_id and block.owner in (RESPONSES, Protocol.OPENAI_CHAT):
                content = optional("file_id", block.file_id, "file id")
            if not content:
                return None
            written = {"type": Word("input_image" if is_image else "input_file")}
            written |= {} if is_image else optional("filename", block.name, "file name")
            written |= content
            if block.detail and is_image:
                written["detail"] = Word(block.detail)
        case MediaBlock() if block.text:
            written = {"type": Word("input_text"), "text": Named(block.text, "document")}
        case _:
            return None
    return with_keys(written, block, RESPONSES)


# --- reading -----------------------------------------------------------------------------

_CONTINUES = ("previous_response_id", "conversation", "prompt")
"""Keys of what the provider keeps; a request with one of them may need no input."""
_ROLES: dict[str, MessageRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
OF_THE_MODEL = frozenset(
    (
        *("reasoning", "function_call", "custom_tool_call", "web_search_call", "mcp_call"),
        *("file_search_call", "code_interpreter_call", "image_generation_call", "computer_call"),
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "item_reference"),
        *("local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output"),
        *("apply_patch_call", "apply_patch_call_output", "computer_call_output", "compaction"),
        *("tool_search_call", "tool_search_output"),
    )
)
"""Types of items in the model's turn: its own, and answers to calls of the provider's tools."""
_OUTPUTS = {"function_call_output": "", "custom_tool_call_output": CUSTOM}
"""The types of outputs of calls, with the form of each."""
_PLAIN = Extras(RESPONSES)


def read_turns(body: JsonObject) -> Iterator[Turn]:
    """Yield the turns of a body. Raises InputError if it has no conversation."""
    number, said = 1, body.get("input")
    if instructions := string(body, "instructions"):
        extras, origin = Extras(RESPONSES, INSTRUCTIONS), reading.turn_origin("system", 1)
        yield Turn("system", (TextBlock(instructions),), origin, extras=extras)
        number = 2
    if isinstance(said, str):
        blocks = (TextBlock(said),) if said else ()
        extras, origin = Extras(RESPONSES, INPUT), reading.turn_origin("user", number)
        yield Turn("user", blocks, origin, extras=extras)
    elif said is not None:
        yield from read_items(reading.objects_at(body, "input"), number)
    elif not any(body.get(key) for key in _CONTINUES):
        raise InputError("This is not a valid OpenAI Responses request: it has no “input”.")


def read_items(items: Sequence[JsonObject], number: int = 1) -> Iterator[Turn]:
    """Yield the turns of items; `number` is that of the first. Raises InputError for an unknown
    role.
    """
    said: list[JsonObject] = []
    for index, item in enumerate(items):
        kind, role = string(item, "type"), string(item, "role")
        if _is_message(item):
            is_said = item["role"] == "assistant"
        elif kind in OF_THE_MODEL or kind in _OUTPUTS:
            is_said = kind in OF_THE_MODEL
        else:
            is_said = bool(said) and role not in _ROLES
        is_next = _is_message(item) and bool(said) and _is_message(said[-1])
        if said and (is_next or not is_said):
            yield _model_turn(said, number)
            said, number = [], number + 1
        if is_said:
            said.append(item)
        else:
            yield _read_turn(item, f"input[{index}]", number)
            number += 1
    if said:
        yield _model_turn(said, number)


def _is_message(item: Mapping[str, Json]) -> bool:
    return item.get("type", "message") == "message" and "role" in item


def _model_turn(items: Sequence[JsonObject], number: int) -> Turn:
    blocks = tuple(block for item in items for block in _read_model_item(item))
    return Turn("assistant", blocks, reading.turn_origin("assistant", number), extras=_PLAIN)


def _read_turn(item: JsonObject, place: str, number: int) -> Turn:
    """Return an item that is a turn of its own: a message, the output of a call, or any other."""
    kind, form = string(item, "type"), ""
    if _is_message(item):
        word, role = reading.role_at(item, place, _ROLES)
        form = "developer" if word == "developer" else ""
        blocks = _read_content(reading.content_at(item, "content", place))
    elif kind in _OUTPUTS:
        role, head_form, identity = "tool", _OUTPUTS[kind], string(item, "id")
        extras = Extras(RESPONSES, head_form, {"id": identity} if identity else {})
        is_plain = not (head_form or identity)
        head = ResultBlock(string(item, "call_id"), extras=None if is_plain else extras)
        blocks = [head, *_read_content(item.get("output"))]
    else:
        role, form = _ROLES.get(string(item, "role"), "system"), ITEM
        blocks = [opaque(RESPONSES, item)]
    extras, origin = Extras(RESPONSES, form), reading.turn_origin(role, number)
    turn = Turn(role, tuple(blocks), origin, extras=extras)
    if form == ITEM:
        return turn
    return reading.learned_turn(turn, item, RESPONSES, write_items(turn)[0], form)


def _read_content(content: Json) -> list[Block]:
    texts: list[Block] = [TextBlock(content)] if isinstance(content, str) and content else []
    return [*texts, *map(_read_part, items_of(content))]


def _read_model_item(item: JsonObject) -> Sequence[Block]:
    """Return the blocks of an item of the model."""
    if _is_message(item):
        return _read_said(item) or [opaque(RESPONSES, {**item})]
    match string(item, "type"):
        case "function_call" if isinstance(item.get("arguments"), str):
            return [_read_call(item, "arguments", "")]
        case "custom_tool_call" if isinstance(item.get("input"), str):
            return [_read_call(item, "input", CUSTOM)]
        case "reasoning" if parts := _read_thought(item):
            return parts
        case "image_generation_call" if result := string(item, "result"):
            format_ = string(item, "output_format")
            picture = MediaBlock("image", f"image/{format_}" if format_ else "", data=result)
            return [learned(picture, item, RESPONSES, _write_picture, IMAGE_CALL)]
        case _:
            return [opaque(RESPONSES, item)]


def _read_call(item: JsonObject, key: str, form: str) -> CallBlock:
    call = CallBlock(string(item, "call_id"), string(item, "name"), item[key])
    return learned(call, item, RESPONSES, _write_call, form)


def _read_said(item: JsonObject) -> list[Block]:
    """Return the texts of a message of the model; none if one of its parts is not known."""
    content = item.get("content")
    if isinstance(content, str):
        return [learned(TextBlock(content), {"item": item}, RESPONSES, _write_pair, STRING)]
    around = {key: value for key, value in item.items() if key != "content"}
    blocks: list[Block] = []
    for number, part in enumerate(map(dictionary, items_of(content))):
        key = {"output_text": "text", "refusal": "refusal"}.get(string(part, "type"), "")
        words: Any = part.get(key)
        if not isinstance(words, str):
            return []
        block = TextBlock(words, is_refusal=key == "refusal")
        read = {"part": part} if number else {"item": around, "part": part}
        blocks.append(learned(block, read, RESPONSES, _write_pair, PART if number else ""))
    return blocks


def _read_thought(item: JsonObject) -> list[ReasoningBlock]:
    """Return the parts of a reasoning item; none if the form of one is not known."""
    parts: list[ReasoningBlock] = []
    for key, kind in _THOUGHT.items():
        value = item.get(key, [] if key == "content" else None)
        if not isinstance(value, list):
            return []
        for part in map(dictionary, items_of(value)):
            text = string(part, "text")
            if not text or part != {"type": kind, "text": text}:
                return []
            form = f"{MORE if parts else ''} {'content' if key == 'content' else ''}".strip()
            parts.append(ReasoningBlock(text, Extras(RESPONSES, form)))
    parts = parts or [ReasoningBlock("", _PLAIN)]
    form = form_of(parts[0], RESPONSES)
    extras = extras_of(RESPONSES, item, plain(_write_thought(parts)), form)
    return [replace(parts[0], extras=extras), *parts[1:]]


def _read_part(wire: Json) -> Block:
    fields = dictionary(wire)
    kind, identity = string(fields, "type"), string(fields, "file_id")
    block: TextBlock | MediaBlock | None = None
    if kind == "input_text" and isinstance(fields.get("text"), str):
        block = TextBlock(fields["text"])
    elif kind == "input_image":
        block = media_at("image", string(fields, "image_url"))
        block = replace(block, detail=string(fields, "detail"))
    elif kind == "input_file":
        data, url = string(fields, "file_data"), string(fields, "file_url")
        block = media_at("file", data)
        if block.url or not data:
            block = replace(block, data=data, url="" if data else url)
        block = replace(block, name=string(fields, "filename"))
    if isinstance(block, MediaBlock) and not (block.data or block.url):
        block = replace(block, file_id=identity, owner=RESPONSES) if identity else None
    if block is None:
        return opaque(RESPONSES, wire)
    block = replace(block, cache=reading.read_cache(fields))
    return learned(block, fields, RESPONSES, write_part)


# --- fitting -----------------------------------------------------------------------------


@Memo
def sent_items(
    turn: Turn, developer: bool, captured: bool
) -> tuple[tuple[Obj, ...], tuple[Note, ...]]:
    """Return a turn as it is sent, and what it loses. `developer`: system messages have that role;
    `captured`: the request itself was captured from this protocol.
    """
    is_own = turn.captured_from(RESPONSES)
    fit = turn if is_own else _fitted(portable(turn, RESPONSES))
    written, notes = write_items(fit, developer=developer), list[Note]()
    if not captured:
        written, notes = _with_valid_ids(turn, written)

    def hear() -> Iterable[Turn]:
        return [fit] if is_own else read_items([plain(item) for item in written])

    notes += loss_notes(turn, RESPONSES, hear, sends_marks=is_own)
    return tuple(object_of(item, turn.origin) for item in written), tuple(notes)


def _fitted(turn: Turn) -> Turn:
    """Return a turn without what is not accepted."""
    refuses = any(isinstance(block, TextBlock) and block.is_refusal for block in turn.blocks)
    kept: list[int] = []
    is_thought_sent = False
    for index, block in enumerate(turn.blocks):
        is_own = own(block, RESPONSES) is not None
        match block:
            case ReasoningBlock():
                if not continues(block):
                    is_thought_sent = is_own and "encrypted_content" in keys_of(block)
                is_sent = is_thought_sent
            case MediaBlock() if turn.role == "assistant":
                is_sent = form_of(block, RESPONSES) == IMAGE_CALL and bool(block.data)
            case MediaBlock():
                is_sent = turn.role != "system" and write_part(block) is not None
            case TextBlock():
                is_sent = bool(block.text) or (is_own and not refuses)
            case _:
                is_sent = True
        if is_sent:
            kept.append(index)
    return kept_blocks(turn, kept)


# --- ids of items ------------------------------------------------------------------------

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
_OURS = tuple(_ID_STARTS)[:6]
"""Types of items that have a form without an id."""


def _with_valid_ids(
    turn: Turn, written: Sequence[JsonObject]
) -> tuple[list[JsonObject], list[Note]]:
    """Return the items of a turn with the ids that are sent, and notes on those that are not. An
    item that only the provider understands is not sent without its id.
    """
    items: list[JsonObject] = []
    notes: list[Note] = []
    kinds = [plain(item.get("type", "message" if "role" in item else "")) for item in written]
    valid = [_is_valid_id(plain(i.get("id")), k) for i, k in zip(written, kinds, strict=True)]
    is_wrong = any(k in _OURS and not fits for k, fits in zip(kinds, valid, strict=True))
    if is_wrong:
        sentence = "An item id is not in a form that OpenAI accepts; the message is sent without "
        notes.append(Note(Level.INFO, "item-id-left-out", f"{sentence}ids.", turn.origin))
    for item, kind, fits in zip(written, kinds, valid, strict=True):
        if kind in _OURS:
            items += _without_id(item) if is_wrong else [item]
        elif fits:
            items.append(item)
        else:
            what = f"{kind} {plain(item.get('id'))}"
            notes.append(reason_note("opaque", turn.origin, RESPONSES, what))
    return items, notes


def _is_valid_id(identity: object, kind: object) -> bool:
    """Return True if an id is in the form that OpenAI gives to items of a type. None always fits,
    and so does any id of an unknown type.
    """
    start = _ID_STARTS.get(kind) if isinstance(kind, str) else None
    if start is None or identity in (None, ""):
        return True
    return (
        isinstance(identity, str) and bool(_ID.fullmatch(identity)) and identity.startswith(start)
    )


def _without_id(item: JsonObject) -> Iterator[JsonObject]:
    """Yield an item without its id: of a message of the model each part in the short form."""
    parts = [dictionary(part) for part in items_of(item.get("content"))]
    texts = [part.get("text", part.get("refusal")) for part in parts]
    if plain(item.get("role")) != "assistant" or not texts or None in texts:
        yield {key: value for key, value in item.items() if key != "id"}
        return
    phase = {key: item[key] for key in ("phase",) if key in item}
    yield from ({"role": item["role"], "content": text, **phase} for text in texts)

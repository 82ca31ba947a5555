"""Turns as items of a Responses conversation: written, and read.

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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, TypeGuard

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
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.media import data_url, split_data_url
from tui_chat.models.message import MessageRole
from tui_chat.models.text import Text
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.reading import (
    content_at,
    items_of,
    learned,
    learned_turn,
    opaque,
    read_cache,
    role_at,
    string,
    turn_origin,
)
from tui_chat.protocols.common.trees import (
    Named,
    Word,
    dictionary,
    labelled,
    plain,
    with_keys,
)

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


def write_items(turn: Turn, *, developer: bool = False) -> list[JsonObject]:
    """Return a turn as items. Nothing is left out that the protocol has a form for."""
    if turn.role == "assistant":
        return _write_model_turn(turn)
    if (head := turn.result) is not None:
        return [_write_output(turn, head)]
    form, role = form_of(turn, RESPONSES), turn.role
    if form == ITEM:
        return [labelled(b.value, b.name) for b in turn.blocks if isinstance(b, OpaqueBlock)]
    is_developer = developer and role == "system" and not turn.captured_from(RESPONSES)
    word = "developer" if is_developer or form == "developer" else role
    return [with_keys({"role": Word(word), "content": _content(turn)}, turn, RESPONSES)]


def _write_output(turn: Turn, head: ResultBlock) -> JsonObject:
    kind = "custom_tool_call" if form_of(head, RESPONSES) == CUSTOM else "function_call"
    written: JsonObject = {"type": Word(f"{kind}_output")}
    if head.call_id or not turn.captured_from(RESPONSES):
        written["call_id"] = Named(head.call_id, "tool call id")
    written["output"] = _content(turn)
    written = with_keys(with_keys(written, head, RESPONSES), turn, RESPONSES)
    return _ordered(written, ("type", "id", "call_id", "output"))


def _content(turn: Turn) -> Json:
    """Return the content of a message that is not the model's, or the output of a call."""
    parts: list[Json] = []
    bare: Text | None = None
    for index, block in enumerate(turn.blocks):
        text = turn.text_at(index) if isinstance(block, TextBlock) else None
        if (part := write_part(block, text)) is not None:
            parts.append(part)
            is_bare = text is not None and own(block, RESPONSES) is None
            bare = text if is_bare and not getattr(block, "cache", "") else None
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
        if not isinstance(block, TextBlock):
            parts = None
            items += _write_item(block, turn.blocks[index + 1 :])
            continue
        pair = write_pair(block, turn.text_at(index))
        if "item" not in pair and parts is not None:
            parts.append(pair["part"])
            continue
        item, parts = pair.get("item", {"role": Word("assistant")}), None
        if "part" in pair:
            item["content"] = parts = [pair["part"]]
        is_reply = form_of(block, RESPONSES) == REPLY
        items.append(_ordered(item, _REPLY_KEYS if is_reply else _MESSAGE_KEYS))
    return items or [{"role": Word("assistant"), "content": ""}]


_MESSAGE_KEYS = ("id", "role", "content", "phase")
_REPLY_KEYS = ("type", *_MESSAGE_KEYS, "status")


def _write_item(block: Block, following: Sequence[Block]) -> Iterator[JsonObject]:
    """Yield a block that is no text as an item, if it is one."""
    match block:
        case ReasoningBlock() if own(block, RESPONSES) is not None and not continues(block):
            more: list[Any] = list(takewhile(continues, following))
            yield write_thought([block, *more])
        case CallBlock():
            yield write_call(block)
        case MediaBlock() if form_of(block, RESPONSES) == IMAGE_CALL:
            yield write_picture(block)
        case OpaqueBlock() if block.protocol is RESPONSES:
            yield labelled(block.value, block.name)
        case _:
            pass


def write_pair(block: TextBlock, text: Text | None = None) -> JsonObject:
    """Return the item and the part that a text of the model is, those that its form has."""
    form = form_of(block, RESPONSES)
    item: JsonObject = {"role": Word("assistant")}
    if form == REPLY:
        item = {"type": Word("message"), **item, "status": Word("completed")}
    key = "refusal" if block.is_refusal else "text"
    words = Named(block.text, "refusal") if block.is_refusal else text or block.text
    if form == STRING or own(block, RESPONSES) is None:
        return with_keys({"item": {**item, "content": words}}, block, RESPONSES)
    part: JsonObject = {"type": Word("refusal" if block.is_refusal else "output_text"), key: words}
    if form == REPLY and not block.is_refusal:
        part["annotations"] = []
    return with_keys(
        {"part": part} if form == PART else {"item": item, "part": part}, block, RESPONSES
    )


def write_call(block: CallBlock) -> JsonObject:
    """Return a call as an item."""
    is_custom = form_of(block, RESPONSES) == CUSTOM
    written: JsonObject = {"type": Word("custom_tool_call" if is_custom else "function_call")}
    if block.id:
        written["call_id"] = Named(block.id, "tool call id")
    if block.name:
        written["name"] = Named(block.name, "tool name")
    key = "input" if is_custom else "arguments"
    written[key] = Named(block.arguments, f"arguments of {block.name}")
    return _ordered(with_keys(written, block, RESPONSES), ("type", "id"))


def write_picture(block: MediaBlock) -> JsonObject:
    """Return a picture that the model made as the item that it came in."""
    written = {"type": Word(IMAGE_CALL), "result": Named(block.data, "picture")}
    return _ordered(with_keys(written, block, RESPONSES), ("type", "id", "status"))


def continues(block: Block) -> TypeGuard[ReasoningBlock]:
    """Return True for reasoning that is a further part of the item before."""
    return isinstance(block, ReasoningBlock) and form_of(block, RESPONSES).startswith(MORE)


def write_thought(parts: Sequence[ReasoningBlock]) -> JsonObject:
    """Return the parts of a reasoning item as that item."""
    texts: dict[str, list[Json]] = {"summary": [], "content": []}
    for block in parts:
        key = "content" if form_of(block, RESPONSES).endswith("content") else "summary"
        if block.text:
            part = {"type": Word(_THOUGHT[key]), "text": Named(block.text, "reasoning")}
            texts[key].append(part)
    written: JsonObject = {"type": Word("reasoning"), "summary": texts["summary"]}
    if texts["content"]:
        written["content"] = texts["content"]
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
            value = labelled(block.value, block.name)
            return value if block.protocol is RESPONSES else None
        case TextBlock():
            written = {"type": Word("input_text"), "text": text or block.text}
        case MediaBlock():
            written = _write_media(block)
        case _:
            return None
    return None if written is None else with_keys(written, block, RESPONSES)


def _write_media(block: MediaBlock) -> JsonObject | None:
    if block.text:
        return {"type": Word("input_text"), "text": Named(block.text, "document")}
    if block.media not in ("image", "file"):
        return None
    is_image = block.media == "image"
    written: JsonObject = {"type": Word("input_image" if is_image else "input_file")}
    if block.name and not is_image:
        written["filename"] = Named(block.name, "file name")
    data = data_url(block.mime, block.data) if block.data and block.mime else block.data
    if block.file_id and block.owner in (RESPONSES, Protocol.OPENAI_CHAT):
        written["file_id"] = Named(block.file_id, "file id")
    elif data:
        key, called = ("image_url", "picture") if is_image else ("file_data", "file")
        written[key] = Named(data, called)
    elif block.url:
        key, called = ("image_url", "picture") if is_image else ("file_url", "file")
        written[key] = Named(block.url, called)
    else:
        return None
    return {**written, "detail": Word(block.detail)} if block.detail and is_image else written


# --- reading -----------------------------------------------------------------------------

ROLES: dict[str, MessageRole] = {
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


def read_items(items: Sequence[JsonObject], number: int = 1) -> Iterator[Turn]:
    """Yield the turns of items; `number` is that of the first. Raises InputError for an unknown
    role.
    """
    said: list[JsonObject] = []
    for index, item in enumerate(items):
        is_said = _is_of_the_model(item, is_open=bool(said))
        is_next = is_message(item) and bool(said) and is_message(said[-1])
        if said and (is_next or not is_said):
            yield _read_model_turn(said, number)
            said, number = [], number + 1
        if is_said:
            said.append(item)
        else:
            yield _read_turn(item, f"input[{index}]", number)
            number += 1
    if said:
        yield _read_model_turn(said, number)


def is_message(item: Mapping[str, Json]) -> bool:
    """Return True if an item is a message."""
    return item.get("type", "message") == "message" and "role" in item


def _is_of_the_model(item: JsonObject, *, is_open: bool) -> bool:
    """Return True for an item of the model's turn; `is_open`: it comes after another one."""
    if is_message(item):
        return item["role"] == "assistant"
    kind = string(item, "type")
    if kind in OF_THE_MODEL or kind in _OUTPUTS:
        return kind in OF_THE_MODEL
    return is_open and string(item, "role") not in ROLES


def _read_model_turn(items: Sequence[JsonObject], number: int) -> Turn:
    blocks = tuple(block for item in items for block in _read_model_item(item))
    return Turn("assistant", blocks, turn_origin("assistant", number), extras=_PLAIN)


def _read_turn(item: JsonObject, place: str, number: int) -> Turn:
    """Return an item that is a turn of its own."""
    if is_message(item):
        return _read_message(item, place, number)
    if string(item, "type") in _OUTPUTS:
        return _read_output(item, number)
    role, extras = ROLES.get(string(item, "role"), "system"), Extras(RESPONSES, ITEM)
    return Turn(role, (opaque(RESPONSES, item),), turn_origin(role, number), extras=extras)


_PLAIN = Extras(RESPONSES)


def _read_message(item: JsonObject, place: str, number: int) -> Turn:
    word, role = role_at(item, place, ROLES)
    form = "developer" if word == "developer" else ""
    blocks = tuple(_read_content(content_at(item, "content", place)))
    extras = Extras(RESPONSES, form)
    turn = Turn(role, blocks, turn_origin(role, number), extras=extras)
    return learned_turn(turn, item, RESPONSES, write_items(turn)[0], form)


def _read_output(item: JsonObject, number: int) -> Turn:
    form, identity = _OUTPUTS[string(item, "type")], string(item, "id")
    extras = Extras(RESPONSES, form, {"id": identity} if identity else {})
    head = ResultBlock(string(item, "call_id"), extras=extras if form or identity else None)
    blocks = (head, *_read_content(item.get("output")))
    turn = Turn("tool", blocks, turn_origin("tool", number), extras=_PLAIN)
    return learned_turn(turn, item, RESPONSES, write_items(turn)[0])


def _read_content(content: Json) -> Iterator[Block]:
    if isinstance(content, str) and content:
        yield TextBlock(content)
    yield from map(_read_part, items_of(content))


def _read_model_item(item: JsonObject) -> Sequence[Block]:
    """Return the blocks of an item of the model."""
    if is_message(item):
        return _read_said(item) or [opaque(RESPONSES, {**item})]
    kind = string(item, "type")
    match kind:
        case "function_call" if isinstance(item.get("arguments"), str):
            return [_read_call(item, "arguments", "")]
        case "custom_tool_call" if isinstance(item.get("input"), str):
            return [_read_call(item, "input", CUSTOM)]
        case "reasoning" if parts := _read_thought(item):
            return parts
        case "image_generation_call" if result := string(item, "result"):
            format_ = string(item, "output_format")
            picture = MediaBlock("image", f"image/{format_}" if format_ else "", data=result)
            return [learned(picture, item, RESPONSES, write_picture, IMAGE_CALL)]
        case _:
            return [opaque(RESPONSES, item)]


def _read_call(item: JsonObject, key: str, form: str) -> CallBlock:
    call = CallBlock(string(item, "call_id"), string(item, "name"), item[key])
    return learned(call, item, RESPONSES, write_call, form)


def _read_said(item: JsonObject) -> list[Block]:
    """Return the texts of a message of the model; none if one of its parts is not known."""
    content = item.get("content")
    if isinstance(content, str):
        return [learned(TextBlock(content), {"item": item}, RESPONSES, write_pair, STRING)]
    around = {key: value for key, value in item.items() if key != "content"}
    blocks: list[Block] = []
    for number, part in enumerate(items_of(content)):
        fields = dictionary(part)
        key = {"output_text": "text", "refusal": "refusal"}.get(string(fields, "type"), "")
        words: Any = fields.get(key)
        if not isinstance(words, str):
            return []
        block = TextBlock(words, is_refusal=key == "refusal")
        read = {"part": fields} if number else {"item": around, "part": fields}
        form = PART if number else ""
        blocks.append(learned(block, read, RESPONSES, write_pair, form))
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
    extras = extras_of(RESPONSES, item, plain(write_thought(parts)), form)
    return [replace(parts[0], extras=extras), *parts[1:]]


def _read_part(wire: Json) -> Block:
    fields = dictionary(wire)
    kind = string(fields, "type")
    block: TextBlock | MediaBlock | None = None
    if kind == "input_text" and isinstance(fields.get("text"), str):
        block = TextBlock(fields["text"])
    elif kind == "input_image":
        block = _read_image(fields)
    elif kind == "input_file":
        block = _read_file(fields)
    if block is None:
        return opaque(RESPONSES, wire)
    return learned(replace(block, cache=read_cache(fields)), fields, RESPONSES, write_part)


def _read_image(wire: Mapping[str, Json]) -> MediaBlock | None:
    url, detail = string(wire, "image_url"), string(wire, "detail")
    if (split := split_data_url(url)) is not None:
        return MediaBlock("image", split[0], data=split[1], detail=detail)
    if url:
        return MediaBlock("image", url=url, detail=detail)
    identity = string(wire, "file_id")
    image = MediaBlock("image", file_id=identity, owner=RESPONSES, detail=detail)
    return image if identity else None


def _read_file(wire: Mapping[str, Json]) -> MediaBlock | None:
    name, data, url = (string(wire, key) for key in ("filename", "file_data", "file_url"))
    if (split := split_data_url(data)) is not None:
        return MediaBlock("file", split[0], data=split[1], name=name)
    if data or url:
        return MediaBlock("file", data=data, url="" if data else url, name=name)
    identity = string(wire, "file_id")
    return MediaBlock("file", file_id=identity, owner=RESPONSES, name=name) if identity else None

"""Reading a request of Chat Completions as blocks.

1. A message is one turn. `developer` is a system turn, `function` a tool turn; the word for the
   role is the form of the turn.
2. Reasoning comes first, then the content, a refusal beside it, and the calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    extras_of,
    patched,
)
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.json_text import to_json
from tui_chat.models.media import split_data_url
from tui_chat.models.message import MessageRole
from tui_chat.protocols.common.openai import write_function
from tui_chat.protocols.common.reading import (
    NativeDefinition,
    WireRequest,
    WireTool,
    boolean,
    items_of,
    learned,
    learned_turn,
    objects_at,
    opaque,
    read_cache,
    role_at,
    string,
    turn_origin,
)
from tui_chat.protocols.common.setting_rows import read_settings, write_values
from tui_chat.protocols.common.trees import dictionary, plain
from tui_chat.protocols.openai_chat.messages import (
    CHAT,
    CUSTOM,
    DETAIL_TEXT,
    OLD_CALL,
    PLAIN_FIELDS,
    STRING,
    THINKING,
    THINKING_BLOCKS,
    THINKING_TEXT,
    write_call,
    write_detail,
    write_message,
    write_part,
    write_thinking_block,
)
from tui_chat.protocols.openai_chat.settings import TABLE

_ROLES: dict[str, MessageRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def read_request(body: JsonObject) -> WireRequest:
    """Return a captured request. Raises InputError if it has no conversation."""
    messages = objects_at(body, "messages")
    turns = tuple(read_message(wire, number) for number, wire in enumerate(messages, 1))
    tools = tuple(map(_tool, items_of(body["tools"]))) if body.get("tools") is not None else None
    request = WireRequest(CHAT, turns, read_settings(body, TABLE), tools)
    return replace(request, rest=extras_of(CHAT, body, plain(_written(request))))


def write_request(request: WireRequest) -> JsonObject:
    """Return the body of a captured request: what `read_request` has read."""
    return patched(plain(_written(request)), request.rest)


def _written(request: WireRequest) -> JsonObject:
    body: JsonObject = {"messages": [write_message(turn) for turn in request.turns]}
    if request.tools is not None:
        body["tools"] = [_write_tool(tool) for tool in request.tools]
    return body | write_values(request.values, TABLE)


def read_message(wire: JsonObject, number: int = 1) -> BlockTurn:
    """Return a message as a turn. Raises InputError for an unknown role."""
    word, role = role_at(wire, f"messages[{number - 1}]", _ROLES)
    blocks = tuple(_blocks(wire, role))
    form = word if word in ("developer", "function") else ""
    name = string(wire, "name") if role != "tool" else ""
    turn = BlockTurn(role, blocks, turn_origin(role, number), name, Extras(CHAT, form))
    return learned_turn(turn, wire, CHAT, write_message(turn), form)


def _blocks(wire: JsonObject, role: MessageRole) -> Iterator[Block]:
    if role == "tool":
        yield ResultBlock(string(wire, "tool_call_id"), string(wire, "name"))
    if role == "assistant":
        yield from _reasoning(wire)
    content = wire.get("content")
    if isinstance(content, str) and content:
        yield TextBlock(content)
    yield from map(_part, items_of(content))
    if role != "assistant":
        return
    if refusal := string(wire, "refusal"):
        yield TextBlock(refusal, is_refusal=True)
    if function := dictionary(wire.get(OLD_CALL)):
        yield _read_call(function, function, "arguments", OLD_CALL)
    for call in items_of(wire.get("tool_calls")):
        form = CUSTOM if isinstance(dictionary(call).get(CUSTOM), dict) else ""
        holder = dictionary(dictionary(call).get(form or "function"))
        yield _read_call(dictionary(call), holder, "input" if form else "arguments", form)


def _read_call(wire: JsonObject, holder: JsonObject, key: str, form: str) -> CallBlock:
    """Return a call. Arguments are text; some clients send the object itself."""
    value = holder.get(key)
    arguments = value if isinstance(value, str) else "" if value is None else to_json(value)
    call = CallBlock(string(wire, "id"), string(holder, "name"), arguments)
    return learned(call, wire, CHAT, write_call, form)


# --- reasoning ---------------------------------------------------------------------------


def _reasoning(wire: JsonObject) -> Iterator[ReasoningBlock]:
    for key in PLAIN_FIELDS:
        if text := string(wire, key):
            yield ReasoningBlock(text, Extras(CHAT, key))
    details = items_of(wire.get("reasoning_details"))
    if all(string(dictionary(detail), "type").startswith("reasoning.") for detail in details):
        for detail in details:
            form = detail["type"]
            block = ReasoningBlock(string(detail, DETAIL_TEXT.get(form, "text")))
            yield learned(block, detail, CHAT, write_detail, form)
    thoughts = items_of(wire.get(THINKING_BLOCKS))
    if all("thinking" in string(dictionary(thought), "type") for thought in thoughts):
        for thought in thoughts:
            keys = {"data": thought["data"]} if "data" in thought else {}
            block = ReasoningBlock(string(thought, "thinking"), Extras(CHAT, THINKING_BLOCKS, keys))
            written: JsonObject = plain(write_thinking_block(block))
            written = {key: value for key, value in written.items() if key not in keys}
            extras = extras_of(CHAT, thought, written, THINKING_BLOCKS)
            yield replace(block, extras=extras)


# --- parts -------------------------------------------------------------------------------


def _part(wire: Json) -> Block:
    if isinstance(wire, str):
        return TextBlock(wire, extras=Extras(CHAT, STRING))
    fields = dictionary(wire)
    if (thinking := _read_thinking(fields)) is not None:
        return thinking
    block = _read_part(fields)
    return learned(block, fields, CHAT, write_part) if block is not None else opaque(CHAT, wire)


def _read_thinking(wire: JsonObject) -> ReasoningBlock | None:
    """Return Mistral's reasoning; None for any other part."""
    if string(wire, "type") != "thinking":
        return None
    thinking = wire.get("thinking")
    if isinstance(thinking, str) and thinking:
        return learned(ReasoningBlock(thinking), wire, CHAT, write_part, THINKING_TEXT)
    parts = [dictionary(part) for part in items_of(thinking)]
    text = string(parts[0], "text") if len(parts) == 1 else ""
    return learned(ReasoningBlock(text), wire, CHAT, write_part, THINKING) if text else None


def _read_part(wire: JsonObject) -> TextBlock | MediaBlock | None:
    kind, cache = string(wire, "type"), read_cache(wire)
    inner = dictionary(wire.get(kind))
    match kind:
        case "text" if isinstance(wire.get("text"), str):
            return TextBlock(wire["text"], cache=cache)
        case "refusal" if string(wire, "refusal"):
            return TextBlock(wire["refusal"], is_refusal=True, cache=cache)
        case "image_url":
            media = _read_image(inner)
        case "input_audio":
            media = _read_sound(inner)
        case "file":
            media = _read_file(inner)
        case _:
            return None
    return replace(media, cache=cache) if media is not None else None


def _read_image(inner: Mapping[str, Json]) -> MediaBlock | None:
    url, detail = string(inner, "url"), string(inner, "detail")
    if not url:
        return None
    if (split := split_data_url(url)) is not None:
        return MediaBlock("image", split[0], data=split[1], detail=detail)
    return MediaBlock("image", url=url, detail=detail)


_MIME = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def _read_sound(inner: Mapping[str, Json]) -> MediaBlock | None:
    data, mime = string(inner, "data"), _MIME.get(string(inner, "format"))
    return MediaBlock("audio", mime, data=data) if data and mime is not None else None


def _read_file(inner: Mapping[str, Json]) -> MediaBlock | None:
    name, data = string(inner, "filename"), string(inner, "file_data")
    if identity := string(inner, "file_id"):
        return MediaBlock("file", file_id=identity, owner=CHAT, name=name)
    if (split := split_data_url(data)) is not None:
        return MediaBlock("file", split[0], data=split[1], name=name)
    if data.startswith(("http://", "https://")):  # OpenRouter takes links
        return MediaBlock("file", url=data, owner=CHAT, name=name)
    return MediaBlock("file", data=data, name=name) if data else None


# --- tools -------------------------------------------------------------------------------


def _tool(wire: Json) -> WireTool | NativeDefinition:
    fields = dictionary(wire)
    function = dictionary(fields.get("function"))
    name = string(function, "name")
    if string(fields, "type") != "function" or not name:
        return NativeDefinition(string(fields, "type"), wire)
    definition = ToolDefinition(
        name,
        string(function, "description"),
        dictionary(function.get("parameters")),
        boolean(function.get("strict")),
    )
    return WireTool(definition, extras_of(CHAT, fields, plain(write_function(definition))))


def _write_tool(tool: WireTool | NativeDefinition) -> Json:
    if isinstance(tool, NativeDefinition):
        return tool.value
    return patched(plain(write_function(tool.definition)), tool.extras)

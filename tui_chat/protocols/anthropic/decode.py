"""Reading a captured Messages request.

1. `system` becomes leading system turns: one for a string, one for each block.
2. Every `tool_result` is a turn of its own; what else stands in its message is another turn that
   is joined to it. All else of a message is one turn, its blocks the pieces.
3. What has no place of its own is kept among the extras of the message, the block, the tool or
   the request, so that it can be said back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, Turn
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.models.namespaces import AnthropicSettings, Semantics, ToolSemantics
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.anthropic.tools import (
    read_choice,
    read_format,
    read_tool,
    say_choice,
    say_format,
)
from tui_chat.protocols.common.request_fields import (
    Fields,
    compact,
    kind_of,
    load_request,
    model_of,
    settings_of,
    shown,
    sourced,
    take_if_said_back,
    tools_of,
)
from tui_chat.protocols.common.turn_builder import TurnBuilder, cache_of, marks_of

_ANTHROPIC = Protocol.ANTHROPIC
_ROLES: dict[str, MessageRole] = {"user": "user", "assistant": "assistant", "system": "system"}


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError where it is none of this protocol."""
    request, notes = load_request(body, _ANTHROPIC)
    if "messages" not in request.left:
        raise InputError("This is no Anthropic request: it has no “messages”.")
    turns = list(_system(request))
    for message in request.objects("messages"):
        turns += _turns(message, len(turns) + 1)
    tools, native = tools_of(request, _ANTHROPIC, read_tool)
    parameters = _parameters(request)
    settings = settings_of(AnthropicSettings, request.left, spelled={})
    semantics = Semantics(
        source=_ANTHROPIC,
        tools=ToolSemantics(native=native),
        anthropic=settings,
        provider_extras={_ANTHROPIC: request.left} if request.left else {},
    )
    return ChatEnvelope(tuple(turns), parameters, tools, notes=tuple(notes), semantics=semantics)


def _system(request: Fields) -> Iterator[Turn]:
    """Yield the turns of `system`. Where it is empty it stays among the extras."""
    if not request.left.get("system"):
        return
    content = blocks_of(request, "system")
    for number, block in enumerate(content or (), 1):
        builder = TurnBuilder(_ANTHROPIC, "system", number)
        builder.slot = "system"
        if isinstance(block, str):
            builder.shape = "string"
            builder.text(str(content))
            yield builder.turn()
            return
        builder.shape = "parts"
        read_block(block, builder)
        yield builder.turn()


def _turns(message: Fields, number: int) -> Iterator[Turn]:
    """Yield the turns of a message."""
    word = message.left.pop("role", None)
    role = _ROLES.get(word) if isinstance(word, str) else None
    if role is None:
        raise InputError(
            f"{message.at('role')} must be one of {', '.join(_ROLES)}, not {shown(word)}."
        )
    had_content = "content" in message.left
    content = blocks_of(message, "content")
    first = True

    def begin(role: MessageRole) -> TurnBuilder:
        nonlocal first, number
        builder = TurnBuilder(_ANTHROPIC, role, number)
        builder.shape = "parts"
        builder.joined = not first
        builder.extras = message.rest() if first else ""
        first = False
        number += 1
        return builder

    if content is None or isinstance(content, str):
        builder = begin(role)
        builder.shape = "string" if content is not None else "null" if had_content else "absent"
        if content:
            builder.text(content)
        yield builder.turn()
        return
    builder: TurnBuilder | None = None
    for block in content:
        if is_result(block) and role == "user":
            if builder is not None:
                yield builder.turn()
                builder = None
            result = begin("tool")
            read_result(block, result)
            yield result.turn()
        else:
            builder = builder or begin(role)
            read_block(block, builder)
    if builder is not None or first:
        yield (builder or begin(role)).turn()


def _parameters(request: Fields) -> Parameters:
    stream = request.exactly("stream", True)
    choice = take_if_said_back(request, "tool_choice", read_choice, say_choice)
    config, form = request.inner("output_config"), None
    if config is not None:
        form = take_if_said_back(config, "format", read_format, say_format)
        request.put_back("output_config", config)
    return Parameters(
        model=model_of(request.text("model")),
        temperature=sourced("temperature", request.number("temperature")),
        max_tokens=sourced("max_tokens", request.integer("max_tokens")),
        stream=stream,
        top_p=sourced("top_p", request.number("top_p")),
        top_k=sourced("top_k", request.integer("top_k")),
        stop=sourced("stop", request.strings("stop_sequences") or None),
        response_format=sourced("output_config.format", form),
        tool_choice=sourced("tool_choice", choice[0] if choice else None),
        parallel_tool_calls=sourced("parallel_tool_calls", choice[1] if choice else None),
    )


def blocks_of(holder: Fields, key: str) -> list[Fields] | str | None:
    """Take a content: a text, a list of blocks, or None where there is none or null."""
    content = holder.left.get(key)
    if content is None or isinstance(content, str):
        holder.left.pop(key, None)
        return content
    if isinstance(content, list):
        return list(holder.objects(key))
    raise InputError(
        f"{holder.at(key)} must be a text or a list of blocks, not {kind_of(content)}."
    )


def read_block(block: Fields, builder: TurnBuilder) -> None:
    """Take one block into a turn."""
    whole = dict(block.left)
    kind = block.text("type")
    match kind:
        case "text" if isinstance(text := block.left.pop("text", None), str):
            builder.text(text, **marks_of(block))
        case "thinking" if isinstance(text := block.left.pop("thinking", None), str):
            signature = block.text("signature")
            builder.think(ReasoningBlock(_ANTHROPIC, text, signature), **marks_of(block))
        case "redacted_thinking" if data := block.text("data"):
            builder.think(ReasoningBlock(_ANTHROPIC, encrypted=data), **marks_of(block))
        case "tool_use" if builder.role == "assistant" and isinstance(
            block.left.get("input"), dict
        ):
            arguments = compact(block.left.pop("input"))
            call = ToolCall(block.text("id"), block.text("name"), arguments)
            builder.call(call, **marks_of(block))
        case "image" | "document" if (part := _media(kind, block)) is not None:
            builder.part(part, **marks_of(block))
        case _:
            builder.other(kind, whole)


def read_result(block: Fields, builder: TurnBuilder) -> None:
    """Take a `tool_result` block as a turn of its own."""
    block.exactly("type", "tool_result")
    builder.tool_call_id = block.text("tool_use_id")
    builder.failed = block.flag("is_error")
    had_content = "content" in block.left
    content = blocks_of(block, "content")
    builder.result(cache=cache_of(block), extras=block.rest())
    if content is None:
        builder.shape = "null" if had_content else "absent"
    elif isinstance(content, str):
        builder.shape = "string"
        if content:
            builder.text(content)
    else:
        builder.shape = "parts"
        for inner in content:
            read_block(inner, builder)


def _media(kind: str, block: Fields) -> Part | None:
    """Return a picture or document, its keys taken; None where its source is none we know."""
    source = block.inner("source")
    if source is None:
        return None
    name = block.text("title") if kind == "document" else ""
    of: Any = "image" if kind == "image" else "file"
    form = source.text("type")
    match form:
        case "base64":
            part = Part(of, source.text("media_type"), data=source.text("data"), name=name)
            found = part.data
        case "url":
            part = Part(of, url=source.text("url"), name=name)
            found = part.url
        case "file":
            part = Part(of, file_id=source.text("file_id"), protocol=_ANTHROPIC, name=name)
            found = part.file_id
        case "text" if source.left.get("media_type") == "text/plain":
            del source.left["media_type"]
            part = Part(of, "text/plain", text=source.text("data"), name=name)
            found = part.text
        case _:
            return None
    block.put_back("source", source)
    return part if found else None


def is_result(block: Fields) -> bool:
    """Whether a block answers a call of ours."""
    return block.left.get("type") == "tool_result" and isinstance(
        cast("object", block.left.get("tool_use_id")), str
    )

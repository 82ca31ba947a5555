"""Decode an Anthropic Messages request.

1. `system` becomes leading system turns: one for a string, one for each block.
2. Every `tool_result` is a separate turn; the rest of its message is another turn, marked as
   joined to it. The blocks of any other message are the pieces of one turn.
3. A block that has no unified form (a search that ran on the provider's side, its results) is kept
   whole and sent back only to Anthropic.
4. What no field holds is kept in the extras of the message, the block, the tool or
   the request, so that it can be encoded again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.json_text import to_json, type_name
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.anthropic.reader import READER
from tui_chat.protocols.common.decoding import (
    TurnBuilder,
    captured_envelope,
    take_cache_mark,
    take_marks,
    take_role,
    turns_with_results,
)
from tui_chat.protocols.common.request_fields import Fields, load_request

_ANTHROPIC = Protocol.ANTHROPIC
_ROLES: dict[str, MessageRole] = {"user": "user", "assistant": "assistant", "system": "system"}

_KNOWN = frozenset(
    (
        *("image", "document", "search_result", "thinking", "redacted_thinking", "tool_use"),
        *("tool_result", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result"),
        *("code_execution_tool_result", "bash_code_execution_tool_result", "mcp_tool_use"),
        *("text_editor_code_execution_tool_result", "mcp_tool_result", "container_upload"),
        *("tool_search_tool_result", "tool_reference", "compaction", "fallback"),
        *("advisor_tool_result",),
    )
)
"""Types of content that the protocol has."""


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError if it is not of this protocol."""
    request, notes = load_request(body, _ANTHROPIC, "messages")
    captured = READER.read(dict(request.remaining))
    turns = list(_system(request))
    for message in request.take_list("messages"):
        turns += _turns(message, len(turns) + 1)
    return captured_envelope(captured, turns, notes, _KNOWN)


def _system(request: Fields) -> Iterator[Turn]:
    """Yield the turns of `system`. Where it is empty it stays among the extras."""
    if not request.remaining.get("system"):
        return
    content = blocks_of(request, "system")
    for number, block in enumerate(content or (), 1):
        builder = TurnBuilder(_ANTHROPIC, "system", number)
        builder.slot = "system"
        if isinstance(block, str):
            builder.shape = "string"
            builder.add_text(str(content))
            yield builder.build()
            return
        builder.shape = "parts"
        read_block(block, builder)
        yield builder.build()


def _turns(message: Fields, number: int) -> Iterator[Turn]:
    _, role = take_role(message, _ROLES)
    had_content = "content" in message.remaining
    content = blocks_of(message, "content")
    builder = TurnBuilder(_ANTHROPIC, role, number)
    builder.shape, builder.extras = "parts", message.remaining_json()
    if content is None or isinstance(content, str):
        builder.shape = "string" if content is not None else "null" if had_content else "absent"
        if content:
            builder.add_text(content)
        yield builder.build()
        return
    yield from turns_with_results(builder, content, is_result, read_result, read_block)


def blocks_of(holder: Fields, key: str) -> list[Fields] | str | None:
    """Take a content: a text, a list of blocks, or None where there is none or null."""
    content = holder.remaining.get(key)
    if content is None or isinstance(content, str):
        holder.remaining.pop(key, None)
        return content
    if isinstance(content, list):
        return list(holder.take_list(key))
    raise InputError(
        f"{holder.path(key)} must be a text or a list of blocks, not {type_name(content)}."
    )


def read_block(block: Fields, builder: TurnBuilder) -> None:
    """Read one block into a turn."""
    whole = dict(block.remaining)
    kind = block.take_text("type")
    match kind:
        case "text" if isinstance(text := block.remaining.pop("text", None), str):
            builder.add_text(text, **take_marks(block))
        case "thinking" if isinstance(text := block.remaining.pop("thinking", None), str):
            signature = block.take_text("signature")
            builder.add_reasoning(ReasoningBlock(_ANTHROPIC, text, signature), **take_marks(block))
        case "redacted_thinking" if data := block.take_text("data"):
            builder.add_reasoning(ReasoningBlock(_ANTHROPIC, encrypted=data), **take_marks(block))
        case "tool_use" if builder.role == "assistant" and isinstance(
            block.remaining.get("input"), dict
        ):
            arguments = to_json(block.remaining.pop("input"))
            call = ToolCall(block.take_text("id"), block.take_text("name"), arguments)
            builder.add_call(call, **take_marks(block))
        case "image" | "document" if (part := _media(kind, block)) is not None:
            builder.add_part(part, **take_marks(block))
        case _:
            builder.add_other(kind, whole)


def read_result(block: Fields, builder: TurnBuilder) -> None:
    """Read a `tool_result` block into a turn of its own."""
    block.take_equal("type", "tool_result")
    builder.tool_call_id = block.take_text("tool_use_id")
    builder.failed = block.take_boolean("is_error")
    had_content = "content" in block.remaining
    content = blocks_of(block, "content")
    builder.add_result(cache=take_cache_mark(block), extras=block.remaining_json())
    if content is None:
        builder.shape = "null" if had_content else "absent"
    elif isinstance(content, str):
        builder.shape = "string"
        if content:
            builder.add_text(content)
    else:
        builder.shape = "parts"
        for inner in content:
            read_block(inner, builder)


def _media(kind: str, block: Fields) -> Part | None:
    """Return a picture or document, its keys taken; None if its source is unknown."""
    source = block.take_fields("source")
    if source is None:
        return None
    name = block.take_text("title") if kind == "document" else ""
    of: Any = "image" if kind == "image" else "file"
    form = source.take_text("type")
    match form:
        case "base64":
            part = Part(
                of, source.take_text("media_type"), data=source.take_text("data"), name=name
            )
            content = part.data
        case "url":
            part = Part(of, url=source.take_text("url"), name=name)
            content = part.url
        case "file":
            part = Part(of, file_id=source.take_text("file_id"), protocol=_ANTHROPIC, name=name)
            content = part.file_id
        case "text" if source.remaining.get("media_type") == "text/plain":
            del source.remaining["media_type"]
            part = Part(of, "text/plain", text=source.take_text("data"), name=name)
            content = part.text
        case _:
            return None
    block.put_back("source", source)
    return part if content else None


def is_result(block: Fields) -> bool:
    """Return True if a block is a tool result."""
    return block.remaining.get("type") == "tool_result" and isinstance(
        cast("object", block.remaining.get("tool_use_id")), str
    )

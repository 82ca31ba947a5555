"""Content blocks, read: text, thinking, tool use and results, pictures and documents.

A block becomes a piece of a turn. One that is none of ours (a search that ran on the provider's
side, its results) is kept whole and goes back only to Anthropic.
"""

from __future__ import annotations

from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.fields import Fields, compact, kind_of
from tui_chat.protocols.turn_builder import TurnBuilder, cache_of, marks_of

_ANTHROPIC = Protocol.ANTHROPIC


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

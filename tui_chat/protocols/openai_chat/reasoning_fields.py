"""Reasoning in a message: the fields that vendors use for it, read and written.

`reasoning_content` and `reasoning` are plain text, OpenRouter's `reasoning_details` are typed
and may be signed or encrypted, litellm's `thinking_blocks` are Anthropic's. What cannot be
written back as it was read stays in the extras.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.common.decoding import TurnBuilder
from tui_chat.protocols.common.request_fields import Fields

PLAIN_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
THINKING_BLOCKS = "thinking_blocks"
THINKING_TEXT = "thinking text"
"""Mistral's part of the content with a string, as gateways pass on Anthropic's blocks."""
_CHAT = Protocol.OPENAI_CHAT
_DETAIL_TEXT = {"reasoning.text": "text", "reasoning.summary": "summary"}


def read_reasoning(message: Fields, builder: TurnBuilder) -> None:
    """Read a message's reasoning into the turn."""
    for block in _blocks(message):
        builder.add_reasoning(block)


def _blocks(message: Fields) -> Iterator[ReasoningBlock]:
    for key in PLAIN_FIELDS:
        if text := message.take_text(key):
            yield ReasoningBlock(_CHAT, text, kind=key)
    for key, read in (("reasoning_details", _detail), ("thinking_blocks", _thinking)):
        value = message.remaining.get(key)
        if isinstance(value, list) and value:
            blocks = [read(entry) for entry in cast("list[object]", value)]
            readable = [block for block in blocks if block is not None]
            if write_reasoning(readable).get(key) == value:
                del message.remaining[key]
                yield from readable


def _detail(value: object) -> ReasoningBlock | None:
    if not isinstance(value, dict):
        return None
    detail = Fields(cast("dict[str, Any]", value), "")
    kind = detail.take_text("type")
    form = detail.take_text("format")
    return ReasoningBlock(
        _CHAT,
        detail.take_text(_DETAIL_TEXT.get(kind, "text")),
        detail.take_text("signature"),
        detail.take_text("data"),
        detail.take_text("id"),
        f"{kind} {form}".strip(),
    )


def _thinking(value: object) -> ReasoningBlock | None:
    if not isinstance(value, dict):
        return None
    block = Fields(cast("dict[str, Any]", value), "")
    return ReasoningBlock(
        Protocol.ANTHROPIC,
        block.take_text("thinking"),
        block.take_text("signature"),
        block.take_text("data"),
    )


def write_reasoning(blocks: Sequence[ReasoningBlock]) -> dict[str, Any]:
    """Return the fields of a message that carry these blocks."""
    fields: dict[str, Any] = {}
    for block in blocks:
        if block.protocol is Protocol.ANTHROPIC or block.kind == THINKING_BLOCKS:
            fields.setdefault("thinking_blocks", []).append(_as_thinking(block))
        elif block.protocol is not _CHAT:
            continue
        elif block.kind in PLAIN_FIELDS:
            fields[block.kind] = fields.get(block.kind, "") + block.text
            if block.encrypted:
                fields["reasoning_opaque"] = block.encrypted
        elif block.kind.startswith("reasoning."):
            details = fields.setdefault("reasoning_details", [])
            details.append(_as_detail(block, len(details)))
    return fields


def _as_detail(block: ReasoningBlock, index: int) -> dict[str, Any]:
    kind, *words = block.kind.split(" ")
    numbers = [int(word[1:]) for word in words if word[1:].isdecimal() and word[0] == "#"]
    form = next((word for word in words if word[0] != "#"), "")
    values = {
        "type": kind,
        _DETAIL_TEXT.get(kind, "text"): block.text,
        "signature": block.signature,
        "data": block.encrypted,
        "id": block.id,
        "format": form,
    }
    index = numbers[0] if numbers else index
    return {key: value for key, value in values.items() if value} | {"index": index}


def _as_thinking(block: ReasoningBlock) -> dict[str, Any]:
    if block.encrypted:
        return {"type": "redacted_thinking", "data": block.encrypted}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}

"""Messages for tests, said shortly."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    MediaBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import NOTHING_ABOUT, About, Message, MessageRole, text_blocks

_ABOUT = frozenset(field.name for field in fields(About))


def make_message(
    role: MessageRole,
    content: str = "",
    id: str = "",
    *,
    reasoning: tuple[ReasoningBlock, ...] = (),
    refusal: str = "",
    parts: tuple[MediaBlock, ...] = (),
    tool_calls: tuple[CallBlock, ...] = (),
    tool_call_id: str = "",
    name: str = "",
    failed: bool | None = None,
    **facts: Any,
) -> Message:
    """Return a message with its blocks in the usual order. `facts` are fields of `Message` and of
    `About`.
    """
    blocks: list[Block] = []
    if role == "tool":
        blocks.append(ResultBlock(tool_call_id, name, failed))
    blocks += [*reasoning, *text_blocks(content), *parts]
    if refusal:
        blocks.append(TextBlock(refusal, is_refusal=True))
    blocks += tool_calls
    about = {key: facts.pop(key) for key in list(facts) if key in _ABOUT}
    result = Message(role, tuple(blocks), id, "" if role == "tool" else name, **facts)
    if not about:
        return result
    known = result.about if result.about is not NOTHING_ABOUT else About()
    return replace(result, about=replace(known, **about))


def thought(
    protocol: Protocol,
    text: str = "",
    signature: str = "",
    encrypted: str = "",
    id: str = "",
    kind: str = "",
) -> ReasoningBlock:
    """Return reasoning as a reply of this protocol brings it."""
    form, keys = kind, {"signature": signature}
    match protocol:
        case Protocol.OPENAI_CHAT:
            keys["reasoning_opaque"] = encrypted
        case Protocol.OPENAI_RESPONSES:
            form = "content" if kind == "reasoning_text" else ""
            keys = {"id": id, "encrypted_content": encrypted}
        case Protocol.ANTHROPIC if encrypted:
            form, keys = "redacted_thinking", {"data": encrypted}
        case Protocol.GEMINI:
            form, keys = "", {"thoughtSignature": signature}
        case _:
            pass
    return ReasoningBlock(text, Extras(protocol, form, {k: v for k, v in keys.items() if v}))

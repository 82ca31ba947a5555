"""Messages for tests, said shortly."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from tui_chat.models.about import NOTHING_ABOUT, About
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    MediaBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from tui_chat.models.citations import Citation
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import NO_PIECE
from tui_chat.models.flat.messages import FORMS
from tui_chat.models.flat.values import FlatReasoning
from tui_chat.models.message import Message, MessageRole, place_citations, text_blocks

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
    citations: tuple[Citation, ...] = (),
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
    place_citations(blocks, citations)
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
    forms = FORMS[protocol]
    old = FlatReasoning(protocol, text, signature, encrypted, id, kind)
    return ReasoningBlock(text, forms.reasoning(old, NO_PIECE, ()))

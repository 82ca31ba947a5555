"""A message without its muted blocks, and without calls whose results are muted.

What is left must be accepted by the protocol that the message came from.

1. Reasoning stands before what it led to. If all of that goes, it goes: Anthropic refuses a message
   that ends in thinking.
2. Responses ties an item to the reasoning before it by its id: it refuses reasoning whose next item
   is gone, and an item with an id whose reasoning is gone. So either both stay as they are, or the
   reasoning goes and the items are sent without ids.
3. Gemini wants its signature on the first call of a message: it moves to the next one.
4. Muted reasoning stays where a provider demands it back for what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    keys_of,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.memo import Memo
from tui_chat.models.message import NOT_MUTED, Message

_SIGNATURES = ("thoughtSignature", "extra_content")
"""The keys of Gemini's signature, in its own protocol and in OpenAI Chat."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is left of a message."""

    message: Message | None
    """None if nothing is left."""
    is_demanded: bool = False
    """True if some muted reasoning has to stay."""


@Memo
def reduce_message(message: Message, removed: frozenset[int], is_open: bool) -> Reduction:
    """Return a message without its muted blocks and without the calls at the indices `removed`.
    `is_open`: the request goes on with the calls of this message.
    """
    muted, blocks = frozenset(message.muted.blocks), message.blocks
    gone = removed | {i for i in muted if i < len(blocks) and isinstance(blocks[i], MediaBlock)}
    if message.role != "tool" and not any(
        _says_something(block) for index, block in enumerate(blocks) if index not in gone
    ):
        return Reduction(None)
    has_calls = any(isinstance(b, CallBlock) for i, b in enumerate(blocks) if i not in gone)
    removed_ids = {block.id for i in removed if isinstance(block := blocks[i], CallBlock)}
    kept: list[Block] = []
    is_demanded = False
    for group in _groups(blocks):
        reduced = _Group([blocks[i] for i in group], [i in gone for i in group])
        is_muted = any(i in muted and isinstance(blocks[i], ReasoningBlock) for i in group)
        keeps = reduced.may_keep_reasoning
        if keeps and is_muted:
            keeps = reduced.is_demanded(has_calls, is_open)
            is_demanded = is_demanded or keeps
        kept += reduced.kept(removed_ids, keeps=keeps)
    sent = replace(message, blocks=tuple(kept), muted=NOT_MUTED)
    return Reduction(sent, is_demanded)


def _says_something(block: Block) -> bool:
    if isinstance(block, TextBlock):
        return bool(block.text if block.is_refusal else block.text.strip())
    return isinstance(block, CallBlock | MediaBlock)


def _groups(blocks: Sequence[Block]) -> Iterator[list[int]]:
    """Yield the indices of reasoning and of what it led to."""
    group: list[int] = []
    for index, block in enumerate(blocks):
        begins = isinstance(block, ReasoningBlock) and group
        if begins and not isinstance(blocks[index - 1], ReasoningBlock):
            yield group
            group = []
        group.append(index)
    yield group


@dataclass(slots=True)
class _Group:
    """Reasoning, and what it led to."""

    blocks: list[Block]
    gone: list[bool]
    """True for each block that is not sent."""

    @property
    def _reasoning(self) -> list[ReasoningBlock]:
        return [block for block in self.blocks if isinstance(block, ReasoningBlock)]

    @property
    def _protocol(self) -> Protocol | None:
        """The protocol of the reasoning; None if it has none."""
        first = self._reasoning[0].extras if self._reasoning else None
        return first.protocol if first is not None else None

    @property
    def may_keep_reasoning(self) -> bool:
        """True if there is reasoning, and what it led to is still there."""
        followers = [
            is_gone
            for block, is_gone in zip(self.blocks, self.gone, strict=True)
            if not (isinstance(block, ReasoningBlock) or _is_blank(block))
        ]
        if not self._reasoning or (followers and all(followers)):
            return False
        is_responses = self._protocol is Protocol.OPENAI_RESPONSES
        return not (is_responses and followers and followers[0])

    def is_demanded(self, has_calls: bool, is_open: bool) -> bool:
        """Return True if a provider refuses what stays without the reasoning before it."""
        reasoning = self._reasoning
        extras = reasoning[0].extras
        match self._protocol:
            case Protocol.OPENAI_RESPONSES:  # items of the provider's own have no form without id
                stay = (b for b, is_gone in zip(self.blocks, self.gone, strict=True) if not is_gone)
                return any(isinstance(block, OpaqueBlock | MediaBlock) for block in stay)
            case Protocol.OPENAI_CHAT:  # DeepSeek, with every call of the conversation
                is_plain = extras is None or not extras.form.startswith("reasoning.")
                return has_calls and (is_plain or is_open)
            case Protocol.ANTHROPIC:
                return has_calls and is_open
            case Protocol.GEMINI:
                is_signed = any(b.extras and b.extras.keys.get(_SIGNATURES[0]) for b in reasoning)
                return has_calls and is_open and is_signed
            case _:
                return False

    def kept(self, removed_ids: set[str], *, keeps: bool) -> Iterator[Block]:
        """Yield the blocks that stay. `removed_ids`: those of calls that go."""
        is_responses = self._protocol is Protocol.OPENAI_RESPONSES
        loses_ids = bool(self._reasoning) and not keeps and is_responses
        signature: JsonObject = {}
        for block, is_gone in zip(self.blocks, self.gone, strict=True):
            if isinstance(block, ReasoningBlock):
                key = block.extras.keys.get("id") if block.extras is not None else None
                if keeps and not (key and key in removed_ids):  # OpenRouter names the call
                    yield block
            elif is_gone:
                if isinstance(block, CallBlock):
                    signature = signature or _signature_of(block)
            elif isinstance(block, CallBlock) and signature:
                yield _with_signature(block, signature)
                signature = {}
            else:
                yield _without_id(block) if loses_ids else block


def _is_blank(block: Block) -> bool:
    """Return True for a text of white space alone, which may not be sent."""
    is_text = isinstance(block, TextBlock) and not block.is_refusal and not block.text.strip()
    return is_text and not _signature_of(block)


def _signature_of(block: Block) -> JsonObject:
    """Return the keys of Gemini's signature on a text or a call."""
    keys = keys_of(block)
    return {key: keys[key] for key in _SIGNATURES if key in keys}


def _with_signature(call: CallBlock, signature: JsonObject) -> CallBlock:
    """Return a call with the signature of one that goes, if it has none."""
    if _signature_of(call):
        return call
    owner = Protocol.GEMINI if _SIGNATURES[0] in signature else Protocol.OPENAI_CHAT
    extras = call.extras or Extras(owner)
    return replace(call, extras=replace(extras, keys={**signature, **extras.keys}))


def _without_id(block: Block) -> Block:
    """Return a text or a call of Responses without the id of its item."""
    extras = block.extras
    if extras is None or not isinstance(block, TextBlock | CallBlock):
        return block
    if isinstance(block, CallBlock):
        return replace(block, extras=replace(extras, keys=_without(extras.keys, "id")))
    item = _without(extras.keys.get("item", {}), "id")
    keys: JsonObject = {**extras.keys, "item": item} if item else _without(extras.keys, "item")
    if extras.form != "message":
        return replace(block, extras=replace(extras, keys=keys))
    # As a message that was not stored.
    return replace(block, extras=replace(extras, form="string", keys=keys) if keys else None)


def _without(keys: Mapping[str, Json], key: str) -> JsonObject:
    return {name: value for name, value in keys.items() if name != key}

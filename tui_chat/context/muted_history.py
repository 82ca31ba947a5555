"""The history without what the user muted, such that every protocol accepts the rest.

1. A muted message is not sent. A call and its result go together: without the one, the other is not
   sent either. An assistant message keeps its text and its other calls; if nothing is left of it,
   it is not sent.
2. Muted reasoning and muted parts leave their message. Reasoning stays where a provider refuses the
   rest of the message without it; a note says so.
3. The last message is sent, muted or not, if the request answers or continues it.
4. A reply that the provider keeps is not continued from if something before it is muted: the
   provider would still see that.
5. A summary has a switch of its own, and is never muted.
6. If nothing is muted, the history is the given object, so that nothing is computed again.

What is left of a message must be accepted by the protocol that it came from.

1. Reasoning stands before what it led to. If all of that goes, it goes: Anthropic refuses a message
   that ends in thinking.
2. Responses ties an item to the reasoning before it by its id: it refuses reasoning whose next item
   is gone, and an item with an id whose reasoning is gone. So either both stay as they are, or the
   reasoning goes and the items are sent without ids.
3. Gemini wants its signature on the first call of a message: it moves to the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from operator import attrgetter, is_, is_not

from tui_chat.context.history import dropped_turn, history_turn, summary_of
from tui_chat.context.inputs import is_sendable
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
from tui_chat.models.envelope import Dropped, Level, Note
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import NOT_MUTED, Message, message_origin
from tui_chat.tokens import Counter

_SIGNATURES = ("thoughtSignature", "extra_content")
"""The keys of Gemini's signature, in its own protocol and in OpenAI Chat."""


@dataclass(frozen=True, slots=True, eq=False)
class MutedHistory:
    """A history without what is muted."""

    history: tuple[Message, ...]
    """The given object if nothing is muted."""
    left_out: tuple[Message, ...] = ()
    """The messages that are not sent."""
    reduced: tuple[tuple[Message, Message], ...] = ()
    """The messages of which less is sent: as they are stored, and as they are sent."""
    demanded: tuple[Message, ...] = ()
    """The messages whose reasoning is muted and sent, because the provider requires it."""
    last: Message | None = None
    """The last message, if it is muted and sent."""


@recent_memo()
def without_muted(history: tuple[Message, ...], has_draft: bool, continues: bool) -> MutedHistory:
    """Return the history without what is muted. `has_draft` is true if a message that was typed
    follows it, `continues` if the request is for the rest of its last message.
    """
    if not any(map(is_not, map(attrgetter("muted"), history), repeat(NOT_MUTED))):
        return MutedHistory(history)
    gone = {i for i, m in enumerate(history) if m.muted.whole and summary_of(m) is None}
    final = len(history) - 1
    is_last_needed = continues or (not has_draft and history[final].role == "user")
    last = history[final] if is_last_needed and final in gone else None
    if last is not None:
        gone.discard(final)
    removed_calls: dict[int, set[int]] = {}
    """The calls that leave a message that stays, by its index."""
    for at, number, result in answered_calls(history):
        if at in gone:
            gone.add(result)
        elif result in gone:
            removed_calls.setdefault(at, set()).add(number)
    open_from = _open_from(history, has_draft)
    sent = dict(enumerate(history))
    demanded: list[Message] = []
    for index, message in enumerate(history):
        calls = frozenset(removed_calls.get(index, ()))
        if index in gone or summary_of(message) or not (calls or message.muted.blocks):
            continue
        left, is_demanded = reduce_message(message, calls, index >= open_from)
        if left is None:
            gone.add(index)
        else:
            sent[index] = left
            demanded += [message] if is_demanded else ()
    if not gone and all(map(is_, sent.values(), history)):
        return MutedHistory(history, last=last)
    reduced = [
        (message, sent[index])
        for index, message in enumerate(history)
        if index not in gone and len(sent[index].blocks) < len(message.blocks)
    ]
    _begin_wire_messages(history, sent, gone)
    return MutedHistory(
        tuple(message for index, message in sent.items() if index not in gone),
        tuple(history[index] for index in sorted(gone)),
        tuple(reduced),
        tuple(demanded),
        last,
    )


def answered_calls(history: Sequence[Message]) -> Iterator[tuple[int, int, int]]:
    """Yield the index of a message, of a call among its blocks, and of the message with its result.

    They are matched as when they are sent: by id, of which the newest call counts, else by name,
    else in their order.
    """
    waiting: list[tuple[int, int, CallBlock]] = []
    for index, message in enumerate(history):
        if message.role == "assistant" and message.tool_calls:
            blocks = enumerate(message.blocks)
            calls = [(index, i, block) for i, block in blocks if isinstance(block, CallBlock)]
            again = {call.id for _, _, call in calls if call.id}
            waiting = [each for each in waiting if each[2].id not in again] + calls
        elif message.role == "tool":
            name, identity = message.tool_name, message.tool_call_id
            if identity:
                fitting = [each for each in waiting if each[2].id == identity]
            else:
                nameless = [each for each in waiting if not each[2].id] or waiting
                fitting = [each for each in nameless if not name or each[2].name == name]
            if fitting:
                waiting.remove(fitting[0])
                yield *fitting[0][:2], index


def _open_from(history: tuple[Message, ...], has_draft: bool) -> int:
    """Return the index of the first message after the last of the user, if the request sends back
    results of calls: of those messages a provider wants what it needs to go on.
    """
    if has_draft or history[-1].role != "tool":
        return len(history)
    users = (i for i in range(len(history) - 1, -1, -1) if history[i].role == "user")
    return next(users, -1) + 1


def _begin_wire_messages(
    history: tuple[Message, ...], messages: dict[int, Message], gone: Collection[int]
) -> None:
    """Let a captured turn that shared a message with one that goes begin the message itself."""
    begins = False
    for index, message in enumerate(history):
        is_joined = message.extras is not None and message.extras.form == "joined"
        if index in gone:
            begins = begins or not is_joined
            continue
        if begins and is_joined:
            messages[index] = _begun(messages[index])
        begins = False


@Memo
def _begun(message: Message) -> Message:
    assert message.extras is not None
    return replace(message, extras=replace(message.extras, form=""))


# --- one message -----------------------------------------------------------------------------


@Memo
def reduce_message(
    message: Message, removed: frozenset[int], is_open: bool
) -> tuple[Message | None, bool]:
    """Return a message without its muted blocks and without the calls at the indices `removed`,
    None if nothing is left; and True if some muted reasoning has to stay. `is_open`: the request
    goes on with the calls of this message.
    """
    muted, blocks = frozenset(message.muted.blocks), message.blocks
    gone = removed | {i for i in muted if i < len(blocks) and isinstance(blocks[i], MediaBlock)}
    stay = [block for index, block in enumerate(blocks) if index not in gone]
    if message.role != "tool" and not any(map(is_sendable, stay)):
        return None, False
    goes_on = is_open, any(isinstance(block, CallBlock) for block in stay)
    removed_ids = {block.id for i in removed if isinstance(block := blocks[i], CallBlock)}
    kept: list[Block] = []
    some_demanded = False
    for group in _groups(blocks):
        reasoning = [block for i in group if isinstance(block := blocks[i], ReasoningBlock)]
        owner = reasoning[0].extras.protocol if reasoning and reasoning[0].extras else None
        is_responses = owner is Protocol.OPENAI_RESPONSES
        followers = [
            index in gone
            for index in group
            if not (isinstance(blocks[index], ReasoningBlock) or _is_blank(blocks[index]))
        ]
        loses_next = bool(followers) and (all(followers) or (is_responses and followers[0]))
        keeps = bool(reasoning) and not loses_next
        if keeps and any(i in muted and isinstance(blocks[i], ReasoningBlock) for i in group):
            left = [blocks[i] for i in group if i not in gone]
            keeps = _is_demanded(reasoning, owner, left, *goes_on)
            some_demanded = some_demanded or keeps
        loses_ids = bool(reasoning) and not keeps and is_responses
        signature: JsonObject = {}
        for index in group:
            block = blocks[index]
            if isinstance(block, ReasoningBlock):
                call_id = keys_of(block).get("id")  # OpenRouter names the call
                if keeps and not (call_id and call_id in removed_ids):
                    kept.append(block)
            elif index in gone:
                if isinstance(block, CallBlock):
                    signature = signature or _signature_of(block)
            elif isinstance(block, CallBlock) and signature:
                kept.append(_with_signature(block, signature))
                signature = {}
            else:
                kept.append(_without_id(block) if loses_ids else block)
    return replace(message, blocks=tuple(kept), muted=NOT_MUTED), some_demanded


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


def _is_demanded(
    reasoning: Sequence[ReasoningBlock],
    owner: Protocol | None,
    left: Sequence[Block],
    is_open: bool,
    has_calls: bool,
) -> bool:
    """Return True if a provider refuses what is `left` without the reasoning before it."""
    extras = reasoning[0].extras
    match owner:
        case Protocol.OPENAI_RESPONSES:  # items of the provider's own have no form without id
            return any(isinstance(block, OpaqueBlock | MediaBlock) for block in left)
        case Protocol.OPENAI_CHAT:  # DeepSeek, with every call of the conversation
            is_plain = extras is None or not extras.form.startswith("reasoning.")
            return has_calls and (is_plain or is_open)
        case Protocol.ANTHROPIC:
            return has_calls and is_open
        case Protocol.GEMINI:
            return has_calls and is_open and any(keys_of(b).get(_SIGNATURES[0]) for b in reasoning)
        case _:
            return False


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


# --- what is told ----------------------------------------------------------------------------


def muted_costs(muted: MutedHistory, counter: Counter) -> tuple[tuple[Dropped, ...], int]:
    """Return the muted messages with their tokens, and the tokens of all that is muted."""
    return _count(muted, counter) if muted.left_out or muted.reduced else ((), 0)


@recent_memo()
def _count(muted: MutedHistory, counter: Counter) -> tuple[tuple[Dropped, ...], int]:
    def cost(message: Message) -> int:
        return counter.turn(history_turn(message))

    left_out = tuple(dropped_turn(history_turn(each), cost(each)) for each in muted.left_out)
    saved = sum(cost(stored) - cost(sent) for stored, sent in muted.reduced)
    return left_out, sum(each.tokens for each in left_out) + saved


def muted_notes(muted: MutedHistory) -> Iterator[Note]:
    """Yield notes on what is muted, and on what is sent though it is muted."""
    parts = sum(len(stored.parts) - len(sent.parts) for stored, sent in muted.reduced)
    demanded = {id(message) for message in muted.demanded}
    unreasoned = sum(
        id(stored) not in demanded
        and any(isinstance(block, ReasoningBlock) for block in stored.muted_blocks)
        for stored, _ in muted.reduced
    )
    counts = (
        (len(muted.left_out), _counted(len(muted.left_out), "message")),
        (parts, _counted(parts, "part")),
        (unreasoned, f"the reasoning of {_counted(unreasoned, 'message')}"),
    )
    listed = ", ".join(words for count, words in counts if count)
    if listed:
        first = (*muted.left_out, *(stored for stored, _ in muted.reduced))[0]
        sentence = f"Muted and not sent: {listed}."
        yield Note(Level.INFO, "history-muted", sentence, message_origin(first))
    if muted.demanded:
        sentence = (
            "Muted reasoning is sent all the same with "
            f"{_counted(len(muted.demanded), 'message')}: the provider refuses calls without it."
        )
        yield Note(Level.INFO, "muted-reasoning-sent", sentence, message_origin(muted.demanded[0]))
    if muted.last is not None:
        does = "answers" if muted.last.role == "user" else "continues"
        sentence = f"The last message is muted, but is sent: this request {does} it."
        yield Note(Level.INFO, "muted-message-sent", sentence, message_origin(muted.last))


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"

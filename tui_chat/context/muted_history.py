"""The history without what the user muted, such that every protocol accepts the rest.

1. A muted message is not sent. A call and its result go together: without the one, the other is not
   sent either. An assistant message keeps its text and its other calls; if nothing is left of it,
   it is not sent.
2. Muted reasoning and muted parts leave their message; see `reduced_message`. Reasoning stays where
   a provider refuses the rest of the message without it; a note says so.
3. The last message is sent, muted or not, if the request answers or continues it.
4. A reply that the provider keeps is not continued from if something before it is muted: the
   provider would still see that.
5. A summary has a switch of its own, and is never muted.
6. If nothing is muted, the history is the given object, so that nothing is computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from operator import attrgetter, is_not

from tui_chat.context.history import dropped_turn, summary_of
from tui_chat.context.history_costs import history_turn
from tui_chat.context.reduced_message import Reduction, reduce_message
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock, ReasoningBlock
from tui_chat.models.envelope import Dropped, Level, Note
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import NOT_MUTED, Message, MessageOrigin
from tui_chat.models.turn import Turn
from tui_chat.tokens import Counter


@dataclass(frozen=True, slots=True, eq=False)
class MutedHistory:
    """A history without what is muted."""

    history: tuple[Message, ...]
    """The given object if nothing is muted."""
    left_out: tuple[Message, ...] = ()
    """The messages that are not sent."""
    reduced: tuple[tuple[Message, Message], ...] = ()
    """The messages of which less is sent: as they are stored, and as they are sent."""
    parts: int = 0
    """The number of muted parts of the messages that are sent."""
    reasoning: int = 0
    """The number of messages whose reasoning is muted and not sent."""
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
    removed_calls = _pair(history, gone)
    open_from = _open_from(history, has_draft)
    sent: dict[int, Reduction] = {}
    for index, message in enumerate(history):
        calls = frozenset(removed_calls.get(index, ()))
        is_changed = calls or message.muted.blocks
        if index not in gone and is_changed and summary_of(message) is None:
            reduction = reduce_message(message, calls, index >= open_from)
            if reduction.message is None:
                gone.add(index)
            else:
                sent[index] = reduction
    if not gone and not sent:
        return MutedHistory(history, last=last)
    kept = [i for i in range(len(history)) if i not in gone]
    messages = {i: sent[i].message or history[i] if i in sent else history[i] for i in kept}
    _begin_wire_messages(history, messages, gone)
    reduced = [i for i in sent if len(messages[i].blocks) < len(history[i].blocks)]
    return MutedHistory(
        tuple(messages[i] for i in kept),
        tuple(history[index] for index in sorted(gone)),
        tuple((history[index], messages[index]) for index in reduced),
        sum(len(history[i].parts) - len(messages[i].parts) for i in reduced),
        sum(_has_muted_reasoning(history[i]) for i in reduced if not sent[i].is_demanded),
        tuple(history[i] for i in sent if sent[i].is_demanded),
        last,
    )


def _has_muted_reasoning(message: Message) -> bool:
    return any(isinstance(block, ReasoningBlock) for block in message.muted_blocks)


def _pair(history: tuple[Message, ...], gone: set[int]) -> dict[int, set[int]]:
    """Add the results of calls that go; return by message the calls that leave one that stays."""
    removed: dict[int, set[int]] = {}
    for at, number, result in answered_calls(history):
        if at in gone:
            gone.add(result)
        elif result in gone:
            removed.setdefault(at, set()).add(number)
    return removed


def answered_calls(history: Sequence[Message]) -> Iterator[tuple[int, int, int]]:
    """Yield the index of a message, of a call among its blocks, and of the message with its result.

    They are matched as when they are sent: by id, of which the newest call counts, else by name,
    else in their order.
    """
    by_id: dict[str, list[tuple[int, int]]] = {}
    without_id: list[tuple[int, int]] = []

    def call_at(place: tuple[int, int]) -> CallBlock:
        block = history[place[0]].blocks[place[1]]
        assert isinstance(block, CallBlock)
        return block

    for index, message in enumerate(history):
        if message.role == "assistant":
            calls = [i for i, block in enumerate(message.blocks) if isinstance(block, CallBlock)]
            by_id |= {call_at((index, i)).id: [] for i in calls if call_at((index, i)).id}
            for i in calls:
                identity = call_at((index, i)).id
                (by_id[identity] if identity else without_id).append((index, i))
        elif message.role == "tool" and message.tool_call_id:
            if waiting := by_id.get(message.tool_call_id):
                yield *waiting.pop(0), index
        elif message.role == "tool":
            open_calls = without_id or [call for calls in by_id.values() for call in calls]
            is_named = [call_at(place).name == message.tool_name for place in open_calls]
            if open_calls and (any(is_named) or not message.tool_name):
                place = open_calls[is_named.index(True) if any(is_named) else 0]
                (without_id or by_id[call_at(place).id]).remove(place)
                yield *place, index


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


def muted_costs(muted: MutedHistory, counter: Counter) -> tuple[tuple[Dropped, ...], int]:
    """Return the muted messages with their tokens, and the tokens of all that is muted."""
    return _count(muted, counter) if muted.left_out or muted.reduced else ((), 0)


@recent_memo()
def _count(muted: MutedHistory, counter: Counter) -> tuple[tuple[Dropped, ...], int]:
    def costs(messages: Iterable[Message]) -> Iterator[tuple[Turn, int]]:
        turns = [history_turn(message) for message in messages]
        return zip(turns, counter.each(turns), strict=True)

    left_out = tuple(dropped_turn(turn, cost) for turn, cost in costs(muted.left_out))
    before = sum(cost for _, cost in costs(stored for stored, _ in muted.reduced))
    after = sum(cost for _, cost in costs(sent for _, sent in muted.reduced))
    return left_out, sum(each.tokens for each in left_out) + before - after


def muted_notes(muted: MutedHistory, tokens: int) -> Iterator[Note]:
    """Yield notes on what is muted, and on what is sent though it is muted."""
    counts = (
        (len(muted.left_out), _counted(len(muted.left_out), "message")),
        (muted.parts, _counted(muted.parts, "part")),
        (muted.reasoning, f"the reasoning of {_counted(muted.reasoning, 'message')}"),
    )
    listed = ", ".join(words for count, words in counts if count)
    if listed:
        about = f" (about {_counted(tokens, 'token')})" if tokens else ""
        first = next(chain(muted.left_out, (stored for stored, _ in muted.reduced)))
        sentence = f"Muted and not sent: {listed}{about}."
        yield Note(Level.INFO, "history-muted", sentence, MessageOrigin(first))
    if muted.demanded:
        sentence = (
            "Muted reasoning is sent all the same with "
            f"{_counted(len(muted.demanded), 'message')}: the provider refuses calls without it."
        )
        yield Note(Level.INFO, "muted-reasoning-sent", sentence, MessageOrigin(muted.demanded[0]))
    if muted.last is not None:
        does = "answers" if muted.last.role == "user" else "continues"
        sentence = f"The last message is muted, but is sent: this request {does} it."
        yield Note(Level.INFO, "muted-message-sent", sentence, MessageOrigin(muted.last))


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"

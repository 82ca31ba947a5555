"""The conversations that requests belong to, and the changes from one request to the next.

1. A conversation is known by the messages that its requests begin with; the system prompt and the
   tools may change within it. Where clients send the id of a session, only requests with the same
   id are compared; subagents have the same id, and are told apart by their first message.
2. A request that repeats another one to the byte is a retry, or asks for another version of the
   reply: it belongs to the same conversation and adds no message.
3. A client may leave out the oldest messages. The rest of them still tells the conversation.
4. Of the conversations with one session id, the first that declares tools is the main one. Those
   that declare others or none, and those of another thread, are its side conversations: titles,
   subagents. One with the same tools goes on with the work, as after a compaction.
5. `previous_response_id` names the response that a request continues; its messages come before.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from hashlib import blake2b
from itertools import takewhile
from typing import TypeAlias, TypeVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.payload import Obj, Str
from tui_chat.models.usage import Usage
from tui_chat.plugins.tap.calls import Call

MOST_CONVERSATIONS = 500
"""Conversations that are remembered; the one that was silent longest is forgotten first."""
MOST_REQUESTS = 50
"""Requests of a conversation that new ones are compared with."""
MOST_HELD = 32
"""Requests of all conversations that are held whole, for the next one to be compared with."""
MOST_HELD_BYTES = 8_000_000
"""Maximum bytes of their bodies together; the newest is held whatever its size."""
_SESSION_HEADERS = (
    *("x-claude-code-session-id", "session-id", "session_id", "thread-id", "x-session-id"),
    *("conversation_id", "x-conversation-id", "x-session-affinity"),
)
"""Headers in which clients send the id of a session."""

_PARENT_HEADER = "x-parent-session-id"
"""The header in which the session of a subagent names the one that started it."""

Key: TypeAlias = bytes
"""Identifies a message by what it says."""


@dataclass(slots=True, eq=False)
class PlacedCall:
    """A call with its place in its conversation."""

    call: Call | None
    """None once it is forgotten; what follows stays."""
    exchange: int
    """The number of its exchange."""
    conversation: RecordedConversation
    number: int
    """Its number in the conversation, from 1."""
    keys: tuple[Key, ...]
    """The hashes of all messages without the leading system prompt, those of a continued response
    included."""
    messages: tuple[Message, ...]
    """The same messages."""
    setting: tuple[str, ...]
    """Its system prompt and its tools, in short."""
    previous: PlacedCall | None
    """The request of the conversation that shares most with it; None for the first one."""
    shared: int = 0
    """The number of leading messages that it has in common with that one."""
    left_out: int = 0
    """The number of that one's oldest messages that it leaves out."""
    is_retry: bool = False
    """True if it repeats the request before it."""
    ended: float | None = None
    """The time at which its exchange ended."""
    usage: Usage | None = None
    """The usage of its reply; None unless it succeeded."""

    @property
    def idle(self) -> float:
        """The seconds from the end of the previous exchange to its beginning; 0 if unknown."""
        before = self.previous.ended if self.previous is not None else None
        return 0.0 if before is None or self.call is None else self.call.exchange.began - before

    @property
    def system(self) -> tuple[str, ...]:
        """The texts of its leading system prompt, as the request came."""
        turns = self.call.as_it_came.turns if self.call is not None else ()
        leading = takewhile(lambda turn: turn.role == "system", turns)
        return tuple(turn.text.plain for turn in leading)

    @property
    def added(self) -> range:
        """The indexes of its messages that the previous request did not have."""
        return range(self.shared, len(self.keys))

    @property
    def removed(self) -> range:
        """The indexes of the previous request's messages that this one lacks at the end."""
        before = 0 if self.previous is None else len(self.previous.keys)
        return range(self.left_out + self.shared, before)


@dataclass(slots=True, eq=False)
class RecordedConversation:
    """Requests that continue each other."""

    number: int
    """From 1, in the order in which they began."""
    lane: tuple[str, ...]
    """The protocol, and the session's id if the client sends one."""
    calls: list[PlacedCall] = field(default_factory=list[PlacedCall])
    count: int = 0
    """The number of its calls."""
    main: RecordedConversation | None = None
    """The conversation that it is a side conversation of."""
    sides: list[int] = field(default_factory=list[int])
    """The numbers of its side conversations."""
    tools: str = ""
    """The tools of its newest call, in short; empty for none."""


class Conversations:
    """Places calls into conversations."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, RecordedConversation] = OrderedDict()
        self._count = 0
        self._responses: OrderedDict[str, tuple[PlacedCall, Message]] = OrderedDict()
        self._held: deque[PlacedCall] = deque()
        """The calls that are held whole."""
        self._main: OrderedDict[tuple[str, ...], RecordedConversation] = OrderedDict()
        """The main conversation of each lane with a session id."""

    def place(self, call: Call) -> PlacedCall:
        """Return a call with its place, which the request as it came decides."""
        sent, call = call, call.as_it_came
        messages = call.captured.messages if call.captured is not None else ()
        continued = self._responses.get(_continued_id(call))
        if continued is not None:
            before, reply = continued
            messages = (*before.messages, reply, *messages)
        keys = tuple(map(message_key, messages))
        if continued is not None:
            found = continued[0], len(continued[0].keys), 0
        else:
            found = self._best(call, keys)
        previous, shared, left_out = found or (None, 0, 0)
        conversation = self._conversation(call, previous)
        if previous is not None and not left_out:  # equal texts are kept once
            messages = (*previous.messages[:shared], *messages[shared:])
        conversation.count += 1
        placed = PlacedCall(
            sent,
            call.exchange.number,
            conversation,
            conversation.count,
            keys,
            messages,
            _setting(call),
            previous,
            shared,
            left_out,
            is_retry=previous is not None and keys == previous.keys and continued is None,
        )
        conversation.calls.append(placed)
        del conversation.calls[:-MOST_REQUESTS]
        self._find_main(placed)
        self._hold(placed)
        return placed

    def _conversation(self, call: Call, previous: PlacedCall | None) -> RecordedConversation:
        """Return the conversation of a call, the newest one now."""
        if previous is not None:
            conversation = previous.conversation
        else:
            self._count += 1
            conversation = RecordedConversation(self._count, _lane(call))
        _remember(self._known, conversation.number, conversation)
        return conversation

    def _find_main(self, placed: PlacedCall) -> None:
        """Set the main conversation of a call's conversation, or make it the main one."""
        conversation, call = placed.conversation, placed.call
        conversation.tools = placed.setting[1]
        if call is None or not conversation.lane[1] or conversation.main is not None:
            return
        main = self._main.get(conversation.lane)
        if main is None or (conversation.tools and not main.tools and main is not conversation):
            _remember(self._main, conversation.lane, conversation)
            if main is not None:
                self._add_sides(conversation, (main.number, *main.sides))
                main.sides.clear()
        elif (
            main is not conversation
            and placed.number == 1
            and (conversation.tools != main.tools or _is_other_thread(call))
        ):
            conversation.main = main
            main.sides.append(conversation.number)

    def _add_sides(self, main: RecordedConversation, numbers: Sequence[int]) -> None:
        for number in numbers:
            if (side := self._known.get(number)) is not None:
                side.main = main
                main.sides.append(number)

    def _hold(self, placed: PlacedCall) -> None:
        """Hold a call whole, and forget the oldest ones beyond the limits."""
        self._held.append(placed)
        sizes = [len(placed.call.body) if placed.call else 0 for placed in self._held]
        while len(self._held) > 1 and (len(self._held) > MOST_HELD or sum(sizes) > MOST_HELD_BYTES):
            oldest = self._held.popleft()
            oldest.call = oldest.previous = None
            sizes.pop(0)

    def remember_response(self, placed: PlacedCall, response_id: str, reply: Message) -> None:
        """Remember the response to a call, which a later request may name."""
        if response_id:
            _remember(self._responses, response_id, (placed, reply))

    def _best(self, call: Call, keys: tuple[Key, ...]) -> tuple[PlacedCall, int, int] | None:
        """Return the known request that shares most with these messages, how many leading messages
        they share, and how many of its oldest ones are left out; None if none is of the same
        conversation.
        """
        best: tuple[PlacedCall, int, int] | None = None
        setting, lane = _setting(call), _lane(call)
        roles = [message.role for message in call.captured.messages] if call.captured else []
        for conversation in reversed(self._known.values()):
            if conversation.lane != lane:
                continue
            for placed in reversed(conversation.calls):
                shared = _shared(placed.keys, keys)
                left_out = 0
                if not shared:
                    shared, left_out = _shared_later(placed.keys, keys)
                if not shared or (best is not None and shared <= best[1]):
                    continue
                # After the one message that it had, the reply to it.
                follows = shared == len(placed.keys) and roles[shared:][:1] == ["assistant"]
                if shared > 1 or follows or _is_alike(placed.setting, setting):
                    best = placed, shared, left_out
        return best


_K = TypeVar("_K")
_V = TypeVar("_V")


def _remember(known: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    """Put a value at the end, and forget the oldest ones beyond the limit."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > MOST_CONVERSATIONS:
        known.popitem(last=False)


def _is_other_thread(call: Call) -> bool:
    """Return True if a call is of another thread than the one that its session began with."""
    if call.exchange.header(_PARENT_HEADER):
        return True
    session, thread = map(call.exchange.header, ("session-id", "thread-id"))
    return bool(session and thread) and session != thread


def _continued_id(call: Call) -> str:
    """Return the id of the response that a call continues; empty if it names none."""
    tree = call.exact.tree if call.exact is not None else None
    value = tree.get("previous_response_id") if isinstance(tree, Obj) else None
    return value.text.plain if isinstance(value, Str) else ""


def message_key(message: Message) -> Key:
    """Return the identity of a message: what it says, without ids of ours and cache marks."""
    digest = blake2b(digest_size=16)
    for part in _said(message):
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode("utf-8", "replace"))
    return digest.digest()


def _said(message: Message) -> Iterator[str]:
    yield from (message.role, message.content.strip(), message.tool_call_id)
    for call in message.tool_calls:
        yield from (call.id, call.name, call.arguments)
    for part in message.parts:
        yield from (part.media, part.mime, part.data, part.url, part.file_id, part.text)


def _shared(one: Sequence[Key], other: Sequence[Key]) -> int:
    end = min(len(one), len(other))
    return next((n for n in range(end) if one[n] != other[n]), end)


def _shared_later(was: Sequence[Key], now: Sequence[Key]) -> tuple[int, int]:
    """Return how many messages `now` shares with the end of `was`, and how many are before it."""
    for start in range(1, len(was) - 1):
        if now and was[start] == now[0]:
            rest = len(was) - start
            if rest <= len(now) and tuple(was[start:]) == tuple(now[:rest]):
                return rest, start
    return 0, 0


def _setting(call: Call) -> tuple[str, ...]:
    """Return hashes of a request's system prompt and of the names of its tools, empty for none."""
    if call.composed is None:
        return ("", "")
    envelope = call.composed.envelope
    system = [turn.text.plain for turn in envelope.turns if turn.role == "system"]
    tools = [tool.name for tool in envelope.functions]
    return tuple(
        blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=16).hexdigest()
        if texts
        else ""
        for texts in (system, tools)
    )


def _is_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return True if two requests have the same system prompt, or the same tools."""
    return one[0] == other[0] or (bool(one[1]) and one[1] == other[1])


def _lane(call: Call) -> tuple[str, ...]:
    ids = (call.exchange.header(name) for name in (_PARENT_HEADER, *_SESSION_HEADERS))
    return (call.protocol.value, next(filter(None, ids), ""))

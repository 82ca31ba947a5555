"""The messages of a conversation as they are stored: each once, whatever requests repeat it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.plugins.tap.conversations import Key, PlacedCall, message_key

Chain: TypeAlias = bytes
"""Identifies a message by what it says and all that is before it."""

_MOST_REQUESTS = 50
"""Requests of a conversation whose messages are known by id."""


class _Node(NamedTuple):
    """A stored message that a request may repeat."""

    id: str
    key: Key
    reply: Key
    """What programs send back of a reply: the text and the ids of the calls. Empty for others."""


class MessageTree:
    """What replaces a message, in a later request, is another version of it."""

    def __init__(self, id_of: Callable[[Chain], str]) -> None:
        """`id_of` returns the id of a new message."""
        self._id_of = id_of
        self.root: str | None = None
        """The id of the last message of the system prompt."""
        self._ids: dict[Chain, str] = {}
        self._nodes: dict[str | None, list[_Node]] = {}
        """By the id of the message before them: the replies, and what was stored before."""
        self._chains: dict[int, tuple[Chain, ...]] = {}
        """The messages of each request, by the number of its exchange."""

    def add_system(self, texts: Iterable[str]) -> Iterator[tuple[Message, str | None]]:
        """Begin with a system prompt; yield its messages, each with the id of the one before it."""
        chain = b""
        for text in texts:
            message, before = Message.of("system", text), self.root
            chain = _next(chain, message_key(message))
            self.root = self._id_of(chain)
            yield replace(message, id=self.root), before

    def add_request(self, placed: PlacedCall) -> Iterator[tuple[Message, str | None]]:
        """Add the messages of a request; yield the new ones like `add_system`."""
        chain = b""
        if placed.left_out and placed.previous is not None:
            before = self._chains.get(placed.previous.exchange, ())
            chain = before[placed.left_out - 1] if placed.left_out <= len(before) else b""
        chains: list[Chain] = []
        parent = self._ids.get(chain, self.root)
        for key, message in zip(placed.keys, placed.messages, strict=True):
            chain = _next(chain, key)
            message_id = self._ids.get(chain) or self._like(key, message, parent)
            if not message_id:
                message_id = self._id_of(chain)
                yield replace(message, id=message_id), parent
            self._ids[chain] = parent = message_id
            chains.append(chain)
        self._chains[placed.exchange] = tuple(chains)
        while len(self._chains) > _MOST_REQUESTS:
            del self._chains[next(iter(self._chains))]

    def end_of(self, placed: PlacedCall) -> str | None:
        """Return the id of the last message of a request that was added."""
        chains = self._chains[placed.exchange]
        return self._ids[chains[-1]] if chains else self.root

    def add_reply(self, message: Message, parent_id: str | None) -> None:
        """Add a reply that is stored, which later requests may repeat."""
        node = _Node(message.id, message_key(message), _reply_key(message))
        self._nodes.setdefault(parent_id, []).append(node)

    def add_stored(self, entries: Sequence[Entry]) -> None:
        """Add what an earlier run stored."""
        for entry in entries:
            if entry.message.role == "system" and entry.parent_id == self.root:
                self.root = entry.message.id
            self.add_reply(entry.message, entry.parent_id)

    def shared_with(self, placed: PlacedCall) -> int:
        """Return how many messages a request shares; 0 if no reply is among them."""
        parent, count, has_reply = self.root, 0, False
        for key, message in zip(placed.keys, placed.messages, strict=True):
            parent = self._like(key, message, parent)
            if not parent:
                break
            count += 1
            has_reply |= message.role == "assistant"
        return count if has_reply else 0

    def _like(self, key: Key, message: Message, parent: str | None) -> str:
        """Return the id of the newest stored message that a message repeats; empty for none."""
        reply = _reply_key(message)
        nodes = reversed(self._nodes.get(parent, ()))
        return next((n.id for n in nodes if n.key == key or (reply and n.reply == reply)), "")


def _reply_key(message: Message) -> Key:
    if message.role != "assistant":
        return b""
    texts = [message.content.strip(), *sorted({call.id for call in message.tool_calls if call.id})]
    return blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=16).digest()


def _next(chain: Chain, key: Key) -> Chain:
    return blake2b(chain + key, digest_size=16).digest()

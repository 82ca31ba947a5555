"""Random trees of messages."""

from __future__ import annotations

import random

from tui_chat.models.message import Message, MessageRole
from tui_chat.models.session import Entry, Node, Session
from tui_chat.models.transcript import SessionTranscript

NOON = 1_767_268_800.0
WORDS = ("salt", "water", "boil", "pasta", "time", "colander", "kettle")


def random_tree(messages: int, branches: int, seed: int = 1, title: str = "") -> SessionTranscript:
    """Return a session whose branches begin at random places, the last of them active."""
    rng = random.Random(seed)
    roles: dict[str, MessageRole] = {}
    entries: list[Entry] = []
    length = max(messages // branches, 1)
    for number in range(messages):
        new = number and number % length == 0
        parent = entries[rng.randrange(number) if new else -1].message.id if entries else None
        id = f"m{number:06}"
        roles[id] = "assistant" if parent and roles[parent] == "user" else "user"
        words = " ".join(rng.choices(WORDS, k=rng.choice((3, 12, 60))))
        time = NOON - (messages - number) * 600.0
        message = Message(roles[id], words, id=id, timestamp=time)
        model = "gpt-5-mini" if roles[id] == "assistant" else ""
        entries.append(Entry(message, parent, model=model))
    session = Session(
        "s", title or "How to boil pasta", head_id=entries[-1].message.id, updated=NOON
    )
    return SessionTranscript(session, tuple(entries))


def nodes_of(transcript: SessionTranscript) -> list[Node]:
    """Return the messages of a session as the tree has them."""
    return [
        Node(e.message.id, e.parent_id, e.message.role, e.status, e.message.timestamp or 0, e.model)
        for e in transcript.entries
    ]

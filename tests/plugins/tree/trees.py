"""Random trees of messages."""

from __future__ import annotations

import random

from tui_chat.models.message import Message, MessageRole
from tui_chat.models.session import Entry, Node, Session, SessionTranscript

NOON = 1_767_268_800.0
SENTENCES: dict[MessageRole, tuple[str, ...]] = {
    "user": (
        "How much salt does the water need?",
        "What if I have no colander?",
        "Shorter, please.",
        "Does oil in the water help?",
        "Why does it stick, although I stir?",
        "And for ten people, with one pot only?",
        "Compare fresh and dried pasta.",
    ),
    "assistant": (
        "Ten grams for each liter; it should taste like the sea.",
        "Tilt the pot with its lid nearly closed, or lift the pasta out with tongs.",
        "Salt early, stir in the first minute, taste before the packet says so.",
        "No: it floats, and later the sauce does not cling.",
        "Because of the starch that leaves it in the first minute.",
        "In two batches: toss the first in the sauce while the second boils.",
        "Fresh pasta takes two or three minutes and drinks the sauce; dried pasta keeps its bite.",
    ),
}


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
        words = rng.choice(SENTENCES[roles[id]])
        time = NOON - (messages - number) * 600.0
        message = Message.of(roles[id], words, id=id, timestamp=time)
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

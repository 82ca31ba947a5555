"""A large, made-up database for the store's benchmarks: always the same for the same numbers.

    python -m tests.tools.benchmarks.store_data FILE [MESSAGES] [SESSIONS]

Messages are English, Chinese, Japanese or a mixture, with common and rare words in about the
proportions of real talk, some long, some on side branches. One session has 10,000 messages.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.models.usage import Usage
from tui_chat.store import Store

LONG = 10_000
"""Messages of the longest session, which is called `long`."""

_ENGLISH = [
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "it",
    "you",
    "that",
    "he",
    "was",
    "for",
    "on",
    "are",
    "with",
    "as",
    "I",
    "his",
    "they",
    "be",
    "at",
    "one",
    "have",
    "this",
    "from",
    "or",
    "had",
    "by",
    "not",
    "word",
    "but",
    "what",
    "some",
    "we",
    "can",
    "out",
    "other",
    "were",
    "all",
    "there",
    "when",
    "up",
    "use",
    "your",
    "how",
    "said",
    "an",
    "each",
    "she",
    "which",
    "do",
    "their",
    "time",
    "if",
    "will",
    "way",
    "about",
    "many",
    "then",
    "them",
    "write",
    "would",
    "like",
    "so",
    "these",
    "her",
    "long",
    "make",
    "thing",
    "see",
    "him",
    "two",
    "has",
    "look",
    "more",
    "day",
    "could",
    "go",
    "come",
    "did",
    "number",
    "sound",
    "no",
    "most",
    "people",
    "my",
    "over",
    "know",
    "water",
    "than",
    "call",
    "first",
    "who",
    "may",
    "down",
    "side",
    "been",
    "now",
    "find",
    "any",
    "new",
    "work",
]
_CHINESE = (
    "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生"
    "自会那后能对着事其里所去行过家十用发天如然作方成者多日都三小军二无同么经法当起与"
    "好看学进种将还分此心前面又定见只主没公从"
)
_HAN = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]
_KANA = [chr(code) for code in range(0x3042, 0x3094)]


def transcripts(messages: int, sessions: int, seed: int = 7) -> Iterator[SessionTranscript]:
    """Return `sessions` conversations with `messages` messages altogether."""
    chance = random.Random(seed)
    words = _words(chance)
    left = messages
    for number in range(sessions):
        if number == sessions // 2 and messages > 2 * LONG:
            count = LONG
        else:
            rest = sessions - number
            count = (
                left if rest == 1 else min(left, chance.randint(1, max(1, 2 * left // rest - 1)))
            )
        left -= count
        yield _transcript(number, count, chance, words)


def _transcript(
    number: int, count: int, chance: random.Random, words: list[str]
) -> SessionTranscript:
    start = 1_600_000_000.0 + number * 7200
    language = chance.choices(("en", "zh", "ja", "mixed"), (50, 35, 5, 10))[0]
    entries: list[Entry] = []
    for place in range(count):
        # One in twenty is beside the one before: something edited or asked again.
        parent = entries[-1].parent_id if place % 20 == 19 else None
        if parent is None and entries:
            parent = entries[-1].message.id
        is_reply = bool(place % 2)
        message = Message.of(
            "assistant" if is_reply else "user",
            _text(
                language,
                chance,
                words,
                chance.choice((8, 15, 25, 40, 120) if is_reply else (4, 9, 20)),
            ),
            id=f"{number:06x}{place:026x}",
            timestamp=start + place,
        )
        entries.append(
            Entry(
                message,
                parent,
                model=f"model-{number % 7}" if is_reply else "",
                endpoint=f"endpoint-{number % 3}" if is_reply else "",
                usage=Usage(200 + place, 50) if is_reply else Usage(),
            )
        )
    title = "long" if count == LONG else _text(language, chance, words, 5)
    session = Session(
        f"session{number:025x}",
        title,
        role_id=f"role-{number % 20}",
        model=f"model-{number % 7}",
        endpoint=f"endpoint-{number % 3}",
        tags=("work",) if number % 10 == 0 else (),
        created=start,
        updated=start + count,
    )
    role = Role(f"role-{number % 20}", f"Role {number % 20}")
    return SessionTranscript(session, tuple(entries), role)


def _words(chance: random.Random) -> list[str]:
    """Return 60,000 words that are not common."""
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    weights = [1 / (place + 3) for place in range(len(letters))]
    return [
        "".join(chance.choices(letters, weights, k=chance.randint(4, 11))) for _ in range(60_000)
    ]


def _text(language: str, chance: random.Random, words: list[str], length: int) -> str:
    if language == "mixed":
        half = max(1, length // 2)
        return f"{_text('en', chance, words, half)} {_text('zh', chance, words, half)}"
    if language == "en":
        common = chance.choices(_ENGLISH, k=length)
        rare = [words[int(60_000 * chance.random() ** 3)] for _ in range(1 + length // 3)]
        said = common + rare
        chance.shuffle(said)
        return " ".join(said) + "."
    if language == "zh":
        common = chance.choices(_CHINESE, k=length)
        rare = [_HAN[int(3000 * chance.random() ** 2)] for _ in range(length)]
    else:
        common = chance.choices(_KANA, k=length)
        rare = chance.choices(_HAN, k=length // 2 + 1)
    said = common + rare
    chance.shuffle(said)
    return "，".join("".join(said[at : at + 12]) for at in range(0, len(said), 12)) + "。"


async def fill(path: Path, messages: int, sessions: int) -> float:
    """Make a database of that size; return how many seconds the store took for it."""
    numbers = iter(range(10**9))
    spent = 0.0
    async with await Store.open(path, now=time.time, new_id=lambda: f"id-{next(numbers)}") as store:
        batch: list[SessionTranscript] = []
        waiting = 0
        for transcript in transcripts(messages, sessions):
            batch.append(transcript)
            waiting += len(transcript.entries)
            if waiting >= 5000:
                begun = time.perf_counter()
                await store.transcripts.add_many(batch)
                spent += time.perf_counter() - begun
                batch, waiting = [], 0
        begun = time.perf_counter()
        await store.transcripts.add_many(batch)
        return spent + time.perf_counter() - begun


if __name__ == "__main__":
    target, *sizes = sys.argv[1:]
    total, count = (
        [*map(int, sizes), 1_000_000, 20_000][:2] if len(sizes) != 1 else (int(sizes[0]), 20_000)
    )
    took = asyncio.run(fill(Path(target), total, count))
    size = Path(target).stat().st_size
    print(f"{total / took:,.0f} messages/s, {size / total:,.0f} bytes a message")

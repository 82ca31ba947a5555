"""Searching 2,000 lore entries in the newest 2, 50 and 5,000 messages of a conversation.

    uv run python tests/tools/benchmarks/lorebooks.py [ENTRIES] [KIND ...]

Each message has 400 characters. Kinds of keys: `patterns` (one regular expression each, with a
literal in it), `classes` (expressions without any literal),
`hostile` (ones for which backtracking never ends), `words` (five whole words each) and `parts`
(five keys each that are found inside words, too).

First is a request in a process that has seen neither book nor conversation; it includes reading
the keys. Again is the mean of 20 keystrokes after it. Both are compared with the same request
without the book. Prints milliseconds, and how much longer it takes with the book; asserts nothing.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable

from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage

DEPTHS = (2, 50, 5_000)
MESSAGES = 5_000
LENGTH = 400
"""Characters of a message."""
PRESET = Preset("benchmark", (PresetMessage("history", type="chat_history", role="user"),))
ENDPOINT = Endpoint("bench", Protocol.OPENAI_CHAT, "https://bench.invalid", models=("gpt-4o",))
LETTERS = "abcdefghijklmnopqrstuvwxyz"

_chance = random.Random(14)


def word(least: int = 3, most: int = 9) -> str:
    """Return an invented word."""
    return "".join(_chance.choices(LETTERS, k=_chance.randint(least, most)))


WORDS = [word() for _ in range(5_000)]
KINDS: dict[str, Callable[[str, int], tuple[str, ...]]] = {
    "patterns": lambda name, number: (rf"/\b(?:old |young )?{name}s?\b/i",),
    "classes": lambda name, number: (rf"/\b[{name[:3]}]\w[{name[2:5]}]\w*\d{{{number % 9 + 1}}}/",),
    "hostile": lambda name, number: (
        (rf"/(\w+\s?)+{number}#$/", rf"/(a+)+{number}$/")[number % 2],
    ),
    "words": lambda name, number: tuple(word(5, 9) for _ in range(5)),
    "parts": lambda name, number: tuple(f"{word(3, 6)} {word(3, 6)}" for _ in range(5)),
}


def conversation(seed: int) -> tuple[Message, ...]:
    """Return a conversation that nobody has seen."""
    chance = random.Random(seed)
    messages: list[Message] = []
    for number in range(MESSAGES):
        text = " ".join(chance.choices(WORDS, k=LENGTH // 7))
        messages.append(Message("assistant" if number % 2 else "user", text, f"{seed}.{number}"))
    return tuple(messages)


def book(kind: str, entries: int, depth: int) -> Lorebook:
    """Return a book; a tenth of its entries are brought up by the conversation's words."""
    made: list[LorebookEntry] = []
    for number in range(entries):
        name = _chance.choice(WORDS) if number % 10 == 0 else word(6, 9)
        keys = KINDS[kind](name.ljust(6, "x"), number)
        made.append(LorebookEntry(str(number), f"About {name}.", keys, name))
    return Lorebook(kind, tuple(made), scan_depth=depth, whole_words=kind != "parts")


def measure(books: tuple[Lorebook, ...], history: tuple[Message, ...]) -> tuple[float, float, int]:
    """Return the time of the first request and of a keystroke, in ms, and how much lore came up."""
    gc.collect()
    began = time.perf_counter()
    compose(Inputs(ENDPOINT, PRESET, history, "Hello", lorebooks=books))
    first = time.perf_counter() - began
    began = time.perf_counter()
    for key in range(20):
        composed = compose(Inputs(ENDPOINT, PRESET, history, f"Hello {'x' * key}", lorebooks=books))
    again = (time.perf_counter() - began) / 20
    lore = sum(turn.text.plain.startswith("About ") for turn in composed.envelope.turns)
    return first * 1000, again * 1000, lore


def main() -> None:
    gc.set_threshold(50_000, 20, 50)  # as the application does
    numbers = [int(each) for each in sys.argv[1:] if each.isdecimal()]
    entries = numbers[0] if numbers else 2_000
    kinds = [each for each in sys.argv[1:] if not each.isdecimal()] or list(KINDS)
    compose(Inputs(ENDPOINT, PRESET, conversation(-1)[:10], "Hello"))
    print(f"{entries:,} entries, {MESSAGES:,} messages of {LENGTH} characters; milliseconds")
    print(f"{'keys':<18}{'depth':>6}{'first':>10}{'without':>10}{'again':>9}{'without':>9}"
          f"{'ratio':>8}{'lore':>7}")  # fmt: skip
    for seed, kind in enumerate(kinds):
        for depth in DEPTHS:
            history = conversation(seed * 10 + depth)
            plain = measure((), history[:-1] + conversation(seed * 10 + depth + 7)[-1:])
            history = conversation(seed * 10 + depth + 3)
            first, again, lore = measure((book(kind, entries, depth),), history)
            print(f"{kind:<18}{depth:>6,}{first:>10.1f}{plain[0]:>10.1f}{again:>9.2f}"
                  f"{plain[1]:>9.2f}{first / plain[0]:>8.2f}{lore:>7}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()

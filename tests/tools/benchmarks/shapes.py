"""Conversations and replies that benchmarks show: ordinary ones, and lines that do not end."""

from __future__ import annotations

import re
from collections.abc import Callable

from tui_chat.models.message import Message
from tui_chat.models.session import Entry

PROSE = (
    "Readers never block the writer, and the writer never blocks **readers**; see `wal`. "
    "Only two *writers* exclude each other, and then only for a moment.\n\n"
)
CODE = "```python\ndef settle(self) -> None:\n    self.rows = [1, 2, 3]  # what is seen\n```\n\n"
LIST = "- one thing\n- another thing, with [a link](https://example.org)\n  1. nested\n\n"
TABLE = "| mode | readers | writers |\n|:--|--:|--:|\n| WAL | many | 1 |\n| rollback | 0 | 1 |\n\n"
WIDE = "> 读者不会阻塞写者，写者也不会阻塞读者。 $E = mc^2$ 🙂\n\n"

_TOKEN = re.compile(r"[^\s\u2e80-\uffef]+ ?|[\u2e80-\uffef]{1,2}|\s+")
_VALUE = "value = compute(first, second) # why"
_TABLE = "| name | what | why |\n|--|--|--|\n"
REPLIES = {
    "prose": ("", PROSE),
    "mixed Markdown": ("", PROSE * 4 + CODE + LIST + TABLE),
    "a list": ("", "- item of a very long list \n"),
    "a block of code": ("```python\n", f"{_VALUE} \n"),
    "a table": (_TABLE, "| a thing | **two** things | three of them |\n"),
    "a quote in quotes": ("", "> > > said and **said** again, \n"),
    "a line": ("", "word and another word, "),
    "a line of Chinese": ("", "读者不会阻塞写者，写者也不会阻塞读者。 "),
    "a line of code": ("```python\n", f"{_VALUE} "),
    "a table's one row": (_TABLE, "| a thing | **two** things | three of them "),
    "a list's one item": ("- ", "word and `code` and **bold** "),
    "a quote's one line": ("> > > ", "said and **said** again, "),
    "code that is not closed": ("`", "word and another word, "),
    "emphasis not closed": ("**", "word *and [another $word "),
}
"""Replies that can be made as long as one likes: how each begins, and what it repeats. The first
ones have lines, the others have one that does not end."""


def reply_of(name: str, tokens: int) -> list[str]:
    """Return a reply in so many pieces, about a token each."""
    start, again = REPLIES[name]
    words = _TOKEN.findall(again)
    return [start, *(words[index % len(words)] for index in range(tokens - 1))]


def conversation(count: int, name: str = "m") -> tuple[Entry, ...]:
    """Make a branch of `count` messages, half a kilobyte each on average.

    `name` is what their ids begin with.
    """
    bodies = (
        PROSE * 4 + CODE + LIST * 2,
        PROSE * 3 + TABLE + WIDE * 2,
        PROSE * 8,
        CODE * 6 + LIST * 3,
    )
    return tuple(
        Entry(
            Message.of(
                "assistant" if index % 2 else "user",
                f"## Answer {index}\n\n" + bodies[index // 2 % 4]
                if index % 2
                else f"Question {index}? " + "And what of the writer? " * (index % 5),
                id=f"{name}{index}",
                timestamp=1.7e9 + index * 60,
            ),
            parent_id=f"{name}{index - 1}" if index else None,
            model="some-model" if index % 2 else "",
        )
        for index in range(count)
    )


LARGE: dict[str, Callable[[], str]] = {
    "one line": lambda: "x" * 70_000_000,
    "words": lambda: "word " * 14_000_000,
    "lines": lambda: "a line\n" * 10_000_000,
    "short lines": lambda: "a\n" * 10_000_000,
    "a table": lambda: "|a|b|\n|-|-|\n" + "|x|y|\n" * 1_000_000,
    "code": lambda: "```py\n" + "x = 1\n" * 1_000_000,
    "a list": lambda: "- item\n" * 1_000_000,
    "nested lists": lambda: "".join("  " * level + "- x\n" for level in range(3000)),
    "nested quotes": lambda: (">" * 1000 + " x\n") * 10_000,
    "carriage returns": lambda: "a\r" * 10_000_000,
}
"""Messages of 6 to 70 MB, by the shape of their text."""

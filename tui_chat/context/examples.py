"""Example dialogues: blocks of messages that show how a character speaks.

1. A text is split at each `<START>`, whatever its case; without one at its beginning it is one
   block more. Blocks are stripped.
2. In a block, a line that begins with `Name:`, the user's or the character's, begins a message;
   other lines belong to the current one. Lines before the first speaker belong to his message. A
   block without a speaker has no messages.
3. The first `Name:` of the speaker is removed from a message, which is then stripped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from tui_chat.models.text import Text

ExampleMessage: TypeAlias = tuple[Literal["example_user", "example_assistant"], Text]
ExampleBlock: TypeAlias = tuple[ExampleMessage, ...]

_START = re.compile("<START>", re.IGNORECASE)


def example_blocks(text: Text, user: str, char: str) -> Iterator[ExampleBlock]:
    """Yield the blocks of an expanded text; `user` and `char` are the speakers' names."""
    plain = text.plain
    if not plain or plain == "<START>":
        return
    starts = [found.span() for found in _START.finditer(plain)]
    if not plain.startswith("<START>"):
        starts.insert(0, (0, 0))
    ends = [start for start, _ in starts[1:]] + [len(plain)]
    for (_, begin), end in zip(starts, ends, strict=True):
        yield tuple(_messages(without_returns(text[begin:end].stripped()), user, char))


def _messages(block: Text, user: str, char: str) -> Iterator[ExampleMessage]:
    speaker: Literal["", "example_user", "example_assistant"] = ""
    names = {"example_user": user, "example_assistant": char}
    begin = at = 0
    for line in block.plain.split("\n"):
        says = next((who for who, name in names.items() if line.startswith(f"{name}:")), "")
        if says and speaker and says != speaker:
            yield speaker, _said(block[begin : max(at - 1, begin)], names[speaker])
            begin = at
        if says == "example_user" or says == "example_assistant":
            speaker = says
        at += len(line) + 1
    if speaker:
        yield speaker, _said(block[begin:], names[speaker])


def _said(lines: Text, name: str) -> Text:
    """Return what is said, without the speaker's name."""
    at = lines.plain.find(f"{name}:")
    if at >= 0:
        lines = lines[:at] + lines[at + len(name) + 1 :]
    return lines.stripped()


def without_returns(text: Text) -> Text:
    """Return a text without carriage returns."""
    if "\r" not in text.plain:
        return text
    pieces: list[Text] = []
    at = 0
    for part in text.plain.split("\r"):
        pieces.append(text[at : at + len(part)])
        at += len(part) + 1
    return Text.join("", pieces)

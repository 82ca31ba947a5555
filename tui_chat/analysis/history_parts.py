"""The parts of stored and captured messages: what was said, and what a program put beside it.

1. A message of the system is the system prompt, and one of a tool is its result.
2. A reminder is an element that a program writes into a message, such as Claude Code's
   `<system-reminder>` or Codex's `<environment_context>`: its name has several words, and one of
   them is in `_REMINDING`. An element with a name of one word may be a person's own.
3. A file is what follows a headline that names it (`_HEADLINES`), up to the next one, the mark of
   its end, a section of the program's own, or the end of the element or block around it. An
   element with the path of a file is one too.
4. Reasoning is what a captured reply sends back of it; that of our own sessions is not counted.
5. All else of a message is conversation. Figures are shares of the turn's tokens by characters, so
   the parts of a turn add up to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from tui_chat.models.blocks import TextBlock
from tui_chat.models.message import is_words
from tui_chat.models.turn import Turn
from tui_chat.tokens import media_tokens


class HistoryPart(StrEnum):
    """A kind of piece of the history."""

    SYSTEM = "system prompt"
    REMINDER = "reminders"
    FILE = "files"
    RESULT = "tool results"
    REASONING = "reasoning"
    CONVERSATION = "conversation"


Piece = tuple[HistoryPart, str, int]
"""A part of a turn, the name of its file if it is one, and its size."""

_REMINDING = (
    *("reminder", "context", "instruction", "instructions", "environment", "permissions"),
    *("caveat", "notification", "system"),
)
_ELEMENTS = re.compile(
    r"<(?P<file>file|document|attachment|attached[-_]file)\b[^<>]*?"
    r"\b(?:path|name|filename|source)=[\"'](?P<path>[^\"'<>\n]+)[\"'][^<>]*>"
    r"|<(?P<name>[A-Za-z]\w*(?:[- ]\w+)*)>"
)
_PATH = r"[^\n:*<>|]*\.\w{1,12}"
_HEADLINES = re.compile(
    rf"""^(?:
        Contents\ of\ ({_PATH})(?:\ \([^\n]*\))?:            # Claude Code
      | Instructions\ from:\ ({_PATH})                       # opencode
      | -{{2,}}\ Context\ from:?\ ({_PATH})\ -{{2,}}         # Gemini CLI
      | \#\ ({_PATH})\ instructions(?:\ for\ [^\n]*)?        # Codex
    )[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
_END = re.compile(
    r"^(?:--- End of Context from: [^\n]*---[ \t]*\n?|</INSTRUCTIONS>[ \t]*\n?"
    r"|(?=\# [a-z]+(?:[A-Z][a-z]+)+[ \t]*$)|(?=[ \t]+IMPORTANT: this context may))",
    re.MULTILINE,
)
"""The end of a file: its mark, or a section such as `# currentDate`."""
_HINTS = ("<", " from: ", "Contents of ", " instructions")
"""One of them is in every text that has a reminder or a file."""
CHARACTERS_OF_TOKEN = 4
"""Size of a token of a picture, in characters."""


def parts_of(turn: Turn) -> tuple[Piece, ...]:
    """Return the parts of a turn of the history."""
    base = _BASES.get(turn.role, HistoryPart.CONVERSATION)
    text = turn.text.plain
    size = sum(len(call.name) + len(call.arguments) for call in turn.tool_calls)
    for part in turn.parts:
        size += len(part.text) if part.text else media_tokens(part) * CHARACTERS_OF_TOKEN
    if turn.role == "assistant":
        return _of_reply(turn, len(text) + size)
    if not any(hint in text for hint in _HINTS):
        return ((base, "", len(text) + size),)
    sizes: dict[tuple[HistoryPart, str], int] = {(base, ""): size}
    for block in _blocks(turn):
        for part, name, length in _parts(block, base):
            sizes[part, name] = sizes.get((part, name), 0) + length
    pieces = tuple((part, name, length) for (part, name), length in sizes.items() if length)
    return pieces or ((base, "", 0),)


def _of_reply(turn: Turn, size: int) -> tuple[Piece, ...]:
    reasoning = 0
    if turn.extras is not None:  # else the counter leaves it out
        for block in turn.reasoning:
            reasoning += len(block.text) + len(block.encrypted) * CHARACTERS_OF_TOKEN // 6
    spoken = (HistoryPart.CONVERSATION, "", size)
    return (spoken, (HistoryPart.REASONING, "", reasoning)) if reasoning else (spoken,)


def shared(pieces: tuple[Piece, ...], tokens: int) -> Iterator[tuple[HistoryPart, str, int]]:
    """Yield the tokens of each part of a turn, which add up to those of the turn."""
    whole, done, counted = sum(size for _, _, size in pieces), 0, 0
    for part, name, size in pieces:
        done += size
        upto = round(tokens * done / whole) if whole else tokens
        yield part, name, upto - counted
        counted = upto


_BASES = {"system": HistoryPart.SYSTEM, "tool": HistoryPart.RESULT}


def _blocks(turn: Turn) -> Iterator[str]:
    """Return the texts in which a message came."""
    return (block.text for block in turn.blocks if type(block) is TextBlock and is_words(block))


def _parts(block: str, base: HistoryPart) -> Iterator[Piece]:
    """Yield the parts of a block of text."""
    position = 0
    unclosed: set[str] = set()
    for match in _ELEMENTS.finditer(block):
        name, tag = match["path"] or "", match["file"] or match["name"]
        if match.start() < position or tag in unclosed or not (name or _is_reminding(tag)):
            continue
        end = block.find(f"</{tag}>", match.end())
        if end < 0:
            unclosed.add(tag)
            continue
        end += len(tag) + 3
        yield from _files(block[position : match.start()], base)
        if name:
            yield HistoryPart.FILE, name, end - match.start()
        else:
            yield from _files(block[match.start() : end], HistoryPart.REMINDER)
        position = end
    yield from _files(block[position:], base)


def _is_reminding(name: str) -> bool:
    words = re.split(r"[-_ ]", name.lower())
    return len(words) > 1 and any(word in _REMINDING for word in words)


def _files(text: str, base: HistoryPart) -> Iterator[Piece]:
    """Yield the files of a text, and what is around them."""
    position = 0
    heads = list(_HEADLINES.finditer(text)) if base is not HistoryPart.RESULT else []
    for number, head in enumerate(heads):
        if head.start() < position:
            continue
        stop = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        end = _END.search(text, head.end(), stop)
        yield base, "", head.start() - position
        position = stop if end is None else end.end()
        name = next(path for path in head.groups() if path)
        yield HistoryPart.FILE, name.strip(), position - head.start()
    yield base, "", len(text) - position

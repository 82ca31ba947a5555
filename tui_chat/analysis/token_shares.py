"""The contents of the context window: token shares by origin, the growth of each exchange, the
largest turns, and the message that is dropped next.

Stored and captured messages have parts: what was said, and what a program put beside it.

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
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from heapq import nlargest
from typing import TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import TextBlock
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.message import is_words
from tui_chat.models.text import OriginKind
from tui_chat.models.tool import server_of
from tui_chat.tokens import media_tokens


class HistoryPart(StrEnum):
    """A kind of piece of the history."""

    SYSTEM = "system prompt"
    REMINDER = "reminders"
    FILE = "files"
    RESULT = "tool results"
    REASONING = "reasoning"
    CONVERSATION = "conversation"


@dataclass(frozen=True, slots=True)
class ShareItem:
    """The tokens of one tool, file, lore entry, or of all results of one tool."""

    name: str
    tokens: int
    server: str = ""
    """The MCP server of a tool; empty for none."""
    count: int = 1
    """The number of turns that it is in; of a tool, its calls in this request."""


@dataclass(frozen=True, slots=True)
class Share:
    """The tokens of one kind of origin, or of one part of the history."""

    kind: OriginKind
    tokens: int
    turns: int
    """The number of turns that have it, or of tools."""
    part: HistoryPart | None = None
    """The part of the history; None for every other kind."""
    items: tuple[ShareItem, ...] = ()
    """What it is made of, the largest first, where that has names."""

    @property
    def servers(self) -> dict[str, tuple[ShareItem, ...]]:
        """The items of each MCP server, the largest server first; those of none are under ""."""
        items_by_server: dict[str, tuple[ShareItem, ...]] = {}
        for item in self.items:
            items_by_server[item.server] = (*items_by_server.get(item.server, ()), item)
        return dict(sorted(items_by_server.items(), key=lambda each: -_sum(each[1])))


def _sum(items: Iterable[ShareItem]) -> int:
    return sum(item.tokens for item in items)


@dataclass(frozen=True, slots=True)
class ExchangeTokens:
    """A user message of the conversation and what follows it, up to the next one."""

    first: int
    """The index of its first turn in the envelope."""
    tokens: int
    """Without what the preset and lorebooks put between its messages."""


@dataclass(frozen=True, slots=True)
class Shares:
    """All shares of a request. Figures in tokens."""

    shares: tuple[Share, ...]
    """In the order of `OriginKind` and `HistoryPart`; kinds that take nothing are left out."""
    framing: int
    """The tokens that frame the request: the total less all shares."""
    reserve: int
    """Kept free for the reply; 0 where no limit is known."""
    free: int | None
    """Left over; negative when over the limit; None where no limit is known."""
    limit: int | None
    next_out: Turn | None
    """The oldest message of the history that is sent and not pinned: it falls out first. None in a
    captured request, of which nothing is left out here."""
    exchanges: tuple[ExchangeTokens, ...] = ()
    """The growth of the conversation, oldest first."""

    @property
    def used(self) -> int:
        """The tokens of the request."""
        return sum(share.tokens for share in self.shares) + self.framing


_Kind: TypeAlias = "tuple[OriginKind, HistoryPart | None]"
"""A kind of origin, and the part of the history if it is that."""


def token_shares(envelope: ChatEnvelope, pinned: Collection[str] = ()) -> Shares:
    """Return the shares of an envelope. A turn belongs to the kind of its origin as a whole.
    `pinned` are the ids of the messages that stay whatever they cost.
    """
    budget = envelope.budget
    shares = tuple(_shares(envelope))
    counted = sum(share.tokens for share in shares)
    may_drop = (
        turn
        for turn in (() if envelope.source is not None else envelope.turns)
        if turn.placement.kind == "history" and turn.role != "system"
    )
    return Shares(
        shares,
        framing=max(budget.total - counted, 0) if budget else 0,
        reserve=budget.reserve if budget and budget.limit is not None else 0,
        free=budget.free if budget else None,
        limit=budget.limit if budget else None,
        next_out=next((turn for turn in may_drop if turn.origin.id not in pinned), None),
        exchanges=tuple(_exchanges(envelope)),
    )


def _shares(envelope: ChatEnvelope) -> Iterator[Share]:
    budget, items = envelope.budget, _named_items(envelope)
    for kind in OriginKind:
        if kind is OriginKind.TOOL and budget is not None and budget.tools:
            calls = Counter(call.name for turn in envelope.turns for call in turn.tool_calls)
            tools = [ShareItem(n, cost, server_of(n), calls[n]) for n, cost in budget.tools]
            yield Share(kind, _sum(tools), len(tools), None, _largest_first(tools))
        for part in (None, *HistoryPart):
            if of_part := items.get((kind, part)):
                named = [item for item in of_part if item.name]
                turns = sum(item.count for item in of_part)
                yield Share(kind, _sum(of_part), turns, part, _largest_first(named))
    if budget is not None and budget.edits:
        yield Share(OriginKind.EDIT, budget.edits, 0)


def _named_items(envelope: ChatEnvelope) -> dict[_Kind, list[ShareItem]]:
    """Return what each kind is made of; what has no name is one item without."""
    counts: dict[tuple[_Kind, str], tuple[int, int]] = {}
    tool_of_call: dict[str, str] = {}
    for turn, tokens in zip(envelope.turns, _tokens_of(envelope), strict=True):
        for call in turn.tool_calls:
            tool_of_call[call.id] = call.name
        tool = turn.tool_name or tool_of_call.get(turn.tool_call_id, "")
        for key, share in _divided(turn, tokens, tool if turn.role == "tool" else ""):
            sum_before, turns_before = counts.get(key, (0, 0))
            counts[key] = sum_before + share, turns_before + 1
    items: dict[_Kind, list[ShareItem]] = {}
    for (kind, name), (tokens, turns) in counts.items():
        items.setdefault(kind, []).append(ShareItem(name, tokens, "", turns))
    return items


@Memo
def _divided(turn: Turn, tokens: int, tool: str) -> tuple[tuple[tuple[_Kind, str], int], ...]:
    """Return the tokens of a turn by kind and name. `tool` is the one whose result it is."""
    kind = turn.origin.kind
    if kind is not OriginKind.HISTORY:
        name = turn.origin.name if kind is OriginKind.LORE else ""
        return ((((kind, None), name), tokens),)
    return tuple(
        (((kind, part), tool if part is HistoryPart.RESULT else name), share)
        for part, name, share in shared(parts_of(turn), tokens)
    )


def _largest_first(items: Iterable[ShareItem]) -> tuple[ShareItem, ...]:
    return tuple(sorted(items, key=lambda item: -item.tokens))


def _exchanges(envelope: ChatEnvelope) -> Iterator[ExchangeTokens]:
    """Yield the exchanges of the conversation, oldest first."""
    first, tokens = -1, 0
    for index, (turn, count) in enumerate(zip(envelope.turns, _tokens_of(envelope), strict=True)):
        if turn.origin.kind not in _CONVERSATION:
            continue
        if turn.role == "user":
            if first >= 0:
                yield ExchangeTokens(first, tokens)
            first, tokens = index, 0
        tokens += count
    if first >= 0:
        yield ExchangeTokens(first, tokens)


def _tokens_of(envelope: ChatEnvelope) -> tuple[int, ...]:
    """Return the tokens of each turn: 0 in an envelope whose turns were not counted."""
    return envelope.tokens or (0,) * len(envelope.turns)


_CONVERSATION = (OriginKind.HISTORY, OriginKind.DRAFT)


def largest_turns(envelope: ChatEnvelope, count: int) -> list[tuple[Turn, int]]:
    """Return the turns that take the most tokens, the largest first, with their tokens."""
    tokens = _tokens_of(envelope)
    indices = nlargest(count, range(len(tokens)), key=tokens.__getitem__)
    return [(envelope.turns[index], tokens[index]) for index in indices]


# --- the parts of a message ------------------------------------------------------------------

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
        reasoning = 0
        for block in turn.reasoning if turn.extras is not None else ():  # else it is not counted
            reasoning += len(block.text) + len(block.encrypted) * CHARACTERS_OF_TOKEN // 6
        spoken = (HistoryPart.CONVERSATION, "", len(text) + size)
        return (spoken, (HistoryPart.REASONING, "", reasoning)) if reasoning else (spoken,)
    if not any(hint in text for hint in _HINTS):
        return ((base, "", len(text) + size),)
    sizes: dict[tuple[HistoryPart, str], int] = {(base, ""): size}
    for block in turn.blocks:
        if type(block) is TextBlock and is_words(block):
            for part, name, length in _parts(block.text, base):
                sizes[part, name] = sizes.get((part, name), 0) + length
    pieces = tuple((part, name, length) for (part, name), length in sizes.items() if length)
    return pieces or ((base, "", 0),)


def shared(pieces: tuple[Piece, ...], tokens: int) -> Iterator[tuple[HistoryPart, str, int]]:
    """Yield the tokens of each part of a turn, which add up to those of the turn."""
    whole, done, counted = sum(size for _, _, size in pieces), 0, 0
    for part, name, size in pieces:
        done += size
        upto = round(tokens * done / whole) if whole else tokens
        yield part, name, upto - counted
        counted = upto


_BASES = {"system": HistoryPart.SYSTEM, "tool": HistoryPart.RESULT}


def _parts(block: str, base: HistoryPart) -> Iterator[Piece]:
    """Yield the parts of a block of text."""
    position = 0
    unclosed: set[str] = set()
    for match in _ELEMENTS.finditer(block):
        name, tag = match["path"] or "", match["file"] or match["name"]
        words = re.split(r"[-_ ]", tag.lower())
        is_reminding = len(words) > 1 and any(word in _REMINDING for word in words)
        if match.start() < position or tag in unclosed or not (name or is_reminding):
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

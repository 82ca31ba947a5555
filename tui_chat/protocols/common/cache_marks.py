"""Cache marks: which of them are sent, and on which block.

1. Anthropic (`cache_control`) and OpenAI (`prompt_cache_breakpoint`, from GPT-5.6 on) accept four
   in a request. Of more, the last four count: each covers everything before it, so the later ones
   save the most.
2. For Anthropic a mark of an hour must not follow one of five minutes: it becomes one of five
   minutes. A system turn may be moved to the front later, so it counts as if it were there too.
3. Thinking accepts no mark: the mark is set on the last block that accepts one.
4. OpenAI keeps a prompt for half an hour at least, whatever the mark says. A message has one mark,
   at the end of its content; Responses accepts none in what the model said or a tool returned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import CacheMark, Level, Note, Turn
from tui_chat.models.json_tree import Obj, Str, Tree, tree_of
from tui_chat.models.preset import CacheLifetime
from tui_chat.models.text import Origin
from tui_chat.protocols.common.encoding import field_origin
from tui_chat.protocols.common.tool_pairing import variant

MAX_MARKS = 4

_Lifetimes = tuple[CacheLifetime | None, ...]
"""The lifetimes of a turn's marks in order, its own being the last; None for one that is not
sent."""


def limit_cache_marks(
    turns: Sequence[Turn], protocol: Protocol
) -> tuple[Sequence[Turn], list[Note]]:
    """Return the turns with the marks that may be sent, and notes on those left out."""
    marks = {index: _lifetimes(turn) for index, turn in enumerate(turns) if has_marks(turn)}
    if protocol is Protocol.ANTHROPIC:
        sent = _shorten_until_valid(turns, _keep_last(marks))
    else:
        sent = _one_for_each_message(turns, marks, protocol)
    is_other = _changes_lifetime(turns, sent, protocol)
    notes = [_lifetime_note(protocol)] if is_other else []
    changed = list(turns)
    for index, lifetimes in sent.items():
        if lifetimes != marks[index]:
            turn = turns[index]
            changed[index] = variant(
                turn, ("marks", lifetimes), partial(_replace_lifetimes, sent=lifetimes)
            )
            notes += _mark_notes(turn, protocol, marks[index], lifetimes)
    return (turns if sent == marks else changed), notes


def _changes_lifetime(
    turns: Sequence[Turn], sent: dict[int, _Lifetimes], protocol: Protocol
) -> bool:
    """Return True if a mark of another vendor is sent, whose lifetimes are others."""
    marked = [index for index, lifetimes in sent.items() if any(lifetimes)]
    if protocol is not Protocol.ANTHROPIC:
        return bool(marked)
    layouts = (turns[index].semantics.layout for index in marked)
    return any(is_breakpoint(p.cache) for layout in layouts if layout for p in layout.pieces)


def _lifetime_note(protocol: Protocol) -> Note:
    form = "where a prompt is kept for five minutes, or an hour"
    if protocol is not Protocol.ANTHROPIC:
        form = "at the end of their messages; a prompt is kept for half an hour at least"
    sentence = f"Cache marks are sent in the form of {protocol.label}, {form}."
    return Note(Level.INFO, "setting-changed", sentence)


def has_marks(turn: Turn) -> bool:
    """Return True if a turn or a piece of it has a cache mark."""
    layout = turn.semantics.layout
    return turn.cache_mark is not None or (
        layout is not None and any(piece.cache for piece in layout.pieces)
    )


def _lifetimes(turn: Turn) -> _Lifetimes:
    layout = turn.semantics.layout
    lifetimes: list[CacheLifetime] = []
    if layout is not None:
        lifetimes.extend(_lifetime(piece.cache) for piece in layout.pieces if piece.cache)
    if turn.cache_mark is not None:
        lifetimes.append(turn.cache_mark.lifetime)
    return tuple(lifetimes)


def _lifetime(mark: str) -> CacheLifetime:
    return "1h" if json.loads(mark).get("ttl") in ("1h", "12h") else "5m"


def _keep_last(marks: dict[int, _Lifetimes]) -> dict[int, _Lifetimes]:
    """Leave out what is more than `MAX_MARKS`, from the first on."""
    surplus = sum(map(len, marks.values())) - MAX_MARKS
    sent: dict[int, _Lifetimes] = {}
    for index, lifetimes in marks.items():
        gone = min(max(surplus, 0), len(lifetimes))
        sent[index] = (*(None for _ in range(gone)), *lifetimes[gone:])
        surplus -= gone
    return sent


def _one_for_each_message(
    turns: Sequence[Turn], marks: dict[int, _Lifetimes], protocol: Protocol
) -> dict[int, _Lifetimes]:
    """Leave the last mark of each of the last messages that accept one in OpenAI's protocols."""
    accepting = [index for index in marks if _takes_breakpoint(turns[index], protocol)]
    sent: dict[int, _Lifetimes] = {}
    for index, lifetimes in marks.items():
        last = lifetimes[-1] if index in accepting[-MAX_MARKS:] else None
        sent[index] = (*(None for _ in lifetimes[1:]), last)
    return sent


def _takes_breakpoint(turn: Turn, protocol: Protocol) -> bool:
    if protocol is Protocol.OPENAI_RESPONSES and turn.role not in ("user", "system"):
        return False
    return bool(turn.text.plain or turn.parts)


def _shorten_until_valid(
    turns: Sequence[Turn], marks: dict[int, _Lifetimes]
) -> dict[int, _Lifetimes]:
    """Shorten the marks of an hour that follow one of five minutes. A system turn that is shortened
    may be before other marks, which are then shortened too.
    """
    while (sent := _shorten_once(turns, marks)) != marks:
        marks = sent
    return marks


def _shorten_once(turns: Sequence[Turn], marks: dict[int, _Lifetimes]) -> dict[int, _Lifetimes]:
    system = any("5m" in marks for index, marks in marks.items() if turns[index].role == "system")
    short, sent = False, dict[int, _Lifetimes]()
    for index, lifetimes in marks.items():
        behind = short or (system and turns[index].role != "system")
        now: list[CacheLifetime | None] = []
        for lifetime in lifetimes:
            behind = behind or lifetime == "5m"
            now.append("5m" if behind and lifetime else lifetime)
        sent[index] = tuple(now)
        short = short or "5m" in now
    return sent


def _replace_lifetimes(turn: Turn, sent: _Lifetimes) -> Turn:
    """Return a turn with other lifetimes of its marks."""
    left, layout, mark = list(sent), turn.semantics.layout, turn.cache_mark
    if mark is not None:
        lifetime = left.pop()
        mark = None if lifetime is None else replace(mark, lifetime=lifetime)
    semantics = turn.semantics
    if layout is not None:
        pieces = list(layout.pieces)
        for index, piece in enumerate(pieces):
            if piece.cache and (lifetime := left.pop(0)) != _lifetime(piece.cache):
                cache = "" if lifetime is None else '{"type":"ephemeral"}'
                pieces[index] = replace(piece, cache=cache)
        semantics = replace(semantics, layout=replace(layout, pieces=tuple(pieces)))
    return replace(turn, semantics=semantics, cache_mark=mark)


def _mark_notes(
    turn: Turn, protocol: Protocol, lifetimes: _Lifetimes, sent: _Lifetimes
) -> Iterator[Note]:
    origin, label = mark_origin(turn), protocol.label
    if lost := sent.count(None):
        if protocol is not Protocol.ANTHROPIC and not _takes_breakpoint(turn, protocol):
            why = f"{label} accepts no cache mark in this message"
        elif protocol is not Protocol.ANTHROPIC and any(sent):
            why = f"{label} is sent one cache mark for a message, at its end"
        else:
            why = f"{label} accepts {MAX_MARKS} cache marks, and later ones save more"
        count = "this one is" if len(sent) == 1 else f"{lost} of {len(sent)} in this message are"
        sentence = f"{why}; {count} left out."
        yield Note(Level.INFO, "cache-mark-left-out", sentence, origin)
    if any(new not in (None, old) for old, new in zip(lifetimes, sent, strict=True)):
        sentence = "A cache mark of an hour cannot follow one of five minutes; it is shortened."
        yield Note(Level.INFO, "cache-mark-shortened", sentence, origin)


def with_mark(blocks: Sequence[Tree], mark: CacheMark) -> tuple[Tree, ...]:
    """Return blocks, the last one that takes a mark being marked, unless it is already."""
    result = list(blocks)
    for index in range(len(result) - 1, -1, -1):
        block = result[index]
        if isinstance(block, Obj) and _takes_marks(block):
            if block.get("cache_control") is None:
                ttl = {"ttl": "1h"} if mark.lifetime == "1h" else {}
                tree = tree_of(
                    {"type": "ephemeral", **ttl}, field_origin(mark.origin, "cache mark")
                )
                result[index] = Obj((*block.items, ("cache_control", tree)), block.origin)
            break
    return tuple(result)


def mark_origin(turn: Turn) -> Origin:
    """Return the origin of a turn's mark."""
    return turn.cache_mark.origin if turn.cache_mark is not None else turn.origin


def without_mark_notes(notes: Iterable[Note]) -> list[Note]:
    """Return notes without those that say of a mark that only Anthropic accepts it."""
    return [note for note in notes if note.code != "cache-mark-left-out"]


BREAKPOINT = "prompt_cache_breakpoint"


def is_breakpoint(mark: str) -> bool:
    """Return True if a piece's mark is OpenAI's."""
    return '"mode"' in mark


def anthropic_mark(mark: str) -> str:
    """Return a piece's mark as Anthropic's `cache_control`, compact JSON."""
    if not is_breakpoint(mark):
        return mark
    ttl = ',"ttl":"1h"' if _lifetime(mark) == "1h" else ""
    return f'{{"type":"ephemeral"{ttl}}}'


def _takes_marks(block: Obj) -> bool:
    kind = block.get("type")
    return not (isinstance(kind, Str) and "thinking" in kind.text.plain)

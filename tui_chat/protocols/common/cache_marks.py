"""Cache marks: which of them Anthropic is sent. Other protocols get none but those of their own
captured requests.

1. Anthropic accepts four in a request. Of more, the last four count: each covers everything before
   it, so the later ones save the most.
2. A mark of an hour must not follow one of five minutes: it becomes one of five minutes. A system
   turn may be moved to the front later, so it counts as if it were there too.
3. Thinking accepts no mark: the mark is set on the last block that accepts one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from tui_chat.models.blocks import (
    Block,
    Cache,
    Extras,
    ReasoningBlock,
)
from tui_chat.models.envelope import Level, Note
from tui_chat.models.preset import CacheLifetime
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.turn_fit import variant

MAX_MARKS = 4
_Lifetimes = tuple[CacheLifetime | None, ...]
"""The lifetimes of a turn's marks in order, its own being the last; None for one that is not
sent."""


def limit_cache_marks(turns: Sequence[Turn]) -> tuple[Sequence[Turn], list[Note]]:
    """Return the turns with the marks that may be sent, and notes on those left out."""
    marks = {index: _lifetimes(turn) for index, turn in enumerate(turns) if _has_marks(turn)}
    sent = _shorten_until_valid(turns, _keep_last(marks))
    notes: list[Note] = []
    changed = list(turns)
    for index, lifetimes in sent.items():
        if lifetimes != marks[index]:
            turn = turns[index]
            changed[index] = variant(
                turn, ("marks", lifetimes), partial(_replace_lifetimes, sent=lifetimes)
            )
            notes += _mark_notes(turn, marks[index], lifetimes)
    return (turns if sent == marks else changed), notes


def _cache(block: Block) -> Cache:
    return getattr(block, "cache", "")


def _has_marks(turn: Turn) -> bool:
    """Return True if a turn or a block of it has a cache mark."""
    return turn.cache_mark is not None or any(map(_cache, turn.blocks))


def _lifetimes(turn: Turn) -> _Lifetimes:
    lifetimes: list[CacheLifetime] = [
        _lifetime(cache) for block in turn.blocks if (cache := _cache(block))
    ]
    if turn.cache_mark is not None:
        lifetimes.append(turn.cache_mark.lifetime)
    return tuple(lifetimes)


def _lifetime(cache: Cache) -> CacheLifetime:
    return "1h" if cache in ("1h", "12h") else "5m"


def _keep_last(marks: dict[int, _Lifetimes]) -> dict[int, _Lifetimes]:
    """Leave out what is more than `MAX_MARKS`, from the first on."""
    surplus = sum(map(len, marks.values())) - MAX_MARKS
    sent: dict[int, _Lifetimes] = {}
    for index, lifetimes in marks.items():
        gone = min(max(surplus, 0), len(lifetimes))
        sent[index] = (*(None for _ in range(gone)), *lifetimes[gone:])
        surplus -= gone
    return sent


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
    left, mark = list(sent), turn.cache_mark
    if mark is not None:
        lifetime = left.pop()
        mark = None if lifetime is None else replace(mark, lifetime=lifetime)
    blocks = list(turn.blocks)
    for index, block in enumerate(blocks):
        if (cache := _cache(block)) and (lifetime := left.pop(0)) != _lifetime(cache):
            blocks[index] = _with_cache(block, "default" if lifetime else "")
    return replace(turn, blocks=tuple(blocks), cache_mark=mark)


def _with_cache(block: Block, cache: Cache) -> Block:
    """Return a block with another mark than it came with."""
    assert not isinstance(block, ReasoningBlock)
    extras = block.extras
    if extras is not None:
        keys = {key: value for key, value in extras.keys.items() if key != "cache_control"}
        extras = Extras(extras.protocol, extras.form, keys, extras.changes)
    return replace(block, cache=cache, extras=extras)  # type: ignore[call-arg]


def _mark_notes(turn: Turn, lifetimes: _Lifetimes, sent: _Lifetimes) -> Iterator[Note]:
    origin = turn.cache_mark.origin if turn.cache_mark is not None else turn.origin
    if lost := sent.count(None):
        why = f"Anthropic accepts {MAX_MARKS} cache marks, and later ones save more"
        count = "this one is" if len(sent) == 1 else f"{lost} of {len(sent)} in this message are"
        sentence = f"{why}; {count} left out."
        yield Note(Level.INFO, "cache-mark-left-out", sentence, origin)
    if any(new not in (None, old) for old, new in zip(lifetimes, sent, strict=True)):
        sentence = "A cache mark of an hour cannot follow one of five minutes; it is shortened."
        yield Note(Level.INFO, "cache-mark-shortened", sentence, origin)

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
from itertools import groupby

from tui_chat.models.blocks import (
    Cache,
    ReasoningBlock,
)
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.preset import CacheLifetime
from tui_chat.protocols.common.turn_fit import variant

_MAX_MARKS = 4
_Lifetimes = list[CacheLifetime | None]
"""The lifetimes of marks in order, that of a turn after those of its blocks; None for one that is
not sent."""


def limit_cache_marks(turns: Sequence[Turn]) -> tuple[Sequence[Turn], list[Note]]:
    """Return the turns with the marks that may be sent, and notes on those left out."""
    marks: list[tuple[int, CacheLifetime]] = []
    for index, turn in enumerate(turns):
        for lifetime in _lifetimes(turn):
            marks.append((index, lifetime))
    surplus = max(len(marks) - _MAX_MARKS, 0)
    asked: list[CacheLifetime] = [lifetime for _, lifetime in marks]
    kept: _Lifetimes = [*(None for _ in range(surplus)), *asked[surplus:]]
    sent = _shortened([turns[index] for index, _ in marks], kept)
    notes: list[Note] = []
    changed = list(turns)
    places = groupby(range(len(marks)), key=lambda place: marks[place][0])
    for index, group in places:
        own = list(group)
        before: list[CacheLifetime] = [asked[place] for place in own]
        now: _Lifetimes = [sent[place] for place in own]
        if before != now:
            turn, key = turns[index], ("marks", *now)
            changed[index] = variant(turn, key, partial(_with_lifetimes, sent=now))
            notes += _mark_notes(turn, before, now)
    return (turns if sent == asked else changed), notes


def _lifetime(cache: Cache) -> CacheLifetime:
    return "1h" if cache in ("1h", "12h") else "5m"


def _lifetimes(turn: Turn) -> Iterator[CacheLifetime]:
    for block in turn.blocks:
        cache: Cache = getattr(block, "cache", "")
        if cache:
            yield _lifetime(cache)
    if turn.cache_mark is not None:
        yield turn.cache_mark.lifetime


def _shortened(holders: Sequence[Turn], lifetimes: _Lifetimes) -> _Lifetimes:
    """Return the marks without those of an hour that follow one of five minutes. `holders`: the
    turn of each. A system turn that is shortened may be before other marks, which then are too.
    """
    is_system = [turn.role == "system" for turn in holders]
    before: _Lifetimes = []
    while lifetimes != before:
        before, is_short = lifetimes, False
        is_short_first = ("5m", True) in zip(before, is_system, strict=True)
        now: _Lifetimes = []
        for lifetime, is_first in zip(before, is_system, strict=True):
            is_behind = is_short or (is_short_first and not is_first)
            now.append("5m" if is_behind and lifetime else lifetime)
            is_short = is_short or now[-1] == "5m"
        lifetimes = now
    return lifetimes


def _with_lifetimes(turn: Turn, sent: _Lifetimes) -> Turn:
    """Return a turn with other lifetimes of its marks."""
    left, mark, blocks = list(sent), turn.cache_mark, list(turn.blocks)
    if mark is not None:
        lifetime = left.pop()
        mark = None if lifetime is None else replace(mark, lifetime=lifetime)
    for index, block in enumerate(blocks):
        cache: Cache = getattr(block, "cache", "")
        if cache and (lifetime := left.pop(0)) != _lifetime(cache):
            assert not isinstance(block, ReasoningBlock)
            extras, given = block.extras, "default" if lifetime else ""
            if extras is not None:
                keys = {key: v for key, v in extras.keys.items() if key != "cache_control"}
                extras = replace(extras, keys=keys)
            blocks[index] = replace(block, cache=given, extras=extras)  # type: ignore[call-arg]
    return replace(turn, blocks=tuple(blocks), cache_mark=mark)


def _mark_notes(turn: Turn, asked: Sequence[CacheLifetime], sent: _Lifetimes) -> Iterator[Note]:
    origin = turn.cache_mark.origin if turn.cache_mark is not None else turn.origin
    if lost := sent.count(None):
        why = f"Anthropic accepts {_MAX_MARKS} cache marks, and later ones save more"
        count = "this one is" if len(sent) == 1 else f"{lost} of {len(sent)} in this message are"
        yield Note(Level.INFO, "cache-mark-left-out", f"{why}; {count} left out.", origin)
    if any(new not in (None, old) for old, new in zip(asked, sent, strict=True)):
        sentence = "A cache mark of an hour cannot follow one of five minutes; it is shortened."
        yield Note(Level.INFO, "cache-mark-shortened", sentence, origin)

"""Cache marks: which of them are sent, and on which block.

1. Anthropic takes four in a request. Of more, the last four count: each covers all that stands
   before it, so the later ones save the most.
2. A mark of an hour must not stand behind one of five minutes: it becomes one of five minutes.
   Where a system turn will stand is decided elsewhere; so it counts as if it stood in front too.
3. Thinking takes no mark: it goes on the last block that does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tui_chat.models.envelope import CacheMark, Level, Note, Turn
from tui_chat.models.json_tree import Obj, Str, Tree, tree_of
from tui_chat.models.preset import CacheLifetime
from tui_chat.protocols.common.encoding import field_origin
from tui_chat.protocols.common.tool_pairing import variant

MAX_MARKS = 4

_Lifetimes = tuple[CacheLifetime | None, ...]
"""Of a turn's marks in their order, its own being the last; None for one that is not sent."""


def limit_cache_marks(turns: Sequence[Turn]) -> tuple[Sequence[Turn], list[Note]]:
    """Return the turns with the marks that may be sent, and notes for the others."""
    wanted = {index: _lifetimes(turn) for index, turn in enumerate(turns) if _has_marks(turn)}
    sent = _shorten_until_valid(turns, _keep_last(wanted))
    if sent == wanted:
        return turns, []
    changed, notes = list(turns), list[Note]()
    for index, lifetimes in sent.items():
        if lifetimes != wanted[index]:
            turn = turns[index]
            changed[index] = variant(
                turn, ("marks", lifetimes), partial(_replace_lifetimes, sent=lifetimes)
            )
            notes.append(_mark_note(turn, left_out=None in lifetimes))
    return changed, notes


def _has_marks(turn: Turn) -> bool:
    layout = turn.semantics.layout
    return turn.cache_mark is not None or (
        layout is not None and any(piece.cache for piece in layout.pieces)
    )


def _lifetimes(turn: Turn) -> _Lifetimes:
    layout = turn.semantics.layout
    found: list[CacheLifetime] = []
    if layout is not None:
        found.extend(_lifetime(piece.cache) for piece in layout.pieces if piece.cache)
    if turn.cache_mark is not None:
        found.append(turn.cache_mark.lifetime)
    return tuple(found)


def _lifetime(mark: str) -> CacheLifetime:
    return "1h" if json.loads(mark).get("ttl") == "1h" else "5m"


def _keep_last(wanted: dict[int, _Lifetimes]) -> dict[int, _Lifetimes]:
    """Leave out what is more than `MOST`, from the first on."""
    surplus = sum(map(len, wanted.values())) - MAX_MARKS
    sent: dict[int, _Lifetimes] = {}
    for index, lifetimes in wanted.items():
        gone = min(max(surplus, 0), len(lifetimes))
        sent[index] = (*(None for _ in range(gone)), *lifetimes[gone:])
        surplus -= gone
    return sent


def _shorten_until_valid(
    turns: Sequence[Turn], wanted: dict[int, _Lifetimes]
) -> dict[int, _Lifetimes]:
    """Shorten the hours that stand behind five minutes. A system turn that is shortened may stand
    in front of others, which are then shortened too.
    """
    while (sent := _shorten_once(turns, wanted)) != wanted:
        wanted = sent
    return wanted


def _shorten_once(turns: Sequence[Turn], wanted: dict[int, _Lifetimes]) -> dict[int, _Lifetimes]:
    system = any("5m" in each for index, each in wanted.items() if turns[index].role == "system")
    short, sent = False, dict[int, _Lifetimes]()
    for index, lifetimes in wanted.items():
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


def _mark_note(turn: Turn, *, left_out: bool) -> Note:
    origin = turn.cache_mark.origin if turn.cache_mark is not None else turn.origin
    if left_out:
        sentence = (
            f"Anthropic takes {MAX_MARKS} cache marks, and later ones save more: it is left out."
        )
        return Note(Level.INFO, "cache-mark-left-out", sentence, origin)
    sentence = "A cache mark of an hour cannot follow one of five minutes; it is one of these too."
    return Note(Level.INFO, "cache-mark-shortened", sentence, origin)


def with_mark(blocks: Sequence[Tree], mark: CacheMark) -> tuple[Tree, ...]:
    """Return blocks, the last one that takes a mark being marked, unless it is already."""
    found = list(blocks)
    for index in range(len(found) - 1, -1, -1):
        block = found[index]
        if isinstance(block, Obj) and _takes_marks(block):
            if block.get("cache_control") is None:
                ttl = {"ttl": "1h"} if mark.lifetime == "1h" else {}
                tree = tree_of(
                    {"type": "ephemeral", **ttl}, field_origin(mark.origin, "cache mark")
                )
                found[index] = Obj((*block.items, ("cache_control", tree)), block.origin)
            break
    return tuple(found)


def _takes_marks(block: Obj) -> bool:
    kind = block.get("type")
    return not (isinstance(kind, Str) and "thinking" in kind.text.plain)

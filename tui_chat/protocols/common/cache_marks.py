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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from tui_chat.models.blocks import (
    Block,
    Cache,
    Extras,
    JsonObject,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.preset import CacheLifetime
from tui_chat.models.text import Origin, Text
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.call_pairing import variant
from tui_chat.protocols.common.encoding import field_origin
from tui_chat.protocols.common.reading import items_of
from tui_chat.protocols.common.trees import Word, dictionary, labelled

MAX_MARKS = 4
BREAKPOINT = "prompt_cache_breakpoint"
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
    return any(
        _is_breakpoint(block) for index in marked for block in turns[index].blocks if _cache(block)
    )


def _is_breakpoint(block: Block) -> bool:
    """Return True if a mark is OpenAI's."""
    extras = block.extras
    return _cache(block) in ("30m", "12h") or (extras is not None and BREAKPOINT in extras.keys)


def _cache(block: Block) -> Cache:
    return getattr(block, "cache", "")


def _lifetime_note(protocol: Protocol) -> Note:
    form = "where a prompt is kept for five minutes, or an hour"
    if protocol is not Protocol.ANTHROPIC:
        form = "at the end of their messages; a prompt is kept for half an hour at least"
    sentence = f"Cache marks are sent in the form of {protocol.label}, {form}."
    return Note(Level.INFO, "setting-changed", sentence)


def has_marks(turn: Turn) -> bool:
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
    is_text = (isinstance(block, TextBlock) and bool(block.text) for block in turn.blocks)
    return any(is_text) or any(isinstance(block, MediaBlock) for block in turn.blocks)


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
        keys = {k: v for k, v in extras.keys.items() if k not in ("cache_control", BREAKPOINT)}
        extras = Extras(extras.protocol, extras.form, keys, extras.changes)
    return replace(block, cache=cache, extras=extras)  # type: ignore[call-arg]


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


def with_breakpoint(message: JsonObject, turn: Turn, text_type: str) -> JsonObject:
    """Return a turn's message in a protocol of OpenAI with a cache breakpoint on its last part. A
    text becomes a part of the type `text_type`.
    """
    content = message.get("content")
    if isinstance(content, str | Text):
        content = [{"type": Word(text_type), "text": content}]
    parts = items_of(content)
    last = dictionary(parts[-1]) if parts else {}
    if not last or BREAKPOINT in last:
        return {**message, "content": parts} if parts else message
    mark = labelled({"mode": "explicit"}, origin=field_origin(mark_origin(turn), "cache mark"))
    return {**message, "content": [*parts[:-1], {**last, BREAKPOINT: mark}]}


def mark_origin(turn: Turn) -> Origin:
    """Return the origin of a turn's mark."""
    return turn.cache_mark.origin if turn.cache_mark is not None else turn.origin


def without_mark_notes(notes: Iterable[Note]) -> list[Note]:
    """Return notes without those that say of a mark that only Anthropic accepts it."""
    return [note for note in notes if note.code != "cache-mark-left-out"]

"""Which messages a search compares: the latest that have the words and pass the filters.

Two roads lead to them:

1. The index names all messages with the words, in the order in which they were stored, and the
   filters are asked of each. That is cheap for rare words, and dear where a word is everywhere and
   a filter leaves little, or where the many endings of a beginning must be put together first.
2. The messages that pass the filters are read, newest first, until enough of them have the
   words. That is cheap for common words, and for filters that leave few messages.

Both are estimated, from a sample of all messages and from what was read so far. Reading begins, if
the index is not by far cheaper, and goes on for as long as it is the cheaper one. Either road finds
the same where no more is found than is compared.

Where filters leave some sessions, the index's matches are either asked one by one for theirs, or
looked up among all messages of these sessions, which are put together first.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from tui_chat.models.search import Query
from tui_chat.store.asides import TEXT, Searched
from tui_chat.store.conditions import (
    Conditions,
    of_index,
    of_messages,
    of_time,
    rows_where,
)
from tui_chat.store.database import Row, Transaction
from tui_chat.store.reading import Reading, as_read, reading_of
from tui_chat.store.snippets import Finder
from tui_chat.store.words import Term

COMPARED = 150
"""Matches that are compared with each other."""

DATED = 2_000
"""Matches that are put in order by when they were said, where the index found them."""

_STEP = 400
"""Messages that are read at a time."""

_SAMPLED, _TOGETHER = 60, 8
"""Places at which messages are looked at to know how common words are, and how many at each."""

_LONGEST_STEP = 2_000

_RARE = 1_500
"""Matches that are looked up without asking what else there is."""

_TRUST = 100
"""Messages that were read from which on they tell more than the sample."""

_TRIED = 0.1
"""The index is not asked before reading would have taken this part of what it would take."""

# Microseconds, measured on one machine: only what they are to each other counts.
_LOOK = 1.3
"""To ask the filters of a match."""
_STEP_OVER = 0.1
"""To pass over a match in the index."""
_GATHER = 0.25
"""To put one match to the other endings of a beginning."""
_PUT_IN, _LOOK_IN = 0.33, 0.25
"""To put a message to those of some sessions, and to look for a match among them."""
_SURE = 1.25
"""How much cheaper that must seem than to ask one by one."""
_PASS_BY = 1.6
"""To come to a message that is to be read, and ask the filters of it."""
_READ, _READ_CHARACTER = 4.0, 0.01
"""To look for the words in a message, and in each of its characters."""

_PASSING = """
    FROM {index} AS i CROSS JOIN messages AS m INDEXED BY messages_facts ON m.seq = i.rowid
    WHERE {index} MATCH ? AND m.seq NOT IN (SELECT message FROM hidden_messages)
        AND m.session_id NOT IN (SELECT session_id FROM sessions WHERE deleted IS NOT NULL)
        {{filters}}
    ORDER BY i.rowid DESC
"""
_LATEST = f"SELECT i.rowid, m.created {_PASSING} LIMIT {COMPARED}"
_DATES = f"SELECT i.rowid, m.created {_PASSING} LIMIT {DATED}"
_THESE = """
    SELECT m.session_id, m.message_id, s.title, m.message_role, {text}, m.created
    FROM json_each(?) AS i CROSS JOIN messages AS m ON m.seq = i.value
        CROSS JOIN sessions AS s ON s.session_id = m.session_id
"""


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for."""

    query: Query
    terms: tuple[Term, ...]
    finder: Finder
    of: Searched = TEXT

    @property
    def match(self) -> str:
        """The words in the index's language."""
        return " AND ".join(term.match for term in self.terms)

    @property
    def is_newest_first(self) -> bool:
        """Whether they are put in order by when they were said."""
        return self.query.order == "newest"

    @property
    def need(self) -> int:
        """How many messages are enough."""
        return self.query.limit if self.is_newest_first else max(COMPARED, self.query.limit)


async def candidates(tx: Transaction, sought: Sought) -> list[Row]:
    """Return the messages that are found, or so many of them as are compared: session, id, title,
    writer, text, and when it was said.
    """
    reading = await reading_of(tx, sought.query)
    reading.of = sought.of
    if reading.is_done:
        return []
    if await _is_rare(tx, sought):
        return await _looked_up(tx, sought, reading.sessions)
    common = await _sample(tx, sought)
    found: list[Row] = []
    while not (reading.is_done or _is_enough(sought, reading, found)):
        costs = _Costs.of(sought, reading, len(found), common)
        if costs.reading > costs.index and costs.tried > costs.index * _TRIED:
            sessions = _together(reading.sessions) if costs.is_together else reading.sessions
            return await _looked_up(tx, sought, sessions)
        rows = await reading.read(tx, min(max(_STEP, costs.messages), _LONGEST_STEP))
        found += [row[:2] for row in rows if sought.finder.has_all(row[2])]
    return await _shown(tx, sought, found)


async def _is_rare(tx: Transaction, sought: Sought) -> bool:
    """Tell whether the index has so few matches that nothing else need be thought of."""
    if any(term.is_beginning for term in sought.terms):
        return False
    index = sought.of.index
    counted = f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT ?)"
    [(matches,)] = await tx.rows(counted, sought.match, _RARE)
    return matches < _RARE


def _is_enough(sought: Sought, reading: Reading, found: list[Row]) -> bool:
    if len(found) < sought.need:
        return False
    if not sought.is_newest_first:
        return True
    dates = sorted((created for _, created in found), reverse=True)
    return reading.newest_ahead <= dates[sought.need - 1]


@dataclass(frozen=True, slots=True)
class _Common:
    """How common things are, as a sample of all messages tells."""

    messages: int
    """In the store, about."""
    shares: tuple[float, ...]
    """Of them, those with each of the terms."""
    share: float
    """Of them, those with all terms."""
    passing: float
    """Of them, those with all terms that were said by whom is asked for."""
    after: float
    """Of all messages, those that were said after the time that is asked for."""
    fit: float
    """Of all messages, those that were said by whom is asked for."""
    length: float
    """Characters of a message."""


async def _sample(tx: Transaction, sought: Sought) -> _Common:
    """Look at messages all over the store."""
    last = await tx.row("SELECT coalesce(max(seq), 0) FROM messages")
    messages: int = last[0] if last else 0
    starts = [messages * number // _SAMPLED for number in range(_SAMPLED)]
    conditions = of_messages(sought.query)
    passes = " AND ".join(condition for condition, _ in conditions) or "1"
    sample = await tx.rows(
        f"SELECT {sought.of.whole}, {passes}, m.created >= ? "
        "FROM json_each(?) AS i CROSS JOIN messages AS m "
        f"ON m.seq > i.value AND m.seq <= i.value + {_TOGETHER}",
        *(value for condition, value in conditions for _ in range(condition.count("?"))),
        inf if sought.query.until is None else sought.query.until,
        json.dumps(starts),
    )
    sample = [(sought.of.read(text), *more) for text, *more in sample]
    fits = [passing for _, passing, _ in sample]
    which = [sought.finder.which(text) for text, *_ in sample]
    size = len(sample)
    return _Common(
        messages,
        tuple(_share([each[n] for each in which], size) for n in range(len(sought.terms))),
        _share([all(each) for each in which], size),
        _share([all(each) and fit for each, fit in zip(which, fits, strict=True)], size),
        sum(after for *_, after in sample) / max(1, size),
        _share(fits, size),
        sum(len(text) for text, *_ in sample) / max(1, size),
    )


def _share(hits: Sequence[object], of: int) -> float:
    return max(sum(map(bool, hits)), 0.5) / max(1, of)


@dataclass(frozen=True, slots=True)
class _Costs:
    """What is still to be done on either road, in microseconds, and what was done."""

    reading: float
    messages: int
    """That are still to be read, about."""
    tried: float
    """What reading will have taken after another step."""
    index: float
    is_together: bool
    """Whether the index had better have the messages of the sessions put together."""

    @classmethod
    def of(cls, sought: Sought, reading: Reading, found: int, common: _Common) -> _Costs:
        """Estimate them. What was read tells more the more it was."""
        each = _PASS_BY + common.fit * (_READ + common.length * _READ_CHARACTER)
        told = found * reading.telling / max(1, reading.seen)
        rate = (told + common.passing * _TRUST) / (reading.telling + _TRUST)
        ahead = max(1, sought.need - found) / rate
        messages = min(ahead, max(1, reading.size - reading.seen))
        matches = common.share * common.messages
        need = max(sought.need, DATED) if sought.is_newest_first else sought.need
        # Of all matches; those that are too new come first.
        looked_at = min(1.0, common.after + need / (rate * max(1, reading.size)))
        gathered = sum(
            share * common.messages
            for share, term in zip(common.shares, sought.terms, strict=True)
            if term.is_beginning
        )
        apart = looked_at * matches * _LOOK
        part = reading.inside / max(1, common.messages)
        together = reading.inside * _PUT_IN + looked_at * matches * (_LOOK_IN + part * _LOOK)
        # Asking one by one ends where enough pass, however that was estimated.
        is_together = bool(reading.sessions) and _SURE * together < apart
        return cls(
            messages * each,
            int(messages),
            (reading.seen + _STEP) * each,
            (together if is_together else apart)
            + looked_at * min(common.shares) * common.messages * _STEP_OVER
            + gathered * _GATHER,
            is_together,
        )


def _together(sessions: Conditions) -> Conditions:
    """Return the same of a match in the index, whose message need not be looked at for that."""
    inside = "+i.rowid IN (SELECT m.seq FROM messages AS m WHERE {})"
    return [(inside.format(condition), value) for condition, value in sessions]


async def _looked_up(tx: Transaction, sought: Sought, sessions: Conditions) -> list[Row]:
    """Return what the index finds in some sessions."""
    query = sought.query
    conditions = [*of_index(query), *sessions, *of_messages(query), *of_time(query, "m.created")]
    statement = _DATES if sought.is_newest_first else _LATEST
    statement = statement.format(index=sought.of.index)
    return await _shown(tx, sought, await rows_where(tx, statement, (sought.match,), conditions))


async def _shown(tx: Transaction, sought: Sought, found: list[Row]) -> list[Row]:
    """Return what is shown of the first of those that were found: `seq` and when it was said."""
    if sought.is_newest_first:
        found.sort(key=lambda row: row[1], reverse=True)
    return await shown(tx, [seq for seq, _ in found[: sought.need]], sought.of)


async def shown(tx: Transaction, seqs: list[int], of: Searched = TEXT) -> list[Row]:
    """Return of messages: session, id, title, writer, how the text begins, when it was said."""
    rows = await tx.rows(_THESE.format(text=of.beginning), json.dumps(seqs))
    return as_read(of, rows, 4)

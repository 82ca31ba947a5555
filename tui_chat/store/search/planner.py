"""The query planner: finds the latest messages that have the words and pass the filters.

There are two ways:

1. The index names all messages with the words, in the order in which they were stored, and each is
   filtered. That is cheap for rare words, and expensive if a word is everywhere and a filter
   leaves little, or if the many completions of a prefix have to be merged first.
2. A scan reads the messages that pass the filters, newest first, until enough of them have the
   words. That is cheap for common words, and for filters that leave few messages.

The costs of both are estimated from a sample of all messages and from what was read so far. The
scan begins unless the index is far cheaper, and goes on for as long as it is the cheaper way. Both
find the same if no more messages match than are compared.

If filters leave some sessions only, the index's matches are either filtered by session one by one,
or looked up in the set of all messages of these sessions, which is built first.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.search import Query
from tui_chat.store.database import Row, Transaction
from tui_chat.store.search.index import TEXT, SearchField
from tui_chat.store.search.scans import (
    Filters,
    MessageScan,
    choose_scan,
    decode_column,
    index_bounds,
    message_filters,
    select_filtered,
    time_filters,
)
from tui_chat.store.search.words import Term, TermMatcher

COMPARED = 150
"""The most matches that are ranked against each other."""

DATED = 2_000
"""The most matches of the index that are sorted by time."""

_STEP = 400
"""Messages that a scan reads at a time."""

_LONGEST_STEP = 2_000

_SAMPLE_PLACES, _SAMPLE_RUN = 60, 8
"""Places at which messages are sampled to estimate how common words are, and messages at each."""

_RARE = 1_500
"""With fewer matches, the index is used without an estimate."""

_TRUST = 100
"""From this many read messages on, they count more than the sample."""

_TRIED = 0.1
"""The index is not used before the scan has taken this share of the index's estimated cost."""

# Microseconds, measured on one machine: only their ratios count.
_LOOK = 1.3
"""To filter a match of the index."""
_STEP_OVER = 0.1
"""To pass over a match in the index."""
_GATHER = 0.25
"""To merge one match into those of the other completions of a prefix."""
_PUT_IN, _LOOK_IN = 0.33, 0.25
"""To add a message to the set of those of some sessions, and to look a match up in the set."""
_SURE = 1.25
"""How much cheaper the set must seem than filtering one by one."""
_PASS_BY = 1.6
"""To reach a message in a scan and filter it."""
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
_MATCHES = """
    SELECT m.session_id, m.message_id, s.title, m.message_role, {text}, m.created
    FROM json_each(?) AS i CROSS JOIN messages AS m ON m.seq = i.value
        CROSS JOIN sessions AS s ON s.session_id = m.session_id
"""


@dataclass(frozen=True, slots=True)
class SearchTask:
    """A query, prepared for one field of messages."""

    query: Query
    terms: tuple[Term, ...]
    matcher: TermMatcher
    field: SearchField = TEXT

    @property
    def match(self) -> str:
        """The terms as an expression of the index."""
        return " AND ".join(term.match for term in self.terms)

    @property
    def is_newest_first(self) -> bool:
        """True if the results are sorted by time."""
        return self.query.order == "newest"

    @property
    def need(self) -> int:
        """How many messages are enough."""
        return self.query.limit if self.is_newest_first else max(COMPARED, self.query.limit)


async def find_candidates(tx: Transaction, task: SearchTask) -> list[Row]:
    """Return the messages that match, at most as many as are compared: session id, message id,
    title, role, text, and time.
    """
    scan = await choose_scan(tx, task.query)
    scan.field = task.field
    if scan.is_done:
        return []
    if await _is_rare(tx, task):
        return await _find_by_index(tx, task, scan.sessions)
    frequencies = await _sample(tx, task)
    found: list[Row] = []
    while not (scan.is_done or _is_enough(task, scan, found)):
        costs = _Costs.estimate(task, scan, len(found), frequencies)
        if costs.scan > costs.index and costs.scan_so_far > costs.index * _TRIED:
            sessions = _as_set(scan.sessions) if costs.uses_set else scan.sessions
            return await _find_by_index(tx, task, sessions)
        rows = await scan.read(tx, min(max(_STEP, costs.messages), _LONGEST_STEP))
        found += [row[:2] for row in rows if task.matcher.has_all(row[2])]
    return await _read_best(tx, task, found)


async def _is_rare(tx: Transaction, task: SearchTask) -> bool:
    """Return True if the index has so few matches that no estimate is needed."""
    if any(term.looks_up_prefix for term in task.terms):
        return False
    index = task.field.index
    counted = f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT ?)"
    [(matches,)] = await tx.rows(counted, task.match, _RARE)
    return matches < _RARE


def _is_enough(task: SearchTask, scan: MessageScan, found: list[Row]) -> bool:
    if len(found) < task.need:
        return False
    if not task.is_newest_first:
        return True
    times = sorted((created for _, created in found), reverse=True)
    return scan.newest_ahead <= times[task.need - 1]


@dataclass(frozen=True, slots=True)
class _Frequencies:
    """How common terms and filters are, according to a sample of all messages."""

    messages: int
    """About how many messages there are."""
    by_term: tuple[float, ...]
    """For each term the share of messages with it."""
    matching: float
    """The share of messages with all terms."""
    matching_and_passing: float
    """The share of messages with all terms that pass the filters by writer."""
    too_new: float
    """The share of messages that are newer than the wanted time."""
    passing: float
    """The share of messages that pass the filters by writer."""
    length: float
    """The mean length of a message, in characters."""


async def _sample(tx: Transaction, task: SearchTask) -> _Frequencies:
    """Look at messages all over the store."""
    last = await tx.row("SELECT coalesce(max(seq), 0) FROM messages")
    messages: int = last[0] if last else 0
    starts = [messages * number // _SAMPLE_PLACES for number in range(_SAMPLE_PLACES)]
    filters = message_filters(task.query)
    passes = " AND ".join(condition for condition, _ in filters) or "1"
    rows = await tx.rows(
        f"SELECT {task.field.whole}, {passes}, m.created >= ? "
        "FROM json_each(?) AS i CROSS JOIN messages AS m "
        f"ON m.seq > i.value AND m.seq <= i.value + {_SAMPLE_RUN}",
        *(value for condition, value in filters for _ in range(condition.count("?"))),
        inf if task.query.until is None else task.query.until,
        json.dumps(starts),
    )
    rows = [(task.field.read(text), *more) for text, *more in rows]
    passing = [passes for _, passes, _ in rows]
    by_term = [task.matcher.matches_each(text) for text, *_ in rows]
    size = len(rows)
    return _Frequencies(
        messages,
        tuple(_share([each[n] for each in by_term], size) for n in range(len(task.terms))),
        _share([all(each) for each in by_term], size),
        _share([all(each) and fits for each, fits in zip(by_term, passing, strict=True)], size),
        sum(too_new for *_, too_new in rows) / max(1, size),
        _share(passing, size),
        sum(len(text) for text, *_ in rows) / max(1, size),
    )


def _share(hits: Sequence[object], size: int) -> float:
    """Return the share of true values; never 0, since the sample may have missed some."""
    return max(sum(map(bool, hits)), 0.5) / max(1, size)


@dataclass(frozen=True, slots=True)
class _Costs:
    """The estimated costs of what is still to be done either way, in microseconds."""

    scan: float
    messages: int
    """About how many messages the scan still has to read."""
    scan_so_far: float
    """The cost of the scan up to the end of its next step."""
    index: float
    uses_set: bool
    """True if the index had better use a set of the messages of the sessions."""

    @classmethod
    def estimate(
        cls, task: SearchTask, scan: MessageScan, found: int, frequencies: _Frequencies
    ) -> _Costs:
        """Estimate the costs. The more messages were read, the more they count."""
        each = _PASS_BY + frequencies.passing * (_READ + frequencies.length * _READ_CHARACTER)
        representative = found * scan.sampled / max(1, scan.seen)
        rate = (representative + frequencies.matching_and_passing * _TRUST) / (
            scan.sampled + _TRUST
        )
        ahead = max(1, task.need - found) / rate
        messages = min(ahead, max(1, scan.size - scan.seen))
        matches = frequencies.matching * frequencies.messages
        need = max(task.need, DATED) if task.is_newest_first else task.need
        # The share of all matches that is looked at; those that are too new come first.
        looked_at = min(1.0, frequencies.too_new + need / (rate * max(1, scan.size)))
        merged = sum(
            share * frequencies.messages
            for share, term in zip(frequencies.by_term, task.terms, strict=True)
            if term.looks_up_prefix
        )
        one_by_one = looked_at * matches * _LOOK
        part = scan.messages_in_sessions / max(1, frequencies.messages)
        by_set = scan.messages_in_sessions * _PUT_IN + looked_at * matches * (
            _LOOK_IN + part * _LOOK
        )
        # Filtering one by one ends when enough pass, however that was estimated.
        uses_set = bool(scan.sessions) and _SURE * by_set < one_by_one
        return cls(
            messages * each,
            int(messages),
            (scan.seen + _STEP) * each,
            (by_set if uses_set else one_by_one)
            + looked_at * min(frequencies.by_term) * frequencies.messages * _STEP_OVER
            + merged * _GATHER,
            uses_set,
        )


def _as_set(sessions: Filters) -> Filters:
    """Return the filter for sessions on a match in the index, whose message is not read for it."""
    inside = "+i.rowid IN (SELECT m.seq FROM messages AS m WHERE {})"
    return [(inside.format(condition), value) for condition, value in sessions]


async def _find_by_index(tx: Transaction, task: SearchTask, sessions: Filters) -> list[Row]:
    """Return the matches of the index in some sessions."""
    query = task.query
    filters = [
        *index_bounds(query),
        *sessions,
        *message_filters(query),
        *time_filters(query, "m.created"),
    ]
    statement = (_DATES if task.is_newest_first else _LATEST).format(index=task.field.index)
    return await _read_best(tx, task, await select_filtered(tx, statement, (task.match,), filters))


async def _read_best(tx: Transaction, task: SearchTask, found: list[Row]) -> list[Row]:
    """Return what is shown of the first matches: `found` has the `seq` and time of each."""
    if task.is_newest_first:
        found.sort(key=lambda row: row[1], reverse=True)
    return await read_matches(tx, [seq for seq, _ in found[: task.need]], task.field)


async def read_matches(tx: Transaction, seqs: list[int], field: SearchField = TEXT) -> list[Row]:
    """Return session id, message id, title, role, beginning of the text, and time of messages."""
    rows = await tx.rows(_MATCHES.format(text=field.beginning), json.dumps(seqs))
    return decode_column(field, rows, 4)

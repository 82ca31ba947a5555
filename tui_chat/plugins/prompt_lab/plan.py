"""Plans: the exact requests of cases and variants, composed, in the order in which they are sent.

1. A request is composed of a case, a variant, and nothing else: time and seeds are the case's. So
   repeats send the same bytes, and a repeat that differs is the model's doing.
2. Requests to the same model follow each other by their common beginning, so that a provider's
   prompt cache can serve it, else in the order of the suite. The beginning is the one that models
   read: tools, system, messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b

from tui_chat.analysis.prompt import prompt_of
from tui_chat.compose import Composed, compose
from tui_chat.context import SessionSettings
from tui_chat.context.builders import prepared
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.envelope import Level
from tui_chat.models.json_tree import body_of
from tui_chat.plugins.prompt_lab.values import Case, Cell, Plan, Suite, Variant
from tui_chat.tokens import Counter, counter_for

MOST_CELLS = 100_000


def request_of(
    case: Case, variant: Variant, counter: Callable[[str], Counter] = counter_for
) -> Composed:
    """Return the request of a case with a variant."""
    inputs = replace(
        case.inputs,
        endpoint=variant.endpoint,
        preset=variant.preset,
        settings=SessionSettings.of(variant.model, variant.settings),
    )
    return compose(prepared(inputs) if inputs.lorebooks else inputs, counter)


def applies(case: Case, variant: Variant) -> bool:
    """Return True if a case is for a variant."""
    is_for_preset = variant.own is None or variant.own == case.preset
    return is_for_preset and case.protocol in (None, variant.endpoint.protocol)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A cell without its place, and what it begins with."""

    cell: Cell
    model: tuple[str, str]
    segments: tuple[bytes, ...]
    """A hash of each segment of the prompt."""
    ends: tuple[int, ...]
    """Tokens up to and with each segment."""


def plan(
    suite: Suite,
    variants: Sequence[Variant],
    *,
    repeat: int | None = None,
    pairs: Iterable[tuple[Case, Variant]] | None = None,
    counter: Callable[[str], Counter] = counter_for,
) -> Plan:
    """Return the plan of a suite's cases with variants, each sent `repeat` times. `pairs` are those
    that are planned; None for all.
    """
    if pairs is None:
        pairs = ((case, variant) for variant in variants for case in suite.cases)
    planned = [_planned(*pair, counter) for pair in pairs if applies(*pair)]
    _put_beginnings_together(planned)
    cells: list[Cell] = []
    before: _Planned | None = None
    for entry in planned:
        for attempt in range(1, (repeat or suite.repeat) + 1):
            shared = _shared_tokens(before, entry)
            cell = replace(entry.cell, position=len(cells), attempt=attempt, shared_tokens=shared)
            cells.append(cell)
            before = entry
    return Plan(suite, tuple(variants), tuple(cells))


def _put_beginnings_together(planned: list[_Planned]) -> None:
    """Sort cells by model and common beginning, in other respects in the order that they have."""
    places: dict[tuple[int, bytes], int] = {}

    def key(entry: _Planned) -> tuple[tuple[str, str], list[int]]:
        path = [0]
        for segment in entry.segments:
            path.append(places.setdefault((path[-1], segment), len(places) + 1))
        return entry.model, path

    planned.sort(key=key)


def _planned(case: Case, variant: Variant, counter: Callable[[str], Counter]) -> _Planned:
    composed = request_of(case, variant, counter)
    prompt = prompt_of(composed, counter(composed.model))
    cell = Cell(
        position=0,
        case=case.key,
        variant=variant.name,
        attempt=1,
        body_sha=composed.payload.sha256,
        input_tokens=input_tokens(composed) or prompt.total,
        output_limit=output_limit(composed),
        target=variant.target,
        notes=tuple(
            (note.level.value, note.sentence)
            for note in composed.notes
            if note.level is not Level.INFO
        ),
    )
    hashes = tuple(blake2b(body_of(part), digest_size=8).digest() for part in prompt.segments)
    return _Planned(cell, (variant.endpoint.name, composed.model), hashes, prompt.ends)


def input_tokens(composed: Composed) -> int:
    """Return the tokens of a request's input; 0 if they were not counted."""
    budget = composed.envelope.budget
    return budget.total if budget is not None else 0


def output_limit(composed: Composed) -> int | None:
    """Return the most tokens of output that a request allows, by its limit or that of the model;
    None if neither is known.
    """
    limit = composed.envelope.parameters.max_tokens
    if limit is not None:
        return limit.value
    return composed.endpoint.max_tokens or composed.endpoint.facts_of(composed.model).max_output


def _shared_tokens(before: _Planned | None, entry: _Planned) -> int:
    if before is None or before.model != entry.model:
        return 0
    count = common_prefix(before.segments, entry.segments)
    return min(entry.ends[count - 1], entry.cell.input_tokens) if count else 0

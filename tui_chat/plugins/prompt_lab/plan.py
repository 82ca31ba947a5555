"""Plans: the exact requests of cases and variants, composed, in the order in which they are sent.

1. A request is composed of a case, a variant, and nothing else: time and seeds are the case's. So
   repeats send the same bytes, and a repeat that differs is the model's doing.
2. The cases of a variant follow each other, so that a provider's prompt cache can serve what they
   have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tui_chat.compose import Composed, compose
from tui_chat.context import SessionSettings
from tui_chat.context.builders import prepared
from tui_chat.models.envelope import Level
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
    attempts = range(1, (repeat or suite.repeat) + 1)
    cells = ((cell, attempt) for cell in planned for attempt in attempts)
    return Plan(
        suite,
        tuple(variants),
        tuple(
            replace(cell, position=position, attempt=attempt)
            for position, (cell, attempt) in enumerate(cells)
        ),
    )


def _planned(case: Case, variant: Variant, counter: Callable[[str], Counter]) -> Cell:
    composed = request_of(case, variant, counter)
    return Cell(
        position=0,
        case=case.key,
        variant=variant.name,
        attempt=1,
        body_sha=composed.payload.sha256,
        input_tokens=input_tokens(composed) or sum(composed.envelope.tokens),
        output_limit=output_limit(composed),
        target=variant.target,
        notes=tuple(
            (note.level.value, note.sentence)
            for note in composed.notes
            if note.level is not Level.INFO
        ),
    )


def input_tokens(composed: Composed) -> int:
    """Return the tokens of a request's input; 0 if they were not counted."""
    budget = composed.envelope.budget
    return budget.total if budget is not None else 0


def output_limit(composed: Composed) -> int | None:
    """Return the most tokens of output that a request allows, by its limit or that of the model;
    None if neither is known.
    """
    limit = composed.envelope.parameters.values.max_tokens
    if limit is not None:
        return limit
    return composed.endpoint.max_tokens or composed.endpoint.facts_of(composed.model).max_output

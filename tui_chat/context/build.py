"""The context builder: three phases, and the accounts.

1. Contributors add their lines to the preset's list.
2. Phase 1, `scan`: the list is sorted out into groups.
3. Macros are expanded, from the top of the list to its end.
4. Phase 2, `core`: the history is cut to what the rest leaves of the budget, and the deep
   lines go into it at their depths. The draft ends it: what is typed, else the stored user
   message that the branch ends with.
5. Phase 3, `skeleton`: the system lines, the list with its anchors filled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from tui_chat.context.accounts import account_notes, history_notes
from tui_chat.context.contributors import Contributor, contribute
from tui_chat.context.core import Depth, depths, inject, truncate
from tui_chat.context.expansion import expand_all
from tui_chat.context.inputs import Inputs, with_answered_as_draft
from tui_chat.context.ledger import answered_turn, ledger_of
from tui_chat.context.listed import Listed, Said, text_of, turns_of
from tui_chat.context.lorebooks import lorebooks
from tui_chat.context.marks import marked
from tui_chat.context.opening import opening_line
from tui_chat.context.parameters import context_limit, parameters, reply_reserve
from tui_chat.context.scan import scan
from tui_chat.context.skeleton import Placed, populate
from tui_chat.models.envelope import Budget, ChatEnvelope, Level, Note, Placement, Turn
from tui_chat.models.text import Origin, OriginKind, Text, clean
from tui_chat.tokens import REQUEST_OVERHEAD, Counter, how_counted

Run = tuple[Sequence[Turn], Sequence[int]]
"""Turns, and the tokens of each."""


CONTRIBUTORS: tuple[Contributor, ...] = (lorebooks,)
"""Who adds to the list, unless the caller says otherwise."""


def build_context(
    inputs: Inputs,
    counter: Callable[[str], Counter],
    contributors: Sequence[Contributor] = CONTRIBUTORS,
) -> ChatEnvelope:
    """Decide what the model will see. Pure; raises nothing, and tells doubts in notes.

    `counter` gives the token counter of a model by its name.
    """
    notes: list[Note] = []
    inputs = with_answered_as_draft(inputs)
    asked = parameters(inputs)
    count = counter(asked.model.value).corrected(inputs.correction)
    opening = opening_line(inputs, notes)

    contributed = contribute(inputs, count, contributors)
    groups = scan(inputs.preset, contributed.messages)
    notes += (*groups.notes, *contributed.notes)
    said = expand_all(inputs, opening, groups, notes)

    skeleton = populate(groups, opening, inputs.profile)
    before, after = (_run(side, said, count) for side in (skeleton.before, skeleton.after))
    draft = _draft_run(inputs, count)
    deep = [line for line in groups.deep if text_of(line, said).plain]
    fixed = sum(chain(before[1], after[1], draft[1], _costs(deep, said, count)), REQUEST_OVERHEAD)
    fixed += count.tools(inputs.tools) if inputs.tools else 0

    limit = context_limit(inputs, asked.model.value)
    reserve = reply_reserve(inputs, asked, limit)
    allowance = None if limit is None else limit - reserve - fixed
    ledger = ledger_of(inputs.history, count)
    kept = truncate(ledger, allowance)
    budget = Budget(
        limit=limit,
        reserve=reserve,
        fixed=fixed,
        history=kept.tokens,
        dropped=kept.dropped_tokens,
        counter=count.name,
        exact=count.exact,
        ratio=count.ratio,
        how=how_counted(count, guessed=bool(inputs.tools) or ledger.has_parts),
    )
    notes += account_notes(budget, len(kept.dropped))
    notes += history_notes(inputs, ledger, kept)

    placed = depths(deep, len(kept.turns), notes)
    if groups.marks:
        kept = marked(kept, groups, placed)
    block = inject(kept, _deep_turns(placed, said, count))
    runs = (before, *block, draft, after)
    if not asked.model.value:
        sentence = "No model is chosen: neither session, role nor endpoint names one."
        notes.append(Note(Level.ERROR, "no-model", sentence, asked.model.origin))
    turns = tuple(chain.from_iterable(turns for turns, _ in runs))
    return ChatEnvelope(
        turns=turns,
        parameters=asked,
        tools=inputs.tools,
        dropped=kept.dropped,
        notes=tuple(notes),
        budget=budget,
        tokens=tuple(chain.from_iterable(tokens for _, tokens in runs)),
        cache_marks=sum(turn.cache_mark is not None for turn in turns) if groups.marks else 0,
    )


def _run(placed: Sequence[Placed], said: Said, count: Counter) -> Run:
    turns = turns_of(placed, said)
    return turns, tuple(map(count.turn, turns))


def _costs(lines: Sequence[Listed], said: Said, count: Counter) -> Iterator[int]:
    """Yield what lines cost wherever they will stand."""
    for line in lines:
        yield count.alone(text_of(line, said))


def _deep_turns(
    placed: Sequence[Depth], said: Said, count: Counter
) -> Iterator[tuple[int, Turn, int]]:
    for depth in placed:
        for turn in turns_of(((depth.line, depth.placement),), said):
            yield depth.place, turn, count.turn(turn)


_TYPED = Placement("draft", rule="What is being typed ends the history.")


def _draft_run(inputs: Inputs, count: Counter) -> Run:
    if not inputs.has_draft:
        return (), ()
    if inputs.answered is not None:
        stored = answered_turn(inputs.answered)
        return (stored,), (count.turn(stored),)
    origin = Origin(OriginKind.DRAFT, "draft")
    text = Text.of(clean(inputs.draft), origin)
    turn = Turn("user", text, origin, _TYPED, parts=inputs.draft_parts)
    return (turn,), (count.turn(turn),)

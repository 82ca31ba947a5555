"""The context builder: three phases, and the budget.

1. Contributors add their messages to the preset's.
2. A summary takes the place of the messages that it stands for.
3. Phase 1, `scan`: all of them are sorted into groups.
4. Macros are expanded, from the first message to the last.
5. Phase 2, `history`: the history is truncated to the rest of the budget, and the deep messages
   are injected at their depths. The draft ends it: the typed one, else the user message that ends
   the branch.
6. Phase 3, `skeleton`: system messages, then the list with its anchors filled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tui_chat.context.author_note import add_author_note
from tui_chat.context.budget import budget_notes, history_notes, summary_notes
from tui_chat.context.contributors import Contributor, contribute
from tui_chat.context.history import (
    DepthPlacement,
    inject,
    mark_history,
    place_deep_messages,
    truncate,
)
from tui_chat.context.history_costs import answered_turn, history_costs
from tui_chat.context.inputs import Inputs, with_answered_as_draft, without_expired_sounds
from tui_chat.context.lorebooks.activation import activate_lorebooks
from tui_chat.context.macros.preset_expansion import expand_all
from tui_chat.context.parameters import context_limit, parameters, reply_reserve
from tui_chat.context.resolved_message import (
    ExpandedTexts,
    ResolvedMessage,
    resolve_role_prompt,
    text_of,
    turns_of,
)
from tui_chat.context.scan import scan
from tui_chat.context.skeleton import Placed, populate
from tui_chat.context.summaries import summarize, summary_of
from tui_chat.models.envelope import Budget, ChatEnvelope, Level, Note, Placement, Turn
from tui_chat.models.text import Origin, OriginKind, Text, clean
from tui_chat.tokens import REQUEST_OVERHEAD, Counter, how_counted

Run = tuple[Sequence[Turn], Sequence[int]]
"""Turns, and the tokens of each."""


CONTRIBUTORS: tuple[Contributor, ...] = (activate_lorebooks, add_author_note)
"""The default contributors."""


def build_context(
    inputs: Inputs,
    counter: Callable[[str], Counter],
    contributors: Sequence[Contributor] = CONTRIBUTORS,
) -> ChatEnvelope:
    """Decide what the model will see. Pure; raises nothing, and reports problems in notes.

    `counter` returns the token counter of a model by its name.
    """
    notes: list[Note] = []
    summarized = summarize(inputs.history)
    if summarized.history is not inputs.history:
        inputs = replace(inputs, history=summarized.history)
    inputs = without_expired_sounds(with_answered_as_draft(inputs))
    asked = parameters(inputs)
    count = counter(asked.model.value).corrected(inputs.correction)
    role_prompt = _role_prompt(inputs, notes)

    contributed = contribute(inputs, count, contributors)
    groups = scan(inputs.preset, contributed.messages)
    notes += (*groups.notes, *contributed.notes)
    expanded = expand_all(inputs, role_prompt, groups, notes)

    skeleton = populate(groups, role_prompt, inputs.profile)
    before, after = (_run(side, expanded, count) for side in (skeleton.before, skeleton.after))
    draft = _draft_run(inputs, count, notes)
    deep = [line for line in groups.deep if text_of(line, expanded).plain]
    fixed = sum(
        chain(before[1], after[1], draft[1], _costs(deep, expanded, count)), REQUEST_OVERHEAD
    )
    fixed += count.tools(inputs.tools) if inputs.tools else 0

    limit = context_limit(inputs, asked)
    reserve = reply_reserve(inputs, asked, limit)
    allowance = None if limit is None else limit - reserve - fixed
    costs = history_costs(inputs.history, count)
    kept = truncate(costs, allowance)
    budget = Budget(
        limit=limit,
        reserve=reserve,
        fixed=fixed,
        history=kept.tokens,
        dropped=kept.dropped_tokens,
        counter=count.name,
        exact=count.exact,
        ratio=count.ratio,
        how=how_counted(count, guessed=bool(inputs.tools) or costs.has_parts),
    )
    notes += budget_notes(budget, len(kept.dropped))
    notes += history_notes(inputs, costs, kept)
    notes += summary_notes(summarized)

    placed = place_deep_messages(deep, len(kept.turns), notes)
    if groups.marks:
        kept = mark_history(kept, groups, placed)
    block = inject(kept, _deep_turns(placed, expanded, count))
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


def _role_prompt(inputs: Inputs, notes: list[Note]) -> ResolvedMessage | None:
    """Return the role's system prompt; None if it has none or the history brings its own: that of
    a file may be the one that its author saw.
    """
    if inputs.role is None and inputs.role_missing:
        sentence = "The role of this session was deleted; the session works without it."
        notes.append(Note(Level.WARNING, "role-missing", sentence))
    if inputs.role is not None and inputs.role.status == "disabled":
        sentence = f"The role “{inputs.role.name}” is disabled; the session works without it."
        notes.append(
            Note(Level.WARNING, "role-disabled", sentence, resolve_role_prompt(inputs.role).origin)
        )
    role = inputs.active_role
    if role is None or not role.system_prompt:
        return None
    first = inputs.history[0] if inputs.history else None
    begins = first is not None and first.role == "system" and summary_of(first) is None
    if begins and not inputs.keeps_role_prompt:
        sentence = "The history begins with a system message, so the role's prompt is not added."
        notes.append(
            Note(Level.INFO, "role-prompt-skipped", sentence, resolve_role_prompt(role).origin)
        )
        return None
    return resolve_role_prompt(role)


def _run(placed: Sequence[Placed], expanded: ExpandedTexts, count: Counter) -> Run:
    turns = turns_of(placed, expanded)
    return turns, tuple(map(count.turn, turns))


def _costs(
    lines: Sequence[ResolvedMessage], expanded: ExpandedTexts, count: Counter
) -> Iterator[int]:
    """Yield the tokens of messages, which do not depend on their place."""
    for line in lines:
        yield count.alone(text_of(line, expanded))


def _deep_turns(
    placed: Sequence[DepthPlacement], expanded: ExpandedTexts, count: Counter
) -> Iterator[tuple[int, Turn, int]]:
    for depth in placed:
        for turn in turns_of(((depth.line, depth.placement),), expanded):
            yield depth.place, turn, count.turn(turn)


_BLANK = re.compile(r"\{\{\?\w[\w -]{0,39}\}\}")
MAX_BLANKS = 8
"""Unfilled blanks of a draft that have a note each."""
_TYPED = Placement("draft", rule="The draft ends the history.")


def _draft_run(inputs: Inputs, count: Counter, notes: list[Note]) -> Run:
    if not inputs.has_draft:
        return (), ()
    if inputs.answered is not None:
        stored = answered_turn(inputs.answered)
        return (stored,), (count.turn(stored),)
    origin = Origin(OriginKind.DRAFT, "draft")
    text = Text.of(clean(inputs.draft), origin)
    for blank in sorted(set(_BLANK.findall(inputs.draft)))[:MAX_BLANKS]:
        sentence = f"The draft has “{blank}”, as an unfilled blank of a snippet looks."
        notes.append(Note(Level.WARNING, "unfilled-blank", sentence, origin))
    turn = Turn("user", text, origin, _TYPED, parts=inputs.draft_parts)
    return (turn,), (count.turn(turn),)

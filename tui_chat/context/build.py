"""The context builder: three phases, and the accounts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_chat.context.core import inject, truncate
from tui_chat.context.inputs import Inputs
from tui_chat.context.parameters import active_role, context_limit, parameters, reply_reserve
from tui_chat.context.scan import scan
from tui_chat.context.skeleton import populate, system_turns
from tui_chat.model.envelope import Budget, ChatEnvelope, Level, Note, Placement, Turn
from tui_chat.model.memo import Memo
from tui_chat.model.role import Role
from tui_chat.model.text import Origin, OriginKind, Text, clean
from tui_chat.tokens import REQUEST_OVERHEAD, Counter


def build_context(inputs: Inputs, counter: Callable[[str], Counter]) -> ChatEnvelope:
    """Decide what the model will see. Pure; raises nothing, and tells doubts in notes.

    `counter` gives the token counter of a model by its name.
    """
    asked = parameters(inputs)
    count = counter(asked.model.value)
    groups = scan(inputs.preset)
    notes = list(groups.notes)

    system = (*_role_turn(inputs, notes), *system_turns(groups))
    draft = _draft_turn(inputs.draft)

    limit = context_limit(inputs, asked.model.value)
    reserve = reply_reserve(inputs, asked, limit)
    around = (*system, *populate(groups, inject((), groups.deep, []), inputs.profile), *draft)
    fixed = sum(map(count.turn, around)) + REQUEST_OVERHEAD
    allowance = None if limit is None else limit - reserve - fixed
    kept = truncate(inputs.history, allowance, count)

    block = (*inject(kept.turns, groups.deep, notes), *draft)
    turns = (*system, *populate(groups, block, inputs.profile))
    budget = Budget(
        limit, reserve, fixed, kept.kept_tokens, kept.dropped_tokens, count.name, count.exact
    )
    notes += _budget_notes(budget, len(kept.dropped))
    if not asked.model.value:
        sentence = "No model is chosen: neither session, role nor endpoint names one."
        notes.append(Note(Level.ERROR, "no-model", sentence, asked.model.origin))
    return ChatEnvelope(
        turns=turns,
        parameters=asked,
        dropped=kept.dropped,
        notes=tuple(notes),
        budget=budget,
        tokens=tuple(map(count.turn, turns)),
    )


def _role_turn(inputs: Inputs, notes: list[Note]) -> Sequence[Turn]:
    """Return the role's system prompt as a turn, unless something else speaks for it."""
    if inputs.role is not None and inputs.role.status == "disabled":
        sentence = f"The role “{inputs.role.name}” is disabled; the session works without it."
        notes.append(Note(Level.WARNING, "role-disabled", sentence, _role_origin(inputs.role)))
    role = active_role(inputs)
    if role is None or not role.system_prompt:
        return ()
    if inputs.history and inputs.history[0].role == "system":
        sentence = "The history begins with a system message, so the role's prompt is not added."
        notes.append(Note(Level.INFO, "role-prompt-skipped", sentence, _role_origin(role)))
        return ()
    return (_prompt(role),)


def _prompt_turn(role: Role) -> Turn:
    origin = _role_origin(role)
    placement = Placement("system", rule="The role's system prompt goes first.")
    return Turn("system", Text.of(role.system_prompt, origin), origin, placement)


_prompt: Memo[Role, Turn] = Memo(_prompt_turn)


def _role_origin(role: Role) -> Origin:
    return Origin(OriginKind.SYSTEM, role.role_id, role.name)


def _draft_turn(draft: str) -> Sequence[Turn]:
    if not draft:
        return ()
    origin = Origin(OriginKind.DRAFT, "draft")
    placement = Placement("draft", rule="What is being typed ends the history.")
    return (Turn("user", Text.of(clean(draft), origin), origin, placement),)


def _budget_notes(budget: Budget, dropped: int) -> Sequence[Note]:
    notes: list[Note] = []
    if budget.free is not None and budget.free < 0:
        sentence = (
            f"What must be sent is {-budget.free:,} tokens over the budget of "
            f"{(budget.limit or 0) - budget.reserve:,} ({budget.limit:,} less {budget.reserve:,} "
            "for the reply), without any history that could be dropped."
        )
        notes.append(Note(Level.ERROR, "over-budget", sentence))
    if dropped:
        messages = "message" if dropped == 1 else "messages"
        sentence = (
            f"The oldest {dropped:,} {messages} ({budget.dropped:,} tokens) did not fit into "
            "the budget and are not sent."
        )
        notes.append(Note(Level.WARNING, "history-dropped", sentence))
    return notes

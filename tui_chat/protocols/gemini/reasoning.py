"""`thinkingConfig`, as the model's family accepts it: Gemini 3 and later take levels, 2.5 takes
budgets, older ones neither. An unknown model is asked as the newest are.
"""

from __future__ import annotations

from tui_chat.models.envelope import Note, Parameters
from tui_chat.models.json_tree import Obj, tree_of
from tui_chat.models.model_facts import ModelFacts
from tui_chat.protocols.common.encoding import Items
from tui_chat.protocols.common.loss_notes import setting_note
from tui_chat.protocols.common.reasoning import (
    AUTO,
    Reasoning,
    reasoning_by_budget,
    reasoning_by_word,
    summary_note,
    with_default_effort,
)

_LEVELS = ("minimal", "low", "medium", "high")
"""What the newest known models accept."""


def write_thinking_config(
    parameters: Parameters, facts: ModelFacts, notes: list[Note], *, by_budget: bool = False
) -> Obj | None:
    """Return `thinkingConfig`; None if nothing is asked for. `by_budget`: a budget is to stay one,
    also where levels are usual.
    """
    summary = parameters.reasoning_summary
    if facts.budgets or (by_budget and parameters.effort is None and facts.efforts != ()):
        asked = reasoning_by_budget(parameters, facts, notes)
        amount = -1 if asked.effort == AUTO else 0 if asked.effort == "none" else asked.budget
        key, value = "thinkingBudget", amount
    else:
        asked = _level(parameters, facts, notes)
        key, value = "thinkingLevel", asked.effort.upper() or None
    items: Items = []
    if value is not None and asked.source is not None:
        items.append((key, tree_of(value, asked.source.origin)))
    refuses = facts.efforts == () and not facts.budgets
    if summary is not None and refuses:
        if summary.value != "none":
            why = f"{parameters.model.value} does not reason"
            notes.append(setting_note(summary, f"the reasoning summary “{summary.value}”", why))
    elif summary is not None:
        if summary.value not in ("none", "auto"):
            notes.append(summary_note(summary, "includeThoughts: true"))
        items.append(("includeThoughts", tree_of(summary.value != "none", summary.origin)))
    return Obj(tuple(items)) if items else None


def _level(parameters: Parameters, facts: ModelFacts, notes: list[Note]) -> Reasoning:
    if facts.efforts is None:
        facts = ModelFacts(efforts=_LEVELS)
    return with_default_effort(reasoning_by_word(parameters, facts, notes), parameters, notes)

"""The amount of reasoning, in the terms that a model accepts.

A request asks for reasoning by an effort, a word, or by a budget, a number of tokens. Each family
of models accepts one of them, and few words of all.

1. A word that the model refuses becomes the nearest accepted one below; where there is none below,
   the least. Nothing becomes more expensive, except `none` for a model that always reasons. No
   other word becomes `none`: a model that accepts none of the others is sent nothing.
2. Words and budgets become each other by one table. There and back, a word is itself again.
3. A change is noted with both values. What nobody set is noted as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note, Parameters, Sourced
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.settings import EFFORTS
from tui_chat.protocols.common.loss_notes import (
    default_note,
    setting_changed_note,
    setting_note,
    with_key,
)
from tui_chat.protocols.common.request_encoder import RequestEncoder

BUDGETS = {
    "minimal": 512,
    "low": 1_024,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 32_768,
}
"""Tokens of an effort. Low, medium and high are Google's own figures for its endpoint in OpenAI's
protocol."""
_RANGES = ((0, "none"), (1_023, "minimal"), (4_096, "low"), (12_288, "medium"), (24_576, "high"))
"""Up to how many tokens a budget means an effort; above the last it is `xhigh`."""
AUTO = "auto"
"""The effort of a request that asks for reasoning and leaves to the model how much."""
_DEFAULT = "medium"
"""The effort of such a request for a model that needs an amount."""
UNLIMITED = 2**31 - 1
"""Tokens that no budget reaches."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The reasoning that is asked of a model."""

    effort: str = ""
    """One of `EFFORTS` or `AUTO`; empty if nothing is asked."""
    budget: int | None = None
    """Tokens, for a model that accepts budgets."""
    source: Sourced[str] | Sourced[int] | None = None
    """The setting that asks."""


NOTHING = Reasoning()


def effort_of_budget(tokens: int) -> str:
    """Return the effort that a budget comes nearest to; `auto` for -1, Gemini's word for it."""
    if tokens < 0:
        return AUTO
    return next((word for most, word in _RANGES if tokens <= most), "xhigh")


def reasoning_by_word(
    parameters: Parameters,
    facts: ModelFacts,
    notes: list[Note],
    synonyms: Mapping[str, str] = MappingProxyType({}),
) -> Reasoning:
    """Return the reasoning that is asked of a model which accepts efforts, in a word that it
    accepts. `AUTO` stays as it is. `synonyms` are words for what the model calls otherwise.
    """
    source = _source(parameters, notes)
    if source is None:
        return NOTHING
    word = source.value if isinstance(source.value, str) else effort_of_budget(source.value)
    if facts.efforts == ():
        _refuse(word, source, parameters, notes)
        return NOTHING
    if word == AUTO:
        return Reasoning(AUTO, source=source)
    fit = word
    if facts.efforts is not None and word not in facts.efforts:
        fit = nearest_effort(synonyms.get(word, word), facts.efforts)
        if not fit:
            why = f"{parameters.model.value} accepts no other effort than “none”"
            notes.append(setting_note(source, reasoning_name(source), why))
            return NOTHING
        if word == "none" and facts.reasons_by_default is False:
            why = f"{parameters.model.value} does not reason unless it is asked to"
            notes.append(setting_note(source, reasoning_name(source), why, Level.INFO))
            return NOTHING
    if fit != word or (word != "none" and not isinstance(source.value, str)):
        why = "" if fit == word else _nearest(parameters)
        notes.append(_change(source, f"the effort “{fit}”", why))
    return Reasoning(fit, source=source)


def reasoning_by_budget(
    parameters: Parameters, facts: ModelFacts, notes: list[Note], most: int | None = None
) -> Reasoning:
    """Return the reasoning that is asked of a model which accepts budgets: `none`, `AUTO`, or a
    budget within its range and up to `most`. Nothing if `most` leaves no room.
    """
    source = _source(parameters, notes)
    if source is None:
        return NOTHING
    word = source.value if isinstance(source.value, str) else effort_of_budget(source.value)
    if facts.efforts == () and not facts.budgets:
        _refuse(word, source, parameters, notes)
        return NOTHING
    least, highest = (facts.budgets or (0, UNLIMITED))[:2]
    highest = highest if most is None else min(highest, most)
    if word == AUTO or (word == "none" and (facts.efforts is None or "none" in facts.efforts)):
        return Reasoning(word, source=source)
    if highest < least:
        why = f"the reply limit leaves no room for the least budget of {least:,} tokens"
        notes.append(setting_note(source, reasoning_name(source), why))
        return NOTHING
    budget = source.value if isinstance(source.value, int) else BUDGETS.get(word, 0)
    fit = max(min(budget, highest), least)
    if fit != source.value:
        why = "" if fit == budget else _nearest(parameters)
        if most is not None and fit == most < budget:
            why = ", the most for which the reply limit leaves room"
        notes.append(_change(source, f"a budget of {fit:,} tokens", why))
    return Reasoning(budget=fit, source=source)


def with_default_effort(
    reasoning: Reasoning, parameters: Parameters, notes: list[Note]
) -> Reasoning:
    """Return the reasoning with an amount in place of `AUTO`, for models that need one."""
    if reasoning.effort != AUTO:
        return reasoning
    source = reasoning.source
    name = reasoning_name(source) if source else "it"
    sentence = f"{parameters.model.value} needs an amount of reasoning, and {name} sets none: "
    sentence += f"“{_DEFAULT}” is sent."
    origin = source.origin if source else parameters.model.origin
    notes.append(default_note(origin, sentence))
    return Reasoning(_DEFAULT, BUDGETS[_DEFAULT], reasoning.source)


def nearest_effort(word: str, accepted: tuple[str, ...]) -> str:
    """Return the accepted effort that is nearest below; the least if none is. Empty if only `none`
    is accepted.
    """
    words = [effort for effort in accepted if effort != "none"]
    below = [effort for effort in words if EFFORTS.index(effort) <= EFFORTS.index(word)]
    return below[-1] if below else words[0] if words else ""


def openai_effort(request: RequestEncoder) -> Sourced[str] | None:
    """Return the effort for OpenAI's protocols; None if none is sent."""
    parameters, facts, model = request.parameters, request.facts, request.model
    if request.unchanged:
        return parameters.effort
    reasoning = reasoning_by_word(parameters, facts, request.notes)
    source = reasoning.source
    if source is None or not reasoning.effort:
        return None
    name = reasoning_name(source)
    if facts.reasons is False and facts.efforts is None and reasoning.effort != "none":
        sentence = f"{name[0].upper()}{name[1:]} asks {model} to reason, which it does not do as "
        sentence += "far as is known."
        request.notes.append(Note(Level.INFO, "reasoning-doubtful", sentence, source.origin))
    if reasoning.effort == AUTO:
        by_default = facts.reasons_by_default
        if by_default:
            request.leave_out(source, name, f"{model} reasons by default", Level.INFO)
            return None
        if by_default is None and not facts.reasons:
            why = f"it sets no amount, and whether {model} reasons by default is not known"
            request.leave_out(source, name, why)
            return None
        reasoning = with_default_effort(reasoning, parameters, request.notes)
    return Sourced(reasoning.effort, source.origin)


def summary_note(summary: Sourced[str], sent: str) -> Note:
    """Return the note on a reasoning summary that the protocol has in one length only."""
    name = with_key(f"The reasoning summary “{summary.value}”", summary.origin)
    sentence = f"{name} is sent as “{sent}”: there is one length."
    return setting_changed_note(summary, sentence)


def _source(parameters: Parameters, notes: list[Note]) -> Sourced[str] | Sourced[int] | None:
    """Return the setting that asks for reasoning: a known effort, else the budget."""
    effort = parameters.effort
    budget = parameters.reasoning_budget
    if effort is None or effort.value in EFFORTS or effort.value == AUTO:
        if effort is not None and budget is not None:
            why = f"the effort “{effort.value}” counts"
            notes.append(setting_note(budget, reasoning_name(budget), why, Level.INFO))
        return effort or budget
    why = f"“{effort.value}” is not one of {', '.join(EFFORTS)}"
    notes.append(setting_note(effort, "the reasoning effort", why))
    return budget


def reasoning_name(source: Sourced[str] | Sourced[int]) -> str:
    """Return the name of a setting in a sentence: what it asks for, and its key."""
    label = f"the reasoning effort “{source.value}”"
    if isinstance(source.value, int):
        label = f"the reasoning budget of {source.value:,} tokens"
    elif source.value == AUTO:
        label = "the request to reason"
    return with_key(label, source.origin)


def _refuse(
    word: str, source: Sourced[str] | Sourced[int], parameters: Parameters, notes: list[Note]
) -> None:
    level = Level.INFO if word == "none" else Level.WARNING  # which is how it is anyway
    why = f"{parameters.model.value} does not reason"
    notes.append(setting_note(source, reasoning_name(source), why, level))


def _nearest(parameters: Parameters) -> str:
    return f", the nearest that {parameters.model.value} accepts"


def _change(source: Sourced[str] | Sourced[int], sent: str, why: str) -> Note:
    name = reasoning_name(source)
    return setting_changed_note(source, f"{name[0].upper()}{name[1:]} is sent as {sent}{why}.")

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
from dataclasses import replace
from types import MappingProxyType

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note, Parameters
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.settings import EFFORTS
from tui_chat.models.text import Origin
from tui_chat.protocols.common.losses import default_note, setting_note, with_key
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
class ReasoningSetting:
    """The setting that asks for reasoning."""

    value: str | int
    origin: Origin

    @property
    def word(self) -> str:
        """The effort that it asks for, or that its budget comes nearest to. A budget of -1 is
        Gemini's word for `auto`.
        """
        tokens = self.value
        if isinstance(tokens, str):
            return tokens
        return AUTO if tokens < 0 else next((w for most, w in _RANGES if tokens <= most), "xhigh")

    @property
    def name(self) -> str:
        """What it is called in a sentence: what it asks for, and its key."""
        label = f"the reasoning effort “{self.value}”"
        if isinstance(self.value, int):
            label = f"the reasoning budget of {self.value:,} tokens"
        elif self.value == AUTO:
            label = "the request to reason"
        return with_key(label, self.origin)

    def left_out(self, why: str, level: Level = Level.WARNING) -> Note:
        """Return the note that says why it is not sent."""
        return setting_note(self.name, why, self.origin, level)

    def changed(self, sent: str, why: str) -> Note:
        """Return the note that says as what it is sent."""
        name = self.name
        sentence = f"{name[0].upper()}{name[1:]} is sent as {sent}{why}."
        return Note(Level.WARNING, "setting-changed", sentence, self.origin)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The reasoning that is asked of a model."""

    effort: str = ""
    """One of `EFFORTS` or `AUTO`; empty if nothing is asked."""
    budget: int | None = None
    """Tokens, for a model that accepts budgets."""
    source: ReasoningSetting | None = None


NOTHING = Reasoning()


def reasoning_by_word(
    parameters: Parameters,
    facts: ModelFacts,
    notes: list[Note],
    synonyms: Mapping[str, str] = MappingProxyType({}),
) -> Reasoning:
    """Return the reasoning that is asked of a model which accepts efforts, in a word that it
    accepts. `AUTO` stays as it is. `synonyms` are words for what the model calls otherwise.
    """
    source, model = _source(parameters, notes, facts.efforts == ()), parameters.values.model
    if source is None:
        return NOTHING
    word = fit = source.word
    if word == AUTO:
        return Reasoning(AUTO, source=source)
    if facts.efforts is not None and word not in facts.efforts:
        words = [effort for effort in facts.efforts if effort != "none"]
        if not words:
            notes.append(source.left_out(f"{model} accepts no other effort than “none”"))
            return NOTHING
        if word == "none" and facts.reasons_by_default is False:
            why = f"{model} does not reason unless it is asked to"
            notes.append(source.left_out(why, Level.INFO))
            return NOTHING
        highest = EFFORTS.index(synonyms.get(word, word))
        below = [effort for effort in words if EFFORTS.index(effort) <= highest]
        fit = below[-1] if below else words[0]
    if fit != word or (word != "none" and not isinstance(source.value, str)):
        why = "" if fit == word else f", the nearest that {model} accepts"
        notes.append(source.changed(f"the effort “{fit}”", why))
    return Reasoning(fit, source=source)


def reasoning_by_budget(
    parameters: Parameters, facts: ModelFacts, notes: list[Note], most: int | None = None
) -> Reasoning:
    """Return the reasoning that is asked of a model which accepts budgets: `none`, `AUTO`, or a
    budget within its range and up to `most`. Nothing if `most` leaves no room.
    """
    refuses = facts.efforts == () and not facts.budgets
    source = _source(parameters, notes, refuses)
    if source is None:
        return NOTHING
    word = source.word
    least, highest = (facts.budgets or (0, UNLIMITED))[:2]
    highest = highest if most is None else min(highest, most)
    if word == AUTO or (word == "none" and (facts.efforts is None or "none" in facts.efforts)):
        return Reasoning(word, source=source)
    if highest < least:
        why = f"the reply limit leaves no room for the least budget of {least:,} tokens"
        notes.append(source.left_out(why))
        return NOTHING
    budget = source.value if isinstance(source.value, int) else BUDGETS.get(word, 0)
    fit = max(min(budget, highest), least)
    if fit != source.value:
        why = "" if fit == budget else f", the nearest that {parameters.values.model} accepts"
        if most is not None and fit == most < budget:
            why = ", the most for which the reply limit leaves room"
        notes.append(source.changed(f"a budget of {fit:,} tokens", why))
    return Reasoning(budget=fit, source=source)


def with_default_effort(
    reasoning: Reasoning, parameters: Parameters, notes: list[Note]
) -> Reasoning:
    """Return the reasoning with an amount in place of `AUTO`, for models that need one."""
    source = reasoning.source
    if reasoning.effort != AUTO or source is None:
        return reasoning
    sentence = f"{parameters.values.model} needs an amount of reasoning, and {source.name} sets "
    sentence += f"none: “{_DEFAULT}” is sent."
    notes.append(default_note(source.origin, sentence))
    return Reasoning(_DEFAULT, BUDGETS[_DEFAULT], source)


def with_openai_effort(request: RequestEncoder, fitted: Parameters) -> Parameters:
    """Return the parameters with the effort as OpenAI's models accept it."""
    facts, model = request.facts, request.model
    reasoning = reasoning_by_word(fitted, facts, request.notes)
    source = reasoning.source
    if source is not None and reasoning.effort == AUTO:
        by_default = facts.reasons_by_default
        if by_default:
            request.notes.append(source.left_out(f"{model} reasons by default", Level.INFO))
            reasoning = NOTHING
        elif by_default is None and not facts.reasons:
            why = f"it sets no amount, and whether {model} reasons by default is not known"
            request.notes.append(source.left_out(why))
            reasoning = NOTHING
        else:
            reasoning = with_default_effort(reasoning, fitted, request.notes)
    return with_reasoning(fitted, replace(reasoning, budget=None))


def with_reasoning(parameters: Parameters, reasoning: Reasoning) -> Parameters:
    """Return the parameters with this effort and budget, and the origin of what asks for them."""
    origins, source = dict(parameters.origins), reasoning.source
    if source is not None:
        origins |= {"effort": source.origin, "reasoning_budget": source.origin}
    values = replace(
        parameters.values, effort=reasoning.effort or None, reasoning_budget=reasoning.budget
    )
    return Parameters(values, origins)


def summary_note(parameters: Parameters, sent: str) -> Note:
    """Return the note on a reasoning summary that the protocol has in one length only."""
    summary, origin = parameters.values.reasoning_summary, parameters.origin("reasoning_summary")
    name = with_key(f"The reasoning summary “{summary}”", origin)
    sentence = f"{name} is sent as “{sent}”: there is one length."
    return Note(Level.WARNING, "setting-changed", sentence, origin)


def _source(parameters: Parameters, notes: list[Note], refuses: bool) -> ReasoningSetting | None:
    """Return the setting that asks for reasoning: a known effort, else the budget; None if the
    model refuses any.
    """
    effort, budget = parameters.values.effort, parameters.values.reasoning_budget
    source = by_budget = None
    if budget is not None:
        source = by_budget = ReasoningSetting(budget, parameters.origin("reasoning_budget"))
    if effort in EFFORTS or effort == AUTO:
        source = ReasoningSetting(effort, parameters.origin("effort"))
        if by_budget is not None:
            notes.append(by_budget.left_out(f"the effort “{effort}” counts", Level.INFO))
    elif effort is not None:
        why = f"“{effort}” is not one of {', '.join(EFFORTS)}"
        notes.append(setting_note("the reasoning effort", why, parameters.origin("effort")))
    if source is None or not refuses:
        return source
    level = Level.INFO if source.word == "none" else Level.WARNING  # which is how it is anyway
    notes.append(source.left_out(f"{parameters.values.model} does not reason", level))
    return None

"""The settings of Gemini, as tables, and reasoning as its models accept it.

`thinkingConfig`, as the model's family accepts it: Gemini 3 and later take levels, 2.5 takes
budgets, older ones neither. An unknown model is asked as the newest are. A model of another maker
behind this protocol gets levels, and a budget of 0 for no reasoning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, cast

from tui_chat.models.blocks import Json
from tui_chat.models.envelope import Level, Note, Parameters
from tui_chat.models.json_text import as_array, as_object, as_string
from tui_chat.models.model_facts import ModelFacts, maker_of
from tui_chat.models.settings import EFFORTS, ResponseFormat, ToolChoice
from tui_chat.protocols.common.loss_notes import setting_note
from tui_chat.protocols.common.reasoning_effort import (
    AUTO,
    Reasoning,
    reasoning_by_budget,
    reasoning_by_word,
    summary_note,
    with_default_effort,
    with_reasoning,
)
from tui_chat.protocols.common.setting_rows import (
    Row,
    Table,
    boolean,
    count,
    integer,
    never,
    number,
    positive,
    texts,
    unread,
)
from tui_chat.protocols.common.trees import dictionary

_LEVELS = ("minimal", "low", "medium", "high")
"""Levels that the newest known models accept."""
TIERS = {"standard": "default", "flex": "flex", "priority": "priority", "unspecified": "auto"}
"""Gemini's service tiers in OpenAI's words."""
_TIER_WORDS = {word: tier for tier, word in TIERS.items()}
_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto"}
_WORDS = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
JSON_MIME = "application/json"
_THINKING = "thinkingConfig"


def read_choice(value: Any) -> ToolChoice | None:
    """Return what `functionCallingConfig` means; None if the unified fields cannot express it."""
    fields = as_object(value)
    mode: Any = _MODES.get(as_string(fields.get("mode")))
    names = as_array(fields.get("allowedFunctionNames"))
    if mode is None or not all(isinstance(name, str) for name in names):
        return None
    return ToolChoice(mode, tuple(cast("list[str]", names)))


def write_choice(choice: ToolChoice) -> dict[str, Any]:
    """Return `functionCallingConfig` as the protocol writes it."""
    fields: dict[str, Any] = {"mode": _WORDS[choice.mode]}
    if choice.names and choice.mode != "none":
        if choice.mode == "auto":
            fields["mode"] = "VALIDATED"
        fields["allowedFunctionNames"] = list(choice.names)
    return fields


def schema_of(
    dialect: Literal["json", "gemini"],
) -> tuple[Callable[[Json], ResponseFormat | None], Callable[[ResponseFormat], Json]]:
    """Return the reader and the writer of the key for schemas of one dialect."""
    return (
        lambda value: ResponseFormat("schema", value, dialect) if dictionary(value) else None,
        lambda form: form.schema or None if form.dialect == dialect else None,
    )


def read_mime(value: Json) -> ResponseFormat | None:
    """Read `responseMimeType`."""
    return ResponseFormat("json") if value == JSON_MIME else None


def write_mime(form: ResponseFormat) -> Json:
    """Return `responseMimeType`."""
    return "text/plain" if form.kind == "text" else JSON_MIME


def _read_model(value: Json) -> str | None:
    return value.removeprefix("models/") or None if isinstance(value, str) else None


def _read_tier(value: Json) -> str | None:
    return TIERS.get(value.lower()) if isinstance(value, str) else None


def _write_tier(tier: str) -> str:
    return _TIER_WORDS.get(tier, tier)


def _read_level(value: Json) -> str | None:
    word = value.lower() if isinstance(value, str) else ""
    return word if word in EFFORTS and word != "none" else None


def _write_level(effort: str) -> str | None:
    return effort.upper() if effort not in (AUTO, "none") else None


_IS_JSON = ("responseMimeType", JSON_MIME)
_CONFIG: Table = (
    Row("temperature", ("temperature",), number, low=0, high=2, is_sampling=True),
    Row("top_p", ("topP",), number, low=0, high=1, is_sampling=True),
    Row("top_k", ("topK",), integer, low=1, is_sampling=True),
    Row("presence_penalty", ("presencePenalty",), number, low=-2, high=2, is_sampling=True),
    Row("frequency_penalty", ("frequencyPenalty",), number, low=-2, high=2, is_sampling=True),
    Row("seed", ("seed",), integer, low=-(2**31), high=2**31 - 1),
    Row("max_tokens", ("maxOutputTokens",), integer),
    Row("stop", ("stopSequences",), texts),
    Row("response_format", ("responseMimeType",), unread, write_mime),
    Row("response_format", ("responseJsonSchema",), *schema_of("json"), beside=_IS_JSON),
    Row("response_format", ("responseSchema",), *schema_of("gemini"), beside=_IS_JSON),
    Row("response_format", ("responseMimeType",), read_mime, never),
    Row("effort", (_THINKING, "thinkingLevel"), _read_level, _write_level),
    Row(
        "effort",
        (_THINKING, "thinkingBudget"),
        lambda budget: AUTO if budget == -1 else None,
        lambda effort: -1 if effort == AUTO else None,
    ),
    Row("reasoning_budget", (_THINKING, "thinkingBudget"), count),
    Row(
        "reasoning_summary",
        (_THINKING, "includeThoughts"),
        lambda shown: {True: "auto", False: "none"}[shown] if isinstance(shown, bool) else None,
        lambda summary: summary != "none",
    ),
    Row("replies", ("candidateCount",), count),
    Row("logprobs", ("responseLogprobs",), unread, lambda _: True),
    Row("logprobs", ("logprobs",), count, positive, beside=("responseLogprobs", True)),
    Row("logprobs", ("responseLogprobs",), lambda on: 0 if on is True else None, never),
)
"""The settings in `generationConfig`, in the order in which they are sent."""
TABLE: Table = (
    Row("model", ("model",), _read_model, never),
    Row("tool_choice", ("toolConfig", "functionCallingConfig"), read_choice, write_choice),
    Row("service_tier", ("serviceTier",), _read_tier, _write_tier),
    Row("store", ("store",), boolean),
    *(replace(row, path=("generationConfig", *row.path)) for row in _CONFIG),
)
"""In the order in which they are sent. The model that counts is in the URL."""


def fitted_thinking(
    parameters: Parameters, facts: ModelFacts, notes: list[Note], *, by_budget: bool = False
) -> Parameters:
    """Return the parameters with reasoning in the form that the model accepts. `by_budget`: a
    budget stays, also where levels are usual.
    """
    if facts.budgets or (by_budget and parameters.values.effort is None and facts.efforts != ()):
        reasoning = reasoning_by_budget(parameters, facts, notes)
    else:
        reasoning = _level(parameters, facts, notes)
    if reasoning.effort == "none":  # which is no level
        reasoning = replace(reasoning, effort="", budget=0)
    elif reasoning.effort:
        reasoning = replace(reasoning, budget=None)
    summary = _summary(parameters, facts, notes)
    return with_reasoning(parameters, reasoning).with_values(reasoning_summary=summary)


def _summary(parameters: Parameters, facts: ModelFacts, notes: list[Note]) -> str | None:
    summary = parameters.values.reasoning_summary
    if summary is None:
        return None
    if facts.efforts == () and not facts.budgets:
        why = f"{parameters.values.model} does not reason"
        level = Level.INFO if summary == "none" else Level.WARNING
        name, origin = f"the reasoning summary “{summary}”", parameters.origin("reasoning_summary")
        notes.append(setting_note(name, why, origin, level))
        return None
    if summary not in ("none", "auto"):
        notes.append(summary_note(parameters, "includeThoughts: true"))
    return summary


def _level(parameters: Parameters, facts: ModelFacts, notes: list[Note]) -> Reasoning:
    if facts.efforts is None:
        is_google = maker_of(parameters.values.model) == "google"
        facts = ModelFacts(efforts=_LEVELS if is_google else ("none", *_LEVELS))
    return with_default_effort(reasoning_by_word(parameters, facts, notes), parameters, notes)

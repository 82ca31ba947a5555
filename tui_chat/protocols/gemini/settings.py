"""The settings and tools of Gemini, and reasoning as its models accept it.

1. `thinkingConfig`, as the model's family accepts it: Gemini 3 and later take levels, 2.5 takes
   budgets, older ones neither. An unknown model is asked as the newest are. A model of another
   maker behind this protocol gets levels, and a budget of 0 for no reasoning.
2. A group of `tools` has functions, Google's own tools, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from tui_chat.models.blocks import Extras, Json, JsonObject, extras_of, form_of
from tui_chat.models.boundary import camel_case
from tui_chat.models.envelope import (
    HostedTool,
    HostedToolKind,
    Level,
    NativeTool,
    Note,
    Parameters,
    RequestTool,
    ToolDefinition,
)
from tui_chat.models.model_facts import ModelFacts, maker_of
from tui_chat.models.settings import EFFORTS, ResponseFormat, ToolChoice, WebSearch
from tui_chat.protocols.common import setting_rows as rows
from tui_chat.protocols.common.losses import setting_note
from tui_chat.protocols.common.reading import items_of, string
from tui_chat.protocols.common.reasoning_effort import (
    AUTO,
    reasoning_by_budget,
    reasoning_by_word,
    summary_note,
    with_default_effort,
    with_reasoning,
)
from tui_chat.protocols.common.setting_rows import Row, Table
from tui_chat.protocols.common.tools import read_domains
from tui_chat.protocols.common.trees import dictionary
from tui_chat.protocols.gemini.contents import GEMINI, JOINED
from tui_chat.protocols.gemini.spelling import camel, spelled

# --- settings ----------------------------------------------------------------------------

_TIERS = {"standard": "default", "flex": "flex", "priority": "priority", "unspecified": "auto"}
"""Gemini's service tiers in OpenAI's words."""
_TIER_WORDS = {word: tier for tier, word in _TIERS.items()}
_MODES: dict[str, Any] = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto"}
_JSON = "application/json"
_THINKING = "thinkingConfig"


def _read_choice(value: Json) -> ToolChoice | None:
    fields = dictionary(value)
    mode, names = string(fields, "mode"), items_of(fields.get("allowedFunctionNames"))
    if mode not in _MODES or not all(isinstance(name, str) for name in names):
        return None
    return ToolChoice(_MODES[mode], tuple(cast("list[str]", names)))


def _write_choice(choice: ToolChoice) -> JsonObject:
    if not choice.names or choice.mode == "none":
        return {"mode": {"auto": "AUTO", "required": "ANY", "none": "NONE"}[choice.mode]}
    mode = "VALIDATED" if choice.mode == "auto" else "ANY"
    return {"mode": mode, "allowedFunctionNames": list(choice.names)}


def _read_schema(dialect: Any) -> Callable[[Json], ResponseFormat | None]:
    return lambda value: ResponseFormat("schema", value, dialect) if dictionary(value) else None


def _write_schema(dialect: str) -> Callable[[ResponseFormat], Json]:
    return lambda form: form.schema or None if form.dialect == dialect else None


def _read_level(value: Json) -> str | None:
    word = value.lower() if isinstance(value, str) else ""
    return word if word in EFFORTS and word != "none" else None


_CONFIG: Table = (
    Row("temperature", ("temperature",), rows.number, low=0, high=2, is_sampling=True),
    Row("top_p", ("topP",), rows.number, low=0, high=1, is_sampling=True),
    Row("top_k", ("topK",), rows.integer, low=1, is_sampling=True),
    Row("presence_penalty", ("presencePenalty",), rows.number, low=-2, high=2, is_sampling=True),
    Row("frequency_penalty", ("frequencyPenalty",), rows.number, low=-2, high=2, is_sampling=True),
    Row("seed", ("seed",), rows.integer, low=-(2**31), high=2**31 - 1),
    Row("max_tokens", ("maxOutputTokens",), rows.integer),
    Row("stop", ("stopSequences",), rows.texts),
    Row(
        "response_format",
        ("responseMimeType",),
        rows.unread,
        lambda form: "text/plain" if form.kind == "text" else _JSON,
    ),
    Row(
        "response_format",
        ("responseJsonSchema",),
        _read_schema("json"),
        _write_schema("json"),
        beside=("responseMimeType", _JSON),
    ),
    Row(
        "response_format",
        ("responseSchema",),
        _read_schema("gemini"),
        _write_schema("gemini"),
        beside=("responseMimeType", _JSON),
    ),
    Row(
        "response_format",
        ("responseMimeType",),
        lambda value: ResponseFormat("json") if value == _JSON else None,
        rows.never,
    ),
    Row(
        "effort",
        (_THINKING, "thinkingLevel"),
        _read_level,
        lambda effort: effort.upper() if effort not in (AUTO, "none") else None,
    ),
    Row(
        "effort",
        (_THINKING, "thinkingBudget"),
        lambda budget: AUTO if budget == -1 else None,
        lambda effort: -1 if effort == AUTO else None,
    ),
    Row("reasoning_budget", (_THINKING, "thinkingBudget"), rows.count),
    Row(
        "reasoning_summary",
        (_THINKING, "includeThoughts"),
        lambda shown: {True: "auto", False: "none"}[shown] if isinstance(shown, bool) else None,
        lambda summary: summary != "none",
    ),
    Row("replies", ("candidateCount",), rows.count),
    Row("logprobs", ("responseLogprobs",), rows.unread, lambda _: True),
    Row("logprobs", ("logprobs",), rows.count, rows.positive, beside=("responseLogprobs", True)),
    Row("logprobs", ("responseLogprobs",), lambda on: 0 if on is True else None, rows.never),
)
"""The settings in `generationConfig`, in the order in which they are sent."""
TABLE: Table = (
    Row(
        "model",
        ("model",),
        lambda name: name.removeprefix("models/") or None if isinstance(name, str) else None,
        rows.never,
    ),
    Row("tool_choice", ("toolConfig", "functionCallingConfig"), _read_choice, _write_choice),
    Row(
        "service_tier",
        ("serviceTier",),
        lambda tier: _TIERS.get(tier.lower()) if isinstance(tier, str) else None,
        lambda tier: _TIER_WORDS.get(tier, tier),
    ),
    Row("store", ("store",), rows.boolean),
    *(replace(row, path=("generationConfig", *row.path)) for row in _CONFIG),
)
"""In the order in which they are sent. The model that counts is in the URL."""


def with_thinking(
    parameters: Parameters, facts: ModelFacts, notes: list[Note], *, by_budget: bool
) -> Parameters:
    """Return the parameters with reasoning in the form that the model accepts. `by_budget`: a
    budget stays, also where levels are usual.
    """
    if facts.budgets or (by_budget and parameters.values.effort is None and facts.efforts != ()):
        reasoning = reasoning_by_budget(parameters, facts, notes)
    else:
        if facts.efforts is None:
            levels = ("minimal", "low", "medium", "high")  # those of the newest known models
            is_google = maker_of(parameters.values.model) == "google"
            facts = replace(facts, efforts=levels if is_google else ("none", *levels))
        reasoning = reasoning_by_word(parameters, facts, notes)
        reasoning = with_default_effort(reasoning, parameters, notes)
    if reasoning.effort == "none":  # which is no level
        reasoning = replace(reasoning, effort="", budget=0)
    elif reasoning.effort:
        reasoning = replace(reasoning, budget=None)
    fitted, summary = with_reasoning(parameters, reasoning), parameters.values.reasoning_summary
    if summary is not None and facts.efforts == () and not facts.budgets:
        why = f"{parameters.values.model} does not reason"
        level = Level.INFO if summary == "none" else Level.WARNING
        name, origin = f"the reasoning summary “{summary}”", parameters.origin("reasoning_summary")
        notes.append(setting_note(name, why, origin, level))
        return fitted.with_values(reasoning_summary=None)
    if summary not in (None, "none", "auto"):
        notes.append(summary_note(parameters, "includeThoughts: true"))
    return fitted


# --- tools -------------------------------------------------------------------------------

HOSTED: dict[str, HostedToolKind] = {
    "googleSearch": "web_search",
    "urlContext": "web_fetch",
    "codeExecution": "code_execution",
}
"""Google's own tools that other providers run too."""
_DECLARED = "functionDeclarations"


def read_function(wire: JsonObject) -> ToolDefinition | None:
    """Return a function by its declaration; None if it has no name."""
    name, description = string(wire, "name"), string(wire, "description")
    schema = dictionary(wire.get("parametersJsonSchema"))
    own = {} if schema else dictionary(wire.get("parameters"))
    dialect = "gemini" if own else "json"
    return ToolDefinition(name, description, schema or own, dialect=dialect) if name else None


def write_function(tool: ToolDefinition) -> JsonObject:
    """Return a function's declaration, without what only its protocol knows of it."""
    key = "parameters" if tool.dialect == "gemini" else "parametersJsonSchema"
    return {
        "name": tool.name,
        **({"description": tool.description} if tool.description else {}),
        **({key: tool.parameters} if tool.parameters else {}),
    }


def read_hosted(wire: JsonObject) -> HostedTool | None:
    """Return the meaning of one of Google's own tools; None if other protocols have none."""
    fields, _ = camel(wire)
    for key, kind in HOSTED.items():
        if isinstance(inner := fields.get(key), dict):
            sites = read_domains(dictionary(inner).get("excludeDomains"))
            return HostedTool(kind, WebSearch(blocked_domains=sites))
    return None


def write_hosted(tool: HostedTool) -> JsonObject:
    """Return the entry of `tools` for one of Google's own tools."""
    key = next(key for key, kind in HOSTED.items() if kind == tool.kind)
    sites = list(tool.search.blocked_domains)
    return {key: {"excludeDomains": sites} if sites else {}}


def read_group(wire: Json, native: Callable[[str, Json], NativeTool]) -> Iterator[RequestTool]:
    """Yield the tools of a group: its functions, then Google's own. All but the first are joined to
    the one before. `native` makes one of Google's own.
    """
    fields = dictionary(wire)
    group, words = camel(fields)
    declared = [camel(dictionary(each)) for each in items_of(group.get(_DECLARED))]
    functions = [read_function(function) for function, _ in declared]
    is_known = bool(functions) and None not in functions
    form = ""
    for function, (read, spelling) in zip(functions, declared, strict=True):
        if function is not None and is_known:
            form = f"{form} {spelling} {words if not form else ''}"
            extras = extras_of(GEMINI, read, write_function(function), " ".join(form.split()))
            yield replace(function, extras=extras)
            form = JOINED
    for key, value in fields.items():
        if not (is_known and camel_case(key) == _DECLARED):
            tool = native(camel_case(key), {key: value})
            yield replace(tool, extras=replace(tool.extras or Extras(GEMINI), form=form))
            form = JOINED
    if not fields:
        yield native("tool", wire)


def write_groups(
    tools: Sequence[RequestTool], write: Callable[[ToolDefinition], JsonObject]
) -> list[Json]:
    """Return the tools in their groups. `write` writes a function."""
    groups: list[Json] = []
    for tool in tools:
        words = form_of(tool, GEMINI).split()
        if JOINED not in words:
            groups.append({})
        if isinstance(tool, ToolDefinition):
            key = "function_declarations" if "function_declarations" in words else _DECLARED
            held = next((k for k in groups[-1] if camel_case(k) == _DECLARED), key)
            groups[-1].setdefault(held, []).append(spelled(write(tool), words))
        elif value := dictionary(tool.value):
            groups[-1] |= value
        else:
            groups[-1] = tool.value
    return groups

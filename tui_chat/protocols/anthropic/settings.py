"""The settings and tools of Anthropic, and its reasoning as the model's family accepts it.

1. The newest families think adaptively, with an effort. Older ones take a budget; Opus 4.5 takes
   both. Nothing is known of other vendors' models behind this protocol: they get budgets.
2. A budget leaves `_ROOM` tokens of the reply limit for the reply. Where that is not possible there
   is no thinking.
3. A budget and a forced tool exclude each other; the tool decides what is said, so it stays.
4. With a budget the model's last turn must begin with its thinking: not after the call of another
   model, or a beginning of the reply. So no budget is sent until the next turn of the user.
5. Sampling settings are not sent to models known to refuse them, nor to unknown Claude models: the
   newest ones refuse them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.envelope import (
    HostedTool,
    HostedToolKind,
    Level,
    Note,
    Parameters,
    ToolDefinition,
)
from tui_chat.models.model_facts import CLAUDE_EFFORTS, NEWEST_CLAUDE_OUTPUT, is_newer_claude
from tui_chat.models.settings import EFFORTS, ResponseFormat, ToolChoice, WebSearch
from tui_chat.models.text import Origin
from tui_chat.protocols.common import setting_rows as rows
from tui_chat.protocols.common.losses import default_note, setting_note
from tui_chat.protocols.common.reading import string
from tui_chat.protocols.common.reasoning_effort import (
    AUTO,
    BUDGETS,
    NOTHING,
    UNLIMITED,
    Reasoning,
    reasoning_by_budget,
    reasoning_by_word,
    summary_note,
    with_default_effort,
    with_reasoning,
)
from tui_chat.protocols.common.request_encoder import RequestEncoder, SentTool
from tui_chat.protocols.common.setting_rows import Row, Table
from tui_chat.protocols.common.tools import (
    closed_schema,
    json_schema,
    read_domains,
    read_location,
    write_location,
)
from tui_chat.protocols.common.trees import default_origin, dictionary

# --- tools -------------------------------------------------------------------------------


def read_function(wire: JsonObject) -> ToolDefinition | None:
    """Return a function by its definition; None for any other tool."""
    name, schema = string(wire, "name"), dictionary(wire.get("input_schema"))
    if wire.get("type") not in (None, "custom") or not (name and schema):
        return None
    strict = rows.boolean(wire.get("strict"))
    return ToolDefinition(name, string(wire, "description"), schema, strict)


def write_function(tool: ToolDefinition) -> JsonObject:
    """Return a function's definition, without what only its protocol knows of it."""
    return {
        "name": tool.name,
        **({"description": tool.description} if tool.description else {}),
        "input_schema": dict(tool.parameters),
        **({} if tool.strict is None else {"strict": tool.strict}),
    }


HOSTED: dict[HostedToolKind, str] = {
    "web_search": "web_search_20250305",
    "web_fetch": "web_fetch_20250910",
    "code_execution": "code_execution_20250825",
}
"""The tools that Anthropic runs, in the oldest version of each: all models accept it, and the later
ones filter results by running code."""
SEARCH_OPTIONS = ("location", "allowed_domains", "blocked_domains", "max_uses")
"""The options of a web search that Anthropic has."""


def read_hosted(wire: JsonObject) -> HostedTool | None:
    """Return the meaning of a tool that Anthropic runs; None if other protocols have none."""
    known: dict[str, HostedToolKind] = {
        version.rpartition("_")[0]: kind for kind, version in HOSTED.items()
    }
    version = re.fullmatch(r"(\w+)_\d{8}", string(wire, "type"))
    kind = known.get(version[1]) if version is not None else None
    if kind != "web_search":
        return HostedTool(kind) if kind is not None else None
    search = WebSearch(
        location=read_location(wire.get("user_location")),
        allowed_domains=read_domains(wire.get("allowed_domains")),
        blocked_domains=read_domains(wire.get("blocked_domains")),
        max_uses=rows.integer(wire.get("max_uses")),
    )
    return HostedTool("web_search", search)


def write_hosted(tool: HostedTool) -> JsonObject:
    """Return the definition of a tool that Anthropic runs."""
    fields: JsonObject = {"type": HOSTED[tool.kind], "name": tool.kind}
    search = tool.search
    if search.max_uses is not None:
        fields["max_uses"] = search.max_uses
    if search.allowed_domains:  # which excludes the other list
        fields["allowed_domains"] = list(search.allowed_domains)
    elif search.blocked_domains:
        fields["blocked_domains"] = list(search.blocked_domains)
    if search.location is not None:
        fields["user_location"] = {"type": "approximate", **write_location(search.location)}
    return fields


# --- settings ----------------------------------------------------------------------------

_MODES: dict[str, Any] = {"auto": "auto", "any": "required", "none": "none"}
_WORDS = {mode: word for word, mode in _MODES.items()}


def _read_choice(value: Json) -> ToolChoice | None:
    kind, name = (string(dictionary(value), key) for key in ("type", "name"))
    if kind == "tool" and name:
        return ToolChoice("required", (name,))
    return ToolChoice(_MODES[kind]) if kind in _MODES else None


def _write_choice(choice: ToolChoice) -> JsonObject:
    """Return `tool_choice`. It cannot name several tools: see `_with_choice`."""
    if choice.mode == "required" and len(choice.names) == 1:
        return {"type": "tool", "name": choice.names[0]}
    return {"type": _WORDS[choice.mode]}


def _read_format(value: Json) -> ResponseFormat | None:
    fields = dictionary(value)
    schema = dictionary(fields.get("schema"))
    is_schema = fields.get("type") == "json_schema" and schema
    return ResponseFormat("schema", dict(schema), strict=True) if is_schema else None


def _not(value: Json) -> bool | None:
    return not value if isinstance(value, bool) else None


TABLE: Table = (
    Row("model", ("model",), rows.text),
    Row("max_tokens", ("max_tokens",), rows.integer),
    Row("tool_choice", ("tool_choice",), _read_choice, _write_choice),
    Row("parallel_tool_calls", ("tool_choice", "disable_parallel_tool_use"), _not, _not),
    Row("temperature", ("temperature",), rows.number, low=0, high=1, is_sampling=True),
    Row("top_p", ("top_p",), rows.number, low=0, high=1, is_sampling=True),
    Row("top_k", ("top_k",), rows.integer, low=0, is_sampling=True),
    Row("stop", ("stop_sequences",), rows.texts),
    Row("reasoning_budget", ("thinking", "type"), rows.unread, lambda _: "enabled"),
    Row("reasoning_budget", ("thinking", "budget_tokens"), rows.count),
    Row(
        "effort",
        ("thinking", "type"),
        lambda word: "none" if word == "disabled" else None,
        lambda effort: "disabled" if effort == "none" else "adaptive",
    ),
    Row(
        "reasoning_summary",
        ("thinking", "display"),
        *rows.words({"summarized": "auto", "omitted": "none"}),
    ),
    Row(
        "effort",
        ("output_config", "effort"),
        lambda word: word if isinstance(word, str) and word in EFFORTS else None,
        lambda effort: None if effort in (AUTO, "none") else effort,
    ),
    Row(
        "effort",
        ("thinking", "type"),
        lambda word: AUTO if word == "adaptive" else None,
        rows.never,
    ),
    Row(
        "response_format",
        ("output_config", "format"),
        _read_format,
        lambda form: {"type": "json_schema", "schema": form.schema or {}},
    ),
    Row("user_id", ("metadata", "user_id"), rows.text),
    Row(
        "service_tier",
        ("service_tier",),
        *rows.words({"auto": "auto", "standard_only": "default"}),
    ),
    Row("stream", ("stream",), rows.boolean, rows.when_on),
)
"""In the order in which they are sent. With a budget `thinking.type` is that of the budget."""


# --- fitting -----------------------------------------------------------------------------

_ENDPOINT_LIMIT = default_origin("max_tokens", "the endpoint's reply limit; Anthropic requires one")
_DEFAULT_LIMIT = default_origin("max_tokens", "no limit is set, and Anthropic requires one")
_UNKNOWN_LIMIT = 4096
"""For other vendors' models: small, since a limit above the model's is refused."""
_STEP = 1000
_PLENTY = 1_000_000
_ROOM = 1_024
"""Tokens of the reply limit that a budget leaves."""


def fitted(
    request: RequestEncoder, tools: Sequence[SentTool], begun: str, *, has_tools: bool
) -> Parameters:
    """Return the parameters as the model accepts them. `begun`: what the model's last turn begins
    with, if the request goes on with that turn and it does not begin with thinking.
    """
    parameters = request.parameters.with_values(max_tokens=request.reply_limit())
    if parameters.values.max_tokens is None and not request.captured:
        parameters = parameters.with_value("max_tokens", *_default_limit(request))
    parameters = _with_choice(request, parameters, tools, has_tools=has_tools)
    parameters = parameters.with_values(stop=request.stop_sequences(_PLENTY, blank=False))
    parameters = _with_thinking(request, request.accepted(parameters, TABLE), begun)
    tier = request.service_tier({"auto": "auto", "default": "default"})
    return parameters.with_values(response_format=_format(request), service_tier=tier)


def _default_limit(request: RequestEncoder) -> tuple[int, Origin]:
    """Return the reply limit where nobody set one: the endpoint's, else the most that the model
    accepts, as far as the input leaves room for it. Anthropic answers 400 where input and limit
    are together above the context, and cuts the reply where the limit is low.
    """
    if request.endpoint.max_tokens is not None:
        return request.endpoint.max_tokens, _ENDPOINT_LIMIT
    model, facts = request.model, request.facts
    if facts.max_output is not None:
        limit, why = facts.max_output, f", the limit of “{model}”"
    elif is_newer_claude(model):
        limit = NEWEST_CLAUDE_OUTPUT
        why = ", the limit of the newest known Claude models"
    else:
        limit, why = _UNKNOWN_LIMIT, f" because the limit of “{model}” is unknown"
    budget = request.envelope.budget
    if budget is not None and facts.context_limit is not None:
        # Tokens are counted by estimate: one in a hundred is kept free.
        room = facts.context_limit - budget.total - facts.context_limit // 100
        # In steps, so that a word more or less does not change the request elsewhere.
        room = room // _STEP * _STEP if room >= _STEP else max(room, 1)
        if room < limit:
            limit, why = room, ", all that the context leaves free"
    sentence = f"Anthropic requires max_tokens; using {limit:,}{why}."
    request.notes.append(default_note(_DEFAULT_LIMIT, sentence))
    return limit, _DEFAULT_LIMIT


def _with_choice(
    request: RequestEncoder, parameters: Parameters, tools: Sequence[SentTool], *, has_tools: bool
) -> Parameters:
    """Return the parameters with the tool choice as the model accepts it."""
    name = "parallel_tool_calls"
    choice, parallel = request.tool_choice(tools), parameters.values.parallel_tool_calls
    if parallel is False and choice is None and has_tools:
        return parameters.with_value("tool_choice", ToolChoice("auto"), parameters.origin(name))
    if parallel is False and (choice is None or choice.mode == "none"):
        request.leave_out(name, name, "no tool may be called", Level.INFO)
        parallel = None
    elif parallel and not request.captured:
        parallel = None  # which is how it is anyway
    if choice is not None and choice.mode == "required" and request.facts.forced_tools is False:
        sentence = f"{request.named('tool_choice', 'The tool choice')} is sent as “auto”: "
        sentence += f"{request.model} refuses one that forces a call."
        request.note_change("tool_choice", sentence)
        choice = ToolChoice("auto")
    if choice is not None and choice.names and (choice.mode != "required" or choice.names[1:]):
        most = " at most" if choice.mode == "required" else ", of a tool that must be called"
        why = f"Anthropic accepts one tool name{most}; the model may choose any tool"
        request.leave_out("tool_choice", f"tool_choice {', '.join(choice.names)}", why)
    return parameters.with_values(tool_choice=choice, parallel_tool_calls=parallel)


def _with_thinking(request: RequestEncoder, parameters: Parameters, begun: str) -> Parameters:
    """Return the parameters with the reasoning as the model accepts it. In its own protocol a
    request stays as it is where the model accepts that.
    """
    values, facts, notes = parameters.values, request.facts, list[Note]()
    if is_newer_claude(values.model):
        facts = replace(facts, efforts=CLAUDE_EFFORTS, adaptive_thinking=True)
    keeps_budget = request.captured and bool(facts.budgets) and values.effort is None
    if facts.adaptive_thinking and not keeps_budget:
        # `max` is the step of `xhigh` of models that lack that; see `models.model_facts`.
        reasoning = reasoning_by_word(parameters, facts, notes, {"xhigh": "max"})
    else:
        reasoning = _budget(request, parameters, notes, begun)
    summary = _summary(parameters, reasoning, notes)
    if request.captured and all(note.level is Level.INFO for note in notes):
        return parameters
    request.notes += notes
    return with_reasoning(parameters, reasoning).with_values(reasoning_summary=summary)


def _budget(
    request: RequestEncoder, parameters: Parameters, notes: list[Note], begun: str
) -> Reasoning:
    """Return the reasoning by a budget, with an effort beside it if the model takes both."""
    facts, values = request.facts, parameters.values
    most = (_PLENTY if values.max_tokens is None else values.max_tokens) - _ROOM
    if facts.budgets is None and facts.efforts != ():
        facts = replace(facts, budgets=(_ROOM, UNLIMITED))  # 1,024 at least [S]
    has_words = facts.efforts is not None and facts.efforts not in ((), ("none",))
    if has_words and values.effort is not None:
        reasoning = reasoning_by_word(parameters, facts, notes)
    else:
        reasoning = reasoning_by_budget(parameters, facts, notes, most)
    source, why = reasoning.source, ""
    if source is not None and reasoning.effort in (AUTO, *BUDGETS):
        if most < _ROOM:
            notes.append(source.left_out("the reply limit leaves no room for it"))
            return NOTHING
        word = with_default_effort(reasoning, parameters, notes).effort
        budget = max(min(BUDGETS[word], most), _ROOM)
        reasoning = Reasoning(word if has_words else "", budget, source)
    choice = request.values.tool_choice
    if begun:
        why = f"the model's last turn begins with {begun}, not with its thinking"
    elif choice and choice.mode == "required" and facts.forced_tools is not False:
        why = "it excludes a tool choice that forces a call"
    if not why or reasoning.budget is None or source is None:
        return reasoning
    notes[:] = [note for note in notes if note.origin is not source.origin]
    notes.append(source.left_out(why))
    return NOTHING


def _summary(parameters: Parameters, reasoning: Reasoning, notes: list[Note]) -> str | None:
    """Return the summary of the reasoning in one of the two lengths that there are."""
    values, summary = parameters.values, parameters.values.reasoning_summary
    if summary is None:
        return None
    is_off = reasoning.effort == "none"
    if reasoning.source is not None and not is_off:
        if summary not in ("none", "auto"):
            notes.append(summary_note(parameters, "summarized"))
        return summary if summary == "none" else "auto"
    is_asked = values.effort is not None or values.reasoning_budget is not None
    why = "there is no reasoning" if is_off else "no reasoning is asked for"
    why = "no reasoning is sent" if is_asked and not is_off else why
    level = Level.INFO if is_off or summary == "none" else Level.WARNING
    origin = parameters.origin("reasoning_summary")
    notes.append(setting_note(f"the reasoning summary “{summary}”", why, origin, level))
    return None


def _format(request: RequestEncoder) -> ResponseFormat | None:
    """Return the reply's form as Anthropic takes it: a schema whose objects are closed."""
    form, why = request.values.response_format, ""
    if form is None:
        return None
    if form.kind == "json" or (form.kind == "schema" and not form.schema):
        why = "Anthropic supports JSON with a schema only"
    elif form.kind == "schema" and request.facts.response_schema is False:
        why = f"{request.model} does not support it"
    if why:
        request.leave_out("response_format", "the response format", why)
        return None
    if request.captured:
        return form
    if (form := request.schema_only_format()) is None:
        return None
    schema, changed = closed_schema(json_schema(form.schema or {}, form.dialect))
    if changed:
        sentence = "The reply's schema is sent with “additionalProperties: false” for every object."
        request.note_change("response_format", sentence)
    return replace(form, schema=schema, dialect="json")

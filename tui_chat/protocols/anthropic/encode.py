"""Encode an envelope as an Anthropic Messages request.

1. `POST /v1/messages`; `model`, `max_tokens` and `messages` are required.
2. Tool calls are answered in the user message that follows, whose results come first. Ids
   have letters, digits, `_` and `-`, and no two calls share one.
3. Sampling settings are not sent to models known to refuse them, nor to unknown Claude
   models: the newest ones refuse them. In a request that was captured from Anthropic they are
   unchanged, unless its model was replaced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import (
    ChatEnvelope,
    HostedToolKind,
    Level,
    Note,
    Parameters,
    ToolDefinition,
)
from tui_chat.models.json_tree import Arr, Obj
from tui_chat.models.model_facts import NEWEST_CLAUDE_OUTPUT, is_newer_claude
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.models.text import Origin
from tui_chat.protocols.anthropic.conversation import (
    conversation_of,
    system_of,
    unthinking_turn,
)
from tui_chat.protocols.anthropic.settings import TABLE, fitted_reasoning
from tui_chat.protocols.anthropic.tools import SEARCH_OPTIONS, write_hosted, write_tool
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.loss_notes import default_note
from tui_chat.protocols.common.request_encoder import (
    RequestedTool,
    RequestEncoder,
    SentTool,
    functions_of,
    written_tool,
)
from tui_chat.protocols.common.tools import NAMES_128, closed_schema, json_schema
from tui_chat.protocols.common.trees import default_origin

VERSION = "2026-10-21"
"""The `anthropic-version` that the official SDK (2.x) sends."""

_HOSTED: tuple[HostedToolKind, ...] = ("web_search", "web_fetch", "code_execution")
_ENDPOINT_LIMIT = default_origin("max_tokens", "the endpoint's reply limit; Anthropic requires one")
_DEFAULT_LIMIT = default_origin("max_tokens", "no limit is set, and Anthropic requires one")
_UNKNOWN_LIMIT = 4096
"""For other vendors' models: small, since a limit above the model's is refused."""
_STEP = 1000
_ID_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")
_RULES = PairingRules(NAMES_128, unique_ids=True, id_forbidden=_ID_FORBIDDEN)
_CAPTURED_RULES = PairingRules(
    NAMES_128, captured=True, by_run=True, unique_ids=True, id_forbidden=_ID_FORBIDDEN
)
_PLENTY = 1_000_000


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    # Only presets, and requests of other protocols, have cache marks that Anthropic might refuse.
    doubtful = bool(envelope.cache_marks) or request.is_converted
    rules = _CAPTURED_RULES if request.captured else _RULES
    turns = request.block_turns(rules, limits_marks=doubtful)
    is_composed = request.envelope.source is None
    conversation = conversation_of(turns, request.model, endpoint, is_composed=is_composed)
    system = system_of(conversation)
    request.notes += conversation.notes
    tools = request.sent_tools(_HOSTED, SEARCH_OPTIONS)
    written = _written_tools(request, tools)
    begun, has_tools = unthinking_turn(conversation), bool(written)
    settings = request.written(TABLE, lambda: _fitted(request, tools, begun, has_tools=has_tools))
    body: JsonObject = {} if system is None else {"system": system}
    body |= {"messages": Arr(tuple(conversation.messages))} | request.tools_key(written)
    body = request.body(settings, body, ("model", "max_tokens"))
    return request.encoded("/v1/messages", body, headers=version_header(endpoint))


def version_header(endpoint: Endpoint) -> tuple[tuple[str, str], ...]:
    """Return the `anthropic-version` header, which every request to the API needs."""
    return (("anthropic-version", endpoint.api_version or VERSION),)


def _written_tools(request: RequestEncoder, tools: Sequence[SentTool]) -> list[Json]:
    """Return the tools. Of those that Anthropic runs none may have the name of a function."""

    def write(tool: ToolDefinition) -> Obj:
        return write_tool(tool, request.captured)

    functions = {tool.name for tool in functions_of(tools)}
    written: list[Json] = []
    for tool in tools:
        if isinstance(tool, RequestedTool):
            if tool.tool.kind in functions:
                request.leave_tool_out(tool, "a function has its name")
                continue
            if tool.tool.search.allowed_domains and tool.tool.search.blocked_domains:
                request.leave_tool_out(tool, "Anthropic accepts one list of sites")
                continue
        written.append(written_tool(tool, write, write_hosted))
    return written


# --- settings ----------------------------------------------------------------------------

_TIERS = {"auto": "auto", "default": "default"}


def _fitted(
    request: RequestEncoder, tools: Sequence[SentTool], begun: str, *, has_tools: bool
) -> Parameters:
    """Return the parameters as the model accepts them. `begun`: see `unthinking_turn`."""
    fitted = request.parameters.with_values(max_tokens=request.reply_limit())
    if fitted.values.max_tokens is None and not request.captured:
        fitted = fitted.with_value("max_tokens", *_default_limit(request))
    fitted = _with_choice(request, fitted, tools, has_tools=has_tools)
    fitted = fitted.with_values(stop=request.stop_sequences(_PLENTY, blank=False))
    fitted = _with_reasoning(request, request.accepted(fitted, TABLE), begun)
    tier = request.service_tier(_TIERS)
    return fitted.with_values(response_format=_format(request), service_tier=tier)


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
    request: RequestEncoder, fitted: Parameters, tools: Sequence[SentTool], *, has_tools: bool
) -> Parameters:
    """Return the parameters with the tool choice as the model accepts it."""
    choice, parallel = request.tool_choice(tools), fitted.values.parallel_tool_calls
    if parallel is False and choice is None and has_tools:
        origin = fitted.origin("parallel_tool_calls")
        return fitted.with_value("tool_choice", ToolChoice("auto"), origin)
    if parallel is False and (choice is None or choice.mode == "none"):
        name = "parallel_tool_calls"
        request.leave_out(name, name, "no tool may be called", Level.INFO)
        parallel = None
    elif parallel and not request.captured:
        parallel = None  # which is how it is anyway
    may_force = request.facts.forced_tools is not False
    if choice is not None and choice.mode == "required" and not may_force:
        sentence = f"{request.named('tool_choice', 'The tool choice')} is sent as “auto”: "
        sentence += f"{request.model} refuses one that forces a call."
        request.note_change("tool_choice", sentence)
        choice = ToolChoice("auto")
    if choice is not None and choice.names and (choice.mode != "required" or choice.names[1:]):
        why = "Anthropic accepts one tool name, of a tool that must be called"
        if choice.mode == "required":
            why = "Anthropic accepts one tool name at most"
        name = f"tool_choice {', '.join(choice.names)}"
        request.leave_out("tool_choice", name, f"{why}; the model may choose any tool")
    return fitted.with_values(tool_choice=choice, parallel_tool_calls=parallel)


def _with_reasoning(request: RequestEncoder, fitted: Parameters, begun: str) -> Parameters:
    """Return the parameters with the reasoning as the model accepts it. In its own protocol a
    request stays as it is where the model accepts that.
    """
    choice, facts, limit = request.values.tool_choice, request.facts, fitted.values.max_tokens
    excluded = ""
    if begun:
        excluded = f"the model's last turn begins with {begun}, not with its thinking"
    elif choice and choice.mode == "required" and facts.forced_tools is not False:
        excluded = "it excludes a tool choice that forces a call"
    notes: list[Note] = []
    thinking = fitted_reasoning(
        fitted,
        facts,
        notes,
        limit=_PLENTY if limit is None else limit,
        excluded=excluded,
        by_budget=request.captured,
    )
    if request.captured and all(note.level is Level.INFO for note in notes):
        return fitted
    request.notes += notes
    return thinking


def _format(request: RequestEncoder) -> ResponseFormat | None:
    """Return the reply's form as Anthropic takes it: a schema whose objects are closed."""
    form, name = request.values.response_format, "the response format"
    if form is None:
        return None
    if form.kind == "json" or (form.kind == "schema" and not form.schema):
        why = "Anthropic supports JSON with a schema only"
        request.leave_out("response_format", name, why)
        return None
    if form.kind == "schema" and request.facts.response_schema is False:
        request.leave_out("response_format", name, f"{request.model} does not support it")
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

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
from collections.abc import Collection
from dataclasses import replace

from tui_chat.models.blocks import JsonObject
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    Sourced,
    ToolDefinition,
)
from tui_chat.models.json_tree import Arr, Lit, Tree, tree_of
from tui_chat.models.model_facts import NEWEST_CLAUDE_OUTPUT, is_newer_claude
from tui_chat.models.semantics import HostedTool
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.protocols.anthropic.conversation import (
    conversation_of,
    system_of,
    unthinking_turn,
)
from tui_chat.protocols.anthropic.settings import LIMIT, REASONING, SETTINGS, fitted_reasoning
from tui_chat.protocols.anthropic.tools import SEARCH_OPTIONS, write_hosted, write_tool
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.encoding import default_origin
from tui_chat.protocols.common.loss_notes import default_note, with_key
from tui_chat.protocols.common.request_encoder import RequestEncoder, with_hosted
from tui_chat.protocols.common.schemas import closed_schema, json_schema, schema_only_format
from tui_chat.protocols.common.setting_rows import write_settings
from tui_chat.protocols.common.tools import NAMES_128
from tui_chat.protocols.common.trees import dictionary, object_of

VERSION = "2026-10-21"
"""The `anthropic-version` that the official SDK (2.x) sends."""

_STREAM = default_origin("stream", "the reply is shown as it arrives")
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
    is_composed = request.envelope.semantics.source is None
    conversation = conversation_of(turns, request.model, endpoint, is_composed=is_composed)
    system = system_of(conversation)
    request.notes += conversation.notes
    limit = request.reply_limit()
    if limit is None and not request.captured:
        limit = _default_limit(request)
    body: JsonObject = dict(request.model_items())
    body |= write_settings(replace(request.parameters, max_tokens=limit), LIMIT)
    if system is not None:
        body["system"] = system
    body["messages"] = Arr(tuple(conversation.messages))
    functions = request.functions()
    tools = _tools(request, functions)
    choice = _with_choice(request, functions, has_tools=bool(tools))
    begun = unthinking_turn(conversation)
    body |= dict(request.tools_items(tools))
    body |= _settings(request, choice, limit.value if limit is not None else _PLENTY, begun)
    return request.encoded("/v1/messages", object_of(body), headers=version_header(endpoint))


def version_header(endpoint: Endpoint) -> tuple[tuple[str, str], ...]:
    """Return the `anthropic-version` header, which every request to the API needs."""
    return (("anthropic-version", endpoint.api_version or VERSION),)


def _default_limit(request: RequestEncoder) -> Sourced[int]:
    """Return the reply limit where nobody set one: the endpoint's, else the most that the model
    accepts, as far as the input leaves room for it. Anthropic answers 400 where input and limit
    are together above the context, and cuts the reply where the limit is low.
    """
    if request.endpoint.max_tokens is not None:
        return Sourced(request.endpoint.max_tokens, _ENDPOINT_LIMIT)
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
    return Sourced(limit, _DEFAULT_LIMIT)


def _tools(request: RequestEncoder, functions: list[ToolDefinition]) -> list[Tree]:
    encoded = request.with_native_tools([write_tool(tool, request.captured) for tool in functions])
    return with_hosted(encoded, _hosted(request, [tool.name for tool in functions]))


def _with_choice(
    request: RequestEncoder, functions: list[ToolDefinition], *, has_tools: bool
) -> Parameters:
    """Return the parameters with the tool choice as the model accepts it."""
    parameters = request.parameters
    if request.has_own_choice:
        return replace(parameters, tool_choice=None, parallel_tool_calls=None)
    choice, parallel = request.tool_choice(functions), parameters.parallel_tool_calls
    if not request.captured and parallel is not None and parallel.value:
        request.note_missing("parallel_tool_calls")
        parallel = None
    is_single = parallel is not None and not parallel.value
    if choice is None and parallel is not None and is_single and has_tools:
        choice = Sourced(ToolChoice("auto"), parallel.origin)
    if parallel is not None and (choice is None or choice.value.mode == "none"):
        if is_single:
            request.leave_out(parallel, "parallel_tool_calls", "no tool may be called", Level.INFO)
        parallel = None
    may_force = request.facts.forced_tools is not False or request.unchanged
    if choice is not None and choice.value.mode == "required" and not may_force:
        sentence = f"{with_key('The tool choice', choice.origin)} is sent as “auto”: "
        sentence += f"{request.model} refuses one that forces a call."
        request.note_change(choice, sentence)
        choice = Sourced(ToolChoice("auto"), choice.origin)
    names = choice.value.names if choice is not None else ()
    if choice is not None and names and (choice.value.mode != "required" or len(names) > 1):
        why = "Anthropic accepts one tool name, of a tool that must be called"
        if choice.value.mode == "required":
            why = "Anthropic accepts one tool name at most"
        name = f"tool_choice {', '.join(names)}"
        request.leave_out(choice, name, f"{why}; the model may choose any tool")
    return replace(parameters, tool_choice=choice, parallel_tool_calls=parallel)


def _hosted(
    request: RequestEncoder, functions: Collection[str]
) -> list[tuple[Sourced[HostedTool], Tree]]:
    """Return the tools that Anthropic runs, unless a function has the same name."""
    kinds = ("web_search", "web_fetch", "code_execution")
    written: list[tuple[Sourced[HostedTool], Tree]] = []
    for tool in request.hosted_tools(kinds, SEARCH_OPTIONS):
        search = tool.value.search
        if tool.value.kind in functions:
            request.leave_tool_out(tool, "a function has its name")
            continue
        if search.allowed_domains and search.blocked_domains:
            sites = [site for site in search.allowed_domains if site not in search.blocked_domains]
            if not sites:
                why = "every site that it may search is one that it may not"
                request.leave_tool_out(tool, why)
                continue
            sentence = "Anthropic accepts one list of sites; those that the web search may not use "
            sentence += "are taken out of those that it may."
            request.note_change(tool, sentence, Level.INFO)
            search = replace(search, allowed_domains=tuple(sites), blocked_domains=())
            tool = Sourced(replace(tool.value, search=search), tool.origin)
        written.append((tool, tree_of(write_hosted(tool.value), tool.origin)))
    return written


_TIERS = {"auto": "auto", "default": "standard_only"}


def _settings(request: RequestEncoder, choice: Parameters, limit: int, begun: str) -> JsonObject:
    """Return the keys of the settings. `choice` are the parameters with the fitted tool choice,
    `limit` is the reply limit; `begun`: see `unthinking_turn`.
    """
    parameters, captured = request.parameters, request.captured
    fitted = replace(choice, stop=request.stop_sequences(_PLENTY, blank=False))
    fitted = request.accepted(fitted, SETTINGS)
    request.note_missing(
        *("seed", "presence_penalty", "frequency_penalty", "verbosity", "logprobs", "replies"),
        "store",
    )
    fitted, is_fitted = _with_reasoning(request, fitted, limit, begun)
    fitted = replace(fitted, response_format=_format(request))
    if captured:
        fitted = replace(fitted, user_id=None, service_tier=None)
    else:
        fitted = replace(fitted, service_tier=request.service_tier(_TIERS))
    settings = write_settings(fitted, SETTINGS)
    rest = request.captured_keys(["stream"] * parameters.stream + ["thinking"] * is_fitted)
    if config := dictionary(rest.get("output_config")):
        kept = {key: value for key, value in config.items() if key != "effort" or not is_fitted}
        rest["output_config"] = settings.pop("output_config", {}) | kept
        if not rest["output_config"]:
            del rest["output_config"]
    if parameters.stream:
        settings["stream"] = Lit(True, _STREAM)
    return settings | rest


def _with_reasoning(
    request: RequestEncoder, fitted: Parameters, limit: int, begun: str
) -> tuple[Parameters, bool]:
    """Return the parameters with the reasoning as the model accepts it, and True if they say what
    is sent. In its own protocol a request stays as it is where the model accepts that.
    """
    choice, facts = request.parameters.tool_choice, request.facts
    excluded = ""
    if begun:
        excluded = f"the model's last turn begins with {begun}, not with its thinking"
    elif choice and choice.value.mode == "required" and facts.forced_tools is not False:
        excluded = "it excludes a tool choice that forces a call"
    notes: list[Note] = []
    if not request.unchanged:
        fitted = fitted_reasoning(
            fitted,
            facts,
            notes,
            limit=limit,
            excluded=excluded,
            by_budget=request.captured,
        )
    if request.captured and all(note.level is Level.INFO for note in notes):
        return replace(fitted, **dict.fromkeys(REASONING)), False
    request.notes += notes
    return fitted, True


def _format(request: RequestEncoder) -> Sourced[ResponseFormat] | None:
    """Return the reply's form as Anthropic takes it: a schema whose objects are closed."""
    form = request.parameters.response_format
    if form is None or request.captured:
        return form
    if form.value.kind == "json" or (form.value.kind == "schema" and not form.value.schema):
        why = "Anthropic supports JSON with a schema only"
        request.leave_out(form, "the response format", why)
        return None
    if form.value.kind == "schema" and request.facts.response_schema is False:
        request.leave_out(form, "the response format", f"{request.model} does not support it")
        return None
    if (form := schema_only_format(request)) is None:
        return None
    schema, changed = closed_schema(json_schema(form.value.schema or {}, form.value.dialect))
    if changed:
        sentence = "The reply's schema is sent with “additionalProperties: false” for every object."
        request.note_change(form, sentence)
    return Sourced(replace(form.value, schema=schema, dialect="json"), form.origin)

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
from typing import Any, cast

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, ToolDefinition
from tui_chat.models.json_tree import Arr, Lit, Obj, Tree, tree_of
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import NEWEST_CLAUDE_OUTPUT, is_newer_claude
from tui_chat.models.semantics import UNSET, HostedTool
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.models.text import Origin
from tui_chat.protocols.anthropic.messages import encode_messages, unthinking_turn
from tui_chat.protocols.anthropic.settings import (
    SCALARS,
    AnthropicSettings,
    Thinking,
    write_thinking,
)
from tui_chat.protocols.anthropic.tools import (
    SEARCH_OPTIONS,
    write_choice,
    write_format,
    write_hosted,
)
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.encoding import (
    Items,
    captured_origin,
    default_origin,
    merge_extras,
    setting_value,
    tool_origin,
)
from tui_chat.protocols.common.loss_notes import default_note, with_key
from tui_chat.protocols.common.request_encoder import RequestEncoder, merged_items, with_hosted
from tui_chat.protocols.common.schemas import (
    closed_schema,
    json_schema,
    object_schema,
    schema_only_format,
)
from tui_chat.protocols.common.tool_pairing import PairingRules
from tui_chat.protocols.common.tools import NAMES_128

VERSION = "2026-10-21"
"""The `anthropic-version` that the official SDK (2.x) sends."""

_ANTHROPIC = Protocol.ANTHROPIC
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
    turns = request.paired_turns(rules, limits_marks=doubtful)
    system, messages, message_notes = encode_messages(envelope, turns, endpoint)
    request.notes += message_notes
    body = request.model_items()
    limit = request.reply_limit()
    if limit is None and not request.captured:
        limit = _default_limit(request)
    if limit is not None:
        body.append(("max_tokens", setting_value(limit)))
    if system is not None:
        body.append(("system", system))
    body.append(("messages", Arr(messages)))
    body += _tools(request)
    begun = unthinking_turn(messages)
    body += _settings(request, limit.value if limit is not None else _PLENTY, begun)
    body = request.with_extras(body)
    return request.encoded("/v1/messages", Obj(tuple(body)), headers=version_header(endpoint))


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


def _tools(request: RequestEncoder) -> Items:
    functions = request.functions()
    encoded = request.with_native_tools([_tool(tool, request.captured) for tool in functions])
    encoded = with_hosted(encoded, _hosted(request, [tool.name for tool in functions]))
    items = request.tools_items(encoded)
    if request.has_own_choice:
        return items
    choice = request.tool_choice(functions)
    parallel = request.parameters.parallel_tool_calls
    if not request.captured and parallel is not None and parallel.value:
        request.note_missing("parallel_tool_calls")
        parallel = None
    is_single = parallel is not None and not parallel.value
    if choice is None and parallel is not None and is_single and encoded:
        choice = Sourced(ToolChoice("auto"), parallel.origin)
    if parallel is not None and is_single and (choice is None or choice.value.mode == "none"):
        request.leave_out(parallel, "parallel_tool_calls", "no tool may be called", Level.INFO)
    may_force = request.facts.forced_tools is not False or request.unchanged
    if choice is not None and choice.value.mode == "required" and not may_force:
        sentence = f"{with_key('The tool choice', choice.origin)} is sent as “auto”: "
        sentence += f"{request.model} refuses one that forces a call."
        request.note_change(choice, sentence)
        choice = Sourced(ToolChoice("auto"), choice.origin)
    if choice is None:
        return items
    if choice.value.names and (choice.value.mode != "required" or len(choice.value.names) > 1):
        why = "Anthropic accepts one tool name, of a tool that must be called"
        if choice.value.mode == "required":
            why = "Anthropic accepts one tool name at most"
        name = f"tool_choice {', '.join(choice.value.names)}"
        request.leave_out(choice, name, f"{why}; the model may choose any tool")
    meaning = (choice.value, parallel.value if parallel is not None else None)
    written = cast("Obj", tree_of(write_choice(meaning), choice.origin))
    if parallel is not None:
        written = _with_origin(written, "disable_parallel_tool_use", parallel.origin)
    return [*items, ("tool_choice", written)]


def _with_origin(tree: Obj, key: str, origin: Origin) -> Obj:
    """Return an object in which the value of a key, true or false, has an origin of its own."""
    items = (
        (name, Lit(value.value, origin) if name == key and isinstance(value, Lit) else value)
        for name, value in tree.items
    )
    return Obj(tuple(items), tree.origin)


@Memo
def _tool(tool: ToolDefinition, captured: bool) -> Tree:
    origin = tool_origin(tool.name)
    items: Items = [("name", tree_of(tool.name, origin))]
    if tool.description:
        items.append(("description", tree_of(tool.description, origin)))
    schema = tool.parameters if captured else object_schema(tool)
    items.append(("input_schema", tree_of(schema, origin)))
    if tool.strict is not None:
        items.append(("strict", Lit(tool.strict, origin)))
    return Obj(tuple(merge_extras(items, tool.extras, origin) if captured else items), origin)


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


def _settings(request: RequestEncoder, limit: int, begun: str) -> Items:
    """Return the settings. `limit` is the reply limit; `begun`: see `unthinking_turn`."""
    parameters, captured, facts = request.parameters, request.captured, request.facts
    items = request.scalars(SCALARS, stop=request.stop_sequences(_PLENTY, blank=False))
    request.note_missing(
        *("seed", "presence_penalty", "frequency_penalty", "verbosity", "logprobs", "replies"),
        "store",
    )
    choice = parameters.tool_choice
    excluded = ""
    if begun:
        excluded = f"the model's last turn begins with {begun}, not with its thinking"
    elif choice and choice.value.mode == "required" and facts.forced_tools is not False:
        excluded = "it excludes a tool choice that forces a call"
    thinking, mapped = Thinking(), not captured
    if not request.unchanged:
        thinking_notes: list[Note] = []
        thinking = write_thinking(
            parameters,
            facts,
            thinking_notes,
            limit=limit,
            excluded=excluded,
            by_budget=captured,
        )
        # In its own protocol a request stays as it is where the model accepts that.
        mapped = mapped or any(note.level is not Level.INFO for note in thinking_notes)
        request.notes += thinking_notes if mapped else []
    if mapped and thinking.thinking is not None:
        items.append(("thinking", thinking.thinking))
    config: Items = []
    if mapped and thinking.effort is not None:
        config.append(("effort", thinking.effort))
    if (form := _format(request)) is not None:
        config.append(("format", tree_of(write_format(form.value), form.origin)))
    if config:
        items.append(("output_config", Obj(tuple(config))))
    if not captured and parameters.user_id is not None:
        user = Obj((("user_id", setting_value(parameters.user_id)),))
        items.append(("metadata", user))
    items += request.tier_items("service_tier", _TIERS)
    if parameters.stream:
        items.append(("stream", Lit(True, _STREAM)))
    if not captured:
        return items
    skip = ["output_config"] + ["stream"] * parameters.stream + ["thinking"] * mapped
    items = request.with_namespace(items, skip)
    rest = request.envelope.semantics.namespace(AnthropicSettings).output_config
    if mapped and isinstance(rest, dict):
        rest = {k: v for k, v in cast("dict[str, Any]", rest).items() if k != "effort"} or UNSET
    if rest is not UNSET:
        items = _with_config(items, tree_of(rest, captured_origin("output_config")))
    return items


def _with_config(items: Items, rest: Tree) -> Items:
    unified = dict(items).get("output_config")
    if isinstance(unified, Obj) and isinstance(rest, Obj):
        rest = Obj((*unified.items, *rest.items), unified.origin)
    return merged_items(items, [("output_config", rest)])


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

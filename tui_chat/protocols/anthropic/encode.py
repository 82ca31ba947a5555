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
from tui_chat.models.model_facts import NEWEST_CLAUDE_OUTPUT, ModelFacts, is_newer_claude
from tui_chat.models.semantics import UNSET, HostedTool
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.models.text import Origin
from tui_chat.protocols.anthropic.messages import encode_messages
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
from tui_chat.protocols.common.cache_marks import limit_cache_marks
from tui_chat.protocols.common.encoding import (
    Items,
    captured_origin,
    default_origin,
    merge_extras,
    setting_value,
    tool_origin,
)
from tui_chat.protocols.common.loss_notes import (
    default_note,
    envelope_notes,
    missing_notes,
    setting_changed_note,
    setting_note,
    with_key,
)
from tui_chat.protocols.common.schemas import (
    closed_schema,
    json_schema,
    object_schema,
    schema_only_format,
    wanted_format,
)
from tui_chat.protocols.common.settings import (
    extra_items,
    is_same_model,
    namespace_items,
    override,
    reply_limit,
    stop_sequences,
    tier_items,
    usable_tool_choice,
    write_scalars,
)
from tui_chat.protocols.common.tool_pairing import PairingRules, pair_tools
from tui_chat.protocols.common.tools import (
    NAMES_128,
    sent_hosted_tools,
    sent_tools,
    tool_left_out,
    with_hosted,
    with_native_tools,
)

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
    NAMES_128, in_call_order=False, by_run=True, unique_ids=True, id_forbidden=_ID_FORBIDDEN
)
_PLENTY = 1_000_000


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    captured = envelope.semantics.source is _ANTHROPIC
    # Only presets, and requests of other protocols, have cache marks that Anthropic might refuse.
    doubtful = envelope.cache_marks or envelope.semantics.source not in (None, _ANTHROPIC)
    turns, marked = envelope.turns, list[Note]()
    if doubtful:
        turns, marked = limit_cache_marks(turns, _ANTHROPIC)
    paired = pair_tools(
        turns,
        _CAPTURED_RULES if captured else _RULES,
        [tool.name for tool in envelope.tools or ()],
        envelope.semantics.tools.alias_map,
    )
    notes = [*marked, *paired.notes, *envelope_notes(envelope, _ANTHROPIC)]
    system, messages, message_notes = encode_messages(envelope, paired.turns, endpoint)
    notes += message_notes
    model = envelope.parameters.model
    body: Items = [("model", setting_value(model))] if model.value or not captured else []
    limit = reply_limit(envelope, endpoint, notes)
    if limit is None and not captured:
        limit = _default_limit(envelope, endpoint, notes)
    if limit is not None:
        body.append(("max_tokens", setting_value(limit)))
    if system is not None:
        body.append(("system", system))
    body.append(("messages", Arr(messages)))
    body += _tools(envelope, endpoint, paired.aliases, notes)
    body += _settings(envelope, endpoint, notes, limit.value if limit is not None else _PLENTY)
    if captured:
        body = override(body, extra_items(envelope, _ANTHROPIC))
    return Encoded(
        "/v1/messages",
        Obj(tuple(body)),
        headers=version_header(endpoint),
        notes=tuple(notes),
        aliases=tuple(paired.aliases.items()),
    )


def version_header(endpoint: Endpoint) -> tuple[tuple[str, str], ...]:
    """Return the `anthropic-version` header, which every request to the API needs."""
    return (("anthropic-version", endpoint.api_version or VERSION),)


def _default_limit(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]) -> Sourced[int]:
    """Return the reply limit where nobody set one: the endpoint's, else the most that the model
    accepts, as far as the input leaves room for it. Anthropic answers 400 where input and limit
    are together above the context, and cuts the reply where the limit is low.
    """
    if endpoint.max_tokens is not None:
        return Sourced(endpoint.max_tokens, _ENDPOINT_LIMIT)
    model = envelope.parameters.model.value
    facts = endpoint.facts_of(model)
    if facts.max_output is not None:
        limit, why = facts.max_output, f"the maximum of {model}"
    elif is_newer_claude(model):
        limit = NEWEST_CLAUDE_OUTPUT
        why = "the maximum of the newest known Claude models"
    else:
        limit, why = _UNKNOWN_LIMIT, f"since the maximum of {model} is unknown"
    budget = envelope.budget
    if budget is not None and facts.context_limit is not None:
        # Tokens are counted by estimate: one in a hundred is kept free.
        room = facts.context_limit - budget.total - facts.context_limit // 100
        # In steps, so that a word more or less does not change the request elsewhere.
        room = room // _STEP * _STEP if room >= _STEP else max(room, 1)
        if room < limit:
            limit, why = room, "all that the context leaves free"
    sentence = f"Anthropic requires a reply limit and none is set: {limit:,} tokens, {why}."
    notes.append(default_note(_DEFAULT_LIMIT, sentence))
    return Sourced(limit, _DEFAULT_LIMIT)


def _tools(
    envelope: ChatEnvelope, endpoint: Endpoint, aliases: dict[str, str], notes: list[Note]
) -> Items:
    """Return the tools and the choice among them."""
    captured = envelope.semantics.source is _ANTHROPIC
    functions = sent_tools(envelope, _ANTHROPIC, aliases, notes)
    native = envelope.semantics.tools.native
    encoded = with_native_tools([_tool(tool, captured) for tool in functions], native, _ANTHROPIC)
    encoded = with_hosted(encoded, _hosted(envelope, [tool.name for tool in functions], notes))
    items: Items = []
    if encoded or (envelope.tools is not None and (captured or envelope.semantics.source is None)):
        items.append(("tools", Arr(encoded)))
    if captured and envelope.semantics.namespace(AnthropicSettings).tool_choice is not UNSET:
        return items  # the namespace has it
    choice = usable_tool_choice(
        envelope, _ANTHROPIC, [tool.name for tool in functions], aliases, notes
    )
    parallel = envelope.parameters.parallel_tool_calls
    if not captured and parallel is not None and parallel.value:
        notes += missing_notes(_ANTHROPIC, envelope.parameters, "parallel_tool_calls")
        parallel = None
    if choice is None and parallel is not None and not parallel.value and encoded:
        choice = Sourced(ToolChoice("auto"), parallel.origin)
    if (
        parallel is not None
        and not parallel.value
        and (choice is None or choice.value.mode == "none")
    ):
        why = "no tool may be called"
        notes.append(setting_note(parallel, "parallel_tool_calls", why, Level.INFO))
    facts = endpoint.facts_of(envelope.parameters.model.value)
    may_force = facts.forced_tools is not False or is_same_model(envelope, _ANTHROPIC)
    if choice is not None and choice.value.mode == "required" and not may_force:
        name = with_key("The tool choice", choice.origin)
        sentence = f"{name} is sent as “auto”: {envelope.parameters.model.value} refuses one that "
        sentence += "forces a call."
        notes.append(setting_changed_note(choice, sentence))
        choice = Sourced(ToolChoice("auto"), choice.origin)
    if choice is not None:
        if choice.value.names and (choice.value.mode != "required" or len(choice.value.names) > 1):
            why = "Anthropic accepts one tool name, of a tool that must be called"
            if choice.value.mode == "required":
                why = "Anthropic accepts one tool name at most"
            names = ", ".join(choice.value.names)
            why += "; the model may choose any tool"
            notes.append(setting_note(choice, f"tool_choice {names}", why))
        meaning = (choice.value, parallel.value if parallel is not None else None)
        written = cast("Obj", tree_of(write_choice(meaning), choice.origin))
        if parallel is not None:
            written = _with_origin(written, "disable_parallel_tool_use", parallel.origin)
        items.append(("tool_choice", written))
    return items


def _with_origin(tree: Obj, key: str, origin: Origin) -> Obj:
    """Return an object in which the value of a key, true or false, has an origin of its own."""
    items = (
        (name, Lit(value.value, origin) if name == key and isinstance(value, Lit) else value)
        for name, value in tree.items
    )
    return Obj(tuple(items), tree.origin)


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
    envelope: ChatEnvelope, functions: Collection[str], notes: list[Note]
) -> list[tuple[Sourced[HostedTool], Tree]]:
    """Return the tools that Anthropic runs, unless a function has the same name."""
    kinds = ("web_search", "web_fetch", "code_execution")
    written: list[tuple[Sourced[HostedTool], Tree]] = []
    for tool in sent_hosted_tools(envelope, _ANTHROPIC, kinds, SEARCH_OPTIONS, notes):
        search = tool.value.search
        if tool.value.kind in functions:
            why = "a function has its name"
            notes.append(tool_left_out(tool.value, why, tool.origin))
            continue
        if search.allowed_domains and search.blocked_domains:
            sites = [site for site in search.allowed_domains if site not in search.blocked_domains]
            if not sites:
                why = "every site that it may search is one that it may not"
                notes.append(tool_left_out(tool.value, why, tool.origin))
                continue
            sentence = "Anthropic accepts one list of sites; those that the web search may not use "
            sentence += "are taken out of those that it may."
            notes.append(setting_changed_note(tool, sentence, Level.INFO))
            search = replace(search, allowed_domains=tuple(sites), blocked_domains=())
            tool = Sourced(replace(tool.value, search=search), tool.origin)
        written.append((tool, tree_of(write_hosted(tool.value), tool.origin)))
    return written


_TIERS = {"auto": "auto", "default": "standard_only"}


def _settings(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note], limit: int) -> Items:
    parameters, namespace = envelope.parameters, envelope.semantics.namespace(AnthropicSettings)
    captured = envelope.semantics.source is _ANTHROPIC
    unchanged = is_same_model(envelope, _ANTHROPIC)
    facts = endpoint.facts_of(parameters.model.value)
    stop = parameters.stop
    if not captured:
        stop = stop_sequences(stop, _PLENTY, notes, blank=False)
    items = write_scalars(SCALARS, envelope, endpoint, notes, stop=stop)
    missing = ("seed", "presence_penalty", "frequency_penalty", "verbosity", "logprobs", "replies")
    notes += missing_notes(_ANTHROPIC, parameters, *missing, "store")
    choice = parameters.tool_choice
    forced = choice is not None and choice.value.mode == "required"
    thinking, mapped = Thinking(), not captured
    if not unchanged:
        thinking_notes: list[Note] = []
        thinking = write_thinking(
            parameters,
            facts,
            thinking_notes,
            limit=limit,
            forced=forced and facts.forced_tools is not False,
            by_budget=captured,
        )
        # In its own protocol a request stays as it is where the model accepts that.
        mapped = mapped or any(note.level is not Level.INFO for note in thinking_notes)
        notes += thinking_notes if mapped else []
    if mapped and thinking.thinking is not None:
        items.append(("thinking", thinking.thinking))
    config: Items = []
    if mapped and thinking.effort is not None:
        config.append(("effort", thinking.effort))
    form = parameters.response_format
    if not captured:
        form = _format(form, parameters.model.value, facts, notes)
    if form is not None:
        config.append(("format", tree_of(write_format(form.value), form.origin)))
    if config:
        items.append(("output_config", Obj(tuple(config))))
    if not captured and parameters.user_id is not None:
        user = Obj((("user_id", setting_value(parameters.user_id)),))
        items.append(("metadata", user))
    items += tier_items(envelope, _ANTHROPIC, "service_tier", _TIERS, notes)
    if parameters.stream:
        items.append(("stream", Lit(True, _STREAM)))
    if captured:
        skip = ["output_config"] + ["stream"] * parameters.stream + ["thinking"] * mapped
        items = override(items, namespace_items(namespace, skip))
        rest = namespace.output_config
        if mapped and isinstance(rest, dict):
            rest = {k: v for k, v in cast("dict[str, Any]", rest).items() if k != "effort"} or UNSET
        if rest is not UNSET:
            items = _with_config(items, tree_of(rest, captured_origin("output_config")))
    return items


def _with_config(items: Items, rest: Tree) -> Items:
    functions = dict(items).get("output_config")
    if isinstance(functions, Obj) and isinstance(rest, Obj):
        rest = Obj((*functions.items, *rest.items), functions.origin)
    return override(items, iter([("output_config", rest)]))


def _format(
    form: Sourced[ResponseFormat] | None, model: str, facts: ModelFacts, notes: list[Note]
) -> Sourced[ResponseFormat] | None:
    """Return the reply's form as Anthropic takes it: a schema whose objects are closed."""
    form = wanted_format(form, notes)
    if form is None:
        return None
    if form.value.kind == "json" or not form.value.schema:
        why = "Anthropic supports JSON with a schema only"
        notes.append(setting_note(form, "the response format", why))
        return None
    if facts.response_schema is False:
        notes.append(setting_note(form, "the response format", f"{model} does not support it"))
        return None
    form = schema_only_format(form, _ANTHROPIC, notes)
    schema, changed = closed_schema(json_schema(form.value.schema or {}, form.value.dialect))
    if changed:
        sentence = "The reply's schema is sent with “additionalProperties: false” for every object."
        notes.append(setting_changed_note(form, sentence))
    return Sourced(replace(form.value, schema=schema, dialect="json"), form.origin)

"""Encoding an envelope as an Anthropic Messages request.

1. `POST /v1/messages`; `model`, `max_tokens` and `messages` are required.
2. Tool calls are answered in the user message that follows, whose results come first. Ids are
   of letters, digits, `_` and `-`, and no two calls share one.
3. Sampling settings are not sent to models known to refuse them, nor to Claude models that
   nothing is known of: the newest ones refuse them. In a request that was captured from Anthropic
   they stay as they were, unless another model is asked than it asked.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    ResponseFormat,
    Sourced,
    ToolChoice,
    ToolDefinition,
)
from tui_chat.models.json_tree import Arr, Lit, Obj, Tree, tree_of
from tui_chat.models.model_facts import NEWEST_CLAUDE_OUTPUT, is_newer_claude
from tui_chat.models.semantics import UNSET
from tui_chat.protocols.anthropic.cache_marks import limit_cache_marks
from tui_chat.protocols.anthropic.messages import encode_messages
from tui_chat.protocols.anthropic.tools import write_choice, write_format
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.encoding import (
    Items,
    boolean,
    captured_origin,
    default_origin,
    merge_extras,
    setting_value,
)
from tui_chat.protocols.common.loss_notes import (
    default_note,
    envelope_notes,
    setting_changed_note,
    setting_note,
    unsupported_notes,
)
from tui_chat.protocols.common.request_fields import captured_model
from tui_chat.protocols.common.settings import (
    all_tools,
    closed_schema,
    effort_notes,
    extra_items,
    json_schema,
    namespace_items,
    object_schema,
    override,
    reply_limit,
    sampling_settings,
    schema_only_format,
    stop_sequences,
    usable_tool_choice,
)
from tui_chat.protocols.common.tool_names import NAMES_128, rename_tool, unique_tools
from tui_chat.protocols.common.tool_pairing import PairingRules, pair_tools

VERSION = "2026-10-21"
"""The `anthropic-version` that the official SDK (2.x) sends."""

_ANTHROPIC = Protocol.ANTHROPIC
_STREAM = default_origin("stream", "the reply is shown as it arrives")
_ENDPOINT_LIMIT = default_origin("max_tokens", "the endpoint's reply limit; Anthropic demands one")
_DEFAULT_LIMIT = default_origin("max_tokens", "nobody set a limit, and Anthropic demands one")
_UNKNOWN_LIMIT = 4096
"""For models of others behind this protocol: small, since a limit above theirs is refused."""
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
    # Only presets, and requests of others, bring cache marks that Anthropic might refuse.
    doubtful = envelope.cache_marks or envelope.semantics.source not in (None, _ANTHROPIC)
    turns, marked = limit_cache_marks(envelope.turns) if doubtful else (envelope.turns, [])
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
    if limit is not None or not captured:
        body.append(
            ("max_tokens", setting_value(limit or _default_limit(envelope, endpoint, notes)))
        )
    if system is not None:
        body.append(("system", system))
    body.append(("messages", Arr(messages)))
    body += _tools(envelope, paired.aliases, notes)
    body += _settings(envelope, endpoint, notes)
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
        limit, why = facts.max_output, f"the most that {model} accepts"
    elif is_newer_claude(model):
        limit = NEWEST_CLAUDE_OUTPUT
        why = f"as for the newest known Claude models, since nothing is known of {model}"
    else:
        limit, why = _UNKNOWN_LIMIT, f"since the most that {model} accepts is unknown"
    budget = envelope.budget
    if budget is not None and facts.context_limit is not None:
        # Tokens are counted by estimate: one in a hundred is kept free.
        room = facts.context_limit - budget.total - facts.context_limit // 100
        # In steps, so that a word more or less does not change the request elsewhere.
        room = room // _STEP * _STEP if room >= _STEP else max(room, 1)
        if room < limit:
            limit, why = room, "as much as the context leaves free"
    sentence = f"Nobody set a reply limit and Anthropic demands one: {limit:,} tokens, {why}."
    notes.append(default_note(_DEFAULT_LIMIT, sentence))
    return Sourced(limit, _DEFAULT_LIMIT)


def _tools(envelope: ChatEnvelope, aliases: dict[str, str], notes: list[Note]) -> Items:
    """Return the tools and the choice among them."""
    captured = envelope.semantics.source is _ANTHROPIC
    given = envelope.tools or ()
    functions = [
        rename_tool(tool, aliases) for tool in (given if captured else unique_tools(given, notes))
    ]
    native = envelope.semantics.tools.native
    encoded = all_tools([_tool(tool, captured) for tool in functions], native, _ANTHROPIC)
    items: Items = []
    if encoded or (envelope.tools is not None and (captured or envelope.semantics.source is None)):
        items.append(("tools", Arr(encoded)))
    if captured and envelope.semantics.anthropic.tool_choice is not UNSET:
        return items  # the namespace has it
    choice = usable_tool_choice(
        envelope, _ANTHROPIC, [tool.name for tool in functions], aliases, notes
    )
    parallel = envelope.parameters.parallel_tool_calls
    if choice is None and parallel is not None and not parallel.value and encoded:
        choice = Sourced(ToolChoice("auto"), parallel.origin)
    if (
        parallel is not None
        and not parallel.value
        and (choice is None or choice.value.mode == "none")
    ):
        why = "no tool may be called"
        notes.append(setting_note(parallel, "parallel_tool_calls", why, Level.INFO))
    if choice is not None:
        if choice.value.names and (choice.value.mode != "required" or len(choice.value.names) > 1):
            why = "Anthropic takes one name or none; the model may choose any tool"
            notes.append(setting_note(choice, f"tool_choice {choice.value.names}", why))
        meaning = (choice.value, parallel.value if parallel is not None else None)
        if parallel is not None and parallel.value and not captured:
            meaning = (choice.value, None)
        items.append(("tool_choice", tree_of(write_choice(meaning), choice.origin)))
    return items


def _tool(tool: ToolDefinition, captured: bool) -> Tree:
    items: Items = [("name", tree_of(tool.name))]
    if tool.description:
        items.append(("description", tree_of(tool.description)))
    schema = tool.parameters if captured else object_schema(tool)
    items.append(("input_schema", tree_of(schema)))
    if tool.strict is not None:
        items.append(("strict", Lit(tool.strict)))
    return Obj(
        tuple(merge_extras(items, tool.extras, captured_origin("tools")) if captured else items)
    )


def _settings(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]) -> Items:
    parameters, namespace = envelope.parameters, envelope.semantics.anthropic
    captured = envelope.semantics.source is _ANTHROPIC
    wanted = [
        ("temperature", parameters.temperature, 0, 1),
        ("top_p", parameters.top_p, 0, 1),
        ("top_k", parameters.top_k, 0, math.inf),
    ]
    unchanged = (
        captured and parameters.model.origin == captured_model(parameters.model.value).origin
    )
    facts = endpoint.facts_of(parameters.model.value)
    items: Items = list(sampling_settings(wanted, parameters, facts, notes, captured=unchanged))
    missing = [
        ("seed", parameters.seed),
        ("presence_penalty", parameters.presence_penalty),
        ("frequency_penalty", parameters.frequency_penalty),
    ]
    notes += unsupported_notes(_ANTHROPIC, missing)
    notes += effort_notes(parameters.effort, _ANTHROPIC)
    stop = (
        parameters.stop
        if captured
        else stop_sequences(parameters.stop, _PLENTY, notes, blank=False)
    )
    if stop is not None:
        items.append(("stop_sequences", tree_of(stop.value, stop.origin)))
    form = parameters.response_format if captured else _format(parameters.response_format, notes)
    if form is not None:
        encoded = tree_of(write_format(form.value), form.origin)
        items.append(("output_config", Obj((("format", encoded),), form.origin)))
    if parameters.stream:
        items.append(("stream", boolean(True, _STREAM)))
    if captured:
        skip = ("output_config", *(("stream",) if parameters.stream else ()))
        items = override(items, namespace_items(namespace, skip))
        rest = namespace.output_config
        if rest is not UNSET:
            items = _with_config(items, tree_of(rest, captured_origin("output_config")))
    return items


def _with_config(items: Items, rest: Tree) -> Items:
    functions = dict(items).get("output_config")
    if isinstance(functions, Obj) and isinstance(rest, Obj):
        rest = Obj((*functions.items, *rest.items), functions.origin)
    return override(items, iter([("output_config", rest)]))


def _format(
    form: Sourced[ResponseFormat] | None, notes: list[Note]
) -> Sourced[ResponseFormat] | None:
    """Return the reply's form as Anthropic takes it: a schema whose objects are closed."""
    if form is None or form.value.kind == "text":
        return None
    if form.value.kind == "json" or not form.value.schema:
        why = "Anthropic asks for JSON by a schema only"
        notes.append(setting_note(form, "the response format", why))
        return None
    form = schema_only_format(form, _ANTHROPIC, notes)
    schema, changed = closed_schema(json_schema(form.value.schema or {}, form.value.dialect))
    if changed:
        sentence = "The reply's schema is sent with “additionalProperties: false” for every object."
        notes.append(setting_changed_note(form, sentence))
    return Sourced(replace(form.value, schema=schema, dialect="json"), form.origin)

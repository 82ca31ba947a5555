"""Encode an envelope as a request of Ollama's `/api/chat`.

1. `POST /api/chat`; roles as they are, system messages anywhere, consecutive equal roles.
2. The server checks nothing about calls and results. They are sent in the order that models were
   trained with: each call is directly followed by its result, which names its tool.
3. Settings are in `options`; the server ignores unknown ones. `stream` is
   always sent, since a stream is the default.
4. Ollama loads a model with a context length of its own and silently drops the oldest messages
   that exceed it. If the request was built for a context limit, that is sent as `num_ctx`.
5. The reasoning effort is `think`: a level, or false.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.models.blocks import JsonObject
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ChatEnvelope, Level, Parameters, Sourced
from tui_chat.models.json_tree import Arr, Lit, Tree
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.encoding import NOTHING_TO_SEND, default_origin
from tui_chat.protocols.common.openai import write_tool
from tui_chat.protocols.common.reasoning_effort import AUTO, reasoning_by_word
from tui_chat.protocols.common.request_encoder import RequestEncoder
from tui_chat.protocols.common.schemas import json_schema, schema_only_format
from tui_chat.protocols.common.setting_rows import write_settings
from tui_chat.protocols.common.tools import NAMES_ANY, strict_notes
from tui_chat.protocols.common.trees import dictionary, object_of
from tui_chat.protocols.ollama.messages import OLLAMA
from tui_chat.protocols.ollama.sent_message import sent_message
from tui_chat.protocols.ollama.settings import BEFORE_STREAM, LEVELS, OPTIONS

_STREAM = default_origin("stream", "the reply is shown as it arrives")
_WHOLE = default_origin("stream", "the reply is wanted whole")
_CONTEXT = default_origin("num_ctx", "the context limit that this request was built for")
_RULES = PairingRules(NAMES_ANY, ids=False, named_results=True)
_CAPTURED_RULES = PairingRules(NAMES_ANY, captured=True, ids=False)
_EFFORTS = ("none", *LEVELS)


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    turns = request.block_turns(_CAPTURED_RULES if request.captured else _RULES)
    messages: list[Tree] = []
    for turn in turns:
        message = sent_message(turn)
        messages.append(message.tree)
        request.notes += message.notes
    body: JsonObject = {**dict(request.model_items()), "messages": Arr(tuple(messages))}
    body |= dict(request.tools_items(_tools(request)))
    body |= _settings(request)
    if not messages:
        request.notes.append(NOTHING_TO_SEND)
    return request.encoded("/api/chat", object_of(body))


def _tools(request: RequestEncoder) -> tuple[Tree, ...]:
    """Return the tools. There is no choice among them."""
    functions, captured = request.functions(), request.captured
    written = functions if captured else [replace(tool, strict=None) for tool in functions]
    request.hosted_tools(())
    encoded = request.with_native_tools([write_tool(tool, captured) for tool in written])
    if not captured:
        request.notes += strict_notes(functions, OLLAMA)
        if (choice := request.parameters.tool_choice) is not None:
            changes_nothing = choice.value == ToolChoice("auto") or not functions
            level = Level.INFO if changes_nothing else Level.WARNING
            request.leave_out(choice, "tool_choice", "Ollama has no such setting", level)
    return encoded


def _settings(request: RequestEncoder) -> JsonObject:
    """Return the keys of all settings."""
    parameters, rest = _fitted_parameters(request), request.captured_keys()
    if request.captured:
        settings = write_settings(parameters, (*BEFORE_STREAM, *OPTIONS), skip=rest.keys())
        if options := dictionary(rest.get("options")):
            rest["options"] = settings.get("options", {}) | options
        return settings | rest
    settings = write_settings(parameters, BEFORE_STREAM)
    is_streamed = parameters.stream
    settings["stream"] = Lit(is_streamed, _STREAM if is_streamed else _WHOLE)
    settings |= write_settings(parameters, OPTIONS)
    budget = request.envelope.budget
    if budget is not None and budget.limit is not None:
        settings.setdefault("options", {})["num_ctx"] = Lit(budget.limit, _CONTEXT)
    return settings


def _fitted_parameters(request: RequestEncoder) -> Parameters:
    """Return the parameters as the model accepts them."""
    parameters = replace(request.parameters, response_format=_format(request))
    parameters = replace(parameters, effort=_effort(request))
    if not request.captured:
        request.note_missing(
            *("verbosity", "replies", "store", "service_tier", "user_id", "parallel_tool_calls")
        )
    if (summary := parameters.reasoning_summary) is not None and not request.captured:
        why = "Ollama shows the reasoning of every model that reasons"
        request.leave_out(summary, "the reasoning summary", why, Level.INFO)
    return request.accepted(replace(parameters, max_tokens=request.reply_limit()), OPTIONS)


def _format(request: RequestEncoder) -> Sourced[ResponseFormat] | None:
    form = schema_only_format(request)
    if form is None or form.value.schema is None:
        return form
    schema = json_schema(form.value.schema, form.value.dialect)
    return Sourced(replace(form.value, schema=schema, dialect="json"), form.origin)


def _effort(request: RequestEncoder) -> Sourced[str] | None:
    """Return the effort: one of the levels, `none`, or that the model decides how much."""
    effort = request.parameters.effort
    if request.captured and (effort is None or effort.value in (*_EFFORTS, AUTO)):
        return effort
    facts = request.facts if request.facts.efforts == () else ModelFacts(efforts=_EFFORTS)
    reasoning = reasoning_by_word(request.parameters, facts, request.notes)
    source = reasoning.source
    return Sourced(reasoning.effort, source.origin) if source is not None else None

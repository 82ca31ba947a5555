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

from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.blocks import JsonObject
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ChatEnvelope, Level, Parameters, ToolDefinition
from tui_chat.models.json_tree import Arr, Lit, Obj, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.encoding import NOTHING_TO_SEND, default_origin
from tui_chat.protocols.common.openai import write_function
from tui_chat.protocols.common.reasoning_effort import reasoning_by_word, with_reasoning
from tui_chat.protocols.common.request_encoder import (
    RequestEncoder,
    SentTool,
    functions_of,
    written_tool,
)
from tui_chat.protocols.common.schemas import json_schema, schema_only_format
from tui_chat.protocols.common.tools import NAMES_ANY, definition_tree, strict_notes
from tui_chat.protocols.ollama.messages import OLLAMA
from tui_chat.protocols.ollama.sent_message import sent_message
from tui_chat.protocols.ollama.settings import LEVELS, OPTIONS, TABLE

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
    if not messages:
        request.notes.append(NOTHING_TO_SEND)
    tools = request.sent_tools()

    def write(tool: ToolDefinition) -> Obj:
        return _function(tool, request.captured)

    body: JsonObject = {"messages": Arr(tuple(messages))}
    body |= request.tools_key([written_tool(tool, write) for tool in tools])
    return request.encoded("/api/chat", request.body(_settings(request, tools), body))


@Memo
def _function(tool: ToolDefinition, captured: bool) -> Obj:
    tool = tool if captured else replace(tool, strict=None)
    return definition_tree(write_function(tool), tool, OLLAMA)


def _settings(request: RequestEncoder, tools: Sequence[SentTool]) -> JsonObject:
    """Return the keys of all settings."""
    settings = request.written(TABLE, lambda: _fitted(request, functions_of(tools)))
    budget = request.envelope.budget
    if budget is not None and budget.limit is not None and not request.captured:
        settings.setdefault("options", {})["num_ctx"] = Lit(budget.limit, _CONTEXT)
    return settings


def _fitted(request: RequestEncoder, functions: Sequence[ToolDefinition]) -> Parameters:
    """Return the parameters as the model accepts them. There is no choice among tools."""
    if not request.captured:
        request.notes += strict_notes(functions, OLLAMA)
    if (choice := request.values.tool_choice) is not None:
        changes_nothing = choice == ToolChoice("auto") or not functions
        level = Level.INFO if changes_nothing else Level.WARNING
        request.leave_out("tool_choice", "tool_choice", "Ollama has no such setting", level)
    if request.values.reasoning_summary is not None:
        why = "Ollama shows the reasoning of every model that reasons"
        request.leave_out("reasoning_summary", "the reasoning summary", why, Level.INFO)
    facts = request.facts if request.facts.efforts == () else ModelFacts(efforts=_EFFORTS)
    reasoning = reasoning_by_word(request.parameters, facts, request.notes)
    fitted = with_reasoning(request.parameters, reasoning)
    fitted = fitted.with_values(response_format=_format(request), max_tokens=request.reply_limit())
    return request.accepted(fitted, OPTIONS)


def _format(request: RequestEncoder) -> ResponseFormat | None:
    form = schema_only_format(request)
    if form is None or form.schema is None:
        return form
    return replace(form, schema=json_schema(form.schema, form.dialect), dialect="json")

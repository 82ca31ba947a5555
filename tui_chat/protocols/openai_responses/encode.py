"""Encode an envelope as an OpenAI Responses request.

1. `POST /responses`; `input` is a list of items. A message is `{role, content}`; a tool call
   and its result are separate items, connected by `call_id`.
2. Reasoning items are sent before the items that they led to, with their encrypted content.
3. `store` is false unless a captured request sets it: a conversation is kept here, not at the
   provider for a month.
4. With `previous_response_id` or a kept conversation the provider has the calls of earlier turns,
   so their outputs need no call in the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from tui_chat.models.blocks import JsonObject, OpaqueBlock, form_of
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    ToolDefinition,
)
from tui_chat.models.json_tree import Arr, Obj, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.turn import Turn
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.loss_notes import NOTHING_TO_SEND, default_note
from tui_chat.protocols.common.openai import SHARED, fitted_user, shared_items
from tui_chat.protocols.common.reasoning_effort import with_openai_effort
from tui_chat.protocols.common.request_encoder import (
    RequestEncoder,
    SentTool,
    functions_of,
    written_tool,
)
from tui_chat.protocols.common.tools import NAMES_64, NAMES_128, definition_tree
from tui_chat.protocols.common.trees import captured_origin, default_origin
from tui_chat.protocols.common.turn_fit import merged_text
from tui_chat.protocols.openai_responses.messages import INPUT, INSTRUCTIONS
from tui_chat.protocols.openai_responses.sent_items import Target, sent_items
from tui_chat.protocols.openai_responses.settings import (
    SEARCH_OPTIONS,
    TABLE,
    write_function,
    write_hosted,
)

_RESPONSES = Protocol.OPENAI_RESPONSES
_STORE = default_origin("store", "the provider keeps no copy of the conversation")
_LEAST_TOKENS = 16
_LONGEST_ID = 64
"""Characters of a call id: “Expected a string with maximum length 64” (dyad-sh/dyad#4304)."""


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    rules = _rules(request)
    turns = request.block_turns(rules, SHARED)
    to = _shared_target(bool(request.facts.developer_role), request.captured)
    body = _conversation(request, turns, to, may_be_empty=rules.open_ended)
    tools = request.sent_tools(("web_search", "code_execution"), SEARCH_OPTIONS)

    def write(tool: ToolDefinition) -> Obj:
        return _function(tool, request.captured)

    body |= request.tools_key([written_tool(tool, write, write_hosted) for tool in tools])
    settings = request.written(TABLE, lambda: _fitted(request, tools)) | shared_items(request)
    return request.encoded("/responses", request.body(settings, body))


_shared_target = lru_cache(maxsize=8)(Target)


def _rules(request: RequestEncoder) -> PairingRules:
    captured = request.captured
    kept = captured and request.envelope.is_continuation
    referred = captured and any(
        isinstance(block, OpaqueBlock) and block.name == "item_reference"
        for turn in request.envelope.turns
        for block in turn.blocks
    )
    return PairingRules(
        NAMES_128 if captured else NAMES_64,
        longest_id=0 if captured else _LONGEST_ID,
        adjacent=not captured,
        captured=captured,
        unique_ids=True,
        open_ended=kept or referred,
    )


def _conversation(
    request: RequestEncoder, turns: Sequence[Turn], to: Target, *, may_be_empty: bool
) -> JsonObject:
    """Return `instructions` and `input`. `instructions` is sent only if a captured request had it;
    an input that was captured as one string is one again.

    `may_be_empty`: the provider keeps earlier turns, so that nothing new need be sent.
    """
    body: JsonObject = {}
    if turns and form_of(turns[0], _RESPONSES) == INSTRUCTIONS:
        body["instructions"], turns = merged_text(turns[0]), turns[1:]
    if request.captured and len(turns) == 1 and form_of(turns[0], _RESPONSES) == INPUT:
        return body | {"input": merged_text(turns[0])}
    items: list[Tree] = []
    for turn in turns:
        sent = sent_items(turn, to)
        items += sent.trees
        request.notes += sent.notes
    body["input"] = Arr(tuple(items))
    if not items and not may_be_empty:
        request.notes.append(NOTHING_TO_SEND)
    return body


@Memo
def _function(tool: ToolDefinition, captured: bool) -> Obj:
    if not captured:
        parameters = tool.parameters or {"type": "object", "properties": {}}
        # Responses takes a tool without the key for a strict one.
        tool = replace(tool, parameters=parameters, strict=tool.strict or False)
    return definition_tree(write_function(tool), tool, _RESPONSES)


# --- settings ----------------------------------------------------------------------------


def _fitted(request: RequestEncoder, tools: Sequence[SentTool]) -> Parameters:
    """Return the parameters as model and server accept them."""
    choice, limit = request.tool_choice(tools), request.reply_limit()
    if limit is not None and limit < _LEAST_TOKENS:
        limit = _raised_limit(limit, request)
    fitted = with_openai_effort(request, request.parameters)
    fitted = request.accepted(fitted.with_values(tool_choice=choice, max_tokens=limit), TABLE)
    summary, form = _fitted_summary(request), request.openai_format()
    tier, user = request.service_tier(_TIERS), fitted_user(request)
    fitted = fitted.with_values(
        reasoning_summary=summary, response_format=form, service_tier=tier, user_id=user
    )
    return fitted if request.captured else _with_defaults(request, fitted, tools)


def _with_defaults(
    request: RequestEncoder, fitted: Parameters, tools: Sequence[SentTool]
) -> Parameters:
    """Return the parameters with what holds where nobody said anything."""
    loose = [tool.name for tool in functions_of(tools) if tool.strict is None]
    if loose and request.is_converted:
        sentence = "Responses treats a tool as strict by default: "
        sentence += f"“strict: false” is sent for {', '.join(loose)}."
        request.notes.append(default_note(captured_origin("tools"), sentence))
    if fitted.values.store is not None:
        return fitted
    return fitted.with_value("store", False, _STORE)


def _fitted_summary(request: RequestEncoder) -> str | None:
    """Return the summary of reasoning that is asked for; None for none."""
    summary = request.values.reasoning_summary
    if summary is None:
        return None
    is_default = summary == "none"
    if request.facts.efforts != () and not is_default:
        return summary
    why = f"{request.model} does not reason"
    why = "no summary is sent without it" if is_default else why
    level = Level.INFO if is_default else Level.WARNING
    request.leave_out("reasoning_summary", f"the reasoning summary “{summary}”", why, level)
    return None


_TIERS = {
    word: word for word in ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
}


def _raised_limit(limit: int, request: RequestEncoder) -> int:
    name = request.named("max_tokens", f"The reply limit of {limit}")
    sentence = f"{name} is raised to {_LEAST_TOKENS}, the minimum."
    origin = request.parameters.origin("max_tokens")
    request.notes.append(Note(Level.WARNING, "limit-raised", sentence, origin))
    return _LEAST_TOKENS

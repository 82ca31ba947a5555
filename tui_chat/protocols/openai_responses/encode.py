"""Encode an envelope as an OpenAI Responses request, and read a captured one.

1. `POST /responses`; `input` is a list of items. A message is `{role, content}`; a tool call
   and its result are separate items, connected by `call_id`.
2. Reasoning items are sent before the items that they led to, with their encrypted content.
3. `store` is false unless a captured request sets it: a conversation is kept here, not at the
   provider for a month.
4. With `previous_response_id` or a kept conversation the provider has the calls of earlier turns,
   so their outputs need no call in the request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.blocks import Json, JsonObject, OpaqueBlock
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import (
    ChatEnvelope,
    HostedTool,
    Level,
    Note,
    Parameters,
    ToolDefinition,
)
from tui_chat.models.memo import Memo
from tui_chat.models.payload import Arr, Obj, Tree
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common import setting_rows as rows
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.losses import NOTHING_TO_SEND, default_note
from tui_chat.protocols.common.openai import (
    FLAT,
    SHARED,
    read_function,
    shared_items,
    with_openai_values,
    write_function,
)
from tui_chat.protocols.common.reading import RequestReader, items_of, string
from tui_chat.protocols.common.reasoning_effort import with_openai_effort
from tui_chat.protocols.common.request_encoder import (
    RequestEncoder,
    SentTool,
    functions_of,
    written_tool,
)
from tui_chat.protocols.common.setting_rows import Row, Table
from tui_chat.protocols.common.tools import (
    NAMES_64,
    NAMES_128,
    definition_tree,
    read_domains,
    read_search,
    write_search,
)
from tui_chat.protocols.common.trees import captured_origin, default_origin, dictionary
from tui_chat.protocols.openai_responses.messages import (
    OF_THE_MODEL,
    RESPONSES,
    read_turns,
    sent_items,
    split_conversation,
    write_turns,
)

_STORE = default_origin("store", "the provider keeps no copy of the conversation")
_LEAST_TOKENS = 16
_LONGEST_ID = 64
"""Characters of a call id: “Expected a string with maximum length 64” (dyad-sh/dyad#4304)."""
_TIERS = {
    word: word for word in ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
}

# --- settings and tools, read and written ------------------------------------------------

_LOGPROBS = "message.output_text.logprobs"
"""The content that `include` must name for log probabilities."""


def _asks_for_logprobs(include: Json) -> int | None:
    return 0 if _LOGPROBS in items_of(include) else None


TABLE: Table = (
    Row("model", ("model",), rows.text),
    Row("tool_choice", ("tool_choice",), FLAT.read_choice, FLAT.write_choice),
    Row("temperature", ("temperature",), rows.number, low=0, high=2, is_sampling=True),
    Row("top_p", ("top_p",), rows.number, low=0, high=1, is_sampling=True),
    Row("max_tokens", ("max_output_tokens",), rows.integer),
    Row("parallel_tool_calls", ("parallel_tool_calls",), rows.boolean),
    Row("effort", ("reasoning", "effort"), rows.text),
    Row("reasoning_summary", ("reasoning", "summary"), rows.text),
    Row("response_format", ("text", "format"), FLAT.read_format, FLAT.write_format),
    Row("verbosity", ("text", "verbosity"), rows.text),
    Row("stream", ("stream",), rows.boolean, rows.when_on),
    Row("store", ("store",), rows.boolean),
    Row("logprobs", ("top_logprobs",), rows.count, rows.positive),
    Row("logprobs", ("include",), _asks_for_logprobs, lambda _: [_LOGPROBS]),
    Row("service_tier", ("service_tier",), rows.text),
    Row("user_id", ("safety_identifier",), rows.text, is_alternative=True),
    Row("user_id", ("user",), rows.text, is_alternative=True),
)
"""In the order in which they are sent."""
_SEARCH_OPTIONS = ("context_size", "location", "allowed_domains", "live")
_SEARCH = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?")


def _read_hosted(wire: JsonObject) -> HostedTool | None:
    """Return the meaning of a tool that OpenAI runs; None if other protocols have none."""
    kind = string(wire, "type")
    if _SEARCH.fullmatch(kind):
        sites = read_domains(dictionary(wire.get("filters")).get("allowed_domains"))
        live = rows.boolean(wire.get("external_web_access"))
        return HostedTool(
            "web_search", replace(read_search(wire), allowed_domains=sites, live=live)
        )
    if kind == "code_interpreter" and wire.get("container") == {"type": "auto"}:
        return HostedTool("code_execution")
    return None


def _write_hosted(tool: HostedTool) -> JsonObject:
    if tool.kind == "code_execution":
        return {"type": "code_interpreter", "container": {"type": "auto"}}
    fields: JsonObject = {"type": "web_search", **write_search(tool.search)}
    if tool.search.allowed_domains:
        fields["filters"] = {"allowed_domains": list(tool.search.allowed_domains)}
    if tool.search.live is False:
        fields["external_web_access"] = False
    return fields


def _read_function(wire: JsonObject) -> ToolDefinition | None:
    return read_function({"type": wire.get("type"), "function": wire})


def _write_function(tool: ToolDefinition) -> JsonObject:
    written = write_function(tool)
    return {"type": written["type"], **written["function"]}


READER = RequestReader(
    RESPONSES,
    TABLE,
    read_turns,
    write_turns,
    _read_function,
    _write_function,
    _read_hosted,
    _write_hosted,
    conversation="",
    known=OF_THE_MODEL
    | {"additional_tools", "message", "input_image", "input_file", "output_text", "refusal"},
)

# --- encoding ----------------------------------------------------------------------------


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    captured, developer = request.captured, bool(request.facts.developer_role)
    names = [
        block.name
        for turn in (request.envelope.turns if captured else ())
        for block in turn.blocks
        if isinstance(block, OpaqueBlock)
    ]
    is_continued = captured and (request.envelope.is_continuation or "item_reference" in names)
    rules = PairingRules(
        NAMES_128 if captured else NAMES_64,
        longest_id=0 if captured else _LONGEST_ID,
        adjacent=not captured,
        captured=captured,
        unique_ids=True,
        open_ended=is_continued,
    )
    turns = request.block_turns(rules, SHARED)
    body, turns = split_conversation(turns, captured=captured)
    if "input" not in body:
        items: list[Tree] = []
        for turn in turns:
            trees, notes = sent_items(turn, developer, captured)
            items += trees
            if notes:
                request.notes += notes
        body["input"] = Arr(tuple(items))
        if not items and not is_continued:
            request.notes.append(NOTHING_TO_SEND)
    tools = request.sent_tools(("web_search", "code_execution"), _SEARCH_OPTIONS)

    def write(tool: ToolDefinition) -> Obj:
        return _function(tool, captured)

    body |= request.tools_key([written_tool(tool, write, _write_hosted) for tool in tools])
    settings = request.written(TABLE, lambda: _fitted(request, tools)) | shared_items(request)
    return request.encoded("/responses", request.body(settings, body))


@Memo
def _function(tool: ToolDefinition, captured: bool) -> Obj:
    if not captured:
        parameters = tool.parameters or {"type": "object", "properties": {}}
        # Responses takes a tool without the key for a strict one.
        tool = replace(tool, parameters=parameters, strict=tool.strict or False)
    return definition_tree(_write_function(tool), tool, RESPONSES)


def _fitted(request: RequestEncoder, tools: Sequence[SentTool]) -> Parameters:
    """Return the parameters as model and server accept them."""
    choice, limit = request.tool_choice(tools), request.reply_limit()
    if limit is not None and limit < _LEAST_TOKENS:
        name = request.named("max_tokens", f"The reply limit of {limit}")
        sentence = f"{name} is raised to {_LEAST_TOKENS}, the minimum."
        origin = request.parameters.origin("max_tokens")
        request.notes.append(Note(Level.WARNING, "limit-raised", sentence, origin))
        limit = _LEAST_TOKENS
    fitted = with_openai_effort(request, request.parameters)
    fitted = request.accepted(fitted.with_values(tool_choice=choice, max_tokens=limit), TABLE)
    summary = request.values.reasoning_summary
    if summary is not None and (request.facts.efforts == () or summary == "none"):
        why, level = "no summary is sent without it", Level.INFO
        if summary != "none":
            why, level = f"{request.model} does not reason", Level.WARNING
        request.leave_out("reasoning_summary", f"the reasoning summary “{summary}”", why, level)
        summary = None
    fitted = with_openai_values(request, fitted.with_values(reasoning_summary=summary), _TIERS)
    if request.captured:
        return fitted
    loose = [tool.name for tool in functions_of(tools) if tool.strict is None]
    if loose and request.is_converted:
        sentence = "Responses treats a tool as strict by default: "
        sentence += f"“strict: false” is sent for {', '.join(loose)}."
        request.notes.append(default_note(captured_origin("tools"), sentence))
    return fitted if fitted.values.store is not None else fitted.with_value("store", False, _STORE)

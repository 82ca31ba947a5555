"""Encode an envelope as a request of Ollama's `/api/chat`, and read one.

1. `POST /api/chat`; roles as they are, system messages anywhere, consecutive equal roles.
2. The server checks nothing about calls and results. They are sent in the order that models were
   trained with: each call is directly followed by its result, which names its tool.
3. Settings are in `options`; the server ignores unknown ones. `stream` is always sent, since a
   stream is the default. `format` is “json”, or the schema itself.
4. Ollama loads a model with a context length of its own and silently drops the oldest messages
   that exceed it. If the request was built for a context limit, that is sent as `num_ctx`.
5. The reasoning effort is `think`: a level, false for none, or true for the model's default.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from tui_chat.models.blocks import Json
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ChatEnvelope, Level, Parameters, ToolDefinition
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.payload import Arr, Lit, Obj
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common import setting_rows as rows
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.losses import NOTHING_TO_SEND
from tui_chat.protocols.common.openai import read_function, write_function
from tui_chat.protocols.common.reading import RequestReader, objects_at
from tui_chat.protocols.common.reasoning_effort import AUTO, reasoning_by_word, with_reasoning
from tui_chat.protocols.common.request_encoder import RequestEncoder, functions_of, written_tool
from tui_chat.protocols.common.setting_rows import Row, Table
from tui_chat.protocols.common.tools import NAMES_ANY, definition_tree, json_schema, strict_notes
from tui_chat.protocols.common.trees import default_origin, dictionary
from tui_chat.protocols.ollama.messages import OLLAMA, read_message, sent_message, write_message

_CONTEXT = default_origin("num_ctx", "the context limit that this request was built for")
_RULES = PairingRules(NAMES_ANY, ids=False, named_results=True)
_CAPTURED_RULES = PairingRules(NAMES_ANY, captured=True, ids=False)
_LEVELS = ("low", "medium", "high", "max")
"""The words of `think`; each is an effort of the same name."""


def _read_format(value: Json) -> ResponseFormat | None:
    if value == "json":
        return ResponseFormat("json")
    return ResponseFormat("schema", dictionary(value)) if dictionary(value) else None


def _write_format(form: ResponseFormat) -> Json:
    return form.schema if form.kind == "schema" and form.schema else "json"


def _read_think(value: Json) -> str | None:
    if isinstance(value, bool):
        return AUTO if value else "none"
    return value if value in _LEVELS else None


def _read_limit(value: Json) -> int | None:
    """Read a reply limit; the numbers below 1 mean none."""
    limit = rows.integer(value)
    return limit if limit is not None and limit > 0 else None


_OPTIONS: Table = (
    Row("temperature", ("temperature",), rows.number, low=0, high=inf, is_sampling=True),
    Row("top_p", ("top_p",), rows.number, low=0, high=1, is_sampling=True),
    Row("top_k", ("top_k",), rows.integer, low=0, high=inf, is_sampling=True),
    Row("presence_penalty", ("presence_penalty",), rows.number, low=-2, high=2, is_sampling=True),
    Row("frequency_penalty", ("frequency_penalty",), rows.number, low=-2, high=2, is_sampling=True),
    Row("seed", ("seed",), rows.integer, low=-(2**63), high=2**63 - 1),
    Row("max_tokens", ("num_predict",), _read_limit),
    Row("stop", ("stop",), rows.texts),
)
_TABLE: Table = (
    Row("model", ("model",), rows.text),
    Row("response_format", ("format",), _read_format, _write_format),
    Row(
        "effort",
        ("think",),
        _read_think,
        lambda effort: effort if effort in _LEVELS else effort == AUTO,
    ),
    Row("logprobs", ("logprobs",), rows.unread, lambda _: True),
    Row("logprobs", ("top_logprobs",), rows.count, rows.positive, beside=("logprobs", True)),
    Row("logprobs", ("logprobs",), lambda on: 0 if on is True else None, rows.never),
    Row("stream", ("stream",), rows.boolean),
    *(replace(row, path=("options", *row.path)) for row in _OPTIONS),
)
"""In the order in which they are sent."""


READER = RequestReader(
    OLLAMA,
    _TABLE,
    lambda body: [read_message(m, n) for n, m in enumerate(objects_at(body, "messages"), 1)],
    lambda turns: {"messages": [write_message(turn) for turn in turns]},
    read_function,
    write_function,
    streams=True,
)


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    turns = request.block_turns(_CAPTURED_RULES if request.captured else _RULES)
    messages: list[Obj] = []
    for turn in turns:
        message, notes = sent_message(turn)
        messages.append(message)
        request.notes += notes
    if not messages:
        request.notes.append(NOTHING_TO_SEND)
    tools = request.sent_tools()
    written = [written_tool(tool, lambda tool: _function(tool, request.captured)) for tool in tools]
    body = {"messages": Arr(tuple(messages))} | request.tools_key(written)
    settings = request.written(_TABLE, lambda: _fitted(request, functions_of(tools)))
    budget = request.envelope.budget
    if budget is not None and budget.limit is not None and not request.captured:
        settings.setdefault("options", {})["num_ctx"] = Lit(budget.limit, _CONTEXT)
    return request.encoded("/api/chat", request.body(settings, body))


@Memo
def _function(tool: ToolDefinition, captured: bool) -> Obj:
    tool = tool if captured else replace(tool, strict=None)
    return definition_tree(write_function(tool), tool, OLLAMA)


def _fitted(request: RequestEncoder, functions: list[ToolDefinition]) -> Parameters:
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
    facts = request.facts if request.facts.efforts == () else ModelFacts(efforts=("none", *_LEVELS))
    reasoning = reasoning_by_word(request.parameters, facts, request.notes)
    form = request.schema_only_format()
    if form is not None and form.schema is not None:
        form = replace(form, schema=json_schema(form.schema, form.dialect), dialect="json")
    fitted = with_reasoning(request.parameters, reasoning)
    fitted = fitted.with_values(response_format=form, max_tokens=request.reply_limit())
    return request.accepted(fitted, _TABLE)

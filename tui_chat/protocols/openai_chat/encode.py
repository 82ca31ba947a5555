"""Encode an envelope as an OpenAI Chat Completions request, and read a captured one.

1. `POST /chat/completions`; roles as they are, `developer` if the model requires it; system
   messages may be anywhere, consecutive equal roles are allowed.
2. Every tool call is directly followed by the tool messages that answer it.
3. `stream_options.include_usage` requests the usage, which a stream otherwise lacks; it is not sent
   to a server that refuses the setting.
4. A captured request is encoded as it was, with its undocumented keys.
5. Web search is a setting of OpenAI's search models, and a tool at OpenRouter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import (
    ChatEnvelope,
    HostedTool,
    Level,
    NativeTool,
    Note,
    Parameters,
    RequestTool,
    ToolDefinition,
    Turn,
)
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import is_openai_model, plain_model_name
from tui_chat.models.payload import Arr, Obj, Tree
from tui_chat.models.settings import WebSearch
from tui_chat.models.text import Origin
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common import setting_rows as rows
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.losses import NOTHING_TO_SEND, default_note
from tui_chat.protocols.common.openai import (
    NESTED,
    SHARED,
    read_function,
    shared_items,
    with_openai_values,
    write_function,
)
from tui_chat.protocols.common.reading import RequestReader, objects_at
from tui_chat.protocols.common.reasoning_effort import with_openai_effort
from tui_chat.protocols.common.request_encoder import (
    RequestedTool,
    RequestEncoder,
    SentTool,
    written_tool,
)
from tui_chat.protocols.common.setting_rows import Row, Table
from tui_chat.protocols.common.tools import NAMES_64, definition_tree, read_search, write_search
from tui_chat.protocols.common.trees import captured_origin, default_origin, dictionary
from tui_chat.protocols.openai_chat.messages import (
    CHAT,
    Target,
    documented,
    read_message,
    sent_message,
    write_message,
)

_STREAM = default_origin("stream", "the reply is shown as it arrives")
_MAX_STOPS = 4
_LONGEST_ID = 40
"""“Expected a string with maximum length 40” (vercel/ai#5171)."""

# --- settings and tools, read and written ------------------------------------------------


def _read_web_search(wire: Json) -> WebSearch | None:
    return read_search(dictionary(wire)) if isinstance(wire, dict) else None


def _write_web_search(search: WebSearch) -> JsonObject | None:
    return write_search(search, nested=True) if search.enabled else None


def _sampling(name: str, low: float, high: float) -> Row:
    return Row(name, (name,), rows.number, low=low, high=high, is_sampling=True)


TABLE: Table = (
    Row("model", ("model",), rows.text),
    Row("web_search", ("web_search_options",), _read_web_search, _write_web_search),
    Row("tool_choice", ("tool_choice",), NESTED.read_choice, NESTED.write_choice),
    Row("max_tokens", ("max_completion_tokens",), rows.integer, is_alternative=True),
    Row("max_tokens", ("max_tokens",), rows.integer, is_alternative=True),
    _sampling("temperature", 0, 2),
    _sampling("top_p", 0, 1),
    _sampling("presence_penalty", -2, 2),
    _sampling("frequency_penalty", -2, 2),
    Row("seed", ("seed",), rows.integer),
    Row("stop", ("stop",), rows.texts),
    Row("effort", ("reasoning_effort",), rows.text),
    Row("parallel_tool_calls", ("parallel_tool_calls",), rows.boolean),
    Row("response_format", ("response_format",), NESTED.read_format, NESTED.write_format),
    Row("stream", ("stream",), rows.boolean, rows.when_on),
    Row("stream", ("stream_options", "include_usage"), rows.unread, rows.when_on),
    Row("verbosity", ("verbosity",), rows.text),
    Row("replies", ("n",), rows.count),
    Row("store", ("store",), rows.boolean),
    Row("logprobs", ("logprobs",), rows.unread, lambda _: True),
    Row("logprobs", ("top_logprobs",), rows.count, rows.positive, beside=("logprobs", True)),
    Row("logprobs", ("logprobs",), lambda on: 0 if on is True else None, rows.never),
    Row("service_tier", ("service_tier",), rows.text),
    Row("user_id", ("safety_identifier",), rows.text, is_alternative=True),
    Row("user_id", ("user",), rows.text, is_alternative=True),
)
"""In the order in which they are sent. Which name of the reply limit is sent depends on the
model."""
_OPENROUTER = "openrouter:web_search"


def _read_hosted(wire: JsonObject) -> HostedTool | None:
    """Return the meaning of a tool that OpenRouter runs; None if other protocols have none."""
    if wire.get("type") != _OPENROUTER:
        return None
    options = dictionary(wire.get("parameters"))
    max_uses = rows.integer(options.get("max_uses"))
    return HostedTool("web_search", replace(read_search(options), max_uses=max_uses))


def _write_hosted(tool: HostedTool) -> JsonObject:
    fields = write_search(replace(tool.search, location=None))
    if tool.search.max_uses is not None:
        fields["max_uses"] = tool.search.max_uses
    return {"type": _OPENROUTER, **({"parameters": fields} if fields else {})}


def _read_turns(body: JsonObject) -> list[Turn]:
    messages = objects_at(body, "messages")
    return [read_message(wire, number) for number, wire in enumerate(messages, 1)]


READER = RequestReader(
    CHAT,
    TABLE,
    _read_turns,
    lambda turns: {"messages": [write_message(turn) for turn in turns]},
    read_function,
    write_function,
    _read_hosted,
    _write_hosted,
    known=frozenset(
        ("text", "refusal", "image_url", "input_audio", "file", "video_url", "thinking")
    ),
)

# --- encoding ----------------------------------------------------------------------------


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    facts, model, captured = request.facts, request.model, request.captured
    names = undocumented_rest(request)
    # Gateways put signatures into long call ids and want them back whole, so the ids of a
    # conversation of ours are cut for OpenAI only.
    is_strict = facts.strict_keys is True or is_openai_model(model) or request.is_converted
    longest = _LONGEST_ID if is_strict and not captured else 0
    rules = PairingRules(NAMES_64, captured=captured, longest_id=longest)
    refuses_keys = facts.strict_keys is True and (captured or is_openai_model(model))
    to = Target(bool(facts.developer_role), "gemini" in model.lower(), refuses_keys)
    messages = _messages(request, request.block_turns(rules, SHARED), to, names)
    if captured and facts.strict_keys is not False:
        note_keys(request, names)
    tools, search = _tools(request)
    body = {"messages": Arr(tuple(messages))} | _tools_key(request, tools)
    skip = {"max_tokens", "max_completion_tokens"} if not captured else set[str]()
    skip -= {facts.max_tokens_key or endpoint.max_tokens_key}
    if facts.stream_usage is False:
        skip.add("stream_options.include_usage")
    settings = request.written(TABLE, lambda: _fitted(request, tools, search), skip)
    settings |= shared_items(request)
    if not messages:
        request.notes.append(NOTHING_TO_SEND)
    return request.encoded("/chat/completions", request.body(settings, body))


def _messages(
    request: RequestEncoder, turns: Sequence[Turn], to: Target, names: dict[str, None]
) -> list[Tree]:
    """Return each turn as one message. What a tool result cannot hold follows in a user message,
    after all results of the same turn. Undocumented keys of a captured request are added to
    `names`.
    """
    messages: list[Tree] = []
    follow_ups: list[Tree] = []
    for turn in turns:
        if follow_ups and turn.role != "tool":
            messages += follow_ups
            follow_ups = []
        message = sent_message(turn, to)
        messages.append(message.tree)
        if message.notes:
            request.notes += message.notes
        if message.undocumented and request.captured:
            names |= dict.fromkeys(message.undocumented)
        elif message.undocumented and to.strict:
            note_keys(request, message.undocumented, turn.origin)
        if message.follows is not None:
            follow_ups.append(message.follows)
    return messages + follow_ups


def _tools(request: RequestEncoder) -> tuple[Sequence[SentTool], RequestedTool | None]:
    """Return the tools, and the web search where it is a setting, as OpenAI has it. It is a tool at
    OpenRouter.
    """
    is_router = urlsplit(request.endpoint.base_url).hostname == "openrouter.ai"
    options = ("context_size", "max_uses" if is_router else "location")
    tools = request.sent_tools(("web_search",), options)
    asked = [tool for tool in tools if isinstance(tool, RequestedTool)]
    if is_router or not asked:
        return tools, None
    others = [tool for tool in tools if not isinstance(tool, RequestedTool)]
    model = request.model
    if not is_openai_model(model) or "-search-" in plain_model_name(model):
        return others, asked[0]
    why = f"{model} refuses it; only OpenAI's search models accept it in OpenAI Chat"
    for tool in asked:
        request.leave_tool_out(tool, why)
    return others, None


def _tools_key(request: RequestEncoder, tools: Sequence[SentTool]) -> JsonObject:
    """Return the key `tools`."""
    written = request.tools_key([written_tool(tool, _function, _write_hosted) for tool in tools])
    if not written or tools:
        return written
    sentence = "An empty list of tools is sent; OpenAI itself refuses one."
    if request.facts.strict_keys:
        sentence, written = "An empty list of tools is left out: this server refuses one.", {}
    request.notes.append(Note(Level.WARNING, "tools-empty", sentence, captured_origin("tools")))
    return written


@Memo
def _function(tool: ToolDefinition) -> Obj:
    return definition_tree(write_function(tool), tool, CHAT)


_TIERS = {word: word for word in ("auto", "default", "flex", "scale", "priority", "fast")}
_TIERS["ultrafast"] = "fast"


def _fitted(
    request: RequestEncoder, tools: Sequence[SentTool], search: RequestedTool | None
) -> Parameters:
    """Return the parameters as model and server accept them."""
    values, facts = request.values, request.facts
    choice, limit = request.tool_choice(tools), request.reply_limit()
    stop = request.stop_sequences(0 if facts.stop is False else _MAX_STOPS)
    fitted = with_openai_effort(request, request.parameters)
    parallel, name = values.parallel_tool_calls, "parallel_tool_calls"
    if parallel is not None and not (tools or request.captured):
        request.leave_out(name, name, "no tools are sent", Level.INFO)
        parallel = None
    fitted = fitted.with_values(
        tool_choice=choice,
        max_tokens=limit,
        stop=stop,
        parallel_tool_calls=parallel,
        web_search=None,
    )
    if search is not None:
        fitted = fitted.with_value("web_search", search.tool.search, search.origin)
    fitted = request.accepted(fitted, TABLE)
    if values.stream and facts.stream_usage is not False and request.is_converted:
        sentence = "The token usage of the stream is requested (include_usage)."
        request.notes.append(default_note(_STREAM, sentence))
    return with_openai_values(request, fitted, _TIERS)


# --- keys that OpenAI does not document --------------------------------------------------

_SETTINGS = frozenset(
    (
        *("audio", "function_call", "functions", "logit_bias", "logprobs", "max_tokens"),
        *("max_completion_tokens", "metadata", "modalities", "moderation", "n", "prediction"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "seed", "stop"),
        *("reasoning_effort", "response_format", "safety_identifier", "service_tier", "store"),
        *("stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs"),
        *("top_p", "frequency_penalty", "presence_penalty", "parallel_tool_calls", "user"),
        *("verbosity", "web_search_options", "messages", "model"),
    )
)
"""Keys of a request that OpenAI documents."""


def note_keys(request: RequestEncoder, names: Iterable[str], origin: Origin | None = None) -> None:
    """Add the note on undocumented keys, if there are any. `origin`: that of their turn."""
    said = ", ".join(dict.fromkeys(names))
    if not said:
        return
    sentence = f"Sent unchanged, although OpenAI itself refuses them: {said}."
    if request.facts.strict_keys:
        sentence = f"Left out, since this server refuses unknown keys: {said}."
    origin = origin or captured_origin("unknown keys")
    request.notes.append(Note(Level.WARNING, "unknown-keys", sentence, origin))


def undocumented_rest(request: RequestEncoder) -> dict[str, None]:
    """Return the undocumented keys of a captured request and its tools, which are taken from it if
    its server refuses them.
    """
    envelope, facts, rest = request.envelope, request.facts, request.envelope.rest
    if rest is None or not request.captured or facts.strict_keys is False:
        return {}
    names = dict.fromkeys(key for key in rest.keys if key not in _SETTINGS)
    kept = {key: value for key, value in rest.keys.items() if key not in names}

    def documented_tool(tool: RequestTool) -> RequestTool:
        if tool.extras is None or isinstance(tool, NativeTool):
            return tool
        return replace(tool, extras=replace(tool.extras, keys=documented(tool.extras.keys, names)))

    tools = envelope.tools and tuple(map(documented_tool, envelope.tools))
    if facts.strict_keys:
        request.envelope = replace(envelope, tools=tools, rest=replace(rest, keys=kept))
    return names

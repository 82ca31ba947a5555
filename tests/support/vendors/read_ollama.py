"""Reading a request of `/api/chat`.

Ollama reads JSON into Go structs, so a value of a wrong type is refused and an unknown field is
passed over. Beyond that it refuses little: any role, calls without results and results without
calls are accepted.

1. `content` is a string; there are no parts. `images` are base64.
2. A stream is the default.
3. `options` are checked by type; an unknown one is passed over.
4. Without messages the model is only loaded: the reply is empty.
"""

import base64
import binascii

from tests.support.vendors.json_reader import (
    JsonNode,
    Reader,
    array,
    boolean,
    compact,
    json_object,
    string,
)
from tests.support.vendors.provider import RequestContext
from tests.support.vendors.request_errors import RequestRefused
from tui_chat.offline.prompt import (
    PromptOther,
    PromptPart,
    PromptReasoning,
    PromptRequest,
    PromptText,
    PromptTool,
    PromptToolCall,
    PromptToolChoice,
    PromptToolResult,
    PromptTurn,
)

_FIELDS = frozenset({"model", "messages", "tools", "stream", "options"})
_LEVELS = ("high", "medium", "low", "max")
_INTEGERS = (
    *("num_keep", "seed", "num_predict", "top_k", "repeat_last_n", "num_ctx", "num_batch"),
    *("num_gpu", "main_gpu", "num_thread", "draft_num_predict"),
)
_FLOATS = (
    *("top_p", "min_p", "typical_p", "temperature", "repeat_penalty"),
    *("presence_penalty", "frequency_penalty"),
)


def parse_request(body: JsonNode, context: RequestContext) -> PromptRequest:
    """Return a request of `/api/chat`. Raises RequestRefused."""
    model = body.optional("model", string, "")
    turns = tuple(body.optional("messages", array(_turn), []))
    tools = tuple(body.optional("tools", array(_tool), []))
    stream = body.optional("stream", boolean, True)
    body.optional("think", _check_think)
    body.optional("truncate", boolean)
    body.optional("shift", boolean)
    body.optional("logprobs", boolean)
    if not model:
        raise body.invalid("model is required")
    options = body.child("options") or JsonNode({}, ("options",))
    _check_options(options)
    limit = int(options.optional("num_predict", _number("integer"), 0))
    named = options.other_fields(frozenset())
    settings = tuple((f"options.{name}", value) for name, value in named)
    return PromptRequest(
        protocol="Ollama chat",
        model=model,
        system=(),
        turns=turns,
        tools=tools,
        choice=PromptToolChoice(),
        body=json_object(body),
        settings=(*settings, *body.other_fields(_FIELDS)),
        stream=stream and bool(turns),
        limit=limit if limit > 0 else None,
        stops=options.optional("stop", _stops, ()),
        size=context.size,
    )


def _turn(message: JsonNode) -> PromptTurn:
    role = message.optional("role", string, "").lower()
    parts: list[PromptPart] = []
    if thinking := message.optional("thinking", string, ""):
        parts.append(PromptReasoning(thinking))
    content = message.optional("content", string, "")
    name = message.optional("tool_name", string, "")
    identity = message.optional("tool_call_id", string, "")
    images = message.optional("images", array(_image), [])
    if role == "tool":
        return PromptTurn(role, (*parts, PromptToolResult(identity, name, content), *images))
    if content or not (images or message.child("tool_calls")):
        parts.append(PromptText(content))
    parts += images
    parts += message.optional("tool_calls", array(_call), [])
    return PromptTurn(role, tuple(parts))


def _image(image: JsonNode) -> PromptOther:
    try:
        base64.b64decode(string(image), validate=True)
    except (binascii.Error, ValueError):
        raise image.invalid("illegal base64 data at input byte 0") from None
    return PromptOther("image")


def _call(call: JsonNode) -> PromptToolCall:
    function = call.child("function") or JsonNode({}, (*call.path, "function"))
    return PromptToolCall(
        call.optional("id", string, ""),
        function.optional("name", string, ""),
        compact(function.optional("arguments", json_object, {})),
    )


def _tool(tool: JsonNode) -> PromptTool:
    tool.optional("type", string)
    function = tool.child("function") or JsonNode({}, (*tool.path, "function"))
    schema = function.child("parameters") or JsonNode({}, (*function.path, "parameters"))
    schema.optional("type", string)
    schema.optional("required", array(string))
    schema.optional("properties", json_object)
    return PromptTool(
        function.optional("name", string, ""),
        function.optional("description", string, ""),
        json_object(schema),
    )


def _check_think(think: JsonNode) -> None:
    value = think.value
    if isinstance(value, bool) or value in _LEVELS:
        return
    levels = ", ".join(f'"{level}"' for level in _LEVELS)
    if not isinstance(value, str):
        raise think.invalid(f"think must be a boolean or string ({levels}, true, or false)")
    message = f'invalid think value: "{value[:80]}" (must be {levels}, true, or false)'
    raise think.invalid(message)


def _check_options(options: JsonNode) -> None:
    """Raise RequestRefused for an option of a wrong type. Ollama answers with status 500, which
    clients retry; here it is 400.
    """
    for name in _INTEGERS:
        options.optional(name, _number("integer"))
    for name in _FLOATS:
        options.optional(name, _number("float32"))
    options.optional("use_mmap", _boolean)


def _number(kind: str) -> Reader[float]:
    """Read a number of any kind: the server cuts off decimals. `kind` is Go's word for the type."""

    def read(option: JsonNode) -> float:
        value = option.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _wrong_type(option, kind)
        return value

    return read


def _boolean(option: JsonNode) -> bool:
    if not isinstance(option.value, bool):
        raise _wrong_type(option, "boolean")
    return option.value


def _stops(option: JsonNode) -> tuple[str, ...]:
    if not isinstance(option.value, list):
        raise _wrong_type(option, "array")
    texts = array(_any)(option)
    if not all(isinstance(text, str) for text in texts):
        raise option.invalid(f'option "{option.path[-1]}" must be of an array of strings')
    return tuple(str(text) for text in texts if text)


def _any(node: JsonNode) -> object:
    return node.value


def _wrong_type(option: JsonNode, kind: str) -> RequestRefused:
    return option.invalid(f'option "{option.path[-1]}" must be of type {kind}')

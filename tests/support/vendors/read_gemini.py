"""Reading a generateContent request.

Protobuf's JSON is lenient: every key may be camelCase or snake_case, and an object may stand for a
list of one. Checked because Google refuses a request that breaks it:
1. `contents` is not empty; roles are user and model (function counts as user, and so does none).
2. Every part carries data, though one with only a `thoughtSignature` is accepted.
3. A turn of function calls follows a user turn, and the turn after it has as many function
   responses as it has calls.

Turns of one role in a row are accepted; so is empty text.
"""

import re
from itertools import groupby
from typing import Any

from tests.support.vendors.json_reader import (
    JsonNode,
    array,
    array_or_single,
    boolean,
    compact,
    integer,
    json_object,
    matching,
    number,
    one_of,
    string,
)
from tests.support.vendors.provider import RequestContext
from tests.support.vendors.request_errors import EmptyArray, InvalidValue, RequestRefused
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

_CONFIG = ("generationConfig", "generation_config")
_SYSTEM = ("systemInstruction", "system_instruction")
_TOOL_CONFIG = ("toolConfig", "tool_config")
_FIELDS = frozenset({"contents", "tools", "model", *_CONFIG, *_SYSTEM, *_TOOL_CONFIG})
_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_NAME_RULE = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, "
    "A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 128."
)
_PART_METADATA = frozenset({"thought", "thoughtSignature", "thought_signature"})


def parse_request(body: JsonNode, context: RequestContext) -> PromptRequest:
    """Return a generateContent request. Raises RequestRefused.

    A countTokens request may hold it as `generateContentRequest`.
    """
    if context.counting:
        body = body.child(("generateContentRequest", "generate_content_request")) or body
    turns = tuple(body.required("contents", array_or_single(_turn)))
    if not turns:
        raise RequestRefused(EmptyArray(("contents",)))
    _check_function_responses(turns)
    config = body.child(_CONFIG) or JsonNode({}, _CONFIG[:1])
    config.optional("temperature", number(0, 2))
    tools = tuple(
        tool
        for declared in body.optional("tools", array_or_single(_tools), [])
        for tool in declared
    )
    settings = tuple(
        (f"{config.path[-1]}.{name}", value) for name, value in config.other_fields(frozenset())
    )
    return PromptRequest(
        protocol="Gemini generateContent",
        model=context.model,
        system=body.optional(_SYSTEM, _system, ()),
        turns=turns,
        tools=tools,
        choice=_tool_choice(body, tools),
        body=json_object(body),
        settings=(*settings, *body.other_fields(_FIELDS)),
        stream=context.stream,
        limit=config.optional(("maxOutputTokens", "max_output_tokens"), integer(1)),
        stops=_stops(config),
        size=context.size,
    )


def _system(system: JsonNode) -> tuple[str, ...]:
    if isinstance(system.value, str):
        raise system.invalid("Invalid value at 'system_instruction' (Content), a string was given.")
    read_parts = array_or_single(lambda part: part.required("text", string))
    return tuple(system.optional("parts", read_parts, []))


def _turn(content: JsonNode) -> PromptTurn:
    role = content.optional("role", string, "user")
    if role not in ("user", "model", "function"):
        raise content.invalid("Please use a valid role: user, model.")
    parts = content.optional("parts", array_or_single(_part), [])
    if not parts:
        index = content.path[-1] if isinstance(content.path[-1], int) else 0
        raise content.invalid(
            f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.\n"
        )
    return PromptTurn(role, tuple(parts))


def _part(part: JsonNode) -> PromptPart:
    text = part.child("text")
    if text is not None:
        is_thought = part.optional("thought", boolean, False)
        return PromptReasoning(string(text)) if is_thought else PromptText(string(text))
    call = part.child(("functionCall", "function_call"))
    if call is not None:
        return PromptToolCall(
            call.optional("id", string, ""),
            call.required("name", string),
            compact(call.optional("args", json_object, {})),
        )
    result = part.child(("functionResponse", "function_response"))
    if result is not None:
        response = result.required("response", json_object)
        return PromptToolResult(
            result.optional("id", string, ""),
            result.required("name", string),
            _response_text(response),
        )
    media = part.child(("inlineData", "inline_data", "fileData", "file_data"))
    if media is not None:
        kind = media.optional(("mimeType", "mime_type"), string, "file").partition("/")[0]
        return PromptOther(kind if kind in ("image", "audio", "video") else "file")
    keys = [
        key
        for key, value in json_object(part).items()
        if value is not None and key not in _PART_METADATA
    ]
    if keys:
        return PromptOther(keys[0][:64])
    if part.child(("thoughtSignature", "thought_signature")) is not None:
        return PromptReasoning("")
    raise part.invalid(
        "Unable to submit request because it must have a text parameter: required oneof field "
        "'data' must have one initialized field"
    )


def _response_text(response: dict[str, Any]) -> str:
    """Return a function's response as text: a lone `output` or `error` as it is, else JSON."""
    for key in ("output", "error", "result"):
        if len(response) == 1 and isinstance(response.get(key), str):
            return response[key]
    return compact(response)


def _check_function_responses(turns: tuple[PromptTurn, ...]) -> None:
    """Raise RequestRefused unless responses match calls in number, turn by turn."""
    calls = 0
    first = True
    for role, group in groupby(turns, key=lambda turn: "model" if turn.role == "model" else "user"):
        parts = [part for turn in group for part in turn.parts]
        made = sum(isinstance(part, PromptToolCall) for part in parts)
        answered = sum(isinstance(part, PromptToolResult) for part in parts)
        if role == "model":
            if made and first:
                raise _broken_rule(
                    "Please ensure that function call turn comes immediately after a user turn or "
                    "after a function response turn."
                )
            calls = made
        elif answered != calls:
            raise _broken_rule(
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        else:
            calls = 0
        first = False


def _broken_rule(message: str) -> RequestRefused:
    return RequestRefused(InvalidValue(("contents",), message))


def _tools(tool: JsonNode) -> list[PromptTool]:
    declarations = ("functionDeclarations", "function_declarations")
    return tool.optional(declarations, array_or_single(_function), [])


def _function(function: JsonNode) -> PromptTool:
    schemas = ("parameters", "parametersJsonSchema", "parameters_json_schema")
    return PromptTool(
        function.required("name", matching(_NAME, _NAME_RULE)),
        function.optional("description", string, ""),
        function.optional(schemas, json_object, {}),
    )


def _tool_choice(body: JsonNode, tools: tuple[PromptTool, ...]) -> PromptToolChoice:
    holder = body.child(_TOOL_CONFIG)
    config = holder.child(("functionCallingConfig", "function_calling_config")) if holder else None
    if config is None:
        return PromptToolChoice()
    allowed = config.optional(("allowedFunctionNames", "allowed_function_names"), array(string), [])
    for name in allowed:
        if all(tool.name != name for tool in tools):
            raise config.invalid(f"Function {name[:80]} is not declared in tools.")
    match config.optional("mode", one_of(*_MODES), "AUTO"):
        case "NONE":
            return PromptToolChoice("none")
        case "ANY":
            return PromptToolChoice("required", allowed[0] if allowed else None)
        case _:
            return PromptToolChoice("auto", allowed[0] if allowed else None)


def _stops(config: JsonNode) -> tuple[str, ...]:
    stops = config.optional(("stopSequences", "stop_sequences"), array_or_single(string), [])
    if len(stops) > 5:
        raise config.invalid("The number of stop_sequences must be at most 5.")
    return tuple(text for text in stops if text)

"""Reading Chat Completions and Responses requests.

Both: unknown top-level fields are accepted, since vendors of these protocols add many; function
names match `[A-Za-z0-9_-]{1,64}`; a tool choice names a declared tool.

Chat Completions, checked because OpenAI refuses a request that breaks it:
1. Roles and part types are known ones; system, developer and tool messages hold text only.
2. `content` may be null only beside `tool_calls`.
3. Every tool call is answered by `tool` messages before any other message, and no `tool` message
   comes without a call.

Responses:
1. `input` is a string or items. Items of unknown type are accepted and shown by their type.
2. A replayed item's own `id` begins with the prefix of its type (`fc`, `rs`, `msg`); it is not its
   `call_id`.
3. Every function call has an output somewhere after it and every output a call, counting the turns
   of `previous_response_id`, which brings the earlier turns but not the earlier `instructions`.
4. `max_output_tokens` is at least 16.
"""

import re
from collections.abc import Mapping
from typing import Any

from tests.support.vendors.json_reader import (
    JsonNode,
    Reader,
    array,
    array_or_string,
    boolean,
    integer,
    json_object,
    matching,
    number,
    object_with,
    one_of,
    string,
)
from tests.support.vendors.provider import RequestContext
from tests.support.vendors.request_errors import (
    MissingField,
    RequestRefused,
    UnknownResponse,
    WrongType,
)
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
    ToolMode,
)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME_RULE = (
    "string does not match pattern. Expected a string that matches the pattern "
    "'^[a-zA-Z0-9_-]{1,64}$'."
)
_TOOL_KINDS = ("function", "custom")
"""Tools that the client runs; the provider or a vendor runs tools of other kinds."""
_TOOL_MODES: dict[str, ToolMode] = {"none": "none", "auto": "auto", "required": "required"}


def _tool(node: JsonNode, label: str) -> PromptTool:
    return PromptTool(
        node.required("name", matching(_NAME, f"Invalid {label}: {_NAME_RULE}")),
        node.optional("description", string, ""),
        node.optional("parameters", json_object, {}),
    )


def _tool_choice(
    body: JsonNode, tools: tuple[PromptTool, ...], named_tool: Reader[str | None]
) -> PromptToolChoice:
    """Return the tool choice. `named_tool` reads its object form: the name of a tool, if any."""
    choice = body.child("tool_choice")
    if choice is None:
        return PromptToolChoice()
    if isinstance(choice.value, str):
        return PromptToolChoice(_TOOL_MODES[one_of(*_TOOL_MODES)(choice)])
    name = named_tool(choice)
    if name is None:
        return PromptToolChoice()
    if all(tool.name != name for tool in tools):
        raise choice.invalid(f"Tool choice '{name[:80]}' not found in 'tools' parameter.", None)
    return PromptToolChoice("required", name)


# Chat Completions

_CHAT_FIELDS = frozenset({"model", "messages", "tools", "tool_choice", "stream"})
_CHAT_SETTINGS: Mapping[str, Reader[Any]] = {
    "temperature": number(0, 2),
    "top_p": number(0, 1),
    "frequency_penalty": number(-2, 2),
    "presence_penalty": number(-2, 2),
    "n": integer(1),
    "stream_options": object_with({"include_usage": boolean}),
}
_CHAT_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_CHAT_PARTS: dict[str, tuple[str, ...]] = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}
"""Part types by role; other roles have text only."""
_CHAT_MEDIA = {"image_url": "image", "input_audio": "audio", "file": "file"}


def parse_chat_request(body: JsonNode, context: RequestContext) -> PromptRequest:
    """Return a Chat Completions request. Raises RequestRefused."""
    model = body.required("model", string)
    turns = tuple(body.required("messages", array(_chat_turn, at_least=1)))
    _check_chat_results(turns)
    tools = tuple(
        tool for tool in body.optional("tools", array(_chat_tool), []) if tool is not None
    )
    object_with(_CHAT_SETTINGS)(body)
    if not tools and (choice := body.child("tool_choice")):
        raise choice.invalid("'tool_choice' is only allowed when 'tools' are specified.", None)
    return PromptRequest(
        protocol="OpenAI Chat Completions",
        model=model,
        system=(),
        turns=turns,
        tools=tools,
        choice=_tool_choice(body, tools, _chat_named_tool),
        body=json_object(body),
        settings=body.other_fields(_CHAT_FIELDS),
        stream=body.optional("stream", boolean, False),
        limit=body.optional(("max_completion_tokens", "max_tokens"), integer(1)),
        stops=body.optional("stop", _chat_stops, ()),
        size=context.size,
    )


def _chat_turn(message: JsonNode) -> PromptTurn:
    role = message.required("role", one_of(*_CHAT_ROLES))
    read_content = array_or_string(_chat_part(role), PromptText, at_least=1)
    parts: list[PromptPart] = []
    if (reasoning := message.optional("reasoning_content", string)) is not None:
        parts.append(PromptReasoning(reasoning))
    if role == "tool":
        content = message.required("content", read_content)
        text = "\n".join(part.text for part in content if isinstance(part, PromptText))
        return PromptTurn(
            role, (PromptToolResult(message.required("tool_call_id", string), "", text),)
        )
    content = message.optional("content", read_content)
    if content is not None:
        parts += content
    elif not (
        role == "assistant" and message.child(("tool_calls", "function_call", "refusal", "audio"))
    ):
        place = (*message.path, "content")
        raise RequestRefused(WrongType(place, "a string or an array", "null"))
    if (refusal := message.optional("refusal", string)) is not None:
        parts.append(PromptText(refusal))
    if role == "assistant":
        parts += message.optional("tool_calls", array(_chat_call, at_least=1), [])
    return PromptTurn(role, tuple(parts))


def _chat_part(role: str) -> Reader[PromptPart]:
    kinds = one_of(*_CHAT_PARTS.get(role, ("text",)))

    def read(part: JsonNode) -> PromptPart:
        kind = part.required("type", kinds)
        if kind not in _CHAT_MEDIA:
            return PromptText(part.required(kind, string))
        part.required(kind, json_object)
        if kind == "image_url":
            part.required(kind, lambda image: image.required("url", string))
        return PromptOther(_CHAT_MEDIA[kind])

    return read


def _chat_call(call: JsonNode) -> PromptToolCall:
    id = call.required("id", string)
    kind = call.optional("type", one_of(*_TOOL_KINDS), "function")
    arguments = "input" if kind == "custom" else "arguments"
    return call.required(
        kind,
        lambda tool: PromptToolCall(
            id, tool.required("name", string), tool.required(arguments, string)
        ),
    )


def _check_chat_results(turns: tuple[PromptTurn, ...]) -> None:
    """Raise RequestRefused unless tool messages answer the calls right before them."""
    waiting: set[str] = set()
    after_calls = False
    for index, turn in enumerate(turns):
        message = JsonNode(None, ("messages", index))
        if turn.role == "tool":
            answered = {result.id for result in turn.results}
            if not after_calls or not answered <= waiting:
                raise JsonNode(None, (*message.path, "role")).invalid(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceding message with 'tool_calls'.",
                    None,
                )
            waiting -= answered
            continue
        _check_answered(message, waiting)
        waiting = {part.id for part in turn.parts if isinstance(part, PromptToolCall)}
        after_calls = bool(waiting)
    _check_answered(JsonNode(None, ("messages", len(turns) - 1)), waiting)


def _check_answered(message: JsonNode, waiting: set[str]) -> None:
    if waiting:
        raise message.invalid(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(sorted(waiting)),
            None,
        )


def _chat_tool(tool: JsonNode) -> PromptTool | None:
    kind = tool.required("type", string)
    if kind not in _TOOL_KINDS:
        return None
    return tool.required(kind, lambda function: _tool(function, f"'{kind}.name'"))


def _chat_named_tool(choice: JsonNode) -> str | None:
    kind = choice.required("type", one_of(*_TOOL_KINDS, "allowed_tools"))
    if kind == "allowed_tools":
        return None
    return choice.required(kind, lambda tool: tool.required("name", string))


def _chat_stops(stop: JsonNode) -> tuple[str, ...]:
    texts = array_or_string(string, str)(stop)
    if len(texts) > 4:
        raise stop.invalid(
            "Invalid 'stop': array too long. Expected an array with maximum length 4.",
            "array_above_max_length",
        )
    return tuple(text for text in texts if text)


# Responses

_RESPONSES_FIELDS = frozenset({"model", "input", "instructions", "tools", "tool_choice", "stream"})
_RESPONSES_SETTINGS: Mapping[str, Reader[Any]] = {
    "temperature": number(0, 2),
    "top_p": number(0, 1),
    "metadata": json_object,
    "reasoning": json_object,
    "text": json_object,
    "store": boolean,
    "parallel_tool_calls": boolean,
    "background": boolean,
    "truncation": one_of("auto", "disabled"),
    "include": array(string),
}
_RESPONSES_ROLES = ("system", "developer", "user", "assistant")
_RESPONSES_TEXTS = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
}
"""The types of text parts, and the field that holds the text."""
_RESPONSES_MEDIA = {"input_image": "image", "input_file": "file", "input_audio": "audio"}
_ID_PREFIXES = {"function_call": "fc", "reasoning": "rs", "message": "msg"}


def parse_responses_request(body: JsonNode, context: RequestContext) -> PromptRequest:
    """Return a Responses request. Raises RequestRefused."""
    model = body.required("model", string)
    earlier = _earlier_turns(body, context)
    turns = (*earlier, *_input(body))
    _check_responses_results(turns, len(earlier))
    tools = tuple(
        tool for tool in body.optional("tools", array(_responses_tool), []) if tool is not None
    )
    object_with(_RESPONSES_SETTINGS)(body)
    instructions = body.optional("instructions", string)
    return PromptRequest(
        protocol="OpenAI Responses",
        model=model,
        system=() if instructions is None else (instructions,),
        turns=turns,
        tools=tools,
        choice=_tool_choice(body, tools, _responses_named_tool),
        body=json_object(body),
        settings=body.other_fields(_RESPONSES_FIELDS),
        stream=body.optional("stream", boolean, False),
        limit=body.optional("max_output_tokens", integer(16)),
        stops=(),
        size=context.size,
    )


def _earlier_turns(body: JsonNode, context: RequestContext) -> tuple[PromptTurn, ...]:
    previous = body.child("previous_response_id")
    if previous is None:
        return ()
    if body.child("conversation") is not None:
        raise previous.invalid(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
            "mutually_exclusive_parameters",
        )
    turns = context.stored_turns(string(previous))
    if turns is None:
        raise RequestRefused(UnknownResponse(string(previous)))
    return turns


def _input(body: JsonNode) -> list[PromptTurn]:
    found = body.child("input")
    if found is not None:
        return array_or_string(_item, lambda text: PromptTurn("user", (PromptText(text),)))(found)
    if body.child(("previous_response_id", "conversation", "prompt")) is None:
        raise RequestRefused(MissingField(("input",)))
    return []


def _item(item: JsonNode) -> PromptTurn:
    kind = item.optional("type", string, "message")
    id, prefix = item.child("id"), _ID_PREFIXES.get(kind)
    if id is not None and prefix is not None and not string(id).startswith(prefix):
        raise id.invalid(
            f"Invalid id: '{string(id)[:64]}'. Expected an ID that begins with '{prefix}'."
        )
    match kind:
        case "message":
            role = item.required("role", one_of(*_RESPONSES_ROLES))
            return PromptTurn(role, tuple(item.required("content", _responses_content)))
        case "function_call" | "custom_tool_call":
            field = "arguments" if kind == "function_call" else "input"
            arguments = item.required(field, string)
            call = PromptToolCall(
                item.required("call_id", string), item.required("name", string), arguments
            )
            return PromptTurn("assistant", (call,))
        case "function_call_output" | "custom_tool_call_output":
            output = "\n".join(
                part.text if isinstance(part, PromptText) else f"[{part.kind}]"
                for part in item.required("output", _responses_content)
            )
            result = PromptToolResult(item.required("call_id", string), "", output)
            return PromptTurn("tool", (result,))
        case "reasoning":
            texts = array(lambda part: part.required("text", string))
            reasoning = [*item.optional("summary", texts, []), *item.optional("content", texts, [])]
            return PromptTurn("assistant", (PromptReasoning("\n\n".join(reasoning)),))
        case _:
            return PromptTurn("item", (PromptOther(kind[:64]),))


def _responses_part(part: JsonNode) -> PromptText | PromptOther:
    kind = part.required("type", one_of(*_RESPONSES_TEXTS, *_RESPONSES_MEDIA))
    if kind in _RESPONSES_TEXTS:
        return PromptText(part.required(_RESPONSES_TEXTS[kind], string))
    return PromptOther(_RESPONSES_MEDIA[kind])


_responses_content: Reader[list[PromptText | PromptOther]] = array_or_string(
    _responses_part, PromptText
)


def _check_responses_results(turns: tuple[PromptTurn, ...], earlier: int) -> None:
    """Raise RequestRefused unless calls and outputs match; the `earlier` turns were checked."""
    parts: list[tuple[int, PromptPart]] = [
        (index, part) for index, turn in enumerate(turns) for part in turn.parts
    ]
    called = {part.id: index for index, part in parts if isinstance(part, PromptToolCall)}
    answered = {part.id: index for index, part in parts if isinstance(part, PromptToolResult)}
    place = JsonNode(None, ("input",))
    for id, index in answered.items():
        if called.get(id, index) >= index:
            if index < earlier:
                continue
            raise place.invalid(
                f"No tool call found for function call output with call_id {id[:80]}.", None
            )
    for id in called:
        if id not in answered:
            raise place.invalid(f"No tool output found for function call {id[:80]}.", None)


def _responses_tool(tool: JsonNode) -> PromptTool | None:
    if tool.required("type", string) not in _TOOL_KINDS:
        return None
    return _tool(tool, "tool name")


def _responses_named_tool(choice: JsonNode) -> str | None:
    if choice.required("type", string) not in _TOOL_KINDS:
        return None
    return choice.required("name", string)

"""Hearing a generateContent request.

Protobuf's JSON is generous: every key may be camelCase or snake_case, and an object may stand
where a list of one is meant. Held here: `contents` is not empty; roles are user and model (function
is taken as user; none means user); every part carries data, though one with only a
`thoughtSignature` passes; a turn of function calls follows a user turn, and the turn after it has
as many function responses as it has calls. Turns of one role in a row are taken; empty text too.
"""

import re
from itertools import groupby
from typing import Any

from tui_chat.offline.asked import (
    Asked,
    Call,
    Choice,
    Other,
    Part,
    Result,
    Thought,
    Tool,
    Turn,
    Words,
)
from tui_chat.offline.house import Addressed
from tui_chat.offline.node import Node, compact
from tui_chat.offline.problems import Empty, Refused, Rule

_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_OURS = frozenset(
    {"contents", "systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config"}
    | {"generationConfig", "generation_config", "model"}
)
_BESIDE = frozenset({"thought", "thoughtSignature", "thought_signature"})


def hear(body: Node, addressed: Addressed) -> Asked:
    """Return the request in neutral words; raises `Refused`."""
    contents = _items(body.need("contents"))
    if not contents:
        raise Refused(Empty(("contents",)))
    turns = tuple(_turn(content) for content in contents)
    _check_answers(turns)
    config = body.get("generationConfig", "generation_config") or Node({}, ("generationConfig",))
    tools = _tools(body)
    return Asked(
        protocol="gemini",
        model=addressed.model,
        system=_system(body),
        turns=turns,
        tools=tools,
        choice=_choice(body, tools),
        body=body.fields(),
        settings=_settings(body, config),
        stream=addressed.stream,
        limit=_limit(config),
        stops=_stops(config),
        size=addressed.size,
    )


def _items(node: Node) -> list[Node]:
    return node.items() if isinstance(node.value, list) else [node]


def _system(body: Node) -> tuple[str, ...]:
    system = body.get("systemInstruction", "system_instruction")
    if system is None:
        return ()
    if isinstance(system.value, str):
        raise system.broken("Invalid value at 'system_instruction' (Content), a string was given.")
    parts = system.get("parts")
    return tuple(part.need("text").text() for part in _items(parts)) if parts else ()


def _turn(content: Node) -> Turn:
    given = content.get("role")
    role = given.text() if given else "user"
    if role not in ("user", "model", "function"):
        raise content.broken("Please use a valid role: user, model.")
    parts = content.get("parts")
    found = [_part(part) for part in _items(parts)] if parts else []
    if not found:
        where = content.path[-1] if isinstance(content.path[-1], int) else 0
        message = (
            f"* GenerateContentRequest.contents[{where}].parts: contents.parts must not be empty.\n"
        )
        raise content.broken(message)
    return Turn(role, tuple(found))


def _part(part: Node) -> Part:
    text = part.get("text")
    if text is not None:
        thought = part.get("thought")
        return Thought(text.text()) if thought and thought.flag() else Words(text.text())
    call = part.get("functionCall", "function_call")
    if call is not None:
        arguments = call.get("args")
        id = call.get("id")
        return Call(
            id.text() if id else "",
            call.need("name").text(),
            compact(arguments.fields() if arguments else {}),
        )
    answer = part.get("functionResponse", "function_response")
    if answer is not None:
        id = answer.get("id")
        response = answer.need("response").fields()
        return Result(id.text() if id else "", answer.need("name").text(), _said(response))
    media = part.get("inlineData", "inline_data", "fileData", "file_data")
    if media is not None:
        mime = media.get("mimeType", "mime_type")
        kind = mime.text().partition("/")[0] if mime else "file"
        return Other(kind if kind in ("image", "audio", "video") else "file")
    others = [
        key for key, value in part.fields().items() if value is not None and key not in _BESIDE
    ]
    if others:
        return Other(others[0][:64])
    if part.get("thoughtSignature", "thought_signature") is not None:
        return Thought("")
    raise part.broken(
        "Unable to submit request because it must have a text parameter: required oneof field "
        "'data' must have one initialized field"
    )


def _said(response: dict[str, Any]) -> str:
    """Return a function's response as text: a lone `output` or `error` as it is, else JSON."""
    for key in ("output", "error", "result"):
        if len(response) == 1 and isinstance(response.get(key), str):
            return response[key]
    return compact(response)


def _check_answers(turns: tuple[Turn, ...]) -> None:
    calls = 0
    first = True
    for role, group in groupby(turns, key=lambda turn: "model" if turn.role == "model" else "user"):
        parts = [part for turn in group for part in turn.parts]
        made = sum(isinstance(part, Call) for part in parts)
        given = sum(isinstance(part, Result) for part in parts)
        if role == "model":
            if made and first:
                raise _rule(
                    "Please ensure that function call turn comes immediately after a user turn or "
                    "after a function response turn."
                )
            calls = made
        elif given != calls:
            raise _rule(
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        else:
            calls = 0
        first = False


def _rule(message: str) -> Refused:
    return Refused(Rule(("contents",), message))


def _tools(body: Node) -> tuple[Tool, ...]:
    declared = body.get("tools")
    found: list[Tool] = []
    for tool in _items(declared) if declared else []:
        functions = tool.get("functionDeclarations", "function_declarations")
        for function in _items(functions) if functions else []:
            name = function.need("name")
            if not _NAME.fullmatch(name.text()):
                raise name.broken(
                    "Invalid function name. Must start with a letter or an underscore. Must be "
                    "alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes "
                    "(-), with a maximum length of 128."
                )
            about = function.get("description")
            schema = function.get("parameters", "parametersJsonSchema", "parameters_json_schema")
            found.append(
                Tool(name.text(), about.text() if about else "", schema.fields() if schema else {})
            )
    return tuple(found)


def _choice(body: Node, tools: tuple[Tool, ...]) -> Choice:
    holder = body.get("toolConfig", "tool_config")
    config = holder.get("functionCallingConfig", "function_calling_config") if holder else None
    if config is None:
        return Choice()
    mode = config.get("mode")
    names = config.get("allowedFunctionNames", "allowed_function_names")
    allowed = [name.text() for name in names.items()] if names else []
    for name in allowed:
        if all(tool.name != name for tool in tools):
            raise config.broken(f"Function {name[:80]} is not declared in tools.")
    match mode.one_of(_MODES) if mode else "AUTO":
        case "NONE":
            return Choice("none")
        case "ANY":
            return Choice("required", allowed[0] if allowed else None)
        case _:
            return Choice("auto", allowed[0] if allowed else None)


def _settings(body: Node, config: Node) -> tuple[tuple[str, str], ...]:
    top = [(name, compact(value)) for name, value in body.fields().items() if name not in _OURS]
    inner = [
        (f"{config.path[0]}.{name}", compact(value)) for name, value in config.fields().items()
    ]
    return (*inner, *top)


def _limit(config: Node) -> int | None:
    temperature = config.get("temperature")
    if temperature is not None:
        temperature.number(least=0, most=2)
    limit = config.get("maxOutputTokens", "max_output_tokens")
    return limit.count() if limit else None


def _stops(config: Node) -> tuple[str, ...]:
    stops = config.get("stopSequences", "stop_sequences")
    items = _items(stops) if stops else []
    if len(items) > 5:
        raise Node(None, config.path).broken("The number of stop_sequences must be at most 5.")
    return tuple(text for text in (item.text() for item in items) if text)

"""Reading a Messages request.

Checked because Anthropic refuses a request that breaks it:
1. `model`, `max_tokens` and `messages` are required.
2. Text is neither empty nor only white space, in tool results too, and the last text of a final
   assistant turn does not end in white space.
3. Every `tool_use` is answered once in the very next turn, a user turn, before any other block of
   it. The provider merges turns of one role in a row, so they count as one here.
4. There are at most four `cache_control` marks; a thinking budget is at least 1024 and below
   `max_tokens`.

Some models refuse `temperature`; it is accepted here.
"""

import re
from itertools import groupby
from typing import Any, cast

from tests.support.vendors.json_reader import (
    JsonNode,
    array,
    array_or_string,
    boolean,
    compact,
    integer,
    json_object,
    matching,
    number,
    object_with,
    one_of,
    string,
)
from tests.support.vendors.provider import RequestContext
from tests.support.vendors.request_errors import InvalidValue, RequestRefused
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

_FIELDS = frozenset({"model", "messages", "system", "tools", "tool_choice", "stream"})
_SETTINGS = {"temperature": number(0, 1), "top_p": number(0, 1)}
_ROLES = ("user", "assistant", "system")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NAME_RULE = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
_ID = matching(re.compile(r"[A-Za-z0-9_-]+"), "String should match pattern '^[a-zA-Z0-9_-]+$'")
_OTHER_KINDS = {"document": "file"}
_TOOL_MODES: dict[str, ToolMode] = {
    "auto": "auto",
    "any": "required",
    "tool": "required",
    "none": "none",
}


def parse_request(body: JsonNode, context: RequestContext) -> PromptRequest:
    """Return a Messages request. Raises RequestRefused."""
    model = body.required("model", string)
    limit = None if context.counting else body.required("max_tokens", integer(0))
    turns = tuple(body.required("messages", array(_turn, at_least=1)))
    _check_end(turns[-1])
    _check_tool_results(turns)
    _check_cache_marks(json_object(body))
    object_with(_SETTINGS)(body)
    body.optional("thinking", lambda thinking: _check_thinking(thinking, limit))
    tools = tuple(tool for tool in body.optional("tools", array(_tool), []) if tool is not None)
    if len({tool.name for tool in tools}) < len(tools):
        raise RequestRefused(InvalidValue(("tools",), "Tool names must be unique."))
    return PromptRequest(
        protocol="Anthropic Messages",
        model=model,
        system=body.optional("system", _system, ()),
        turns=turns,
        tools=tools,
        choice=_tool_choice(body, tools),
        body=json_object(body),
        settings=body.other_fields(_FIELDS),
        stream=body.optional("stream", boolean, False),
        limit=limit,
        stops=tuple(body.optional("stop_sequences", array(_stop), [])),
        size=context.size,
    )


def _system(system: JsonNode) -> tuple[str, ...]:
    if not isinstance(system.value, list):
        return (system.value,) if string(system) else ()
    return tuple(array(_system_block)(system))


def _system_block(block: JsonNode) -> str:
    block.required("type", one_of("text"))
    return block.required("text", _text).text


def _turn(message: JsonNode) -> PromptTurn:
    role = message.required("role", one_of(*_ROLES))
    content = message.required("content", lambda node: node)
    if not isinstance(content.value, list):
        return PromptTurn(role, (_text(content),))
    return PromptTurn(role, tuple(array(lambda block: _block(block, role), at_least=1)(content)))


def _block(block: JsonNode, role: str) -> PromptPart:
    kind = block.required("type", string)
    match kind:
        case "text":
            return block.required("text", _text)
        case "thinking":
            if not block.required("signature", string):
                raise block.invalid("Invalid `signature` in `thinking` block")
            return PromptReasoning(block.required("thinking", string))
        case "redacted_thinking":
            block.required("data", string)
            return PromptReasoning("")
        case "tool_use":
            if role != "assistant":
                raise block.invalid("`tool_use` blocks can only be in `assistant` messages")
            return PromptToolCall(
                block.required("id", _ID),
                block.required("name", string),
                compact(block.required("input", json_object)),
            )
        case "tool_result":
            if role != "user":
                raise block.invalid("`tool_result` blocks can only be in `user` messages")
            id = block.required("tool_use_id", _ID)
            return PromptToolResult(id, "", block.optional("content", _result_text, ""))
        case _:
            return PromptOther(_OTHER_KINDS.get(kind, kind[:64]))


def _text(node: JsonNode) -> PromptText:
    text = string(node)
    if not text:
        rule = "text content blocks must be non-empty"
    elif not text.strip():
        rule = "text content blocks must contain non-whitespace text"
    else:
        return PromptText(text)
    raise RequestRefused(InvalidValue(("messages",), rule))


def _result_text(content: JsonNode) -> str:
    parts = array_or_string(lambda block: _block(block, "user"), PromptText)(content)
    return "\n".join(
        part.text if isinstance(part, PromptText) else f"[{part.kind}]"
        for part in parts
        if isinstance(part, (PromptText, PromptOther))
    )


def _check_end(turn: PromptTurn) -> None:
    last = turn.parts[-1]
    if (
        turn.role == "assistant"
        and isinstance(last, PromptText)
        and last.text != last.text.rstrip()
    ):
        raise RequestRefused(
            InvalidValue(
                ("messages",), "final assistant content cannot end with trailing whitespace"
            )
        )


def _check_tool_results(turns: tuple[PromptTurn, ...]) -> None:
    """Raise RequestRefused unless every tool use is answered once, in the very next turn."""
    waiting: list[str] = []
    seen: set[str] = set()
    for role, group in groupby(enumerate(turns), key=lambda entry: entry[1].role):
        if role == "system":
            continue
        members = list(group)
        place = JsonNode(None, ("messages", members[0][0]))
        parts = [part for _, turn in members for part in turn.parts]
        if role == "user":
            _check_results(place, parts, waiting)
            waiting = []
            continue
        if waiting:
            raise _unanswered(place, waiting)
        waiting = [part.id for part in parts if isinstance(part, PromptToolCall)]
        for id in waiting:
            if id in seen:
                raise place.invalid("`tool_use` ids must be unique")
            seen.add(id)
    if waiting:
        raise _unanswered(JsonNode(None, ("messages", len(turns) - 1)), waiting)


def _check_results(place: JsonNode, parts: list[PromptPart], waiting: list[str]) -> None:
    """Check a user turn against the ids of the tool uses before it."""
    answered = [part.id for part in parts if isinstance(part, PromptToolResult)]
    for id in answered:
        if id not in waiting:
            raise place.invalid(
                f"unexpected `tool_use_id` found in `tool_result` blocks: {id[:80]}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
        if answered.count(id) > 1:
            raise place.invalid(
                f"each tool_use must have a single result. Found multiple: {id[:80]}"
            )
    first = parts[: len(answered)]
    missing = [id for id in waiting if id not in answered]
    if missing or any(not isinstance(part, PromptToolResult) for part in first):
        raise _unanswered(place, missing or waiting)


def _unanswered(place: JsonNode, ids: list[str]) -> RequestRefused:
    return place.invalid(
        "`tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)[:400]}. Each `tool_use` block must have a corresponding `tool_result` "
        "block in the next message."
    )


def _check_cache_marks(body: dict[str, Any]) -> None:
    """Count the blocks, tools and nested result blocks that carry `cache_control`."""
    found = 0
    rows: list[Any] = [*_rows(body.get("system")), *_rows(body.get("tools"))]
    for message in _rows(body.get("messages")):
        rows += _rows(message.get("content"))
    while rows:
        row = rows.pop()
        if isinstance(row, dict):
            block = cast("dict[str, Any]", row)
            found += block.get("cache_control") is not None
            rows += _rows(block.get("content"))
    if found > 4:
        rule = f"A maximum of 4 blocks with cache_control may be provided. Found {found}."
        raise RequestRefused(InvalidValue((), rule))


def _rows(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _check_thinking(thinking: JsonNode, limit: int | None) -> None:
    if thinking.required("type", string) != "enabled":
        return
    if limit is None:
        thinking.required("budget_tokens", lambda node: node)
    elif thinking.required("budget_tokens", integer(1024)) >= limit:
        rule = "`max_tokens` must be greater than `thinking.budget_tokens`."
        raise RequestRefused(InvalidValue((), rule))


def _tool(tool: JsonNode) -> PromptTool | None:
    if tool.optional("type", string, "custom") != "custom":
        return None  # a tool that the provider defines or runs itself
    name = tool.required("name", matching(_NAME, _NAME_RULE))
    schema = tool.required("input_schema", _tool_schema)
    return PromptTool(name, tool.optional("description", string, ""), schema)


def _tool_schema(schema: JsonNode) -> dict[str, Any]:
    if schema.required("type", string) != "object":
        raise JsonNode(None, (*schema.path, "type")).invalid("Input should be 'object'")
    return json_object(schema)


def _tool_choice(body: JsonNode, tools: tuple[PromptTool, ...]) -> PromptToolChoice:
    choice = body.child("tool_choice")
    if choice is None:
        return PromptToolChoice()
    kind = choice.required("type", one_of(*_TOOL_MODES))
    if kind != "tool":
        return PromptToolChoice(_TOOL_MODES[kind])
    name = choice.required("name", string)
    if all(tool.name != name for tool in tools):
        raise choice.invalid(f"Tool '{name[:80]}' not found in provided tools")
    return PromptToolChoice("required", name)


def _stop(stop: JsonNode) -> str:
    if not string(stop).strip():
        raise stop.invalid("each stop sequence must contain non-whitespace")
    return string(stop)

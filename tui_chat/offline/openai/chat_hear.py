"""Hearing a Chat Completions request.

Held here, because OpenAI refuses what breaks it: known roles and part types; text only for system,
developer and tool; content may be null only beside `tool_calls`; every tool call is answered by
`tool` messages before any other message, and no `tool` message comes without a call; function
names of `[A-Za-z0-9_-]{1,64}`. Unknown top-level keys pass: vendors of this protocol add many.
"""

import re

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
from tui_chat.offline.problems import Refused, WrongType

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_PARTS: dict[str, tuple[str, ...]] = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}
_KINDS = {"image_url": "image", "input_audio": "audio", "file": "file"}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OURS = frozenset({"model", "messages", "tools", "tool_choice", "stream"})


def hear(body: Node, addressed: Addressed) -> Asked:
    """Return the request in neutral words; raises `Refused`."""
    model = body.need("model").text()
    messages = body.need("messages").items(least=1)
    turns = tuple(_turn(message) for message in messages)
    _check_answers(messages, turns)
    tools = tuple(
        _tool(tool)
        for tool in _items(body, "tools")
        if tool.need("type").text() in ("function", "custom")  # others are run by vendors
    )
    stream = body.get("stream")
    limit = body.get("max_completion_tokens", "max_tokens")
    _check_settings(body)
    return Asked(
        protocol="openai_chat",
        model=model,
        system=(),
        turns=turns,
        tools=tools,
        choice=_choice(body, tools),
        body=body.fields(),
        settings=tuple(
            (name, compact(value)) for name, value in body.fields().items() if name not in _OURS
        ),
        stream=stream.flag() if stream else False,
        limit=limit.count() if limit else None,
        stops=_stops(body),
        size=addressed.size,
    )


def _items(body: Node, name: str) -> list[Node]:
    found = body.get(name)
    return found.items() if found else []


def _turn(message: Node) -> Turn:
    role = message.need("role").one_of(_ROLES)
    parts: list[Part] = []
    reasoning = message.get("reasoning_content")
    if reasoning is not None:
        parts.append(Thought(reasoning.text()))
    calls = message.get("tool_calls") if role == "assistant" else None
    content = message.get("content")
    if role == "tool":
        words = _content(message.need("content"), role)
        text = "\n".join(part.text for part in words if isinstance(part, Words))
        return Turn(role, (Result(message.need("tool_call_id").text(), "", text),))
    if content is not None:
        parts += _content(content, role)
    elif not (
        role == "assistant" and message.get("tool_calls", "function_call", "refusal", "audio")
    ):
        raise Refused(WrongType((*message.path, "content"), "a string or an array", "null"))
    refusal = message.get("refusal")
    if refusal is not None:
        parts.append(Words(refusal.text()))
    if calls is not None:
        parts += [_call(call) for call in calls.items(least=1)]
    return Turn(role, tuple(parts))


def _content(content: Node, role: str) -> list[Part]:
    if isinstance(content.value, str):
        return [Words(content.value)]
    if not isinstance(content.value, list):
        content.text()  # complains
    found: list[Part] = []
    for part in content.items(least=1):
        kind = part.need("type").one_of(_PARTS.get(role, ("text",)))
        if kind in ("text", "refusal"):
            found.append(Words(part.need(kind).text()))
        else:
            payload = part.need(kind)
            if kind == "image_url":
                payload.need("url").text()
            payload.fields()
            found.append(Other(_KINDS[kind]))
    return found


def _call(call: Node) -> Call:
    id, kind = call.need("id").text(), call.get("type")
    if kind is not None and kind.one_of(("function", "custom")) == "custom":
        custom = call.need("custom")
        return Call(id, custom.need("name").text(), custom.need("input").text())
    function = call.need("function")
    return Call(id, function.need("name").text(), function.need("arguments").text())


def _check_answers(messages: list[Node], turns: tuple[Turn, ...]) -> None:
    waiting: set[str] = set()
    open_ = False
    for message, turn in zip(messages, turns, strict=True):
        if turn.role == "tool":
            answered = {result.id for result in turn.results}
            if not open_ or not answered <= waiting:
                raise Node(None, (*message.path, "role")).broken(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceding message with 'tool_calls'.",
                    None,
                )
            waiting -= answered
            continue
        _check_none_waiting(message, waiting)
        waiting = {part.id for part in turn.parts if isinstance(part, Call)}
        open_ = bool(waiting)
    _check_none_waiting(messages[-1], waiting)


def _check_none_waiting(message: Node, waiting: set[str]) -> None:
    if waiting:
        raise Node(None, message.path).broken(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(sorted(waiting)),
            None,
        )


def _tool(tool: Node) -> Tool:
    kind = tool.need("type").text()
    function = tool.need(kind)
    name = function.need("name")
    if not _NAME.fullmatch(name.text()):
        raise name.broken(
            f"Invalid '{kind}.name': string does not match pattern. Expected a string that matches "
            "the pattern '^[a-zA-Z0-9_-]{1,64}$'."
        )
    about, schema = function.get("description"), function.get("parameters")
    return Tool(name.text(), about.text() if about else "", schema.fields() if schema else {})


def _choice(body: Node, tools: tuple[Tool, ...]) -> Choice:
    choice = body.get("tool_choice")
    if choice is None:
        return Choice()
    if not tools:
        raise choice.broken("'tool_choice' is only allowed when 'tools' are specified.", None)
    if isinstance(choice.value, str):
        match choice.one_of(("none", "auto", "required")):
            case "none":
                return Choice("none")
            case "required":
                return Choice("required")
            case _:
                return Choice()
    kind = choice.need("type").one_of(("function", "custom", "allowed_tools"))
    if kind == "allowed_tools":
        return Choice()
    name = choice.need(kind).need("name").text()
    if all(tool.name != name for tool in tools):
        raise choice.broken(f"Tool choice '{name[:80]}' not found in 'tools' parameter.", None)
    return Choice("required", name)


def _stops(body: Node) -> tuple[str, ...]:
    stop = body.get("stop")
    if stop is None:
        return ()
    if isinstance(stop.value, str):
        return (stop.value,) if stop.value else ()
    if not isinstance(stop.value, list):
        stop.text()  # complains
    items = stop.items()
    if len(items) > 4:
        raise stop.broken(
            "Invalid 'stop': array too long. Expected an array with maximum length 4.",
            "array_above_max_length",
        )
    return tuple(text for text in (item.text() for item in items) if text)


def _check_settings(body: Node) -> None:
    for name, least, most in (
        ("temperature", 0, 2),
        ("top_p", 0, 1),
        ("frequency_penalty", -2, 2),
        ("presence_penalty", -2, 2),
    ):
        value = body.get(name)
        if value is not None:
            value.number(least=least, most=most)
    copies = body.get("n")
    if copies is not None:
        copies.count()
    options = body.get("stream_options")
    if options is not None:
        usage = options.get("include_usage")
        if usage is not None:
            usage.flag()

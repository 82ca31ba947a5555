"""Hearing a Messages request.

Held here, because Anthropic refuses what breaks it: `model`, `max_tokens` and `messages` are
required; text is neither empty nor only space, in tool results too, and the last text of a final
assistant turn does not end in space; every `tool_use` is answered in the very next turn, a user
one, before any other block of it, once each; at most four `cache_control`; a thinking budget is at
least 1024 and below `max_tokens`. Turns of one role in a row are merged by the provider, so for
the rule about answers they count as one. Whether a model takes `temperature` differs; it passes.
"""

import re
from itertools import groupby
from typing import Any, cast

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
from tui_chat.offline.problems import Refused, Rule

_ROLES = ("user", "assistant", "system")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ID = re.compile(r"[A-Za-z0-9_-]+")
_OURS = frozenset({"model", "messages", "system", "tools", "tool_choice", "stream"})
_KINDS = {"document": "file"}


def hear(body: Node, addressed: Addressed) -> Asked:
    """Return the request in neutral words; raises `Refused`."""
    model = body.need("model").text()
    limit = None if addressed.counting else body.need("max_tokens").count(least=0)
    messages = body.need("messages").items(least=1)
    turns = tuple(_turn(message) for message in messages)
    _check_end(messages[-1], turns[-1])
    _check_answers(messages, turns)
    _check_cache(body)
    _check_settings(body, limit)
    tools = _tools(body)
    stream = body.get("stream")
    return Asked(
        protocol="anthropic",
        model=model,
        system=_system(body),
        turns=turns,
        tools=tools,
        choice=_choice(body, tools),
        body=body.fields(),
        settings=tuple(
            (name, compact(value)) for name, value in body.fields().items() if name not in _OURS
        ),
        stream=stream.flag() if stream else False,
        limit=limit,
        stops=_stops(body),
        size=addressed.size,
    )


def _system(body: Node) -> tuple[str, ...]:
    system = body.get("system")
    if system is None:
        return ()
    if not isinstance(system.value, list):
        return (system.text(),) if system.text() else ()
    blocks: list[str] = []
    for block in system.items():
        block.need("type").one_of(("text",))
        blocks.append(_words(block.need("text")).text)
    return tuple(blocks)


def _turn(message: Node) -> Turn:
    role = message.need("role").one_of(_ROLES)
    content = message.need("content")
    if not isinstance(content.value, list):
        return Turn(role, (_words(content),))
    return Turn(role, tuple(_block(block, role) for block in content.items(least=1)))


def _block(block: Node, role: str) -> Part:
    kind = block.need("type").text()
    match kind:
        case "text":
            return _words(block.need("text"))
        case "thinking":
            if not block.need("signature").text():
                raise block.broken("Invalid `signature` in `thinking` block")
            return Thought(block.need("thinking").text())
        case "redacted_thinking":
            block.need("data").text()
            return Thought("")
        case "tool_use":
            if role != "assistant":
                raise block.broken("`tool_use` blocks can only be in `assistant` messages")
            return Call(
                _id(block.need("id")),
                block.need("name").text(),
                compact(block.need("input").fields()),
            )
        case "tool_result":
            if role != "user":
                raise block.broken("`tool_result` blocks can only be in `user` messages")
            return Result(_id(block.need("tool_use_id")), "", _answer(block))
        case _:
            return Other(_KINDS.get(kind, kind[:64]))


def _words(node: Node) -> Words:
    text = node.text()
    if not text:
        raise Refused(Rule(("messages",), "text content blocks must be non-empty"))
    if not text.strip():
        raise Refused(Rule(("messages",), "text content blocks must contain non-whitespace text"))
    return Words(text)


def _id(node: Node) -> str:
    id = node.text()
    if not _ID.fullmatch(id):
        raise node.broken("String should match pattern '^[a-zA-Z0-9_-]+$'")
    return id


def _answer(block: Node) -> str:
    content = block.get("content")
    if content is None:
        return ""
    if not isinstance(content.value, list):
        return content.text()
    parts = [_block(inner, "user") for inner in content.items()]
    return "\n".join(
        part.text if isinstance(part, Words) else f"[{part.kind}]"
        for part in parts
        if isinstance(part, (Words, Other))
    )


def _check_end(message: Node, turn: Turn) -> None:
    last = turn.parts[-1]
    if turn.role == "assistant" and isinstance(last, Words) and last.text != last.text.rstrip():
        raise Refused(
            Rule(message.path[:1], "final assistant content cannot end with trailing whitespace")
        )


def _check_answers(messages: list[Node], turns: tuple[Turn, ...]) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    for role, group in groupby(enumerate(turns), key=lambda entry: entry[1].role):
        if role == "system":
            continue
        members = list(group)
        where = Node(None, messages[members[0][0]].path)
        parts = [part for _, turn in members for part in turn.parts]
        if role == "user":
            _check_results(where, parts, waiting)
            waiting = []
            continue
        if waiting:
            raise _unanswered(where, waiting)
        waiting = [part.id for part in parts if isinstance(part, Call)]
        for id in waiting:
            if id in seen:
                raise where.broken("`tool_use` ids must be unique")
            seen.add(id)
    if waiting:
        raise _unanswered(Node(None, messages[-1].path), waiting)


def _check_results(where: Node, parts: list[Part], waiting: list[str]) -> None:
    given = [part.id for part in parts if isinstance(part, Result)]
    for id in given:
        if id not in waiting:
            raise where.broken(
                f"unexpected `tool_use_id` found in `tool_result` blocks: {id[:80]}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
        if given.count(id) > 1:
            raise where.broken(
                f"each tool_use must have a single result. Found multiple: {id[:80]}"
            )
    first = parts[: len(given)]
    missing = [id for id in waiting if id not in given]
    if missing or any(not isinstance(part, Result) for part in first):
        raise _unanswered(where, missing or waiting)


def _unanswered(where: Node, ids: list[str]) -> Refused:
    return where.broken(
        "`tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)[:400]}. Each `tool_use` block must have a corresponding `tool_result` "
        "block in the next message."
    )


def _check_cache(body: Node) -> None:
    found = _marks(body.fields())
    if found > 4:
        raise Refused(
            Rule((), f"A maximum of 4 blocks with cache_control may be provided. Found {found}.")
        )


def _marks(fields: dict[str, Any]) -> int:
    """How many blocks, tools and (nested) result blocks carry `cache_control`."""
    found = 0
    rows: list[Any] = [*_rows(fields.get("system")), *_rows(fields.get("tools"))]
    for message in _rows(fields.get("messages")):
        rows += _rows(message.get("content"))
    while rows:
        row = rows.pop()
        if isinstance(row, dict):
            block = cast("dict[str, Any]", row)
            found += block.get("cache_control") is not None
            rows += _rows(block.get("content"))
    return found


def _rows(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _check_settings(body: Node, limit: int | None) -> None:
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if value is not None:
            value.number(least=0, most=1)
    thinking = body.get("thinking")
    if thinking is not None and thinking.need("type").text() == "enabled":
        budget = thinking.need("budget_tokens")
        if limit is not None and budget.count(least=1024) >= limit:
            raise Refused(Rule((), "`max_tokens` must be greater than `thinking.budget_tokens`."))


def _tools(body: Node) -> tuple[Tool, ...]:
    declared = body.get("tools")
    found: list[Tool] = []
    for tool in declared.items() if declared else []:
        kind = tool.get("type")
        if kind is not None and kind.text() != "custom":
            continue  # a tool that the provider runs or defines by itself
        name = tool.need("name")
        if not _NAME.fullmatch(name.text()):
            raise name.broken("String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
        schema = tool.need("input_schema")
        if schema.need("type").text() != "object":
            raise Node(None, (*schema.path, "type")).broken("Input should be 'object'")
        about = tool.get("description")
        found.append(Tool(name.text(), about.text() if about else "", schema.fields()))
    if len({tool.name for tool in found}) < len(found):
        raise Refused(Rule(("tools",), "Tool names must be unique."))
    return tuple(found)


def _choice(body: Node, tools: tuple[Tool, ...]) -> Choice:
    choice = body.get("tool_choice")
    if choice is None:
        return Choice()
    match choice.need("type").one_of(("auto", "any", "tool", "none")):
        case "any":
            return Choice("required")
        case "none":
            return Choice("none")
        case "tool":
            name = choice.need("name").text()
            if all(tool.name != name for tool in tools):
                raise choice.broken(f"Tool '{name[:80]}' not found in provided tools")
            return Choice("required", name)
        case _:
            return Choice()


def _stops(body: Node) -> tuple[str, ...]:
    stops = body.get("stop_sequences")
    found: list[str] = []
    for stop in stops.items() if stops else []:
        if not stop.text().strip():
            raise stop.broken("each stop sequence must contain non-whitespace")
        found.append(stop.text())
    return tuple(found)

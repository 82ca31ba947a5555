"""A conversation as a JSON array, or as JSONL, of unified messages.

A message is `{"role", "content", "tool_calls"?, "tool_call_id"?, "name"?, "timestamp"?}` as
OpenAI writes them. `content` may be null, or a list of text parts, which are joined.
Messages without an `id` are numbered from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.model.message import MESSAGE_ROLES, Message, ToolCall
from tui_chat.model.text import clean


def read_history(text: str, source: str) -> tuple[Message, ...]:
    """Read messages from JSON or JSONL text; `source` is what errors call it.

    Raises InputError naming the source, the place (a JSON path or a line) and the fault.
    """
    return tuple(_message(value, place, index) for index, (value, place) in _values(text, source))


def _values(text: str, source: str) -> Iterator[tuple[int, tuple[object, str]]]:
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith("["):
        whole = _parsed(text.lstrip("\ufeff"), source)
        values = cast("list[object]", whole)
        yield from enumerate((value, f"{source}: $[{i}]") for i, value in enumerate(values))
        return
    # Not splitlines: U+2028 is legal inside a JSON string.
    lines = ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip("\ufeff \t\r"))
    for index, (number, line) in enumerate(lines):
        place = f"{source}: line {number}"
        yield index, (_parsed(line.lstrip("\ufeff"), place), place)


def _parsed(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{place}: is not JSON: {error.msg} at {where}") from error
    except RecursionError as error:
        raise InputError(f"{place}: is nested too deeply") from error


def _message(value: object, place: str, index: int) -> Message:
    if not isinstance(value, dict):
        raise InputError(f"{place}: a message must be an object, not {_kind(value)}")
    found = cast("dict[str, Any]", value)
    role = found.get("role")
    if role == "developer":
        role = "system"
    if role not in MESSAGE_ROLES:
        known = ", ".join(MESSAGE_ROLES)
        raise InputError(f"{place}.role: must be one of {known}, not {json.dumps(role)}")
    timestamp = found.get("timestamp")
    if timestamp is not None and (
        isinstance(timestamp, bool) or not isinstance(timestamp, int | float)
    ):
        raise InputError(f"{place}.timestamp: must be a number, not {_kind(timestamp)}")
    return Message(
        role=role,
        content=_content(found.get("content"), f"{place}.content"),
        id=_string(found, "id", place) or str(index + 1),
        tool_calls=tuple(_calls(found.get("tool_calls"), f"{place}.tool_calls")),
        tool_call_id=_string(found, "tool_call_id", place),
        name=_string(found, "name", place),
        timestamp=timestamp,
        pinned=found.get("pinned") is True,
    )


def _content(value: object, place: str) -> str:
    match value:
        case None:
            return ""
        case str():
            return clean(value)
        case list():
            return "".join(
                _part(part, f"{place}[{index}]")
                for index, part in enumerate(cast("list[object]", value))
            )
        case _:
            raise InputError(f"{place}: must be text or a list of parts, not {_kind(value)}")


def _part(part: object, place: str) -> str:
    if isinstance(part, str):
        return clean(part)
    if isinstance(part, dict):
        text = cast("dict[str, object]", part).get("text")
        if isinstance(text, str):
            return clean(text)
        kind = cast("dict[str, object]", part).get("type", "unknown")
        raise InputError(f"{place}: parts of type {json.dumps(kind)} cannot be sent yet, only text")
    raise InputError(f"{place}: must be a part with a text, not {_kind(part)}")


def _calls(value: object, place: str) -> Iterator[ToolCall]:
    if value is None:
        return
    if not isinstance(value, list):
        raise InputError(f"{place}: must be a list, not {_kind(value)}")
    for index, call in enumerate(cast("list[object]", value)):
        here = f"{place}[{index}]"
        if not isinstance(call, dict):
            raise InputError(f"{here}: must be an object, not {_kind(call)}")
        found = cast("dict[str, Any]", call)
        function = found.get("function")
        if not isinstance(function, dict):
            raise InputError(f"{here}.function: must be an object, not {_kind(function)}")
        inner = cast("dict[str, Any]", function)
        arguments = inner.get("arguments", "")
        if not isinstance(arguments, str):  # some writers store them parsed
            arguments = json.dumps(arguments, ensure_ascii=False)
        name = _string(inner, "name", f"{here}.function")
        yield ToolCall(_string(found, "id", here), name, clean(arguments))


def _string(found: dict[str, Any], key: str, place: str) -> str:
    value = found.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}.{key}: must be text, not {_kind(value)}")
    return clean(value)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"

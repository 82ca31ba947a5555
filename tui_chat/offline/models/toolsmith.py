"""The model that calls tools: arguments made from a JSON schema, then a report of the results.

The sample is deterministic and satisfies the schema in the ordinary cases (types, enums, bounds,
formats, references, nesting). If a schema contradicts itself or asks for a pattern, the sample is a
best guess: a real model does no better.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tui_chat.offline.models.mirror import fenced, inline_code
from tui_chat.offline.prompt_request import (
    PromptRequest,
    PromptTool,
    PromptToolCall,
    PromptToolResult,
)
from tui_chat.offline.reply_pieces import Piece, TextPiece, ToolCallPiece

_OPTIONAL_DEPTH = 2
"""Nesting beyond which only required properties are filled in."""

_MAX_DEPTH = 24
"""Nesting beyond which nothing is: a schema that requires itself has no finite sample."""

_MAX_VALUES = 2_000
"""Values in one sample: two required children at every level would otherwise double it 24 times."""

_FORMATS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def reply(prompt: PromptRequest, name: str = "") -> Iterator[Piece]:
    """Yield a call of a declared tool, a report of results, or the reason for not calling. `name`
    is the tool to call; empty for the one that the request names, or the first.
    """
    results = prompt.turns[-1].results if prompt.turns else ()
    if results:
        yield TextPiece("\n\n".join(_report(prompt, result) for result in _latest_results(prompt)))
        return
    if not prompt.tools:
        yield TextPiece(
            "The request declares no tools, so there is nothing to call. In the app, add a "
            "`[tools.NAME]` table to config.toml."
        )
        return
    if prompt.choice.mode == "none":
        yield TextPiece("Tools were declared, but the request forbids calls.")
        return
    tool = _chosen_tool(prompt, name or prompt.choice.name)
    if tool is None:
        yield TextPiece(f"No tool {inline_code(name)} was declared in this request.")
        return
    arguments = sample_arguments(tool.schema) if tool.schema else None
    sampled = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    yield ToolCallPiece(tool.name, json.dumps(sampled, ensure_ascii=False))


def sample_arguments(schema: Mapping[str, Any]) -> Any:
    """Return a value that fits a JSON schema (or Gemini's variant)."""
    return _SchemaSampler(schema).value(schema, "value", 0)


def _chosen_tool(prompt: PromptRequest, name: str | None) -> PromptTool | None:
    if not name:
        return prompt.tools[0]
    return next((tool for tool in prompt.tools if tool.name == name), None)


def _latest_results(prompt: PromptRequest) -> list[PromptToolResult]:
    """Return the results since the last turn that holds none, oldest first."""
    found: list[PromptToolResult] = []
    for turn in reversed(prompt.turns):
        if not turn.results:
            break
        found[:0] = turn.results
    return found


def _report(prompt: PromptRequest, result: PromptToolResult) -> str:
    name = result.name or next(
        (
            part.name
            for turn in reversed(prompt.turns)
            for part in turn.parts
            if isinstance(part, PromptToolCall) and part.id == result.id
        ),
        "tool",
    )
    if not result.text:
        return f"The tool {inline_code(name)} answered with nothing."
    return f"The tool {inline_code(name)} answered:\n\n{fenced(result.text)}"


class _SchemaSampler:
    """Samples one schema, up to `_MAX_VALUES` values."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._remaining = _MAX_VALUES

    def value(self, schema: Any, name: str, depth: int) -> Any:
        self._remaining -= 1
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._remaining < 0:
            return f"example {name}"
        node = cast("dict[str, Any]", schema)
        for given in ("const", "default", "example"):
            if given in node:
                return node[given]
        for several in ("enum", "examples"):
            if choices := _list(node.get(several)):
                return choices[0]
        if isinstance(node.get("$ref"), str):
            return self.value(self._target(node["$ref"]), name, depth + 1)
        for several in ("anyOf", "any_of", "oneOf"):
            if choices := _list(node.get(several)):
                return self.value(choices[0], name, depth + 1)
        if _list(node.get("allOf")):
            return self.value(_merged(node), name, depth + 1)
        match _type(node):
            case "object":
                return self._object(node, depth)
            case "array":
                least = min(5, _whole(node.get("minItems"), 1 if depth <= _OPTIONAL_DEPTH else 0))
                return [self.value(node.get("items", {}), name, depth + 1)] * least
            case "integer":
                return math.ceil(_number(node, whole=True))
            case "number":
                return _number(node, whole=False)
            case "boolean":
                return True
            case "null":
                return None
            case _:
                return _string(node, name)

    def _object(self, node: Mapping[str, Any], depth: int) -> dict[str, Any]:
        fields = node.get("properties")
        if not isinstance(fields, dict):
            return {}
        wanted = _list(node.get("required"))
        return {
            name: self.value(schema, name, depth + 1)
            for name, schema in cast("dict[str, Any]", fields).items()
            if depth < _OPTIONAL_DEPTH or name in wanted
        }

    def _target(self, reference: str) -> Any:
        here: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            if step and isinstance(here, dict):
                key = step.replace("~1", "/").replace("~0", "~")
                here = cast("dict[str, Any]", here).get(key)
        return here


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _type(node: Mapping[str, Any]) -> str:
    kind: Any = node.get("type")
    if kinds := _list(kind):
        kind = next((one for one in kinds if one != "null"), kinds[0])
    if isinstance(kind, str):
        return kind.lower()  # Gemini writes OBJECT
    if "properties" in node:
        return "object"
    return "array" if "items" in node else "string"


def _merged(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return `allOf` merged: objects joined, lists appended, else the last value."""
    merged = {key: value for key, value in node.items() if key != "allOf"}
    for part in _list(node["allOf"]):
        if not isinstance(part, dict):
            continue
        for key, value in cast("dict[str, Any]", part).items():
            mine: Any = merged.get(key)
            if isinstance(mine, dict) and isinstance(value, dict):
                merged[key] = {**cast("dict[str, Any]", mine), **cast("dict[str, Any]", value)}
            elif isinstance(mine, list) and isinstance(value, list):
                merged[key] = [*cast("list[Any]", mine), *cast("list[Any]", value)]
            else:
                merged[key] = value
    return merged


def _number(node: Mapping[str, Any], *, whole: bool) -> float:
    nudge = 1.0 if whole else 0.5
    lows = [_real(node.get("minimum")), _real(node.get("exclusiveMinimum"), nudge)]
    highs = [_real(node.get("maximum")), _real(node.get("exclusiveMaximum"), -nudge)]
    least = max((low for low in lows if low is not None), default=None)
    most = min((high for high in highs if high is not None), default=None)
    value = least if least is not None else 1.0 if most is None else min(1.0, most)
    step = _real(node.get("multipleOf"))
    if step is not None and step > 0 and math.isfinite(value / step):
        value = math.ceil(value / step) * step
    return int(value) if float(value).is_integer() else value  # some clients refuse 1.0


def _real(value: Any, nudge: float = 0.0) -> float | None:
    """Return a bound as a float; None if it is not a number, or too large."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e300:
        return None
    return value + nudge


def _string(node: Mapping[str, Any], name: str) -> str:
    text = _FORMATS.get(str(node.get("format")), f"example {name}"[:60])
    text = text.ljust(min(_whole(node.get("minLength"), 0), 1_000), "x")
    return text[: _whole(node.get("maxLength"), len(text))]


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and value >= 0 else otherwise

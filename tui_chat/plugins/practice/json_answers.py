"""Answers that fit a JSON schema: the arguments of a tool call, and the reply to a request that
wants JSON.

A sample is deterministic and satisfies the schema in the ordinary cases (types, enums, bounds,
formats, references, nesting). If a schema contradicts itself or asks for a pattern, the sample is a
best guess: a real model does no better.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.json_text import as_array, as_object
from tui_chat.offline.reply import Piece, Pieces

_ANY_OBJECT: Mapping[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}}

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
_NAMES = {
    **{name: text for name, text in _FORMATS.items() if "-" not in name},
    "timezone": "UTC",
    "tz": "UTC",
    "time": "12:00",
    "datetime": _FORMATS["date-time"],
}
"""What works for texts without a format, by the last word of a name, or its last two."""


def obeying(pieces: Pieces, envelope: ChatEnvelope) -> Pieces:
    """Yield a reply whose text is JSON if the request wants that: the model's own text if it is an
    object, else a sample of the schema. A reply without text stays as it is.
    """
    wanted = envelope.parameters.values.response_format
    if wanted is None or wanted.kind == "text":
        yield from pieces
        return
    schema = wanted.schema or _ANY_OBJECT
    text = ""
    for piece in pieces:
        if not isinstance(piece, Piece) or piece.kind != "text":
            yield piece
        else:
            text += piece.text
    if text:
        yield Piece(_fitting(text, schema))


def _fitting(text: str, schema: Mapping[str, Any]) -> str:
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    sample = {"answer": text} if schema is _ANY_OBJECT else sample_of(schema)
    return json.dumps(sample, ensure_ascii=False)


def sample_of(schema: Mapping[str, Any]) -> Any:
    """Return a value that fits a JSON schema (or Gemini's variant)."""
    return _SchemaSampler(schema).value(schema, "value", 0)


class _SchemaSampler:
    """Samples one schema, up to `_MAX_VALUES` values."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._remaining = _MAX_VALUES

    def value(self, schema: Any, name: str, depth: int) -> Any:
        self._remaining -= 1
        node = as_object(schema)
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._remaining < 0:
            return f"example {name}"
        for key in ("const", "default", "example"):
            if key in node:
                return node[key]
        for several in ("enum", "examples"):
            if choices := as_array(node.get(several)):
                return choices[0]
        if isinstance(reference := node.get("$ref"), str):
            return self.value(self._target(reference), name, depth + 1)
        for several in ("anyOf", "any_of", "oneOf"):
            if choices := as_array(node.get(several)):
                return self.value(choices[0], name, depth + 1)
        if as_array(node.get("allOf")):
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
        required = as_array(node.get("required"))
        return {
            name: self.value(schema, name, depth + 1)
            for name, schema in as_object(node.get("properties")).items()
            if depth < _OPTIONAL_DEPTH or name in required
        }

    def _target(self, reference: str) -> Any:
        here: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            if step:
                here = as_object(here).get(step.replace("~1", "/").replace("~0", "~"))
        return here


def _type(node: Mapping[str, Any]) -> str:
    kind: Any = node.get("type")
    if kinds := as_array(kind):
        kind = next((one for one in kinds if one != "null"), kinds[0])
    if isinstance(kind, str):
        return kind.lower()  # Gemini writes OBJECT
    if "properties" in node:
        return "object"
    return "array" if "items" in node else "string"


def _merged(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return `allOf` merged: objects joined, lists appended, else the last value."""
    merged = {key: value for key, value in node.items() if key != "allOf"}
    for part in as_array(node["allOf"]):
        for key, value in as_object(part).items():
            mine: Any = merged.get(key)
            if isinstance(mine, dict) and isinstance(value, dict):
                merged[key] = {**mine, **value}
            elif isinstance(mine, list) and isinstance(value, list):
                merged[key] = [*mine, *value]
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
    text = _FORMATS.get(str(node.get("format"))) or _named(name)
    text = text.ljust(min(_whole(node.get("minLength"), 0), 1_000), "x")
    return text[: _whole(node.get("maxLength"), len(text))]


def _named(name: str) -> str:
    words = [word.lower() for word in re.findall(r"[A-Z]*[a-z0-9]+|[A-Z]+", name)]
    last = (_NAMES.get("".join(words[-count:])) for count in (2, 1))
    return next(filter(None, last), f"example {name}"[:60])


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and value >= 0 else otherwise

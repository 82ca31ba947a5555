"""Response format and thinking, read and written side by side. Tools are written as in OpenAI Chat,
without `strict`.

1. `format` is “json”, or the schema itself.
2. `think` is a level, false for no thinking, or true for the model's default level.
"""

from __future__ import annotations

from typing import Any, cast

from tui_chat.models.settings import ResponseFormat

LEVELS = ("low", "medium", "high", "max")
"""The words of `think`; each is an effort of the same name."""


def read_format(value: Any) -> ResponseFormat | None:
    """Return the meaning of `format`; None if the unified fields cannot express it."""
    if value == "json":
        return ResponseFormat("json")
    if isinstance(value, dict) and value:
        return ResponseFormat("schema", cast("dict[str, Any]", value))
    return None


def write_format(form: ResponseFormat) -> str | dict[str, Any]:
    """Return `format` as the protocol writes it."""
    return form.schema if form.kind == "schema" and form.schema else "json"


def read_think(value: Any) -> str | None:
    """Return the effort that `think` means; None if it means none that has a name."""
    if value is False:
        return "none"
    return value if value in LEVELS else None


def write_think(effort: str) -> str | bool:
    """Return `think` for an effort: `none` or one of the levels."""
    return effort if effort in LEVELS else False

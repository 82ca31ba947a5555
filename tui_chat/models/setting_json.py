"""Settings written as JSON values, in the shape that a person writes, and as text.

`models.setting_types` reads both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tui_chat.models.json_values import plain
from tui_chat.models.setting_types import SETTINGS
from tui_chat.models.settings import (
    AuthorNote,
    ResponseFormat,
    Settings,
    ToolChoice,
    WebSearch,
)


def settings_json(settings: Settings) -> dict[str, Any]:
    """Return the settings that are set as JSON values, as `read_settings` reads them."""
    return {
        name: setting_json(value)
        for name in SETTINGS
        if (value := getattr(settings, name)) is not None
    }


def with_nested_settings(value: object) -> object:
    """Return a role's or session's JSON as of now: older programs wrote two settings beside it."""
    if not isinstance(value, Mapping):
        return value
    fields = dict(cast("Mapping[str, object]", value))
    older = {name: fields.pop(name) for name in ("temperature", "max_tokens") if name in fields}
    return {**fields, "settings": older} if older and "settings" not in fields else fields


def setting_json(value: Any) -> Any:
    """Return a setting's value as the JSON value that a person writes."""
    match value:
        case ResponseFormat() if value.kind != "schema":
            return value.kind
        case ResponseFormat():
            values = plain(value)
            order = ("name", "description", "schema", "strict")
            return {name: values[name] for name in order if name in values}
        case ToolChoice():
            return plain(value) if value.names else value.mode
        case WebSearch():
            options = plain(value)
            return options if options and value.enabled else value.enabled
        case AuthorNote():
            is_plain = value.text == value.text.strip() and not value.text.startswith("{")
            return value.text if is_plain and value == AuthorNote(value.text) else plain(value)
        case _:
            return plain(value)


def setting_text(value: Any) -> str:
    """Return a setting's value as `parse_setting` reads it."""
    plain = setting_json(value)
    if isinstance(plain, bool):
        return "on" if plain else "off"
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

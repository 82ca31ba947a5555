"""Settings written as JSON values, in the shape that a person writes, and as text.

`models.setting_types` reads both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from tui_chat.models.setting_types import PLACE_FIELDS, SEARCH_FIELDS, SETTINGS
from tui_chat.models.settings import (
    NOTE_DEPTH,
    AuthorNote,
    CharacterTexts,
    Injection,
    LoreRules,
    ResponseFormat,
    SearchLocation,
    Settings,
    TextScript,
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
    """Return the JSON of a role or a session as it is now: older programs wrote its temperature
    and its reply limit beside its name.
    """
    if not isinstance(value, Mapping):
        return value
    found = dict(cast("Mapping[str, object]", value))
    older = {name: found.pop(name) for name in ("temperature", "max_tokens") if name in found}
    return {**found, "settings": older} if older and "settings" not in found else found


def setting_json(value: Any) -> Any:
    """Return a setting's value as the JSON value that a person writes."""
    match value:
        case ResponseFormat():
            if value.kind != "schema":
                return value.kind
            optional = {"name": value.name, "description": value.description}
            found: dict[str, Any] = {key: text for key, text in optional.items() if text}
            found["schema"] = value.schema
            return found if value.strict is None else {**found, "strict": value.strict}
        case ToolChoice():
            return {"mode": value.mode, "names": list(value.names)} if value.names else value.mode
        case WebSearch():
            options = {
                name: setting_json(inner)
                for name in SEARCH_FIELDS
                if (inner := getattr(value, name)) not in ("", (), None)
            }
            return options if options and value.enabled else value.enabled
        case AuthorNote():
            place = {} if value.depth == NOTE_DEPTH else {"depth": value.depth}
            place |= {} if value.role == "system" else {"role": value.role}
            place |= {} if value.placement == "depth" else {"placement": value.placement}
            place |= {} if value.interval == 1 else {"interval": value.interval}
            place |= {"searched": True} if value.searched else {}
            is_plain = value.text == value.text.strip() and not value.text.startswith("{")
            return value.text if is_plain and not place else {"text": value.text, **place}
        case LoreRules() | CharacterTexts() | Injection() | TextScript():
            return {
                each.name: setting_json(inner)
                for each in fields(value)
                if (inner := getattr(value, each.name)) != each.default
            }
        case SearchLocation():
            return {name: text for name in PLACE_FIELDS if (text := getattr(value, name))}
        case Mapping():
            return dict(cast("Mapping[str, str]", value))
        case tuple():
            return [setting_json(each) for each in cast("tuple[Any, ...]", value)]
        case _:
            return value


def setting_text(value: Any) -> str:
    """Return a setting's value as `parse_setting` reads it."""
    plain = setting_json(value)
    if isinstance(plain, bool):
        return "on" if plain else "off"
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

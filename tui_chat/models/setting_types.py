"""The values that each setting accepts, and their readers.

1. `SETTINGS` has what is known of each one. Values come from files, from a command or from a
   program's export, and all go through `read_setting`.
2. As JSON a setting has the shape that a person writes: `"effort": "high"`, `"web_search": true`,
   `"stop": ["END"]`. As text (`/set`, `--set`) words and numbers stand as they are, lists and
   objects as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from typing import Any, cast, get_type_hints

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import (
    InvalidValue,
    Path,
    ValueFault,
    accepts,
    plain,
    read,
    snake_case,
    words_of,
)
from tui_chat.models.json_text import describe_value
from tui_chat.models.settings import AuthorNote, ResponseFormat, Settings, ToolChoice, WebSearch


class SettingError(ValueError):
    """A setting is unknown or its value is not accepted. The message begins with its name."""

    def __init__(self, sentence: str, found: str = "", path: Path = ()) -> None:
        super().__init__(sentence + found)
        self.sentence = sentence
        """The message without the value."""
        self.path = path
        """The steps from the setting to what is not accepted."""


@dataclass(frozen=True, slots=True)
class SettingType:
    """The values that a setting accepts, from its type in `Settings`."""

    name: str

    @property
    def hint(self) -> Any:
        """The type."""
        return _hints()[self.name]

    @property
    def accepts(self) -> str:
        """In words: `a number from 0 to 2`."""
        return accepts(self.hint)

    @property
    def words(self) -> tuple[str, ...]:
        """Values to offer for completion."""
        return words_of(self.hint)

    @property
    def is_text(self) -> bool:
        """True if what a person types is its value as it stands, unless it is a JSON object."""
        return self.name in ("author_note", "reply_start")


@cache
def _hints() -> Mapping[str, Any]:
    """Return the types of the settings. It takes 1 ms, and the first screen needs none."""
    return get_type_hints(Settings, include_extras=True)


SETTINGS: Mapping[str, SettingType] = {
    setting.name: SettingType(setting.name) for setting in fields(Settings)
}
"""The settings by their names, in the order in which they are shown."""


def read_setting(name: str, value: object) -> Any:
    """Return the value of a setting, named in snake_case or camelCase, from a JSON value.

    Raises SettingError naming the setting and what it accepts.
    """
    name = setting_name(name)
    kind = SETTINGS[name]
    try:
        return read(kind.hint, value)
    except InvalidValue as error:
        raise _setting_error(kind, error.faults[0]) from None


def _setting_error(kind: SettingType, fault: ValueFault) -> SettingError:
    """Return the error for a fault in a setting."""
    if fault.path:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault.path)
        return SettingError(f"{kind.name}{place} {fault.sentence}", _not_that(fault), fault.path)
    return SettingError(f"{kind.name} {fault.sentence}", _not_that(fault))


def _not_that(fault: ValueFault) -> str:
    return f", not {describe_value(fault.value)}" if fault.sentence.startswith("must be ") else ""


def read_settings(value: object) -> Settings:
    """Return the settings of a JSON object; null leaves one unset. Raises SettingError."""
    if not isinstance(value, Mapping):
        raise SettingError("must be an object of settings", f", not {describe_value(value)}")
    values: dict[str, Any] = {}
    for key, inner in cast("Mapping[Any, object]", value).items():
        name = setting_name(str(key))
        if name in values:
            raise SettingError(f"{name} is set twice")
        if inner is not None:
            values[name] = read_setting(name, inner)
    return Settings(**values)


def parse_setting(name: str, text: str) -> Any:
    """Return the value of a setting from what a person types. Raises SettingError."""
    kind = _kind(name)
    text = text if kind.is_text else text.strip()
    if text.lstrip()[:1] in ("{" if kind.is_text else ("{", "[", '"')):
        try:
            return read_setting(name, json.loads(text))
        except (ValueError, RecursionError) as fault:
            if isinstance(fault, SettingError):
                raise
            if not kind.is_text:
                what = f"{setting_name(name)}: {describe_value(text)} is not valid JSON"
                raise SettingError(what) from None
    value: object = text
    folded = text.casefold()
    if "off" in kind.words and folded in _SWITCH_WORDS:
        value = _SWITCH_WORDS[folded]
    elif folded in kind.words:
        value = folded
    elif "number" in kind.accepts:
        value = _number_of(text)
    return read_setting(name, value)


def split_setting(text: str) -> tuple[str, str]:
    """Return the name and the value in `NAME VALUE` or `NAME=VALUE`; either may be empty."""
    match = re.match(r"\s*([^\s=]*)\s*=?\s*(.*)", text, re.DOTALL)
    return (match[1], match[2].strip()) if match else ("", "")


def reset_words(name: str) -> tuple[str, ...]:
    """Return the words that take a setting away, instead of a value."""
    return tuple(word for word in ("default", "inherit") if word not in SETTINGS[name].words)


def setting_name(name: str) -> str:
    """Return a setting's name from snake_case, camelCase or hyphens. Raises SettingError."""
    snake_name = snake_case(name.strip()).replace("-", "_")
    if snake_name in SETTINGS:
        return snake_name
    similar = get_close_matches(snake_name, SETTINGS, 1)
    advice = (
        f" (did you mean “{similar[0]}”?)" if similar else f"; settings are {', '.join(SETTINGS)}"
    )
    raise SettingError(f"{describe_value(name)} is not a setting{advice}")


def typed_setting_name(text: str) -> str:
    """Return the name of a typed setting, also from its beginning: `temp`. Raises SettingError."""
    start = snake_case(text.strip()).replace("-", "_")
    matches = [name for name in SETTINGS if name.startswith(start)]
    return matches[0] if len(matches) == 1 and len(start) > 1 else setting_name(text)


def _kind(name: str) -> SettingType:
    return SETTINGS[setting_name(name)]


def _number_of(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_SWITCH_WORDS = {
    **dict.fromkeys(("on", "true", "yes"), True),
    **dict.fromkeys(("off", "false", "no"), False),
}


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

"""What each setting accepts, and how it is read.

1. `SETTINGS` has what is known of each one. Values come from files, from a command or from a
   program's export, and all go through `read_setting`.
2. As JSON a setting has the shape that a person writes: `"effort": "high"`, `"web_search": true`,
   `"stop": ["END"]`. As text (`/set`, `--set`) words and numbers stand as they are, lists and
   objects as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import describe_value
from tui_chat.models.settings import (
    EFFORTS,
    MAX_INJECTIONS,
    MAX_LORE,
    MAX_NOTE,
    MAX_NOTE_DEPTH,
    MAX_SCHEMA,
    MAX_TEXT,
    MAX_TEXTS,
    MAX_VARIABLES,
    NOTE_DEPTH,
    NOTE_PLACEMENTS,
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


class SettingError(ValueError):
    """A setting is unknown or its value is not accepted. The message begins with its name."""

    def __init__(self, sentence: str, found: str = "") -> None:
        super().__init__(sentence + found)
        self.sentence = sentence
        """The message without the value."""


@dataclass(frozen=True, slots=True)
class SettingType:
    """What a setting accepts."""

    accepts: str
    """In words: `a number from 0 to 2`."""
    read: Callable[[object], Any]
    """Returns the value of a JSON value. Raises ValueError with what must be, or LookupError if
    the value is not what `accepts` says."""
    words: tuple[str, ...] = ()
    """Values to offer for completion."""
    is_text: bool = False
    """True if what a person types is its value as it stands, unless it is a JSON object."""


class _Unaccepted(Exception):
    """A value is not accepted; the message, if any, says what is wrong inside it."""


def _words(*words: str) -> SettingType:
    def read(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise _Unaccepted

    return SettingType(f"one of {', '.join(words)}", read, words)


def _number(low: float, high: float) -> SettingType:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _Unaccepted
        if not low <= value <= high:
            raise _Unaccepted
        return value

    return SettingType(f"a number from {low:g} to {high:g}", read)


def _whole(low: int, high: int, what: str = "a whole number") -> SettingType:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _Unaccepted
        return value

    return SettingType(f"{what} from {low:,} to {high:,}", read)


def _switch() -> SettingType:
    def read(value: object) -> bool:
        if not isinstance(value, bool):
            raise _Unaccepted
        return value

    return SettingType("on or off (true or false)", read, ("on", "off"))


def _line() -> SettingType:
    def read(value: object) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or not value.isprintable():
            raise _Unaccepted
        return value

    return SettingType(f"text in one line of at most {MAX_TEXT:,} characters", read)


def _texts(value: object, what: str) -> tuple[str, ...]:
    """Return a list of non-empty texts."""
    many = cast("list[object]", list(value)) if isinstance(value, list | tuple) else [value]  # type: ignore[arg-type]
    if len(many) > MAX_TEXTS:
        raise _Unaccepted(f"{what} must be at most {MAX_TEXTS}")
    for each in many:
        if not isinstance(each, str) or not 0 < len(each) <= MAX_TEXT:
            raise _Unaccepted(f"{what} must be texts of 1 to {MAX_TEXT:,} characters")
    return tuple(cast("list[str]", many))


def _options(value: object, known: tuple[str, ...]) -> dict[str, Any]:
    """Return an object's keys in snake_case, those that are null left out."""
    if not isinstance(value, Mapping):
        raise _Unaccepted
    found: dict[str, Any] = {}
    for key, inner in cast("Mapping[Any, object]", value).items():
        name = _snake_case(str(key))
        if name not in known:
            raise _Unaccepted(f"{describe_value(key)} is unknown; it may have {', '.join(known)}")
        if inner is not None:
            found[name] = inner
    return found


def _text_in(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name, "")
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise _Unaccepted(f"{name} must be text of at most {MAX_TEXT:,} characters")
    return value


def _boolean_in(found: Mapping[str, Any], name: str) -> bool | None:
    value = found.get(name)
    if value is not None and not isinstance(value, bool):
        raise _Unaccepted(f"{name} must be true or false")
    return value


def _read_format(value: object) -> ResponseFormat:
    if value == "text" or value == "json":
        return ResponseFormat(cast("Literal['text', 'json']", value))
    found = _options(value, ("name", "schema", "strict", "description"))
    schema = found.get("schema")
    if not isinstance(schema, dict):
        raise _Unaccepted("schema must be a JSON Schema, an object")
    try:
        size = len(json.dumps(schema, allow_nan=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError):
        raise _Unaccepted("schema must be JSON, not nested too deeply") from None
    if size > MAX_SCHEMA:
        raise _Unaccepted(f"schema must have at most {MAX_SCHEMA:,} characters")
    return ResponseFormat(
        "schema",
        cast("dict[str, Any]", schema),
        name=_text_in(found, "name"),
        description=_text_in(found, "description"),
        strict=_boolean_in(found, "strict"),
    )


PLACE_FIELDS = tuple(each.name for each in fields(SearchLocation))
SEARCH_FIELDS = tuple(each.name for each in fields(WebSearch) if each.name != "enabled")


def _read_search(value: object) -> WebSearch:
    if isinstance(value, bool):
        return WebSearch(enabled=value)
    found = _options(value, SEARCH_FIELDS)
    size, uses = found.get("context_size", ""), found.get("max_uses")
    if size not in ("", "low", "medium", "high"):
        raise _Unaccepted("context_size must be one of low, medium, high")
    if uses is not None and (isinstance(uses, bool) or not isinstance(uses, int) or uses < 1):
        raise _Unaccepted("max_uses must be a whole number from 1")
    location = None
    if "location" in found:
        try:
            place = _options(found["location"], PLACE_FIELDS)
            location = SearchLocation(**{name: _text_in(place, name) for name in PLACE_FIELDS})
        except _Unaccepted as fault:
            why = str(fault) or f"must be an object with {', '.join(PLACE_FIELDS)}"
            raise _Unaccepted(f"location {why}") from None
    return WebSearch(
        cast("str", size),
        location,
        _texts(found.get("allowed_domains", ()), "allowed_domains"),
        _texts(found.get("blocked_domains", ()), "blocked_domains"),
        uses,
        _boolean_in(found, "live"),
    )


def _read_choice(value: object) -> ToolChoice:
    if value in ("auto", "none", "required"):
        return ToolChoice(value)
    if isinstance(value, str):
        return ToolChoice("required", _texts(value, "a tool's name"))
    found = _options(value, ("mode", "names"))
    mode = found.get("mode", "required")
    if mode not in ("auto", "none", "required"):
        raise _Unaccepted("mode must be one of auto, none, required")
    return ToolChoice(mode, _texts(found.get("names", ()), "names"))


def _read_note(value: object) -> AuthorNote:
    found = {"text": value} if isinstance(value, str) else _options(value, _NOTE)
    text, role = found.get("text", ""), found.get("role")
    depth: Any = found.get("depth", NOTE_DEPTH)
    if not isinstance(text, str) or len(text) > MAX_NOTE:
        raise _Unaccepted(f"text must be text of at most {MAX_NOTE:,} characters")
    is_whole = isinstance(depth, int) and not isinstance(depth, bool)
    if not is_whole or not 0 <= depth <= MAX_NOTE_DEPTH:
        raise _Unaccepted(f"depth must be a whole number from 0 to {MAX_NOTE_DEPTH:,}")
    if role not in (None, *NOTE_ROLES):
        raise _Unaccepted(f"role must be one of {', '.join(NOTE_ROLES)}")
    placement, interval = found.get("placement", "depth"), found.get("interval", 1)
    if placement not in NOTE_PLACEMENTS:
        raise _Unaccepted(f"placement must be one of {', '.join(NOTE_PLACEMENTS)}")
    if not isinstance(interval, int) or isinstance(interval, bool) or not 0 <= interval <= 10_000:
        raise _Unaccepted("interval must be a whole number from 0 to 10,000")
    searched = _boolean_in(found, "searched") is True
    return AuthorNote(
        text, depth, cast("Any", role or "system"), cast("Any", placement), interval, searched
    )


def _read_lore(value: object) -> LoreRules:
    found = _options(value, LORE_FIELDS)
    for name in _LORE_SWITCHES:
        _boolean_in(found, name)
    if "tiers" in found:
        found["tiers"] = _tiers(found["tiers"])
    for name in found.keys() - {*_LORE_SWITCHES, "tiers"}:
        number, most = found[name], 100 if name == "budget_percent" else MAX_LORE
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= most:
            raise _Unaccepted(f"{name} must be a whole number from 0 to {most:,}")
    return LoreRules(**found)


_LORE_SWITCHES = ("names", "group_scoring", "recursive", "case_sensitive", "match_whole_words")


def _tiers(value: object) -> tuple[int, ...]:
    many = cast("list[object]", list(value)) if isinstance(value, list | tuple) else None  # type: ignore[arg-type]
    if many is None or len(many) > MAX_VARIABLES:
        raise _Unaccepted(f"tiers must be a list of at most {MAX_VARIABLES:,} whole numbers")
    for each in many:
        if not isinstance(each, int) or isinstance(each, bool) or not 0 <= each <= MAX_LORE:
            raise _Unaccepted(f"tiers must be whole numbers from 0 to {MAX_LORE:,}")
    return tuple(cast("list[int]", many))


def _long_text(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_NOTE:
        raise _Unaccepted(f"{name} must be text of at most {MAX_NOTE:,} characters")
    return value


def _read_reply_start(value: object) -> str:
    if not isinstance(value, str):
        raise _Unaccepted
    return _long_text(value, "it")


def _read_character(value: object) -> CharacterTexts:
    found = _options(value, CHARACTER_FIELDS)
    return CharacterTexts(**{name: _long_text(text, name) for name, text in found.items()})


def _objects(value: object, what: str, known: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the keys of each object of a list."""
    if not isinstance(value, list | tuple):
        raise _Unaccepted
    many = cast("list[object]", list(value))  # type: ignore[arg-type]
    if len(many) > MAX_INJECTIONS:
        raise _Unaccepted(f"{what} must be at most {MAX_INJECTIONS:,}")
    for number, each in enumerate(many, 1):
        try:
            yield _options(each, known)
        except _Unaccepted as fault:
            why = str(fault) or f"must be an object with {', '.join(known)}"
            raise _Unaccepted(f"number {number}: {why}") from None


def _read_injections(value: object) -> tuple[Injection, ...]:
    found: list[Injection] = []
    for each in _objects(value, "injected texts", INJECTION_FIELDS):
        # It has the place of an author's note, and the same limits.
        place = {name: inner for name, inner in each.items() if name not in ("id", "content")}
        note = _read_note({**place, "text": _long_text(each.get("content", ""), "content")})
        identity = _text_in(each, "id") or f"text-{len(found) + 1}"
        found.append(
            Injection(identity, note.text, note.depth, note.role, note.placement, note.searched)
        )
    return tuple(found)


_SCRIPT_TARGETS = ("user", "assistant", "lore")


def _read_scripts(value: object) -> tuple[TextScript, ...]:
    found: list[TextScript] = []
    for each in _objects(value, "scripts", SCRIPT_FIELDS):
        targets = _texts(each.get("applies_to", ()), "applies_to")
        if not set(targets) <= set(_SCRIPT_TARGETS):
            raise _Unaccepted(f"applies_to must be a list of {', '.join(_SCRIPT_TARGETS)}")
        if each.get("substitutes", "") not in ("", "raw", "escaped"):
            raise _Unaccepted("substitutes must be raw or escaped")
        for name in ("min_depth", "max_depth"):
            depth = each.get(name)
            is_number = isinstance(depth, int | float) and not isinstance(depth, bool)
            if depth is not None and not (is_number and -1e9 < depth < 1e9):
                raise _Unaccepted(f"{name} must be a number")
        found.append(
            TextScript(
                _text_in(each, "name"),
                _long_text(each.get("pattern", ""), "pattern"),
                _long_text(each.get("replacement", ""), "replacement"),
                cast("Any", targets),
                each.get("min_depth"),
                each.get("max_depth"),
                _texts(each.get("trim", ()), "trim"),
                each.get("substitutes", ""),
                _boolean_in(each, "is_stored") is True,
            )
        )
    return tuple(found)


def _read_variables(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise _Unaccepted
    found = cast("Mapping[object, object]", value)
    if len(found) > MAX_VARIABLES:
        raise _Unaccepted(f"variables must be at most {MAX_VARIABLES:,}")
    for name, text in found.items():
        is_named = isinstance(name, str) and 0 < len(name) <= MAX_TEXT
        if not is_named or not isinstance(text, str) or len(text) > MAX_NOTE:
            what = f"texts of at most {MAX_NOTE:,} characters"
            raise _Unaccepted(f"variables must have names and be {what}")
    return MappingProxyType(dict(cast("Mapping[str, str]", value)))


LORE_FIELDS = tuple(each.name for each in fields(LoreRules))
CHARACTER_FIELDS = tuple(each.name for each in fields(CharacterTexts))
INJECTION_FIELDS = tuple(each.name for each in fields(Injection))
SCRIPT_FIELDS = tuple(each.name for each in fields(TextScript))
_NOTE = tuple(each.name for each in fields(AuthorNote))
NOTE_ROLES = ("system", "user", "assistant")
_BUDGET = _whole(0, 1_000_000, "tokens, a whole number")
SETTINGS: Mapping[str, SettingType] = {
    "effort": _words(*EFFORTS, "auto"),
    "reasoning_budget": _BUDGET,
    "reasoning_summary": _words("auto", "concise", "detailed", "none"),
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "top_k": _whole(1, 1_000_000),
    "max_tokens": _whole(1, 1_000_000_000, "tokens, a whole number"),
    "stop": SettingType("a text or a list of texts", lambda value: _texts(value, "texts")),
    "seed": _whole(-(2**63), 2**63 - 1),
    "presence_penalty": _number(-2, 2),
    "frequency_penalty": _number(-2, 2),
    "verbosity": _words("low", "medium", "high"),
    "response_format": SettingType(
        "text, json, or an object with a schema (and name, strict, description)",
        _read_format,
        ("text", "json"),
    ),
    "web_search": SettingType(
        f"on, off, or an object with {', '.join(SEARCH_FIELDS)}", _read_search, ("on", "off")
    ),
    "parallel_tool_calls": _switch(),
    "tool_choice": SettingType(
        "auto, none, required, a tool's name, or an object with mode and names",
        _read_choice,
        ("auto", "none", "required"),
    ),
    "service_tier": _words("auto", "default", "flex", "scale", "priority", "fast", "ultrafast"),
    "user_id": _line(),
    "logprobs": _whole(0, 20),
    "context_limit": _whole(1, 1_000_000_000, "tokens, a whole number"),
    "reply_reserve": _whole(0, 1_000_000_000, "tokens, a whole number"),
    "author_note": SettingType(
        f"a text, or an object with {', '.join(_NOTE)}", _read_note, is_text=True
    ),
    "user_name": _line(),
    "char_name": _line(),
    "lore": SettingType(f"an object with {', '.join(LORE_FIELDS)}", _read_lore),
    "global_variables": SettingType("an object of texts by name", _read_variables),
    "character": SettingType(f"an object with {', '.join(CHARACTER_FIELDS)}", _read_character),
    "injections": SettingType(
        f"a list of objects with {', '.join(INJECTION_FIELDS)}", _read_injections
    ),
    "scripts": SettingType(f"a list of objects with {', '.join(SCRIPT_FIELDS)}", _read_scripts),
    "reply_start": SettingType("a text", _read_reply_start, is_text=True),
}
"""The settings by their names, in the order of the fields and in which they are shown."""


def read_setting(name: str, value: object) -> Any:
    """Return the value of a setting, named in snake_case or camelCase, from a JSON value.

    Raises SettingError naming the setting and what it accepts.
    """
    kind = _kind(name)
    try:
        return kind.read(value)
    except _Unaccepted as fault:
        if str(fault):
            raise SettingError(f"{setting_name(name)}: {fault}") from None
        sentence = f"{setting_name(name)} must be {kind.accepts}"
        raise SettingError(sentence, f", not {describe_value(value)}") from None


def read_settings(value: object) -> Settings:
    """Return the settings of a JSON object; null leaves one unset. Raises SettingError."""
    if not isinstance(value, Mapping):
        raise SettingError("must be an object of settings", f", not {describe_value(value)}")
    found: dict[str, Any] = {}
    for key, inner in cast("Mapping[Any, object]", value).items():
        name = setting_name(str(key))
        if name in found:
            raise SettingError(f"{name} is set twice")
        if inner is not None:
            found[name] = read_setting(name, inner)
    return Settings(**found)


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
    """Return the name of a setting as we call it, from snake_case, camelCase or with hyphens.
    Raises SettingError if there is none.
    """
    found = _snake_case(name.strip()).replace("-", "_")
    if found in SETTINGS:
        return found
    meant = get_close_matches(found, SETTINGS, 1)
    advice = f" (did you mean “{meant[0]}”?)" if meant else f"; settings are {', '.join(SETTINGS)}"
    raise SettingError(f"{describe_value(name)} is not a setting{advice}")


def typed_setting_name(text: str) -> str:
    """Return the name of a setting that a person typed, also where its beginning is enough: `temp`
    or `context`. Raises SettingError.
    """
    start = _snake_case(text.strip()).replace("-", "_")
    found = [name for name in SETTINGS if name.startswith(start)]
    return found[0] if len(found) == 1 and len(start) > 1 else setting_name(text)


def _kind(name: str) -> SettingType:
    return SETTINGS[setting_name(name)]


def _snake_case(name: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _number_of(text: str) -> object:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


_SWITCH_WORDS = {
    **dict.fromkeys(("on", "true", "yes"), True),
    **dict.fromkeys(("off", "false", "no"), False),
}

"""Settings of a request that a person sets: in a session, a preset, a role or an endpoint.

1. A setting that is not set is None. What each one accepts is in its type (see `models.boundary`).
   `context.parameters` says whose value counts.
2. Values come from files, from a command or from a program's export, and all go through
   `read_setting`. As JSON a setting has the shape that a person writes: `"effort": "high"`,
   `"web_search": true`, `"stop": ["END"]`. As text (`/set`, `--set`) words and numbers stand as
   they are, lists and objects as JSON.

`LoreRules` are how a session searches its lorebooks, with the timers of entries that stay active or
pause. `CharacterTexts`, `Injection` and `TextScript` change the texts that are sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import fields
from difflib import get_close_matches
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import (
    Accepts,
    Check,
    Forms,
    Hidden,
    InvalidValue,
    OneOf,
    Path,
    Range,
    accepts,
    hints_of,
    plain,
    read,
    snake_case,
    words_of,
)
from tui_chat.models.json_text import describe_value

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Reasoning efforts, the least first."""
MAX_TEXTS = 64
"""The maximum number of stop sequences, domains or tool names."""
MAX_TEXT = 1_000
"""The maximum length in characters of a stop sequence, a name or an identifier."""
MAX_SCHEMA = 200_000
"""The maximum length in characters of a reply's schema as compact JSON."""
MAX_NOTE = 20_000
"""The maximum length in characters of an author's note."""
MAX_NOTE_DEPTH = 1_000_000
MAX_LORE = 1_000_000
"""The maximum number of tokens, entries or messages in the rules of lorebooks."""
MAX_VARIABLES = 1_000
MAX_INJECTIONS = 1_000
"""The maximum number of injected texts, and of scripts."""
NOTE_DEPTH = 4
"""Depth of an author's note that names none."""
DEPTH_LIMIT = 10**9
NOTE_ROLES: tuple[Literal["system", "user", "assistant"], ...] = ("system", "user", "assistant")

S = TypeVar("S", bound=Sized)


def _sized(most: int, least: int = 0) -> Callable[[S], S]:
    """Return the check of a text's length, or of the number of items."""

    def check(value: S) -> S:
        if least <= len(value) <= most:
            return value
        of = f"{least} to {most:,}" if least else f"at most {most:,}"
        is_text = isinstance(value, str)
        raise ValueError(f"must be text of {of} characters" if is_text else f"must be {of}")

    return check


def _one_line(text: str) -> str:
    if not 0 < len(text) <= MAX_TEXT or not text.isprintable():
        raise ValueError("must be text in one line")
    return text


_Text = Annotated[str, Check(_sized(MAX_TEXT))]
_LongText = Annotated[str, Check(_sized(MAX_NOTE))]
_Word = Annotated[str, Check(_sized(MAX_TEXT, 1))]
_Words = Annotated[tuple[_Word, ...], Check(_sized(MAX_TEXTS))]
_Line = Annotated[
    str, Check(_one_line), Accepts(f"text in one line of at most {MAX_TEXT:,} characters")
]
_Tokens = Accepts("tokens, a whole number")
_Size = Annotated[int, Range(0, MAX_LORE)]
_Depth = Annotated[int, Range(0, MAX_NOTE_DEPTH)]
_MessageDepth = Annotated[float, Range(-DEPTH_LIMIT, DEPTH_LIMIT)]


@dataclass(frozen=True, slots=True)
class LoreRules:
    """The rules by which a session searches its lorebooks."""

    names: bool = False
    """True if each message is searched with the name of its speaker before it."""
    token_budget: _Size | None = None
    """The entries of all books together must cost fewer tokens than this; None for no limit."""
    budget_percent: Annotated[int | None, Range(0, 100)] = None
    """The same, as a share of the context without the reply."""
    budget_cap: _Size = 0
    """The most that `budget_percent` may give; 0 for no limit."""
    min_activations: _Size = 0
    """The minimum of active entries: until it is reached, more messages are searched."""
    min_activations_depth: _Size = 0
    """The most messages that are searched for that; 0 for all."""
    group_scoring: bool = False
    scan_depth: _Size | None = None
    """The number of newest messages that are searched, instead of the books' own; None leaves it to
    them, here and in the next four. An entry's own value goes before both."""
    recursive: bool | None = None
    """True if the content of an entry may activate others."""
    max_recursion_steps: _Size | None = None
    """The most searches, the one of the conversation included; 0 for no limit."""
    case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    tiers: Annotated[tuple[_Size, ...], Check(_sized(MAX_VARIABLES))] = ()
    """For each book: entries of a lower tier get their tokens first; empty for one tier."""


NO_LORE_RULES = LoreRules()


@dataclass(frozen=True, slots=True)
class LoreTimer:
    """An entry that is active, or pauses, for some messages."""

    book: str
    entry: str
    kind: Literal["sticky", "cooldown"]
    start: int
    """The number of messages when it began."""
    end: int
    """The number of messages with which it ends."""
    protected: bool = False
    """True if it holds although no message was added since."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The model may, must or must not call a tool."""

    mode: Literal["auto", "none", "required"]
    names: _Words = ()
    """The only tools it may choose from; empty for all."""


def _tool_choice(value: object) -> object:
    """Read a mode, a tool's name, or an object that may have no mode."""
    if isinstance(value, str):
        is_mode = value in ("auto", "none", "required")
        return {"mode": value} if is_mode else {"mode": "required", "names": [value]}
    return _with_defaults(value, mode="required")


def _with_defaults(value: object, **defaults: object) -> object:
    """Return an object with defaults of its keys; any other value as it is."""
    return {**defaults, **cast("Any", value)} if isinstance(value, Mapping) else value


def _list_with(**defaults: str) -> Callable[[object], object]:
    """Return the reader of a list of objects with defaults of their keys; `{}`: their number."""

    def usual(value: object) -> object:
        if not isinstance(value, list | tuple):
            return value
        return [
            _with_defaults(each, **{key: text.format(number) for key, text in defaults.items()})
            for number, each in enumerate(cast("Sequence[object]", value), 1)
        ]

    return usual


def _schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        size = len(json.dumps(schema, allow_nan=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError):
        raise ValueError("must be JSON, not nested too deeply") from None
    if size > MAX_SCHEMA:
        raise ValueError(f"must have at most {MAX_SCHEMA:,} characters")
    return schema


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The format of the reply."""

    kind: Literal["text", "json", "schema"]
    """`json`: any JSON object. `schema`: JSON after a schema."""
    schema: Annotated[dict[str, Any] | None, Check(_schema)] = None
    dialect: Annotated[Literal["json", "gemini"], Hidden()] = "json"
    """See `ToolDefinition.dialect`."""
    name: _Text = ""
    description: _Text = ""
    strict: bool | None = None


def _response_format(value: object) -> object:
    """Read `text`, `json`, or an object with a schema."""
    if value == "text" or value == "json":
        return ResponseFormat(cast("Literal['text', 'json']", value))
    if isinstance(value, Mapping):
        if not isinstance(cast("Any", value).get("schema"), Mapping):
            raise ValueError("must have a JSON Schema as `schema`")
        return _with_defaults(cast("object", value), kind="schema")
    return value


@dataclass(frozen=True, slots=True)
class SearchLocation:
    """The user's approximate location, for a web search; empty where unknown."""

    city: _Text = ""
    country: _Text = ""
    """Two letters, ISO 3166-1."""
    region: _Text = ""
    timezone: _Text = ""
    """An IANA time zone."""


@dataclass(frozen=True, slots=True)
class WebSearch:
    """The options of a provider's own web search."""

    context_size: Annotated[str, OneOf("low", "medium", "high", "")] = ""
    """The amount of the results that the model reads: `low`, `medium`, `high`; empty for the
    default."""
    location: SearchLocation | None = None
    allowed_domains: _Words = ()
    """Only these sites; empty for all."""
    blocked_domains: _Words = ()
    max_uses: Annotated[int | None, Range(1)] = None
    """Most searches of one request."""
    live: bool | None = None
    """False: only what the provider has stored, no access to the web itself."""
    enabled: Annotated[bool, Hidden()] = True
    """False in a setting that takes away the search that a preset, a role or an endpoint sets."""


def _web_search(value: object) -> object:
    """Read true, false, or an object with options."""
    return WebSearch(enabled=value) if isinstance(value, bool) else value


DEFAULT_SEARCH = WebSearch()
"""A search as the provider does it by default."""


NotePlacement = Literal["depth", "before_main", "after_main"]
NOTE_PLACEMENTS: tuple[NotePlacement, ...] = ("depth", "before_main", "after_main")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class AuthorNote:
    """A message that is inserted into the conversation, near its end."""

    text: _LongText
    """Empty for no note, also where a preset, a role or an endpoint sets one."""
    depth: _Depth = NOTE_DEPTH
    """The number of messages that follow it, the one that is being answered included; 0 for the
    end."""
    role: Literal["system", "user", "assistant"] = "system"
    placement: NotePlacement = "depth"
    """`before_main` and `after_main`: beside the preset's message with the id `main`."""
    interval: Annotated[int, Range(0, 10_000)] = 1
    """Sent if the number of user messages is a multiple of it; 0 for never."""
    searched: bool = False
    """True if the keys of lorebooks are searched for in it."""

    def is_due(self, user_messages: int) -> bool:
        """True if it is sent with so many user messages, the draft included."""
        if self.interval <= 1:
            return self.interval == 1
        return user_messages > 0 and user_messages % self.interval == 0


def _author_note(value: object) -> object:
    """Read a text, or an object that may have none."""
    return {"text": value} if isinstance(value, str) else _with_defaults(value, text="")


@dataclass(frozen=True, slots=True)
class CharacterTexts:
    """Texts that replace those of a character's card; empty for those of the card."""

    scenario: _LongText = ""
    system_prompt: _LongText = ""
    example_dialogues: _LongText = ""


@dataclass(frozen=True, slots=True)
class Injection:
    """A text that is inserted into every request of a session."""

    id: _Text
    content: _LongText
    depth: _Depth = NOTE_DEPTH
    role: Literal["system", "user", "assistant"] = "system"
    placement: NotePlacement = "depth"
    searched: bool = False
    """True if the keys of lorebooks are searched for in it."""


@dataclass(frozen=True, slots=True)
class TextScript:
    """A replacement by a regular expression in what is sent; stored messages stay as they are."""

    name: _Text
    pattern: _LongText
    """In JavaScript's syntax, with or without slashes and flags."""
    replacement: _LongText
    """`$1`, `$<name>` and `{{match}}` stand for what was found."""
    applies_to: tuple[Literal["user", "assistant", "lore"], ...] = ()
    min_depth: _MessageDepth | None = None
    """Only in messages that have at least so many after them."""
    max_depth: _MessageDepth | None = None
    trim: _Words = ()
    """Texts that are removed from what was found."""
    substitutes: Literal["", "raw", "escaped"] = ""
    """The expansion of macros in the pattern: not at all, or as parts of the pattern, or as
    literal texts."""
    is_stored: bool = False
    """True if its author meant it for messages before they are stored. It goes before others."""


def _one_or_more(value: object) -> object:
    """Read a text as a list of one."""
    return [value] if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a request; None where unset. See `Parameters` for their meaning."""

    effort: Annotated[str | None, OneOf(*EFFORTS, "auto")] = None
    reasoning_budget: Annotated[int | None, _Tokens, Range(0, 1_000_000)] = None
    reasoning_summary: Annotated[str | None, OneOf("auto", "concise", "detailed", "none")] = None
    temperature: Annotated[float | None, Range(0, 2)] = None
    top_p: Annotated[float | None, Range(0, 1)] = None
    top_k: Annotated[int | None, Range(1, 1_000_000)] = None
    max_tokens: Annotated[int | None, _Tokens, Range(1, 1_000_000_000)] = None
    stop: Annotated[_Words | None, Forms(_one_or_more), Accepts("a text or a list of texts")] = None
    """Empty: none, also where a preset, a role or an endpoint sets some."""
    seed: Annotated[int | None, Range(-(2**63), 2**63 - 1)] = None
    presence_penalty: Annotated[float | None, Range(-2, 2)] = None
    frequency_penalty: Annotated[float | None, Range(-2, 2)] = None
    verbosity: Annotated[str | None, OneOf("low", "medium", "high")] = None
    response_format: Annotated[
        ResponseFormat | None,
        Forms(_response_format, ("text", "json")),
        Accepts("an object with schema, name, description, strict"),
    ] = None
    web_search: Annotated[WebSearch | None, Forms(_web_search, ("on", "off"))] = None
    parallel_tool_calls: Annotated[bool | None, Accepts("on or off (true or false)")] = None
    tool_choice: Annotated[
        ToolChoice | None, Forms(_tool_choice, ("auto", "none", "required"), "a tool's name")
    ] = None
    service_tier: Annotated[
        str | None, OneOf("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
    ] = None
    user_id: _Line | None = None
    logprobs: Annotated[int | None, Range(0, 20)] = None
    context_limit: Annotated[int | None, _Tokens, Range(1, 1_000_000_000)] = None
    reply_reserve: Annotated[int | None, _Tokens, Range(0, 1_000_000_000)] = None
    author_note: Annotated[AuthorNote | None, Forms(_author_note, also="a text")] = None
    user_name: _Line | None = None
    char_name: _Line | None = None
    lore: LoreRules | None = None
    global_variables: Annotated[
        Mapping[_Word, _LongText] | None,
        Check(_sized(MAX_VARIABLES)),
        Accepts("an object of texts by name"),
    ] = None
    character: CharacterTexts | None = None
    injections: Annotated[
        tuple[Injection, ...] | None,
        Forms(_list_with(id="text-{}", content="")),
        Check(_sized(MAX_INJECTIONS)),
    ] = None
    """Empty: none, also where a preset, a role or an endpoint sets some."""
    scripts: Annotated[
        tuple[TextScript, ...] | None,
        Forms(_list_with(name="", pattern="", replacement="")),
        Check(_sized(MAX_INJECTIONS)),
    ] = None
    """Scripts that go before those of the preset and the card."""
    reply_start: Annotated[_LongText | None, Accepts("a text")] = None
    """Sent as the last message, the assistant's; empty for none, also where a preset, a role or an
    endpoint sets one."""


NO_SETTINGS = Settings()

CONTEXT_SETTINGS = frozenset(
    (
        *("context_limit", "reply_reserve", "author_note", "user_name", "char_name"),
        *("lore", "global_variables", "character", "injections", "scripts", "reply_start"),
    )
)
"""Settings that decide what the model sees; no protocol has them."""

setting_values: Callable[[Settings], tuple[Any, ...]] = attrgetter(
    *(each.name for each in fields(Settings))
)
"""Returns the values of settings in the order of the fields."""


# --- reading and writing one setting -----------------------------------------------------


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
        return hints_of(Settings)[self.name]

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


SETTINGS: Mapping[str, SettingType] = {
    setting.name: SettingType(setting.name) for setting in fields(Settings)
}
"""The settings by their names, in the order in which they are shown."""


def read_setting(name: str, value: object) -> Any:
    """Return the value of a setting, named in snake_case or camelCase, from a JSON value.

    Raises SettingError naming the setting and what it accepts.
    """
    name = setting_name(name)
    try:
        return read(SETTINGS[name].hint, value)
    except InvalidValue as error:
        fault = error.faults[0]
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault.path)
    is_type = fault.sentence.startswith("must be ")
    value_words = f", not {describe_value(fault.value)}" if is_type else ""
    raise SettingError(f"{name}{''.join(steps)} {fault.sentence}", value_words, fault.path)


def read_settings(values: Mapping[str, object]) -> Settings:
    """Return the settings of a JSON object; null leaves one unset. Raises SettingError."""
    given = {setting_name(key): value for key, value in values.items() if value is not None}
    return Settings(**{name: read_setting(name, value) for name, value in given.items()})


def parse_setting(name: str, text: str) -> Any:
    """Return the value of a setting from what a person types. Raises SettingError."""
    kind = SETTINGS[setting_name(name)]
    text = text if kind.is_text else text.strip()
    if text.lstrip()[:1] in ("{" if kind.is_text else ("{", "[", '"')):
        try:
            return read_setting(name, json.loads(text))
        except (ValueError, RecursionError) as fault:
            if isinstance(fault, SettingError):
                raise
            if not kind.is_text:
                what = f"{kind.name}: {describe_value(text)} is not valid JSON"
                raise SettingError(what) from None
    value: object = text
    folded = text.casefold()
    if "off" in kind.words and folded in _SWITCH_WORDS:
        value = _SWITCH_WORDS[folded]
    elif folded in kind.words:
        value = folded
    elif "number" in kind.accepts:
        with suppress(ValueError):
            value = float(text)
            value = int(text)
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

"""Settings of a request that a person sets: in a session, a preset, a role or an endpoint.

A setting that is not set is None. What each one accepts is in its type (see `models.boundary`);
`models.setting_types` reads them, and `context.parameters` says whose value counts.

`LoreRules` are how a session searches its lorebooks, with the timers of entries that stay active or
pause. `CharacterTexts`, `Injection` and `TextScript` change the texts that are sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import fields
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Accepts, Check, Forms, Hidden, OneOf, Range

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


def _at_most(most: int, least: int = 0) -> Callable[[str], str]:
    """Return the check of a text's length."""

    def check(text: str) -> str:
        if least <= len(text) <= most:
            return text
        of = f"{least} to {most:,}" if least else f"at most {most:,}"
        raise ValueError(f"must be text of {of} characters")

    return check


def _not_more(most: int) -> Callable[[S], S]:
    """Return the check of the number of items."""

    def check(items: S) -> S:
        if len(items) > most:
            raise ValueError(f"must be at most {most:,}")
        return items

    return check


def _one_line(text: str) -> str:
    if not 0 < len(text) <= MAX_TEXT or not text.isprintable():
        raise ValueError("must be text in one line")
    return text


_Text = Annotated[str, Check(_at_most(MAX_TEXT))]
_LongText = Annotated[str, Check(_at_most(MAX_NOTE))]
_Word = Annotated[str, Check(_at_most(MAX_TEXT, least=1))]
_Words = Annotated[tuple[_Word, ...], Check(_not_more(MAX_TEXTS))]
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
    tiers: Annotated[tuple[_Size, ...], Check(_not_more(MAX_VARIABLES))] = ()
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


def _injections(value: object) -> object:
    """Read a list of objects that may have neither id nor content."""
    if not isinstance(value, list | tuple):
        return value
    return [
        _with_defaults(each, id=f"text-{number}", content="")
        for number, each in enumerate(cast("Sequence[object]", value), 1)
    ]


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


def _scripts(value: object) -> object:
    """Read a list of objects that may lack a name, a pattern or a replacement."""
    if not isinstance(value, list | tuple):
        return value
    many = cast("Sequence[object]", value)
    return [_with_defaults(script, name="", pattern="", replacement="") for script in many]


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
        Check(_not_more(MAX_VARIABLES)),
        Accepts("an object of texts by name"),
    ] = None
    character: CharacterTexts | None = None
    injections: Annotated[
        tuple[Injection, ...] | None, Forms(_injections), Check(_not_more(MAX_INJECTIONS))
    ] = None
    """Empty: none, also where a preset, a role or an endpoint sets some."""
    scripts: Annotated[
        tuple[TextScript, ...] | None, Forms(_scripts), Check(_not_more(MAX_INJECTIONS))
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

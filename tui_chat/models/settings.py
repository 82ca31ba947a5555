"""Settings of a request that a person sets: in a session, a preset, a role or an endpoint.

A setting that is not set is None. `context.parameters` says whose value counts, and
`models.setting_types` what each one accepts.

`LoreRules` are how a session searches its lorebooks, with the timers of entries that stay active or
pause. `CharacterTexts`, `Injection` and `TextScript` change the texts that are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, Literal

from tui_chat.lazy_dataclass import dataclass

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
"""Depth of an author's note that names none, as in SillyTavern."""


@dataclass(frozen=True, slots=True)
class LoreRules:
    """How a session searches its lorebooks."""

    names: bool = False
    """True if each message is searched with the name of its speaker before it."""
    token_budget: int | None = None
    """The entries of all books together must cost fewer tokens than this; None for no limit."""
    budget_percent: int | None = None
    """The same, as a share of the context without the reply."""
    budget_cap: int = 0
    """The most that `budget_percent` may give; 0 for no limit."""
    min_activations: int = 0
    """The minimum of active entries: until it is reached, more messages are searched."""
    min_activations_depth: int = 0
    """The most messages that are searched for that; 0 for all."""
    group_scoring: bool = False
    scan_depth: int | None = None
    """How many of the newest messages are searched, instead of what the books say; None leaves it
    to them, here and in the next four. What an entry says goes before both."""
    recursive: bool | None = None
    """True if the content of an entry may activate others."""
    max_recursion_steps: int | None = None
    """The most searches, the one of the conversation included; 0 for no limit."""
    case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    tiers: tuple[int, ...] = ()
    """For each book: entries of a lower tier get their tokens first; empty for one tier."""


NO_LORE_RULES = LoreRules()
SILLYTAVERN_RULES = LoreRules(names=True, budget_percent=25)
"""What SillyTavern does unless its settings say otherwise."""


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
    """Whether the model may, must or must not call a tool."""

    mode: Literal["auto", "none", "required"]
    names: tuple[str, ...] = ()
    """The only tools it may choose from; empty for all."""


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The format of the reply."""

    kind: Literal["text", "json", "schema"]
    """`json`: any JSON object. `schema`: JSON after a schema."""
    schema: dict[str, Any] | None = None
    dialect: Literal["json", "gemini"] = "json"
    """See `ToolDefinition.dialect`."""
    name: str = ""
    description: str = ""
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class SearchLocation:
    """Where the user approximately is, for a web search; empty where unknown."""

    city: str = ""
    country: str = ""
    """Two letters, ISO 3166-1."""
    region: str = ""
    timezone: str = ""
    """An IANA time zone."""


@dataclass(frozen=True, slots=True)
class WebSearch:
    """How a provider's own web search is to work."""

    context_size: str = ""
    """How much of the results the model reads: `low`, `medium`, `high`; empty for the default."""
    location: SearchLocation | None = None
    allowed_domains: tuple[str, ...] = ()
    """Only these sites; empty for all."""
    blocked_domains: tuple[str, ...] = ()
    max_uses: int | None = None
    """Most searches of one request."""
    live: bool | None = None
    """False: only what the provider has stored, no access to the web itself."""
    enabled: bool = True
    """False in a setting that takes away the search that a preset, a role or an endpoint sets."""


DEFAULT_SEARCH = WebSearch()
"""A search as the provider does it by default."""


NotePlacement = Literal["depth", "before_main", "after_main"]
NOTE_PLACEMENTS: tuple[NotePlacement, ...] = ("depth", "before_main", "after_main")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class AuthorNote:
    """A message that is inserted into the conversation, near its end."""

    text: str
    """Empty for no note, also where a preset, a role or an endpoint sets one."""
    depth: int = NOTE_DEPTH
    """How many messages follow it, the one that is being answered included; 0 for the end."""
    role: Literal["system", "user", "assistant"] = "system"
    placement: NotePlacement = "depth"
    """`before_main` and `after_main`: beside the preset's message with the id `main`."""
    interval: int = 1
    """Sent if the number of user messages is a multiple of it; 0 for never."""
    searched: bool = False
    """True if the keys of lorebooks are searched for in it."""

    def is_due(self, user_messages: int) -> bool:
        """True if it is sent with so many user messages, the draft included."""
        if self.interval <= 1:
            return self.interval == 1
        return user_messages > 0 and user_messages % self.interval == 0


@dataclass(frozen=True, slots=True)
class CharacterTexts:
    """What is sent instead of texts of a character's card; empty for those of the card."""

    scenario: str = ""
    system_prompt: str = ""
    example_dialogues: str = ""


@dataclass(frozen=True, slots=True)
class Injection:
    """A text that is inserted into every request of a session (SillyTavern's `/inject`)."""

    id: str
    content: str
    depth: int = NOTE_DEPTH
    role: Literal["system", "user", "assistant"] = "system"
    placement: NotePlacement = "depth"
    searched: bool = False
    """True if the keys of lorebooks are searched for in it."""


@dataclass(frozen=True, slots=True)
class TextScript:
    """A replacement by a regular expression in what is sent; stored messages stay as they are."""

    name: str
    pattern: str
    """In JavaScript's syntax, with or without slashes and flags."""
    replacement: str
    """`$1`, `$<name>` and `{{match}}` stand for what was found."""
    applies_to: tuple[Literal["user", "assistant", "lore"], ...] = ()
    min_depth: float | None = None
    """Only in messages that have at least so many after them."""
    max_depth: float | None = None
    trim: tuple[str, ...] = ()
    """Texts that are removed from what was found."""
    substitutes: Literal["", "raw", "escaped"] = ""
    """How the macros in the pattern are expanded: not at all, or as parts of the pattern, or as
    literal texts."""
    is_stored: bool = False
    """True if SillyTavern stores the messages with these replacements. They go before others."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a request; None where unset. See `Parameters` for their meaning."""

    effort: str | None = None
    reasoning_budget: int | None = None
    reasoning_summary: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    """Empty: none, also where a preset, a role or an endpoint sets some."""
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    verbosity: str | None = None
    response_format: ResponseFormat | None = None
    web_search: WebSearch | None = None
    parallel_tool_calls: bool | None = None
    tool_choice: ToolChoice | None = None
    service_tier: str | None = None
    user_id: str | None = None
    logprobs: int | None = None
    context_limit: int | None = None
    reply_reserve: int | None = None
    author_note: AuthorNote | None = None
    user_name: str | None = None
    char_name: str | None = None
    lore: LoreRules | None = None
    global_variables: Mapping[str, str] | None = None
    character: CharacterTexts | None = None
    injections: tuple[Injection, ...] | None = None
    """Empty: none, also where a preset, a role or an endpoint sets some."""
    scripts: tuple[TextScript, ...] | None = None
    """Scripts that go before those of the preset and the card."""
    reply_start: str | None = None
    """Sent as the last message, the assistant's (SillyTavern's “Start Reply With”); empty for
    none, also where a preset, a role or an endpoint sets one."""


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

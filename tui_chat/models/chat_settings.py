"""What a session adds to its requests besides messages and settings: injected texts, rules for
lorebooks, the kind of generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import MessageRole
from tui_chat.models.policies import GenerationKind
from tui_chat.models.settings import NO_LORE_RULES, LoreRules, LoreTimer, NotePlacement

_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Injection:
    """A text that a script put into the conversation (SillyTavern's `/inject`)."""

    id: str
    content: str
    depth: int = 4
    role: MessageRole = "system"
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


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ChatSettings:
    """What a session adds to a request."""

    kind: GenerationKind = "normal"
    quiet_prompt: str = ""
    """The last system message of a request of the kind `quiet`."""
    injections: tuple[Injection, ...] = ()
    lore: LoreRules = NO_LORE_RULES
    timers: tuple[LoreTimer, ...] = ()
    """Lore entries that stay active or pause for some messages."""
    global_variables: Mapping[str, str] = field(default_factory=lambda: _NO_VARIABLES)
    """For `{{getglobalvar::name}}`."""
    scripts: tuple[TextScript, ...] = ()
    strip_examples: bool = False
    """True if no example dialogues are sent."""
    hidden_messages: int = 0
    """Messages of the session that are not sent, for `{{lastMessageId}}`."""
    hidden_user_messages: int = 0
    """Those of the user, for the interval of the author's note."""
    reply_start: str = ""
    """Sent as the last message, the assistant's (SillyTavern's “Start reply with”)."""


NO_CHAT_SETTINGS = ChatSettings()

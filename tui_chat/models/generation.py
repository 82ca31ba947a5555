"""The kinds of generation: what a request asks a model for; and what decides that besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, TypeAlias

from tui_chat.api import RequestKind
from tui_chat.hooks import parts_at
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Check
from tui_chat.models.settings import LoreTimer

GenerationKind: TypeAlias = str
"""The text that a request asks for: the next reply; the rest of the last message; another version
of the last reply, as a version or in its place (`REPLY_KINDS`); or a text that is no message of the
conversation, of a kind that a plugin adds."""

REPLY_KINDS = (
    RequestKind("normal", "Send", "what Enter sends"),
    RequestKind("regenerate", "Regenerate", "another version of the last reply"),
    RequestKind("swipe", "Swipe", "the same, for presets with triggers for swipes"),
    RequestKind("continue", "Continue", "the rest of the last reply"),
)
"""The kinds of generation that write messages of the conversation."""
_SUMMARY = RequestKind("summary", "Compact", "a summary of the older messages")


def side_kinds() -> Iterator[RequestKind]:
    """Return the kinds of generation whose texts are no messages of the conversation."""
    return (kind for _, part in parts_at("builder") for kind in part.about.get("kinds", ()))


def side_kind(name: str) -> RequestKind | None:
    """Return the kind with a name whose text is no message of the conversation; None for others."""
    return next((kind for kind in side_kinds() if kind.name == name), None)


def generation_kinds() -> tuple[GenerationKind, ...]:
    """Return the names of the kinds of generation."""
    return tuple(kind.name for kind in (*REPLY_KINDS, *side_kinds()))


def request_kinds() -> dict[str, RequestKind]:
    """Return what requests are for, by name, in the order in which they are offered: the kinds of
    generation, and the requests about the conversation.
    """
    kinds = *REPLY_KINDS, *side_kinds(), _SUMMARY
    return {kind.name: kind for kind in kinds}


def only_on(kinds: Sequence[GenerationKind]) -> str:
    """Return the actions with which a message is sent, in words."""
    known = request_kinds()
    titles = (known[kind].title if kind in known else kind for kind in kinds)
    return f"only on {' or '.join(titles).lower()}"


def _checked(name: str) -> str:
    kinds = generation_kinds()
    has_side_kinds = len(kinds) > len(REPLY_KINDS)
    if name not in kinds and has_side_kinds:
        raise ValueError(f"must be one of {', '.join(kinds)}")
    return name


Trigger = Annotated[GenerationKind, Check(_checked)]
"""A kind of generation in a file. It may be of a plugin if none is here that adds some."""

_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ChatSettings:
    """Inputs of a request besides messages and settings."""

    kind: GenerationKind = "normal"
    prompt: str = ""
    """The instruction that ends a request of a kind that takes one."""
    timers: tuple[LoreTimer, ...] = ()
    """Lore entries that stay active or pause for some messages."""
    global_variables: Mapping[str, str] = field(default_factory=lambda: _NO_VARIABLES)
    """For `{{getglobalvar::name}}`."""
    hidden_messages: int = 0
    """Messages of the session that are not sent, for `{{lastMessageId}}`."""
    hidden_user_messages: int = 0
    """Those of the user, for the interval of the author's note."""


NO_CHAT_SETTINGS = ChatSettings()

"""Inputs of a request besides messages and settings: kind, lore timers, what is not sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.generation import GenerationKind
from tui_chat.models.settings import LoreTimer

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

"""Roles that sessions are bound to, their character cards, and the profiles of users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, Any, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Range
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.message import MessageRole
from tui_chat.models.settings import NO_SETTINGS, Settings, TextScript

ProfileRole = Literal["system", "user", "assistant"]
ProfilePlacement = Literal["anchor", "note_top", "note_bottom", "depth", "none"]
PROFILE_ROLES: tuple[ProfileRole, ...] = ("system", "user", "assistant")
MAX_PROFILE_DEPTH = 1_000_000
FIRST_ROLE_NAME = "Assistant"
"""The name of the role that an empty database starts with."""
ROLE_FAULTS = ("role-disabled", "role-missing")
"""Codes of the notes about a role with which nothing is sent."""
CARD_PRESET = "character"
"""The name of the preset that sends all of a character card; roles of imported cards have it."""
PROFILE_DEPTH = 2
"""Depth of a profile that names none."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Profile:
    """A name and what the model should know about the person."""

    name: str
    content: str = ""
    placement: ProfilePlacement = "anchor"
    """The destination of its content: to the preset's anchor, to the top or bottom of the author's
    note, or to a depth in the history. `{{persona}}` is independent of it."""
    depth: Annotated[int, Range(0, MAX_PROFILE_DEPTH)] = PROFILE_DEPTH
    """Messages of the conversation after it, for `depth`."""
    role: ProfileRole = "system"
    """For `depth`."""


@dataclass(frozen=True, slots=True)
class DepthPrompt:
    """A text that a card injects into the history."""

    content: str
    depth: int = 4
    """Messages of the conversation after it."""
    role: MessageRole = "system"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Character:
    """A character card. All texts may contain macros."""

    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_message: str = ""
    alternate_greetings: tuple[str, ...] = ()
    example_dialogues: str = ""
    """Blocks that begin with `<START>`; see `context/examples`."""
    system_prompt: str = ""
    """Replaces the preset's message that has `card_field` `system_prompt`; `{{original}}` in it is
    the text of that message."""
    post_history: str = ""
    """Replaces the preset's message with `card_field` `post_history`."""
    depth_prompt: DepthPrompt | None = None
    creator: str = ""
    creator_notes: str = ""
    """For people; not sent."""
    version: str = ""
    tags: tuple[str, ...] = ()
    nickname: str = ""
    """Character cards of version 3; not sent."""
    book: Lorebook | None = None
    """The lorebook in the card."""
    world: str = ""
    """The name of a lorebook that the card is linked to; empty for none."""
    card: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """The JSON of the card's file, with what is unknown here; an export writes it again."""
    scripts: tuple[TextScript, ...] = ()
    """The scripts in the card."""

    @property
    def greetings(self) -> tuple[str, ...]:
        """The texts that may open a conversation, the default first."""
        return tuple(filter(None, (self.first_message, *self.alternate_greetings)))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Role:
    """A system prompt, with the model and settings to use."""

    role_id: str
    name: str
    system_prompt: str = ""
    model: str = ""
    """Empty: the endpoint's default."""
    settings: Settings = NO_SETTINGS
    preset: str = ""
    """Name of the preset its sessions start with; empty for the default."""
    status: Literal["enabled", "disabled"] = "enabled"
    """A disabled role cannot start a session, and its old ones send nothing with it."""
    character: Character | None = None
    """The character card; None for a role that is none."""

"""A role: a named assistant that a session is bound to when it is created."""

from __future__ import annotations

from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.character import Character
from tui_chat.models.settings import NO_SETTINGS, Settings


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
    """A disabled role cannot start a session and adds nothing to its old ones."""
    character: Character | None = None
    """The character card; None for a role that is none."""

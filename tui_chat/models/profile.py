"""A profile: who the user is, sent at a preset's `user_profile` anchor."""

from __future__ import annotations

from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import MessageRole

ProfilePlacement = Literal["anchor", "note_top", "note_bottom", "depth", "none"]
PROFILE_PLACEMENTS: tuple[ProfilePlacement, ...] = (
    *("anchor", "note_top", "note_bottom", "depth", "none"),
)
PROFILE_ROLES: tuple[MessageRole, ...] = ("system", "user", "assistant")
MAX_PROFILE_DEPTH = 1_000_000
PROFILE_DEPTH = 2
"""Depth of a profile that names none, as in SillyTavern."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Profile:
    """A name and what the model should know about the person."""

    name: str
    content: str
    placement: ProfilePlacement = "anchor"
    """Where its content goes: to the preset's anchor, to the top or bottom of the author's note, or
    to a depth in the history. `{{persona}}` is independent of it."""
    depth: int = PROFILE_DEPTH
    """Messages of the conversation after it, for `depth`."""
    role: MessageRole = "system"
    """For `depth`."""

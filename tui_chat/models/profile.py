"""A profile: who the user is, sent at a preset's `user_profile` anchor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Profile:
    """A name and what the model should know about the person."""

    name: str
    content: str

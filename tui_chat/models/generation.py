"""The kinds of generation: what a request asks for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

GenerationKind = Literal["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"]
"""The text that a request asks for: the next reply; the rest of the last message; the user's next
message; another version of the last reply, as a version or in its place; a text that is no
reply."""

GENERATION_KINDS: tuple[GenerationKind, ...] = (
    *("normal", "continue", "impersonate", "swipe", "regenerate", "quiet"),
)

RequestKind = GenerationKind | Literal["title", "summary"]
"""A generation kind, or a request about the conversation: for its title, or for a summary of its
older part."""

KIND_TITLES: Mapping[RequestKind, str] = MappingProxyType(
    {
        "normal": "Send",
        "regenerate": "Regenerate",
        "swipe": "Swipe",
        "continue": "Continue",
        "impersonate": "Impersonate",
        "quiet": "Quiet prompt",
        "summary": "Compact",
        "title": "Suggest title",
    }
)
"""The names of the actions, in the order in which they are offered."""

"""A preset: the messages around the conversation.

A preset is an ordered list of preset messages, some of which are anchors. An anchor is a
place; its own content is not sent. Messages are put at their place in the list, before or
after an anchor, or at a depth inside the history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

from tui_chat.hooks import parts_at
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Forms, Range
from tui_chat.models.generation import Trigger
from tui_chat.models.message import MessageRole
from tui_chat.models.settings import NO_SETTINGS, Settings, TextScript

PresetMessageType = Literal[
    "message", "chat_history", "user_profile", "placeholder", "example_dialogues"
]
CardField = Literal["", "system_prompt", "post_history"]
AnchorPoint = Literal["before", "after"]
SystemPlacement = Literal["hoist", "in_place"]
CacheLifetime = Literal["5m", "1h"]
"""The time for which Anthropic is asked to keep a prompt up to a mark."""

FIRST_BUILDER = "sillytavern"
"""The context builder of presets with policies that name none: files are older than other builders.
"""
CHAT_HISTORY = "__CHAT_HISTORY__"
"""The anchor id of the conversation, whatever id its preset message has."""
OTHERWISE = "-otherwise"
"""End of the id of a message that stands for another one with other kinds of generation."""


def depth_words(insertion_point: int) -> str:
    """Return a place in the history in the words of the field: `depth 2` has two messages after it,
    the draft among them. A place that is counted from the oldest message is `after message 3`.
    """
    if insertion_point < 0:
        return f"depth {-insertion_point}"
    return f"after message {insertion_point}" if insertion_point else "before message 1"


_MARKS: tuple[tuple[object, CacheLifetime | None], ...] = (
    (False, None),
    (True, "5m"),
    ({"type": "ephemeral"}, "5m"),
    ({"type": "ephemeral", "ttl": "5m"}, "5m"),
    ({"type": "ephemeral", "ttl": "1h"}, "1h"),
)
"""Cache marks as files write them: true, false, or Anthropic's form."""


def _lifetime(mark: object) -> CacheLifetime | None:
    for form, lifetime in _MARKS:
        if mark == form and isinstance(mark, bool) is isinstance(form, bool):
            return lifetime
    raise ValueError('must be true, false or {"type": "ephemeral", "ttl": "5m" or "1h"}')


_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PresetMessage:
    """One message of a preset."""

    id: str
    role: MessageRole = "system"
    content: str = ""
    type: PresetMessageType = "message"
    name: str = ""
    enabled: bool = True
    insertion_point: Annotated[int | None, Range()] = None
    """Place in the truncated history: 0 before the oldest message, n after the n-th, -1 after the
    newest, -2 before the newest. Clamped to the end it passes. On the screen -2 is depth 2: the
    newest message and the draft follow."""
    anchor_point: AnchorPoint | None = None
    anchor_target: str | None = None
    """Id of the anchor; None with an `anchor_point` means the history."""
    order: Annotated[int, Range()] = 0
    """Sorts messages at one point; equal orders keep the preset's order."""
    cache_control: Annotated[CacheLifetime | None, Forms(_lifetime)] = None
    """A cache mark: a provider that takes marks is asked to keep the prompt up to and with this
    message. On a `chat_history` anchor: up to and with the newest message before which nothing
    moves from one request to the next. None for no mark."""
    requires: str = ""
    """The name of a variable without which the message is not sent: one whose value is empty or
    only white space. Empty if the message requires none."""
    triggers: tuple[Trigger, ...] = ()
    """The kinds of generation with which it is sent; empty for all."""
    card_field: CardField = ""
    """The prompt of a character card that replaces its content; empty for none."""
    extras: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Unknown keys of the file, kept for the next save."""

    @property
    def is_anchor(self) -> bool:
        """True if this is a place rather than something to send."""
        return self.type != "message"

    @property
    def anchor_id(self) -> str:
        """The name by which other messages target this anchor."""
        return CHAT_HISTORY if self.type == "chat_history" else self.id


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Preset:
    """A named list of preset messages with its settings."""

    name: str
    messages: tuple[PresetMessage, ...] = ()
    system_placement: SystemPlacement = "hoist"
    """`hoist`: all system messages go first. `in_place`: each stays in its place."""
    variables: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """Values of `{{getvar::name}}` and `{{name}}`; a session's values override them."""
    settings: Settings = NO_SETTINGS
    """Settings of requests with this preset; a session's override them."""
    builder: str = ""
    """The name of the context builder that builds its requests; see `builder_name`."""
    policies: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Options of that builder that differ from the usual ones, by their names; the core does not
    interpret them."""
    extras: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Unknown keys of the file, kept for the next save."""
    scripts: tuple[TextScript, ...] = ()
    """The scripts that it brings."""

    @property
    def builder_name(self) -> str:
        """The name of the builder; empty for the core's, which has no policies."""
        return self.builder or (FIRST_BUILDER if self.policies else "")

    def without_builder_keys(self) -> Preset:
        """Return the preset without keys that only builders read; its requests are the same."""
        kept = {key: value for key, value in self.extras.items() if key not in preset_keys()}
        return self if len(kept) == len(self.extras) else replace(self, extras=kept)


def preset_keys() -> tuple[str, ...]:
    """Return the keys of preset files that only the builders of plugins read."""
    builders = (part for _, part in parts_at("builder"))
    return tuple(key for builder in builders for key in builder.about.get("preset_keys", ()))

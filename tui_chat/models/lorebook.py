"""A lorebook: content that is sent when its keys occur in the conversation.

An entry has keys; where one occurs in the newest messages, its content is added to the request.
Where it then stands is said in a preset's own words (`insertion_point`, `anchor_point`,
`anchor_target`, `order`); an entry that says none of them stands directly before the history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, Any, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Accepts, Check, Forms, Range
from tui_chat.models.generation import Trigger
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import AnchorPoint

SecondaryLogic = Literal["and_any", "and_all", "not_any", "not_all"]
"""The condition on the secondary keys of an entry one of whose keys occurs: any occurs, all occur,
none occurs, not all occur."""

LorePosition = Literal[
    "",
    "before_character",
    "after_character",
    "note_top",
    "note_bottom",
    "depth",
    "examples_top",
    "examples_bottom",
    "outlet",
]
"""A place with a name, which only some builders have. `before_character` and `after_character` are
the macros `{{worldInfoBefore}}` and `{{worldInfoAfter}}`, an outlet is `{{outlet::name}}`."""

MatchSource = Literal[
    "persona", "description", "personality", "depth_prompt", "scenario", "creator_notes"
]
"""A text besides the conversation in which keys are searched for."""


_NOTHING: Mapping[str, Any] = MappingProxyType({})
LARGEST_NUMBER = 2**53 - 1
"""The largest number in a lorebook, which a number of JavaScript still holds exactly."""
_Count = Annotated[int, Range(0, LARGEST_NUMBER)]
_Number = Annotated[int, Range(-LARGEST_NUMBER, LARGEST_NUMBER)]


def _level(value: object) -> object:
    """Return the level of an entry that is one of the first level, or of none."""
    return int(value) if isinstance(value, bool) else value


@dataclass(frozen=True, slots=True, weakref_slot=True)
class LorebookEntry:
    """A piece of lore and the keys that activate it."""

    id: str
    """Unique in its book."""
    content: str = ""
    """The sent text. Macros are expanded."""
    keys: tuple[str, ...] = ()
    """Words, or regular expressions as `/.../flags`. One that occurs is enough."""
    name: str = ""
    """Its display name."""
    enabled: bool = True
    constant: bool = False
    """Always active."""
    secondary_keys: tuple[str, ...] = ()
    """Checked only if there are any."""
    secondary_logic: SecondaryLogic = "and_any"
    role: MessageRole = "system"
    """The role of its message."""
    insertion_point: _Number | None = None
    """Depth in the history, as in a preset message: -1 after the newest message."""
    anchor_point: AnchorPoint | None = None
    anchor_target: str | None = None
    """Id of an anchor; None with an `anchor_point` means the history."""
    order: _Number = 100
    """The higher, the more important: the first to get tokens, and the nearer to the end."""
    scan_depth: _Count | None = None
    """The number of newest messages, draft included, that are searched; None takes the book's."""
    case_sensitive: bool | None = None
    """None takes the book's."""
    whole_words: bool | None = None
    """None takes the book's."""
    prevent_recursion: bool = False
    """True if its content activates no other entries."""
    exclude_recursion: bool = False
    """True if the content of other entries does not activate it."""
    delay_until_recursion: Annotated[
        _Count, Forms(_level), Accepts("true, false or a whole number")
    ] = 0
    """Above 0: only the content of other entries activates it, and such entries one level after
    the other."""
    ignore_budget: bool = False
    probability: Annotated[float, Range(0, 100), Check(float)] = 100.0
    """In percent, 0 to 100."""
    position: LorePosition = ""
    """The place with a name, if the preset's builder has it; empty for those said above."""
    outlet: str = ""
    """The name of its outlet."""
    groups: tuple[str, ...] = ()
    """Groups that the entry belongs to; only one of a group's active entries is sent."""
    group_override: bool = False
    """True if the highest `order` wins in its group, instead of a draw."""
    group_weight: _Count = 100
    """Its weight in the draw."""
    group_scoring: bool | None = None
    """True if only the entries of its group with the most matching keys may win; None takes the
    session's rule."""
    sticky: _Count = 0
    """Stays active for so many messages."""
    cooldown: _Count = 0
    """Pauses for so many messages after it was active."""
    delay: _Count = 0
    """Is not active before there are so many messages."""
    triggers: tuple[Trigger, ...] = ()
    """The kinds of generation with which it may be active; empty for all."""
    characters: tuple[str, ...] = ()
    """The names of the roles with which it may be active; empty for all."""
    character_tags: tuple[str, ...] = ()
    """Or their tags."""
    characters_excluded: bool = False
    """True if these are the ones with which it is not active."""
    sources: tuple[MatchSource, ...] = ()
    """Texts besides the conversation in which its keys are searched for."""
    extras: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Unknown keys of the file, kept for the next save."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Lorebook:
    """A named list of entries with what holds for all of them."""

    name: str
    entries: tuple[LorebookEntry, ...] = ()
    scan_depth: _Count = 2
    """The number of newest messages, draft included, that are searched; 0 for none."""
    token_budget: _Count | None = None
    """Tokens that its entries may cost together; None for no limit of its own."""
    recursive: bool = True
    """True if the content of an entry may activate others."""
    max_recursion: _Count = 10
    """The maximum depth of such activations."""
    case_sensitive: bool = False
    whole_words: bool = True
    """True if `cat` is not found in `catalog`. Applies to single-word keys only; letters of
    scripts that put no blanks between words are found anywhere."""
    extras: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Unknown keys of the file, kept for the next save."""

"""Everything a request depends on. The same inputs give the same bytes.

The newest user message is the draft, typed or stored: `with_answered_as_draft` puts the branch's
final user message into the draft's place, so that whatever reads the inputs afterwards (depths,
macros, lorebooks, other contributors, the budget) cannot tell a regeneration from the first send.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType

from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message, Part
from tui_chat.models.preset import Preset
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.tokens import NO_CORRECTION, Correction


@dataclass(frozen=True, slots=True)
class Settings:
    """What the session itself says; None and empty mean that it leaves it to the role."""

    model: str = ""
    temperature: float | None = None
    max_tokens: int | None = None


NO_SETTINGS = Settings()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Inputs:
    """The whole input of `compose`."""

    endpoint: Endpoint
    preset: Preset
    history: tuple[Message, ...] = ()
    """Oldest first, each with an id."""
    draft: str = ""
    """What the user is typing; empty for none (a regeneration, or nothing typed yet). The context
    builder and its contributors find the answered message's text here; see `answered`."""
    draft_parts: tuple[Part, ...] = ()
    """Pictures, sounds and files that go with the draft."""
    role: Role | None = None
    profile: Profile | None = None
    settings: Settings = NO_SETTINGS
    stream: bool = True
    context_limit: int | None = None
    """Tokens of input and output together; None to take the model's, where it is known."""
    reply_reserve: int | None = None
    """Tokens kept free for the reply; None to take max_tokens, where it is set."""
    now: datetime = EPOCH
    """What macros take for the time, in the zone it is to be told in."""
    seed: int = 0
    """What `{{random}}` and `{{roll}}` take for chance, and lore entries for their probability.
    Another seed gives another request; the same seed the same bytes."""
    session_seed: int = 0
    """What `{{pick}}` takes for chance: to be the same for as long as the session lives."""
    lorebooks: tuple[Lorebook, ...] = ()
    """Whose entries are added when the talk comes to them; earlier books go first."""
    variables: Mapping[str, str] = field(default_factory=lambda: NO_VARIABLES)
    """Variables of the session, for `{{getvar::name}}` and `{{name}}`; they win over the
    preset's. Not to be changed afterwards."""
    tools: tuple[ToolDefinition, ...] | None = None
    """What the model may call; None where nothing was said about tools."""
    correction: Correction = NO_CORRECTION
    """How far the model's token estimates were off so far."""
    role_missing: bool = False
    """Whether the session is bound to a role that is gone."""
    answered: Message | None = None
    """The stored message that the draft repeats; None where the draft is typed. Set by
    `with_answered_as_draft` alone."""

    @property
    def has_draft(self) -> bool:
        """True if a user message follows the history: typed (attachments count), or stored."""
        return bool(self.draft or self.draft_parts) or self.answered is not None

    @property
    def user_name(self) -> str:
        """What `{{user}}` stands for."""
        return self.profile.name if self.profile is not None and self.profile.name else "User"

    @property
    def char_name(self) -> str:
        """What `{{char}}` stands for."""
        return self.role.name if self.role is not None and self.role.name else "Assistant"


@recent_memo()
def _without_last(history: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the same tuple for the same history: what is known of one is found by its identity."""
    return history[:-1]


def with_answered_as_draft(inputs: Inputs) -> Inputs:
    """Return the inputs with the branch's final user message in the draft's place.

    Where something is typed, or the branch does not end with a user message, the inputs are
    returned as they are.
    """
    history = inputs.history
    if inputs.draft or inputs.draft_parts or not history or history[-1].role != "user":
        return inputs if inputs.answered is None else replace(inputs, answered=None)
    last = history[-1]
    return replace(
        inputs,
        history=_without_last(history),
        draft=last.content,
        draft_parts=last.parts,
        answered=last,
    )

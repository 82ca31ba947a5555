"""Everything a request depends on. The same inputs give the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from tui_chat.model.endpoint import Endpoint
from tui_chat.model.message import Message
from tui_chat.model.preset import Preset
from tui_chat.model.profile import Profile
from tui_chat.model.role import Role


@dataclass(frozen=True, slots=True)
class Settings:
    """What the session itself says; None and empty mean that it leaves it to the role."""

    model: str = ""
    temperature: float | None = None
    max_tokens: int | None = None


NO_SETTINGS = Settings()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The whole input of `compose`."""

    endpoint: Endpoint
    preset: Preset
    history: tuple[Message, ...] = ()
    """Oldest first, each with an id."""
    draft: str = ""
    """What the user is typing; empty for none (a regeneration, or nothing typed yet)."""
    role: Role | None = None
    profile: Profile | None = None
    settings: Settings = NO_SETTINGS
    stream: bool = True
    context_limit: int | None = None
    """Tokens of input and output together; None to take the model's, where it is known."""
    reply_reserve: int | None = None
    """Tokens kept free for the reply; None to take max_tokens, where it is set."""
    now: datetime = EPOCH
    """What macros take for the time."""
    seed: int = 0
    """What macros take for chance."""

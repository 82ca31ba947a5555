"""What a message has that no protocol sends: where it comes from, and what is known of it."""

from __future__ import annotations

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.settings import LoreTimer
from tui_chat.models.sources import NO_REFERENCES, References


@dataclass(frozen=True, slots=True)
class Summary:
    """The messages that a summary stands for: all of its branch before it but the last `kept`.

    Messages are counted as they are sent: without empty replies. What leads to a message never
    changes, so the numbers hold in forks and exports too.
    """

    kept: int
    """The number of messages directly before the summary that are still sent."""
    messages: int
    """The number of messages that it replaced when it was written."""
    enabled: bool = True
    """False if the messages are sent again, and the summary is not."""


@dataclass(frozen=True, slots=True)
class Brought:
    """The place that a message was brought from: in another branch, or a server's prompt."""

    message_id: str = ""
    """The copied reply, or the last message that was summed up; empty for a prompt."""
    messages: int = 0
    """The number of messages that were summed up; 0 for a copied reply."""
    prompt: str = ""
    """The prompt as `SERVER:PROMPT`, and what the server says that it is."""

    @property
    def words(self) -> str:
        """The origin in words."""
        if self.prompt:
            return f"from {self.prompt}"
        branch = "another branch of this conversation"
        if not self.messages:
            return f"from {branch}"
        return f"a summary of {self.messages:,} message{'s' * (self.messages != 1)} of {branch}"


@dataclass(frozen=True, slots=True)
class About:
    """What a message has that no protocol sends. The workspace writes `summary` and `brought`,
    importers `source` and `lore_timers`, and replies the rest.
    """

    references: References = NO_REFERENCES
    """The sources of a reply."""
    is_speaker_chosen: bool = False
    """True if the message's name was chosen for it alone."""
    summary: Summary | None = None
    """The messages that it replaces, if it is a summary of earlier messages."""
    brought: Brought | None = None
    """Its place of origin, if it was brought from another branch or has a server's prompt."""
    source: str = ""
    """The message in another program's file, as compact JSON, for an export back; empty for
    none."""
    lore_timers: tuple[LoreTimer, ...] | None = None
    """The timers of lore entries after it, as an imported chat has them; None to compute them."""
    tokens: str = ""
    """The tokens of a reply with their probabilities, packed by `token_probabilities`; empty if the
    provider sent none."""


NOTHING_ABOUT = About()

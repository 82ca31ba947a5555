"""A session: a conversation as a tree of messages, of which one branch is shown."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message, MessageRole
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.models.usage import NO_USAGE, CacheLoss, Usage

EntryStatus = Literal["streaming", "complete", "stopped", "failed", "interrupted"]
"""`complete` for all that a person wrote. A reply is `streaming` from before its request
leaves, and ends `complete`, `stopped` (by the user), `failed` (by the provider) or, found
streaming at the next start, `interrupted`."""


UNPRICED = "unknown"
"""`Entry.priced` of a reply that prices were sought for and not found, also not later."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Entry:
    """A message in its session's tree, with the state of its reply."""

    message: Message
    """Its `id` is set."""
    parent_id: str | None = None
    """The message before it on its branch; None for a first one."""
    status: EntryStatus = "complete"
    error: str = ""
    """The error message; of a complete reply the provider's words for an end that was not normal.
    Empty if there is none."""
    advice: str = ""
    """Advice about the error."""
    model: str = ""
    """The model that was asked, for replies."""
    endpoint: str = ""
    """Name of the endpoint that was asked, for replies."""
    usage: Usage = NO_USAGE
    finish: str = ""
    """The provider's own word for why it stopped."""
    seconds: float | None = None
    """From the request's departure to the reply's last byte."""
    first: float | None = None
    """Seconds from the request's departure to the reply's first word; None if unknown."""
    sibling: int = 0
    """Its place among the messages that follow the same one, counted from 0, oldest first."""
    siblings: int = 1
    """The number of these messages, itself included."""
    unsaved: str = ""
    """A sentence why the end of this reply is only in memory; empty if it is stored."""
    cost: Decimal | None = None
    """The cost in US dollars; None if unknown."""
    priced: str = ""
    """Whose prices `cost` is from, and of which day; `UNPRICED` if there are none for what the
    request was, and empty if nobody asked."""
    cache_loss: CacheLoss | None = None
    """The part of the prompt cache that its request lost; None if nothing is known to be lost."""


@dataclass(frozen=True, slots=True)
class PlaceName:
    """A name that the user gave a message, to find that place of the session's tree again."""

    message_id: str
    name: str


class LastSession(NamedTuple):
    """The session that was open last, and that the next start opens."""

    session_id: str
    """Empty for a new chat."""
    title: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Session:
    """A conversation's own settings; empty strings and None mean: not set here."""

    session_id: str
    title: str
    role_id: str | None = None
    """Bound at creation, and never changed for another one."""
    model: str = ""
    endpoint: str = ""
    preset: str = ""
    profile: str = ""
    head_id: str | None = None
    """The last message of the branch that is shown; None while it is empty."""
    settings: Settings = NO_SETTINGS
    pinned: bool = False
    """Kept at the top of the list."""
    archived: bool = False
    """Hidden from the list, but not deleted."""
    folder: str = ""
    tags: tuple[str, ...] = ()
    lorebooks: tuple[str, ...] = ()
    """Names of the lorebooks used besides the preset's own."""
    lost_role: str = ""
    """The name of its deleted role; empty if none was deleted."""
    created: float = 0.0
    """Seconds since the epoch, UTC."""
    updated: float = 0.0
    fork_of: str = ""
    """The title of the session that it was forked from; empty if it is no fork."""
    client: str = ""
    """The program whose requests it has, if they were recorded."""
    parent_id: str = ""
    """The session that it is a side conversation of: a title call, a subagent; empty for none."""
    edits: tuple[RequestEdit, ...] = ()
    """Edits of its requests by hand."""
    places: tuple[PlaceName, ...] = ()
    """Named places of its tree, at most one name for each message."""

    @property
    def lasting_edits(self) -> tuple[RequestEdit, ...]:
        """The edits that hold for every request, or for one that was sent: an export has them, not
        those that wait for what is being typed.
        """
        return tuple(edit for edit in self.edits if edit.kept or edit.answered)


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that is stored together with its first message."""

    session: Session
    """Without times; without a title it is called like its role."""
    greetings: tuple[Message, ...] = ()
    """The versions of the message that it opens with, with ids."""
    shown: str = ""
    """The id of the greeting that is shown."""
    tools: str = ""
    """The names of the tools that were chosen for it, as JSON; empty if none were."""


class Node(NamedTuple):
    """A message as its session's tree has it, without its text; a tuple, because there are many."""

    message_id: str
    parent_id: str | None
    message_role: MessageRole
    status: EntryStatus
    created: float
    """Seconds since the epoch, UTC."""
    model: str
    """The model that was asked, for replies."""


class SpeakerNames(NamedTuple):
    """The names of those who speak in a session; empty where nothing gives one."""

    user: str = ""
    character: str = ""
    """The name of the one who replies."""


class SessionSummary(NamedTuple):
    """A session as the list shows it.

    A tuple, because all of them are read at once: 20,000 are made in 20 ms instead of 70.
    """

    session_id: str
    title: str
    role_name: str
    """Empty if the session has no role, or its role was deleted."""
    model: str
    endpoint: str
    message_count: int
    """Messages on all branches, deleted ones aside; see `SessionStore.counted_by_branch`."""
    total_tokens: int
    """Input and output tokens reported for its replies."""
    status: EntryStatus
    """The status of the newest reply on the shown branch; `complete` for an empty session."""
    updated: float
    """The time of the last message, in seconds since the epoch, UTC."""
    created: float = 0.0
    pinned: bool = False
    archived: bool = False
    unread: bool = False
    """True if a reply arrived that was not shown yet."""
    folder: str = ""
    tags: tuple[str, ...] = ()
    deleted: float | None = None
    """Time of deletion; None if it is not in the trash."""
    fork_of: str = ""
    """The title of the session that it was forked from; empty if it is no fork."""
    client: str = ""
    """See `Session.client`."""
    parent_id: str = ""
    """See `Session.parent_id`."""


def last_reply(entries: Sequence[Entry]) -> Entry | None:
    """Return the last message of a branch that a model wrote; None if no model has replied."""
    return next((entry for entry in reversed(entries) if entry.message.role == "assistant"), None)

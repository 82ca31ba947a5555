"""Sessions: a conversation as a tree of messages, of which one branch is shown; the requests that
were sent for it, with their responses; and a conversation outside of any database.

1. A request is kept as it was sent and its response as it was received, so that any reply can show
   what produced it. A `SideRequest` is no part of a conversation: it asked a model for a title, a
   summary, or a text of a kind that a plugin adds.
2. Readers of foreign files make transcripts, the store takes them in and gives them out, writers
   turn them into files; so none of these knows another. Ids in them are stable: reading the same
   file again gives the same ids. Taking a transcript in twice adds nothing, and taking in one that
   has grown adds what is new. A message that is there already stays as it is, and so do the
   settings of a session: a person may have changed them since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import InvalidValue, read_own
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, MessageRole
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.role import Role
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


@dataclass(frozen=True, slots=True)
class SideRequest:
    """One such request as it ended."""

    session_id: str
    """Empty for a new chat, which has no session yet; then only what it cost is kept."""
    kind: str
    """See `models.generation.request_kinds`."""
    endpoint: str
    model: str
    status: Literal["complete", "stopped", "failed"]
    reply: str = ""
    usage: Usage = NO_USAGE
    cost: Decimal | None = None
    priced: str = ""
    """See `Entry.priced`."""
    error: str = ""
    created: float = 0.0
    """Seconds since the epoch, UTC; set by the store."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as another program sent it, with the credentials masked."""

    method: str
    url: str
    """With its query; empty if it was not recorded."""
    headers: tuple[tuple[str, str], ...] | None
    """In the order sent and as spelled there; None if they were not recorded."""
    body: bytes
    """Content encoding undone."""
    is_masked: bool = False
    """True if credentials are masked in the body, so that it is not the one that was sent."""
    missing: str = ""
    """The part of the body that was not recorded, as words of a sentence; empty if it is
    complete."""
    came: str = ""
    """The body as the program sent it, if the user edited it on its way; else empty."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request that was sent and the recipe it was composed from. Never carries a key."""

    endpoint: str
    """Name of the endpoint."""
    protocol: Protocol
    method: str
    """`POST`, almost always."""
    url: str
    """Without user, password and key parameters, which the caller must remove."""
    sha256: str
    """The digest of the body as it is kept, in hex; stays when the body itself is no longer
    kept."""
    recipe: Mapping[str, Any]
    """The inputs from which the body was composed (preset revision, head, draft, settings,
    versions), as JSON values; of a recorded request what else is known of it, see
    `recorded_recipe`."""
    body: bytes | None = None
    """The exact bytes; None for older requests."""
    created: float = 0.0
    """Seconds since the epoch, UTC; the store sets it."""

    @property
    def is_recorded(self) -> bool:
        """True if another program sent it."""
        return self.recipe.get("source") in RECORDED_SOURCES

    @property
    def recorded(self) -> RecordedRequest | None:
        """The request of another program, as it was sent; None for ours, or if its body is gone."""
        if not self.is_recorded or self.body is None:
            return None
        missing, came = self.recipe.get("missing"), self.recipe.get("came")
        return RecordedRequest(
            self.method,
            "" if self.recipe.get("source") == TRANSCRIPT else self.url,
            _header_pairs(self.recipe.get("headers")),
            self.body,
            self.recipe.get("masked") is True,
            missing if isinstance(missing, str) else "",
            came if isinstance(came, str) else "",
        )


TRANSCRIPT = "transcript"
RECORDED_SOURCES = ("tap", TRANSCRIPT)
"""The `source` of recorded requests' recipes: recorded on the way, or kept by the sender."""


def recorded_recipe(source: str, request: RecordedRequest, client: str = "") -> dict[str, Any]:
    """Return the recipe of a recorded request: what its record has no other place for."""
    headers = None if request.headers is None else [list(pair) for pair in request.headers]
    optional = {
        "headers": headers,
        "masked": request.is_masked or None,
        "missing": request.missing or None,
        "came": request.came or None,
    }
    set_ones = {key: value for key, value in optional.items() if value is not None}
    return {"source": source, "client": client, **set_ones}


def _header_pairs(value: object) -> tuple[tuple[str, str], ...] | None:
    """Return stored headers; None if there are none, or they are not pairs of texts."""
    try:
        return read_own(tuple[tuple[str, str], ...] | None, value)
    except InvalidValue:
        return None


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request and the reply that it produced."""

    message_id: str
    """The id of the reply."""
    request: RequestRecord


@dataclass(frozen=True, slots=True)
class StoredExchange:
    """A user message and the reply that is about to arrive, both stored."""

    user: Entry | None
    """None when a reply is regenerated."""
    reply: Entry
    """Empty and `streaming`."""


@dataclass(frozen=True, slots=True)
class NewExchange:
    """A user message and the request for the reply to it, to be stored before that leaves."""

    parent_id: str | None
    """What the message follows or, without one, what the reply follows."""
    user: Message | None
    """None when a reply is regenerated."""
    model: str
    request: RequestRecord


@dataclass(frozen=True, slots=True)
class Beginning:
    """Exchanges of a session, and what is stored with them: all of it or nothing."""

    session_id: str
    exchanges: tuple[NewExchange, ...]
    """In the order in which they are stored; the last reply becomes the session's head."""
    new: NewSession | None = None
    """The session, if it begins with them."""
    edits: tuple[RequestEdit, ...] | None = None
    """The session's edits by hand from now on; None leaves them as they are."""
    is_at_head: bool = False
    """True if the first exchange must follow the session's last message."""
    revisions: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Kind and text of what the recipes name, by that name."""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings of the program that change with it."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What was stored of a `Beginning`."""

    exchanges: tuple[StoredExchange, ...]
    summary: SessionSummary | None
    """The session as the list shows it now."""
    session: Session | None = None
    """The session, if it is new."""


@dataclass(frozen=True, slots=True)
class EndChanges:
    """What is stored with the end of a reply."""

    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings of the program that change with it."""
    unread: bool = False
    """True if the session is to be marked as unread."""


@dataclass(frozen=True, slots=True)
class StoredEnd:
    """A reply that has ended, as it is stored."""

    entry: Entry
    summary: SessionSummary | None = None
    """The session as the list shows it now; None if it is in the trash."""


@dataclass(frozen=True, slots=True)
class CallSummary:
    """A request and its reply, as the list of calls shows it."""

    message_id: str
    """The id of the reply."""
    session_id: str
    program: str
    """The program that sent it; empty if it was this one, or is unknown."""
    model: str
    created: float
    """The time of sending, in seconds since the epoch, UTC."""
    status: EntryStatus
    error: str
    usage: Usage
    cost: Decimal | None
    loss: CacheLoss | None
    is_side: bool
    """True for a call of a side conversation of the session."""


MAX_RESPONSE_BYTES = 1024 * 1024
"""Bytes of one response that are kept; of a longer one the newest."""
ARRIVAL_TICK = 10
"""Least milliseconds between two of a response's `times`."""


@dataclass(frozen=True, slots=True)
class RawResponse:
    """The body of a response as it was received. Of its headers only the media type is kept."""

    status: int
    """The HTTP status."""
    media: str
    """`text/event-stream`, `application/json`, ...; empty if the server named none."""
    body: bytes
    """As received, content encoding undone; the request's key is masked."""
    size: int
    """Bytes received, of which `body` has the newest."""
    times: tuple[tuple[int, int], ...] = ()
    """Milliseconds after the request was sent, and bytes received by then; at most one entry
    every `ARRIVAL_TICK` milliseconds."""

    @property
    def gone(self) -> int:
        """The number of bytes at the beginning that were not kept."""
        return self.size - len(self.body)


@dataclass(frozen=True, slots=True)
class SessionTranscript:
    """A session with its whole tree of messages."""

    session: Session
    """Its `session_id` is set and stable. `head_id` is one of the entries; None shows the last
    one. `created` and `updated` are 0 if unknown."""
    entries: tuple[Entry, ...] = ()
    """Every entry follows its parent, and siblings are in order. Ids are unique
    here and, as far as it lies with the reader, everywhere."""
    role: Role | None = None
    """The session's role as it was; its `role_id` is the session's. None without a role."""
    variables: tuple[tuple[str, str], ...] = ()
    """The session's macro variables by name."""
    requests: tuple[StoredRequest, ...] = ()
    """The requests that produced its replies, oldest first."""
    revisions: tuple[tuple[str, str], ...] = ()
    """Kind and JSON of what their recipes name by its hash: presets, profiles and the like."""
    draft: str = ""
    """The draft, which is imported only with a new session."""
    character: str = ""
    """The name of the character that the user talks to, in a chat of a program that has some."""
    user: str = ""
    """The name of the user in such a chat."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of importing one transcript."""

    session_id: str
    title: str
    is_new: bool
    """True if the session is new."""
    added: int = 0
    """Messages that were not there before."""
    known: int = 0
    """Messages that were there already."""
    completed: int = 0
    """Those of them that got more text, calls or files: they were still being written before."""
    different: int = 0
    """Those of them that have another text in the file. They stay as they are."""
    fault: str = ""
    """A sentence why it was not imported; empty on success."""

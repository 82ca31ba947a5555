"""A request as it was sent and the response as it was received, kept so that any reply can show
what produced it.

A `SideRequest` is no part of a conversation: it asked a model for a title, a summary, or a text of
a kind that a plugin adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import InvalidValue, read_own
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.session import Entry, EntryStatus, NewSession, Session, SessionSummary
from tui_chat.models.usage import NO_USAGE, CacheLoss, Usage


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
    recipe = {
        "source": source,
        "client": client,
        "headers": None if request.headers is None else [list(pair) for pair in request.headers],
        "masked": request.is_masked,
        "missing": request.missing,
        "came": request.came,
    }
    usual = {"headers": None, "masked": False, "missing": "", "came": ""}
    return {key: value for key, value in recipe.items() if usual.get(key, recipe) != value}


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

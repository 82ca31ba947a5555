"""A conversation outside of any database, as imported or exported.

Readers of foreign files make transcripts, the store takes them in and gives them out, writers
turn them into files; so none of these knows another.

1. Ids are stable: reading the same file again gives the same ids, for the session and for every
   message. Taking a transcript in twice therefore adds nothing, and taking in one that has grown
   adds what is new.
2. A message that is there already stays as it is, and so do the settings of a session that is
   there already: a person may have changed them since.
"""

from __future__ import annotations

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.request import StoredRequest
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session


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

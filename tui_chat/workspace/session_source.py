"""Sessions that are kept elsewhere than in the store, and are read into it when they are opened.

`Workspace.session_files` has them if there are any; the folder viewer of the plugin `transcripts`
is such a source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from tui_chat.models.session import SessionSummary


class StartingCall(NamedTuple):
    """The session, and the call in it, that started a subagent."""

    session_id: str
    call_id: str
    """Empty if it is not known."""


class Subagents(Protocol):
    """The sessions of subagents among those of a source."""

    def calls_of(self, session_id: str) -> dict[str, str]:
        """Return the sessions of subagents by the ids of the session's calls that started them."""
        ...

    def started_by(self, session_id: str) -> StartingCall | None:
        """Return what started a session; None if that is not known."""
        ...

    def nested(self, sessions: tuple[SessionSummary, ...]) -> tuple[SessionSummary, ...]:
        """Return sessions, each subagent behind its starter; the same object for the same ones."""
        ...


class SessionSource(Protocol):
    """The sessions of a source. All are in the list of sessions from the beginning."""

    @property
    def subagents(self) -> Subagents:
        """The sessions of subagents."""
        ...

    async def read(self, session_id: str) -> None:
        """Read a session into the store, unless that is done. Raises InputError and StoreError."""

    async def check(self) -> None:
        """Read what is new of the active session, and list new ones. Raises StoreError."""

    async def search(self, text: str, progress: Callable[[int, int, int], bool]) -> None:
        """Read the sessions that may have all words of a search.

        `progress` is called with the sessions looked through, their number, and how many were read;
        it returns False to stop. Raises StoreError.
        """

    async def stop(self) -> None:
        """Stop listing."""

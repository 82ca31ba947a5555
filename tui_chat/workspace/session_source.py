"""Sessions that are kept elsewhere than in the store, and are read into it.

`Workspace.session_files` has them if there are any; the viewer of the plugin `transcripts`
is such a source.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tui_chat.models.session import SessionSummary


class StartingCall(NamedTuple):
    """The session, and the call in it, that started a subagent."""

    session_id: str
    call_id: str
    """Empty if it is not known."""


class Subagents(Protocol):
    """The sessions of subagents among those of a source."""

    def nested(self, sessions: tuple[SessionSummary, ...]) -> tuple[SessionSummary, ...]:
        """Return sessions, each subagent behind its starter; the same object for the same ones."""
        ...


class SessionSource(Protocol):
    """The sessions of a source."""

    @property
    def subagents(self) -> Subagents:
        """The sessions of subagents."""
        ...

    async def check(self) -> None:
        """Read what is new. Raises StoreError."""

    async def stop(self) -> None:
        """Stop reading."""

"""What a person asks for in the sidebar, posted for the app to do."""

from __future__ import annotations

from textual.message import Message


class ForSessions(Message, namespace="session_list"):
    """Something is to be done with sessions."""

    def __init__(self, session_ids: tuple[str, ...]) -> None:
        super().__init__()
        self.session_ids = session_ids
        """In the order in which they are listed; at least one."""


class DeleteRequested(ForSessions, namespace="session_list"):
    """They are to be deleted, so that it can be undone."""


class TagsRequested(ForSessions, namespace="session_list"):
    """They are to have other tags; the app asks which."""


class FolderRequested(ForSessions, namespace="session_list"):
    """They are to go into a folder; the app asks which."""


class MarkRequested(ForSessions, namespace="session_list"):
    """They are to be pinned, archived or marked as unread; None leaves what is."""

    def __init__(
        self,
        session_ids: tuple[str, ...],
        *,
        pinned: bool | None = None,
        archived: bool | None = None,
        unread: bool | None = None,
    ) -> None:
        super().__init__(session_ids)
        self.pinned = pinned
        self.archived = archived
        self.unread = unread


class ForSession(Message, namespace="session_list"):
    """Something is to be done with one session."""

    def __init__(self, session_id: str) -> None:
        super().__init__()
        self.session_id = session_id


class Opened(ForSession, namespace="session_list"):
    """It was chosen."""


class Stayed(Message, namespace="session_list"):
    """There was no session to be opened: what is typed goes on here."""


class RenameRequested(ForSession, namespace="session_list"):
    """It is to get another title; the app asks which."""


class NewRequested(Message, namespace="session_list"):
    """A session is to be begun."""


class UndoRequested(Message, namespace="session_list"):
    """What was deleted last is to come back."""

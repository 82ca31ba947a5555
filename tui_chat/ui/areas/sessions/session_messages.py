"""Messages of the sidebar: what the user wants done, for the area to do."""

from __future__ import annotations

from textual.message import Message


class SessionsMessage(Message, namespace="session_list"):
    """Concerns several sessions."""

    def __init__(self, session_ids: tuple[str, ...]) -> None:
        super().__init__()
        self.session_ids = session_ids
        """In the order of the list; at least one."""


class DeleteRequested(SessionsMessage, namespace="session_list"):
    """Delete them; the deletion can be undone."""


class TagsRequested(SessionsMessage, namespace="session_list"):
    """Change their tags; the area asks for them."""


class FolderRequested(SessionsMessage, namespace="session_list"):
    """Move them to a folder; the area asks which."""


class MarkRequested(SessionsMessage, namespace="session_list"):
    """Pin, archive or mark them as unread; None leaves a mark as it is."""

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


class SessionMessage(Message, namespace="session_list"):
    """Concerns one session."""

    def __init__(self, session_id: str) -> None:
        super().__init__()
        self.session_id = session_id


class Opened(SessionMessage, namespace="session_list"):
    """Open it."""


class Stayed(Message, namespace="session_list"):
    """Enter was pressed where no session could be opened; the focus stays."""


class RenameRequested(SessionMessage, namespace="session_list"):
    """Rename it; the area asks for the title."""


class NewRequested(Message, namespace="session_list"):
    """Start a session."""


class UndoRequested(Message, namespace="session_list"):
    """Undo the last deletion."""

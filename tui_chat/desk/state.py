"""The values on a desk: what is open, and how it is set."""

from __future__ import annotations

from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.model.endpoint import Endpoint
from tui_chat.model.preset import Preset
from tui_chat.model.role import Role
from tui_chat.model.session import Entry, Session, SessionSummary


class State:
    """Changed by the parts of a desk, read by everybody."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.sessions: tuple[SessionSummary, ...] = ()
        self.session: Session | None = None
        """None for a chat that was not begun yet."""
        self.role: Role | None = None
        self.role_missing = False
        """Whether the session is bound to a role that is gone."""
        self.entries: tuple[Entry, ...] = ()
        """The shown branch, oldest first."""
        self.endpoint: Endpoint = config.endpoint_named(config.endpoint)
        self.model: str = config.model
        """What this session asks; empty leaves it to the role and the endpoint."""
        self.preset: Preset = Preset("plain")

    @property
    def is_offline(self) -> bool:
        """Whether the endpoint is the built-in provider, which needs no network."""
        return self.endpoint.base_url.startswith(LOOPBACK_URL)

    def shows(self, session_id: str) -> bool:
        """Whether this session is the shown one."""
        return self.session is not None and self.session.session_id == session_id

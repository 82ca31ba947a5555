"""The values on a desk: what is open, and how it is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tui_chat.compose import Composed
from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.preset import Preset
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session, SessionSummary
from tui_chat.models.tool import Tool
from tui_chat.send import PartialReply

LONG = 500_000
"""Bytes from which a request is kept while its session is shown, and not beyond."""


@dataclass(frozen=True, slots=True)
class LastSent:
    """A request that left, as it was composed."""

    entry_id: str
    """Of the reply that it produces."""
    composed: Composed


class State:
    """Changed by the parts of a desk, read by everybody."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.sessions: tuple[SessionSummary, ...] = ()
        self.session: Session | None = None
        """None for a chat that was not begun yet."""
        self.session_id = ""
        """Of the shown session; a chat that was not begun has the id that it will have."""
        self.entries: tuple[Entry, ...] = ()
        """The shown branch, oldest first."""
        self.roles: tuple[Role, ...] = ()
        """All roles: those that can start a session by when they last did, then disabled ones."""
        self.role: Role | None = None
        self.role_missing = False
        """Whether the session is bound to a role that is gone."""
        self.endpoint: Endpoint = config.endpoint_named(config.endpoint)
        self.model: str = config.model
        """What this session asks; empty leaves it to the role and the endpoint."""
        self.temperature: float | None = None
        """This session's own; None leaves it to the role."""
        self.max_tokens: int | None = None
        """This session's own; None leaves it to the role."""
        self.preset: Preset = Preset("plain")
        self.preset_name = "plain"
        """The name it was chosen by: its file's. What stands in the file may be another."""
        self.profile: Profile | None = None
        self.profile_name = ""
        """The name it was chosen by; empty for none."""
        self.lore: tuple[Lorebook, ...] = ()
        """The chosen lorebooks."""
        self.lore_names: tuple[str, ...] = ()
        """The names they were chosen by."""
        self.variables: Mapping[str, str] = {}
        """What macros of the session may read, such as an imported chat brought along."""
        self.tools: tuple[Tool, ...] = ()
        """What the model is offered to call."""

        self.followed: PartialReply | None = None
        """What has arrived of the shown branch's last reply, where another program receives it."""

        self.sent: dict[str, LastSent] = {}
        """The last request of each endpoint, by its name; a long one of a session that was left,
        and what was sent before the program started, is recalled by who wants it."""

    @property
    def is_offline(self) -> bool:
        """Whether the endpoint is the built-in provider, which needs no network."""
        return self.endpoint.base_url.startswith(LOOPBACK_URL)

    @property
    def role_fault(self) -> Literal["", "deleted", "disabled"]:
        """Why the session works without the role it is bound to; empty where it does not."""
        if self.role_missing:
            return "deleted"
        return "disabled" if self.role is not None and self.role.status == "disabled" else ""

    @property
    def asked_model(self) -> str:
        """The model that is asked: the session's, else the role's, else the endpoint's first."""
        by_role = self.role.model if self.role is not None and not self.role_fault else ""
        return self.model or by_role or next(iter(self.endpoint.models), "")

    def forget_long(self) -> None:
        """Let go of long requests: they keep a whole conversation, which is read anew anyway."""
        for endpoint, last in list(self.sent.items()):
            if len(last.composed.payload.body) >= LONG:
                del self.sent[endpoint]

    def shows(self, session_id: str) -> bool:
        """Whether this session is the shown one."""
        return self.session is not None and self.session.session_id == session_id

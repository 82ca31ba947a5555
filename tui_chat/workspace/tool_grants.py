"""Permission to run tools without asking: in a session until the program ends, or always.

1. A grant is for one tool, what answers its calls (a command line, or a server's command or URL),
   the content of the program and of the files that its command line names, and the hash of its
   definition. Where one of them differs, or the program cannot be found, the user is asked.
2. Lasting grants are settings of the store, one each, in the core: commands have them like the
   tools of plugins, every running copy obeys them at once, and none overwrites another's. They are
   read again before each run that nobody is asked about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.tool import Tool
from tui_chat.workspace.programs import content_digest

if TYPE_CHECKING:
    from tui_chat.store import Store

_PREFIX = "tool grant/"


@dataclass(frozen=True, slots=True)
class ToolGrant:
    """Permission for the calls of a tool."""

    bound_to: str
    """The SHA-256 of what answers its calls: a command line may contain a secret."""
    digest: str
    definition: ToolDefinition
    """The definition as the user saw it."""
    granted: str = ""
    """The time, as an ISO 8601 text; empty for a session's."""
    content: str = ""
    """The SHA-256 of the program and the files that its command line names; empty for a URL, and in
    grants from before they were bound to it."""

    def covers(self, tool: Tool) -> bool:
        """Return True if it holds for the tool as it is now."""
        if not tool.server and not tool.files:
            return False  # the words of a command do not say which program they start
        now = _grant_of(tool)
        is_there = bool(now.content) or not tool.files
        same = (self.bound_to, self.digest, self.content) == (now.bound_to, now.digest, now.content)
        return is_there and same


def _grant_of(tool: Tool, granted: str = "") -> ToolGrant:
    bound_to = tool.identity or sha256(tool.runs.encode("utf-8", "replace")).hexdigest()
    content = content_digest(tool.files)
    return ToolGrant(bound_to, tool.digest, tool.definition, granted, content)


async def read_grants(store: Store) -> dict[str, ToolGrant]:
    """Return the lasting grants by the tool's name for models. Raises StoreError."""
    grants: dict[str, ToolGrant] = {}
    for key, text in (await store.settings.beginning_with(_PREFIX)).items():
        with suppress(ValueError, TypeError, LookupError, AttributeError):
            grants[key.removeprefix(_PREFIX)] = unpack(ToolGrant, text)
    return grants


class ToolGrants:
    """The grants that are known now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.lasting: Mapping[str, ToolGrant] = {}
        """By the tool's name for models."""
        self._of_sessions: dict[tuple[str, str], ToolGrant] = {}
        """By session id and name."""

    async def load(self) -> None:
        """Read the lasting grants again. Raises StoreError."""
        self.lasting = await read_grants(self._store)

    def cover(self, session_id: str, tool: Tool) -> bool:
        """Return True if a grant lets a tool run in a session without asking."""
        both = (self._of_sessions.get((session_id, tool.name)), self.lasting.get(tool.name))
        return any(grant is not None and grant.covers(tool) for grant in both)

    def grant_in_session(self, session_id: str, tool: Tool) -> None:
        """Let a tool run in a session until the program ends."""
        self._of_sessions[(session_id, tool.name)] = _grant_of(tool)

    async def grant_always(self, tool: Tool, now: str) -> None:
        """Let a tool run in all sessions. Raises StoreError."""
        await self._store.settings.set(_PREFIX + tool.name, pack(_grant_of(tool, now)))
        await self.load()

    async def revoke(self, names: Iterable[str]) -> None:
        """End tools' grants, in sessions and lasting ones. Raises StoreError."""
        ended = frozenset(names)
        self._of_sessions = {
            key: grant for key, grant in self._of_sessions.items() if key[1] not in ended
        }
        for name in ended:
            await self._store.settings.remove(_PREFIX + name)
        await self.load()

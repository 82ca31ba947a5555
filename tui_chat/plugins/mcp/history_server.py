"""Our own history as a server, read-only, for agents of other programs. No I/O but the store's.

1. A session is offered if the user named it, its folder or its tag, or named all; the trash never.
   What is named is looked up at each call, so that a session which leaves a folder is gone.
2. Nothing is written, and no tool takes a path or a query language.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Annotated, Any, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from tui_chat import __version__
from tui_chat.errors import InputError, StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.search import Hit, Query
from tui_chat.models.session import Entry, SessionSummary
from tui_chat.plugins.mcp.content import bounded
from tui_chat.store import Store

_MOST = 200
MOST_SEARCHED = 5_000
"""Hits in all sessions among which those that are offered are looked for."""
_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_Session: TypeAlias = Annotated[
    str, Field(description="The id of a session, from list_sessions or search.")
]
_Limit: TypeAlias = Annotated[int, Field(description=f"Number of entries, {_MOST} at most.", ge=1)]


@dataclass(frozen=True, slots=True)
class Scope:
    """What the user has named."""

    sessions: frozenset[str] = frozenset()
    """Ids."""
    folders: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    everything: bool = False

    def has(self, session: SessionSummary) -> bool:
        """Return True if a session is offered."""
        return session.deleted is None and (
            self.everything
            or session.session_id in self.sessions
            or session.folder in self.folders
            or not self.tags.isdisjoint(session.tags)
        )


def history_server(store: Store, scope: Scope) -> MCPServer[Any]:
    """Return a server whose tools read the offered sessions of a store."""
    server = MCPServer[Any]("tui-chat-history", version=__version__, log_level="CRITICAL")
    history = _History(store, scope)
    for tool in (history.search, history.list_sessions, history.read_session):
        server.tool(annotations=_READ_ONLY, structured_output=False)(_in_words(tool))
    return server


def _in_words(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[str]]:
    """Return a tool whose results are text, and whose errors are told to the model."""

    @wraps(tool)
    async def call(*args: Any, **arguments: Any) -> str:
        try:
            value = await tool(*args, **arguments)
        except (InputError, StoreError) as error:
            raise ToolError(str(error)) from None
        return bounded(json.dumps(value, ensure_ascii=False, indent=1))

    return call


class _History:
    """The tools. Their docstrings and annotations are what a model reads."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    async def search(
        self, query: Annotated[str, Field(description="The words.")], limit: _Limit = 50
    ) -> list[dict[str, Any]]:
        """Search the messages of the user's past conversations with language models. All words
        must occur; "words in quotes" follow each other, and word* matches a beginning.
        """
        if not query.strip():
            raise InputError("There are no words to search for.")
        limit = min(limit, _MOST)
        known = {session.session_id for session in await self._offered()}
        wanted, hits = limit, tuple[Hit, ...]()
        while True:  # best first, of all sessions; those that are not offered are left out below
            hits = await self._store.search.find(Query(query, limit=wanted))
            is_all = len(hits) < wanted
            hits = tuple(hit for hit in hits if hit.session_id in known)
            if is_all or len(hits) >= limit or wanted >= MOST_SEARCHED:
                break
            wanted *= 4
        return [
            {
                "session": hit.session_id,
                "title": hit.title,
                "message": hit.message_id,
                "role": hit.message_role,
                "time": _time(hit.created),
                "words": hit.snippet,
            }
            for hit in hits[:limit]
        ]

    async def list_sessions(self, limit: _Limit = 50) -> list[dict[str, Any]]:
        """List past conversations, the latest first."""
        offered = await self._offered()
        listed = await self._store.sessions.counted_by_branch(offered[: min(limit, _MOST)])
        return [_session_json(session) for session in listed]

    async def read_session(
        self,
        session: _Session,
        start: Annotated[int, Field(description="Number of messages to skip.", ge=0)] = 0,
        limit: _Limit = 50,
    ) -> dict[str, Any]:
        """Read the messages of a conversation, the oldest first."""
        found = await self._find(session)
        entries = await self._store.branches.load(found.session_id)
        shown = entries[start : start + min(limit, _MOST)]
        messages = [_message_json(entry) for entry in shown]
        found = found._replace(message_count=len(entries))
        return {**_session_json(found), "start": start, "of": len(entries), "shown": messages}

    async def _offered(self) -> list[SessionSummary]:
        return [one for one in await self._store.sessions.list() if self._scope.has(one)]

    async def _find(self, session_id: str) -> SessionSummary:
        for session in await self._offered():
            if session.session_id == session_id:
                return session
        raise InputError("No session that is offered here has this id.")


def _session_json(session: SessionSummary) -> dict[str, Any]:
    return {
        "session": session.session_id,
        "title": session.title,
        "model": session.model,
        "messages": session.message_count,
        "updated": _time(session.updated),
        "folder": session.folder,
        "tags": list(session.tags),
    }


def _message_json(entry: Entry) -> dict[str, Any]:
    message = entry.message
    value: dict[str, Any] = {"message": message.id, "role": message.role, "text": message.content}
    if entry.model:
        value["model"] = entry.model
    if message.tool_calls:
        value["calls"] = [f"{call.name}({call.arguments})" for call in message.tool_calls]
    if message.parts:
        value["parts"] = [part.mime or part.media for part in message.parts]
    if message.timestamp is not None:
        value["time"] = _time(message.timestamp)
    return value


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

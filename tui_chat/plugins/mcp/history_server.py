"""Our own history as a server, read-only, for agents of other programs. No I/O but the store's.

1. A session is offered if the user named it, its folder or its tag, or named all; the trash never.
   What is named is looked up at each call, so that a session which leaves a folder is gone.
2. Both eras are spoken: a request with a version in `_meta` is of the modern one.
3. Nothing is written, and no tool takes a path or a query language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tui_chat import __version__
from tui_chat.errors import InputError, StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import as_count, as_object, as_string
from tui_chat.models.search import Hit, Query
from tui_chat.models.session import Entry, SessionSummary
from tui_chat.plugins.mcp.content import bounded
from tui_chat.plugins.mcp.messages import (
    INVALID_PARAMS,
    LEGACY,
    METHOD_NOT_FOUND,
    MODERN,
    UNSUPPORTED_VERSION,
    Request,
    error_message,
    result_message,
)
from tui_chat.store import Store

_MOST = 200
_META = "io.modelcontextprotocol/"
_CAPABILITIES: dict[str, Any] = {"tools": {}}
_SELF = {"name": "tui-chat-history", "version": __version__}


MOST_SEARCHED = 5_000
"""Hits in all sessions among which those that are offered are looked for."""


def _tool(name: str, description: str, **arguments: tuple[str, str]) -> dict[str, Any]:
    """Return a definition. An argument whose description begins with `Optional` is not required."""
    schema = {key: {"type": kind, "description": words} for key, (kind, words) in arguments.items()}
    required = [key for key, (_, words) in arguments.items() if not words.startswith("Optional")]
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": schema,
            "required": required,
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


_SESSION = ("string", "The id of a session, from list_sessions or search.")
_LIMIT = ("integer", f"Optional maximum number of entries, {_MOST} at most.")
TOOLS = (
    _tool(
        "search",
        "Search the messages of the user's past conversations with language models. All words must "
        'occur; "words in quotes" follow each other, and word* matches a beginning.',
        query=("string", "The words."),
        limit=_LIMIT,
    ),
    _tool("list_sessions", "List past conversations, the latest first.", limit=_LIMIT),
    _tool(
        "read_session",
        "Read the messages of a conversation, the oldest first.",
        session=_SESSION,
        start=("integer", "Optional number of messages to skip."),
        limit=_LIMIT,
    ),
    _tool(
        "list_requests",
        "List the requests that were sent to models in a conversation, with the use of tokens.",
        session=_SESSION,
    ),
    _tool(
        "read_request",
        "Read the body of a request as it was sent, if it is kept: usually the latest one is.",
        session=_SESSION,
        message=("string", "The id of the reply, from list_requests."),
    ),
)


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


class HistoryServer:
    """Answers requests about the offered sessions."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    async def answer(self, request: Request) -> dict[str, Any]:
        """Return the answer to a request."""
        meta = as_object(request.params.get("_meta"))
        version = as_string(meta.get(f"{_META}protocolVersion"))
        is_modern = bool(version)
        if is_modern and version != MODERN:
            refusal = error_message(request.id, UNSUPPORTED_VERSION, "Unsupported protocol version")
            refusal["error"]["data"] = {"supported": [MODERN, *LEGACY], "requested": version}
            return refusal
        match request.method:
            case "server/discover" if is_modern:
                result = {"supportedVersions": [MODERN, *LEGACY], "capabilities": _CAPABILITIES}
                return result_message(request.id, self._modern(result, cached=True))
            case "initialize":
                asked = as_string(request.params.get("protocolVersion"))
                version = asked if asked in LEGACY else LEGACY[0]
                result = {"protocolVersion": version, "capabilities": _CAPABILITIES}
                return result_message(request.id, {**result, "serverInfo": _SELF})
            case "ping":
                return result_message(request.id, {})
            case "tools/list":
                result = {"tools": list(TOOLS)}
                return result_message(
                    request.id, self._modern(result, cached=True) if is_modern else result
                )
            case "tools/call":
                name = as_string(request.params.get("name"))
                if name not in [tool["name"] for tool in TOOLS]:
                    return error_message(request.id, INVALID_PARAMS, "There is no such tool.")
                result = await self._call(name, as_object(request.params.get("arguments")))
                return result_message(request.id, self._modern(result) if is_modern else result)
            case _:
                return error_message(request.id, METHOD_NOT_FOUND, "Method not found")

    @staticmethod
    def _modern(result: Mapping[str, Any], *, cached: bool = False) -> dict[str, Any]:
        hints = {"ttlMs": 3_600_000, "cacheScope": "private"} if cached else {}
        meta = {f"{_META}serverInfo": _SELF}
        return {"resultType": "complete", **result, **hints, "_meta": meta}

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            value = await self._value(name, arguments)
        except (InputError, StoreError) as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        return {"content": [{"type": "text", "text": bounded(text)}]}

    async def _value(self, name: str, arguments: Mapping[str, Any]) -> Any:
        limit = min(as_count(arguments.get("limit")) or 50, _MOST)
        offered = [one for one in await self._store.sessions.list() if self._scope.has(one)]
        if name == "list_sessions":
            listed = await self._store.sessions.counted_by_branch(offered[:limit])
            return [_session_json(session) for session in listed]
        if name == "search":
            return await self._search(as_string(arguments.get("query")), offered, limit)
        wanted = as_string(arguments.get("session"))
        session = next((one for one in offered if one.session_id == wanted), None)
        if session is None:
            raise InputError("No session that is offered here has this id.")
        if name == "read_session":
            start = as_count(arguments.get("start")) or 0
            entries = await self._store.branches.load(session.session_id)
            messages = [_message_json(entry) for entry in entries[start : start + limit]]
            session = session._replace(message_count=len(entries))
            return {**_session_json(session), "start": start, "of": len(entries), "shown": messages}
        calls = await self._store.requests.calls(session.session_id)
        if name == "list_requests":
            return [
                {
                    "message": call.message_id,
                    "model": call.model,
                    "sent": _time(call.created),
                    "status": call.status,
                    "input_tokens": call.usage.input,
                    "output_tokens": call.usage.output,
                }
                for call in calls
                if call.session_id == session.session_id
            ]
        message = as_string(arguments.get("message"))
        own = {call.message_id for call in calls if call.session_id == session.session_id}
        record = await self._store.requests.get(message) if message in own else None
        if record is None or record.body is None:
            raise InputError("The body of this request is not kept.")
        return record.body.decode("utf-8", "replace")

    async def _search(
        self, words: str, offered: Sequence[SessionSummary], limit: int
    ) -> list[dict[str, Any]]:
        if not words.strip():
            raise InputError("There are no words to search for.")
        known = {session.session_id for session in offered}
        wanted, hits = limit, tuple[Hit, ...]()
        while True:  # best first, of all sessions; those that are not offered are left out below
            hits = await self._store.search.find(Query(words, limit=wanted))
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
        value["parts"] = [part.mime or part.kind for part in message.parts]
    if message.timestamp is not None:
        value["time"] = _time(message.timestamp)
    return value


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

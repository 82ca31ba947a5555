"""Small exports of other programs, with all their known traits."""

from __future__ import annotations

import json
from typing import Any

ROOT = "00000000-0000-4000-8000-000000000000"


def node(
    key: str,
    parent: str | None,
    role: str = "",
    *parts: object,
    children: tuple[str, ...] = (),
    content: dict[str, Any] | None = None,
    **message: Any,
) -> dict[str, Any]:
    """A node of ChatGPT's mapping; without a role it has no message."""
    if not role:
        return {"id": key, "parent": parent, "children": list(children), "message": None}
    said = {
        "id": key,
        "author": {"role": role, "name": message.pop("name", None), "metadata": {}},
        "create_time": message.pop("at", 1_700_000_000.5),
        "content": content or {"content_type": "text", "parts": list(parts)},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": message.pop("metadata", {}),
        "recipient": message.pop("recipient", "all"),
        **message,
    }
    return {"id": key, "parent": parent, "children": list(children), "message": said}


def chatgpt(*nodes: dict[str, Any], current: str = "", **facts: Any) -> dict[str, Any]:
    """A conversation of ChatGPT's export."""
    return {
        "title": "A walk",
        "create_time": 1_700_000_000.0,
        "update_time": 1_700_000_100.0,
        "mapping": {each["id"]: each for each in nodes},
        "moderation_results": [],
        "current_node": current or nodes[-1]["id"],
        "conversation_id": "11111111-2222-4333-8444-555555555555",
        "default_model_slug": "gpt-4o",
        "is_archived": False,
        **facts,
    }


def claude_message(
    key: str, sender: str, *blocks: dict[str, Any], text: str = "", **facts: Any
) -> dict[str, Any]:
    """A message of Claude's export."""
    return {
        "uuid": key,
        "text": text,
        "content": list(blocks),
        "sender": sender,
        "created_at": "2025-03-01T10:00:00.250000Z",
        "updated_at": "2025-03-01T10:00:00.250000Z",
        "attachments": [],
        "files": [],
        **facts,
    }


def block(text: str, *citations: dict[str, Any]) -> dict[str, Any]:
    """A text block of Claude's."""
    return {"type": "text", "text": text, "citations": list(citations)}


def claude(*messages: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """A conversation of Claude's export."""
    return {
        "uuid": "99999999-8888-4777-8666-555555555555",
        "name": "A garden",
        "created_at": "2025-03-01T09:59:00.000000Z",
        "updated_at": "2025-03-01T10:05:00.000000Z",
        "account": {"uuid": "aaaaaaaa-0000-4000-8000-000000000000"},
        "chat_messages": list(messages),
        **facts,
    }


def claude_code(uuid: str, parent: str | None, content: object, **facts: Any) -> dict[str, Any]:
    """A record of Claude Code: a user's, or with the id of its message an assistant's."""
    message_id = facts.pop("message_id", "")
    message: dict[str, Any] = {"role": "user", "content": content}
    if message_id:
        message = {"id": message_id, "role": "assistant", "model": "m", "content": [content]}
    kind = "assistant" if message_id else "user"
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "type": kind,
        "message": message,
        **facts,
    }


def tavern_header(**facts: Any) -> dict[str, Any]:
    """The first line of a SillyTavern chat."""
    metadata = {"integrity": "c0ffee00-0000-4000-8000-000000000000", **facts}
    return {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}


def tavern(mes: str, name: str = "Ada", *, user: bool = False, **facts: Any) -> dict[str, Any]:
    """A message of a SillyTavern chat."""
    return {
        "name": "Kim" if user else name,
        "is_user": user,
        "is_system": False,
        "send_date": "2025-01-01T00:00:00.000Z",
        "mes": mes,
        "extra": {},
        **facts,
    }


def lines(*values: object) -> bytes:
    """JSON lines, without a line break at the end, as SillyTavern writes them."""
    return "\n".join(json.dumps(value, ensure_ascii=False) for value in values).encode()

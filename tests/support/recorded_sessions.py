"""A session whose request another program sent, stored as a recorder stores it."""

from __future__ import annotations

import json
import time
from hashlib import sha256
from pathlib import Path

from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import (
    Entry,
    RecordedRequest,
    RequestRecord,
    Session,
    SessionTranscript,
    recorded_recipe,
)
from tui_chat.store import Store

URL = "https://x.invalid/v1/messages"
BODY = json.dumps(
    {
        "model": "thinker",
        "max_tokens": 300,
        "system": "You are terse.",
        "messages": [{"role": "user", "content": "What is the weather?"}],
    }
).encode()


async def store_recorded(folder: Path) -> str:
    """Store a session with one recorded call in the database of a folder; return its id."""
    ids = (f"recorded{number}" for number in range(99))
    async with await Store.open(
        folder / "chat.db", now=time.time, new_id=lambda: next(ids)
    ) as store:
        system = Message.of("system", "You are terse.", "s", timestamp=1.0)
        user = Message.of("user", "What is the weather?", "u", timestamp=1.0)
        session = Session(
            "recorded", "What is the weather?", client="Claude Code", head_id="u", tags=("tap",)
        )
        entries = (Entry(system), Entry(user, "s"))
        await store.transcripts.add(SessionTranscript(session, entries))
        headers = (("anthropic-version", "2023-06-01"), ("x-api-key", "[key]"))
        request = RecordedRequest("POST", URL, headers, BODY)
        begun = await store.replies.begin(
            session.session_id,
            parent_id="u",
            user=None,
            model="thinker",
            endpoint="loopback-anthropic",
            request=RequestRecord(
                endpoint="loopback-anthropic",
                protocol=Protocol.ANTHROPIC,
                method="POST",
                url=URL,
                sha256=sha256(BODY).hexdigest(),
                recipe=recorded_recipe("tap", request, "claude-cli/1.0"),
                body=BODY,
            ),
        )
        reply = Message.of("assistant", "Rain.", begun.reply.message.id)
        await store.replies.end(reply.id, message=reply, status="complete")
        return session.session_id

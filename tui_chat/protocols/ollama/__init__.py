"""Ollama's native chat API: the protocol's definition.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion, and where that
is silent `api/types.go` and `server/routes.go` of the same repository (August 2026).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import as_array, as_object
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns, UrlRules
from tui_chat.protocols.ollama.encode import READER, encode
from tui_chat.protocols.ollama.stream import ReplyParser, read_reply


def is_own_message(message: Mapping[str, Any]) -> bool:
    """Return True if a message's tool calls have objects as arguments; OpenAI Chat has texts."""
    functions = (
        as_object(as_object(call).get("function")) for call in as_array(message.get("tool_calls"))
    )
    return any(isinstance(function.get("arguments"), dict) for function in functions)


OLLAMA = ProtocolDefinition(
    protocol=Protocol.OLLAMA,
    encode=encode,
    decode=READER.decode,
    parser=ReplyParser,
    read_reply=read_reply,
    stream_type="application/x-ndjson",
    models_path=lambda endpoint: "/api/tags",
    urls=UrlRules(
        reply_end=re.compile(r"/api/chat/?$"),
        request_end=re.compile(r"/(?:chat|tags)$"),
        # Ollama serves OpenAI's protocols below /v1; its own API is beside it.
        root=lambda host, port, path: (re.sub(r"/(?:api|v1)$", "", path), ""),
    ),
    session_keys=frozenset(("model", "messages", "stream", "temperature", "num_predict")),
    setting_groups=frozenset({"options"}),
    signs=RequestSigns(
        settings=frozenset({"options", "keep_alive", "format", "think", "truncate", "shift"}),
        roles=frozenset({"tool"}),
        message_keys=frozenset({"images", "thinking", "tool_calls", "tool_name"}),
        tool_keys=frozenset({"function"}),
        is_own_message=is_own_message,
    ),
)

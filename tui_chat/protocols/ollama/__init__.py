"""Ollama's native chat API: the protocol's definition.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion, and where that
is silent `api/types.go` and `server/routes.go` of the same repository (August 2026).
"""

from __future__ import annotations

import re

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns, UrlRules
from tui_chat.protocols.ollama.decode import decode, is_own_message
from tui_chat.protocols.ollama.encode import encode
from tui_chat.protocols.ollama.stream import ReplyParser, read_reply

OLLAMA = ProtocolDefinition(
    protocol=Protocol.OLLAMA,
    encode=encode,
    decode=decode,
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

"""Anthropic Messages: the protocol's definition.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

import re

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.anthropic.encode import READER, encode, version_header
from tui_chat.protocols.anthropic.stream import ReplyParser, read_reply
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns, UrlRules

ANTHROPIC = ProtocolDefinition(
    protocol=Protocol.ANTHROPIC,
    encode=encode,
    decode=READER.decode,
    parser=ReplyParser,
    read_reply=read_reply,
    models_path=lambda endpoint: "/v1/models?limit=1000",
    headers=version_header,
    model_pattern=re.compile("claude"),
    urls=UrlRules(
        reply_end=re.compile(r"/messages/?$|:(?:rawPredict|streamRawPredict)$"),
        request_end=re.compile(r"/(?:messages(?:/count_tokens)?|models)$"),
        own_end=re.compile(r"/messages(?:/count_tokens)?$"),
        root=lambda host, port, path: (path.removesuffix("/v1"), ""),
    ),
    session_keys=frozenset(("model", "messages", "stream", "temperature", "max_tokens", "system")),
    signs=RequestSigns(
        settings=frozenset({"system", "stop_sequences", "thinking", "top_k"}),
        block_types=frozenset(
            {"tool_use", "tool_result", "thinking", "redacted_thinking", "document"}
        ),
        tool_keys=frozenset({"input_schema"}),
    ),
)

"""OpenAI Responses: the protocol's definition.

https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

import re

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns, UrlRules
from tui_chat.protocols.common.openai import versioned_root
from tui_chat.protocols.openai_responses.encode import READER, encode
from tui_chat.protocols.openai_responses.stream import ReplyParser, read_reply

OPENAI_RESPONSES = ProtocolDefinition(
    protocol=Protocol.OPENAI_RESPONSES,
    encode=encode,
    decode=READER.decode,
    parser=ReplyParser,
    read_reply=read_reply,
    models_path=lambda endpoint: "/models",
    urls=UrlRules(
        reply_end=re.compile(r"/responses/?$"),
        request_end=re.compile(r"/(?:responses|models)$"),
        own_end=re.compile(r"/responses$"),
        root=versioned_root,
    ),
    session_keys=frozenset(
        ("model", "input", "stream", "temperature", "max_output_tokens", "instructions")
    ),
    signs=RequestSigns(unique_keys=frozenset({"input", "previous_response_id"})),
)

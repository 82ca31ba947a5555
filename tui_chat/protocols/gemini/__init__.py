"""Gemini generateContent: the protocol's definition.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import re

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns
from tui_chat.protocols.gemini.decode import decode
from tui_chat.protocols.gemini.encode import KEY_HEADER, VERSION, encode
from tui_chat.protocols.gemini.stream import ReplyParser, read_reply

GEMINI = ProtocolDefinition(
    protocol=Protocol.GEMINI,
    tab_labels=("Gemini", "Gemini", "Gem"),
    encode=encode,
    decode=decode,
    parser=ReplyParser,
    read_reply=read_reply,
    models_path=lambda endpoint: f"/{endpoint.api_version or VERSION}/models?pageSize=1000",
    key_header=KEY_HEADER,
    model_in_path=True,
    model_pattern=re.compile("gemini|gemma"),
    signs=RequestSigns(unique_keys=frozenset({"contents"})),
)

"""Gemini generateContent: the protocol's definition.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import re

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns, UrlRules
from tui_chat.protocols.gemini.encode import KEY_HEADER, READER, VERSION, encode
from tui_chat.protocols.gemini.stream import ReplyParser, read_reply

_VERSION = re.compile(r"/(v\d+[a-z0-9]*)$")


def _root(host: str, port: int | None, path: str) -> tuple[str, str]:
    """Take the version off a base URL's path: the path of a request begins with it."""
    match = _VERSION.search(path)
    return (path[: match.start()], match[1]) if match is not None else (path, "")


def _request_path(root: str, path: str, version: str) -> str:
    """Return a request's path with the typed version; none on Vertex, where it comes earlier."""
    _, _, rest = path.removeprefix("/").partition("/")
    if "/publishers/" in root:
        return f"/{rest}"
    return f"/{version}/{rest}" if version else path


GEMINI = ProtocolDefinition(
    protocol=Protocol.GEMINI,
    encode=encode,
    decode=READER.decode,
    parser=ReplyParser,
    read_reply=read_reply,
    models_path=lambda endpoint: f"/{endpoint.api_version or VERSION}/models?pageSize=1000",
    key_header=KEY_HEADER,
    model_in_path=True,
    model_pattern=re.compile("gemini|gemma"),
    urls=UrlRules(
        reply_end=re.compile(r":(?:generateContent|streamGenerateContent)$"),
        request_end=re.compile(r"/models(?:/[^/]+)?$"),
        own_end=re.compile(r":(?:stream)?generateContent$", re.IGNORECASE),
        root=_root,
        request_path=_request_path,
    ),
    session_keys=frozenset(
        (
            *("model", "contents", "temperature", "maxOutputTokens"),
            *("systemInstruction", "system_instruction"),
        )
    ),
    setting_groups=frozenset({"generationConfig", "generation_config"}),
    signs=RequestSigns(unique_keys=frozenset({"contents"})),
)

"""The messages of the Model Context Protocol and its two eras, without I/O.

1. A message is a JSON object (JSON-RPC 2.0). Anything else on a connection is noise: it is skipped
   and counted. Older servers may send several messages as an array.
2. In the modern era (2026-07-28) each request carries version and capabilities, servers send no
   requests, and a server that needs something answers `input_required`: the request is sent again
   under another id, with the answers and with the server's state unchanged.
3. In the legacy era (2025-11-25 and before) a handshake (`initialize`) begins a session, and
   servers may send requests: we answer pings and questions, and refuse the rest.
4. The era is found with `server/discover`. A modern answer or a modern error means modern; any
   other error, or silence, means legacy.

https://modelcontextprotocol.io/specification/2026-07-28/basic
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from tui_chat import __version__
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import (
    as_array,
    as_object,
    as_string,
    clean_json,
    decode_lenient,
    object_or_none,
    objects_in,
)
from tui_chat.models.sanitize import one_line

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of the legacy era, the newest first."""

MESSAGE_SIZE = 16_000_000
"""Maximum bytes of a message."""

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNSUPPORTED_VERSION = -32022
_MODERN_ERRORS = (-32020, -32021, UNSUPPORTED_VERSION)
URL_NEEDED = -32042
"""A legacy server asks the user to open a URL, and to call again."""

_META = "io.modelcontextprotocol/"
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Json: TypeAlias = Mapping[str, Any]
MessageId: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class RpcError:
    """The error that answers a request."""

    code: int
    message: str
    """On one line."""
    data: Any = None

    @property
    def is_modern(self) -> bool:
        """True if only a server of the modern era sends it."""
        return self.code in _MODERN_ERRORS

    @property
    def supported(self) -> tuple[str, ...]:
        """The versions that a server supports which refused ours."""
        return tuple(map(as_string, as_array(as_object(self.data).get("supported"))))


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request: a result or an error."""

    id: MessageId | None
    """None if the other side could not tell the id of the request."""
    result: Json
    error: RpcError | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the other side."""

    id: MessageId
    method: str
    params: Json


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that is not answered."""

    method: str
    params: Json


Message: TypeAlias = Answer | Request | Notification


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of itself."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    """The version of the protocol that is spoken."""
    capabilities: Json = field(default_factory=dict[str, Any])
    instructions: str = ""
    """How to use the server, for models."""

    @property
    def is_modern(self) -> bool:
        """True for a server of the modern era."""
        return self.protocol == MODERN

    def can(self, name: str) -> bool:
        """Return True if the server has tools, prompts or resources."""
        return name in self.capabilities


def messages_in(data: bytes) -> Iterator[Message]:
    """Yield the messages of a line or a body. Raises ValueError for what holds none."""
    value = decode_lenient(data.decode("utf-8", "replace"))
    if _ESCAPED_SURROGATE.search(data):
        value = clean_json(value)
    if (single := object_or_none(value)) is not None:
        yield message_of(single)
        return
    messages = list(objects_in(value))
    if not messages:
        raise ValueError("no JSON object")
    yield from map(message_of, messages)


def message_of(value: Json) -> Message:
    """Return the message that a JSON object is. Raises ValueError."""
    if value.get("jsonrpc") != "2.0":
        raise ValueError("not JSON-RPC 2.0")
    message_id, method = value.get("id"), value.get("method")
    if isinstance(message_id, bool) or not isinstance(message_id, int | str | None):
        raise ValueError("an invalid id")
    if isinstance(method, str):
        params = as_object(value.get("params"))
        if message_id is None:
            return Notification(method, params)
        return Request(message_id, method, params)
    if "error" in value:
        error = as_object(value["error"])
        code = error.get("code")
        number = code if isinstance(code, int) else 0
        sentence = one_line(as_string(error.get("message"))) or "no reason"
        return Answer(message_id, {}, RpcError(number, sentence, error.get("data")))
    if message_id is None or not isinstance(value.get("result"), dict):
        raise ValueError("neither a request nor an answer")
    return Answer(message_id, as_object(value["result"]))


def line_of(message: Json) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


# Messages of ours


def request(
    number: int, method: str, params: Json, protocol: str, capabilities: Json
) -> dict[str, Any]:
    """Return a request in the era of a version. It asks for progress if it calls a tool."""
    meta: dict[str, Any] = {}
    if method == "tools/call":
        meta["progressToken"] = number
    if protocol == MODERN:
        meta |= {
            f"{_META}protocolVersion": MODERN,
            f"{_META}clientInfo": _SELF,
            f"{_META}clientCapabilities": capabilities,
        }
    params = {**params, "_meta": meta} if meta else params
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return {**message, "params": params} if params else message


def initialize(number: int, capabilities: Json) -> dict[str, Any]:
    """Return the request that begins a session of the legacy era."""
    params = {"protocolVersion": LEGACY[0], "capabilities": capabilities, "clientInfo": _SELF}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


def notification(method: str, params: Json | None = None) -> dict[str, Any]:
    """Return a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return {**message, "params": params} if params else message


def cancellation(number: MessageId) -> dict[str, Any]:
    """Return the notification that a request's answer is no longer awaited."""
    return notification("notifications/cancelled", {"requestId": number})


def result_message(message_id: MessageId, result: Json) -> dict[str, Any]:
    """Return the answer to a request of the other side."""
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def error_message(message_id: MessageId | None, code: int, sentence: str) -> dict[str, Any]:
    """Return the refusal of a request of the other side."""
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": sentence}}


_SELF = {"name": "tui-chat", "version": __version__}


# Eras


def discovered(answer: Answer) -> ServerInfo | None:
    """Return what the answer to `server/discover` says of a modern server that speaks our version;
    None if the handshake is to be tried. Raises ValueError with the reason if both are in vain.
    """
    versions: Sequence[str] = ()
    if answer.error is not None:
        versions = answer.error.supported if answer.error.code == UNSUPPORTED_VERSION else ()
    else:
        versions = tuple(map(as_string, as_array(answer.result.get("supportedVersions"))))
        if MODERN in versions:
            meta = as_object(answer.result.get("_meta"))
            return _info(answer.result, as_object(meta.get(f"{_META}serverInfo")), MODERN)
    if versions and not set(versions) & set(LEGACY):
        raise ValueError(f"It speaks other versions: {one_line(', '.join(versions), 100)}.")
    return None


def initialized(answer: Answer) -> ServerInfo:
    """Return what the answer to `initialize` says of a legacy server. Raises ValueError."""
    if answer.error is not None:
        raise ValueError(f"It refused the handshake: {answer.error.message}")
    version = as_string(answer.result.get("protocolVersion"))
    if version not in LEGACY:
        raise ValueError(f"It speaks another version: {one_line(version, 40)}.")
    return _info(answer.result, as_object(answer.result.get("serverInfo")), version)


def _info(result: Json, server: Json, protocol: str) -> ServerInfo:
    return ServerInfo(
        one_line(as_string(server.get("name")), 80),
        one_line(as_string(server.get("version")), 40),
        protocol,
        as_object(result.get("capabilities")),
        as_string(result.get("instructions")),
    )

"""The definition of a protocol: its facts and its four functions, in one `ProtocolDefinition`.

All of it is pure: requests are encoded to a tree and decoded from bytes, replies
are parsed from events that the HTTP client split. The HTTP client never looks into a body.

The role that a turn gets in each protocol
1. OpenAI Chat and Responses keep roles as they are; for models that require it, `system` is
   `developer`. Responses has items for tool results, not a role.
2. Anthropic has `user` and `assistant`; tool results are user content. System turns before all
   other turns are the top-level `system`. A later one stays in place if the model accepts that;
   else it is moved to the top, or becomes a user turn.
3. Gemini has `user` and `model`; tool results are user content. All system turns, joined by a
   blank line, are the one `system_instruction`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Note
from tui_chat.models.message import MessageRole
from tui_chat.models.payload import Obj
from tui_chat.models.reply import Reply
from tui_chat.protocols.common.reply_events import ReplyReader

BEARER = ("Authorization", "Bearer ")
"""The header in which most providers expect the key, and its prefix."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A request in the form of a protocol, not yet rendered."""

    path: str
    """To be appended to the endpoint's base URL, query included; begins with `/`."""
    tree: Obj
    """The body."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers that the protocol requires beside content type and key (`anthropic-version`)."""
    key_header: tuple[str, str] = BEARER
    """The header of the key, and its prefix."""
    notes: tuple[Note, ...] = ()
    """The parts that were merged, hoisted, renamed or left out."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Tools whose names the protocol forbids: the tool's own name, its name in the request. The
    reply calls them by the latter; `tool_names.restore_names` restores the former."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSigns:
    """The keys and words that tell a captured request of this protocol from one of another."""

    unique_keys: frozenset[str] = frozenset()
    """Top-level keys that no other protocol has for its conversation: one of them decides. A
    protocol without any has its conversation in `messages`, as several do; the rest decides."""
    settings: frozenset[str] = frozenset()
    """Top-level keys that other protocols with `messages` lack."""
    roles: frozenset[str] = frozenset()
    message_keys: frozenset[str] = frozenset()
    block_types: frozenset[str] = frozenset()
    """Types of blocks in a message's content."""
    tool_keys: frozenset[str] = frozenset()
    is_own_message: Callable[[Mapping[str, Any]], bool] = lambda message: False
    """True for a message that no other protocol writes so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRules:
    """The rules for reading a base URL; see `base_url`."""

    reply_end: re.Pattern[str]
    """The end of the path of a request for a reply."""
    request_end: re.Pattern[str]
    """The end of the path of a request; a base URL that ends so loses it."""
    own_end: re.Pattern[str] | None = None
    """An end that no other protocol has, so that a base URL for another one is refused. None if
    people paste such URLs for another protocol too."""
    root: Callable[[str, int | None, str], tuple[str, str]] = lambda host, port, path: (path, "")
    """From host, port and the path that was typed: the path that requests are put behind, and the
    version that was typed, if the paths of requests begin with one."""
    request_path: Callable[[str, str, str], str] = lambda root, path, version: path
    """From the root, the path of a request and the version that was typed: the path to send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolDefinition:
    """One protocol. Each package defines one, and `registry` lists them."""

    protocol: Protocol

    encode: Callable[[ChatEnvelope, Endpoint], Encoded]
    """Encode an envelope as a request."""
    decode: Callable[[bytes], ChatEnvelope]
    """Decode a captured request body. Raises InputError if it is not of this protocol."""
    parser: Callable[[], ReplyReader]
    """Return a fresh parser for a streamed reply."""
    read_reply: Callable[[bytes], Reply]
    """Read a reply that came whole. Raises Refused for an error in a 200 body, and ReplyCut if
    the body is not a reply."""

    models_path: Callable[[Endpoint], str]
    """Path and query of an endpoint's model list."""
    urls: UrlRules
    signs: RequestSigns
    session_keys: frozenset[str]
    """Keys of a request whose meaning a session and a preset have a place for."""
    setting_groups: frozenset[str] = frozenset()
    """Top-level keys that hold the settings which other protocols have at the top."""
    stream_type: str = "text/event-stream"
    """The media type of a streamed reply."""
    model_pattern: re.Pattern[str] | None = None
    """Beginnings of model names, in lower case, whose native protocol this is."""
    key_header: tuple[str, str] = BEARER
    """The header of the key, and its prefix."""
    headers: Callable[[Endpoint], tuple[tuple[str, str], ...]] = lambda endpoint: ()
    """Headers beside content type and key that every request to an endpoint carries."""
    model_in_path: bool = False
    """True if the path names the model, so that the body may do without."""


# --- roles -------------------------------------------------------------------------------

SYSTEM_INSTRUCTION = "system_instruction"
"""The adapted role of what leaves the list of messages for a place of its own."""

SYSTEM_SEPARATOR = "\n\n"
"""The separator of system turns that are joined into one text."""


def describe_adapted_role(role: MessageRole, adapted: str, protocol: Protocol) -> str:
    """Return a sentence on a turn's `adapted` role; empty if it is its own among the messages."""
    if adapted == SYSTEM_INSTRUCTION:
        if protocol is Protocol.GEMINI:
            return "Gemini takes all system text as one instruction, separate from the messages."
        return f"{protocol.label} takes system text separately from the messages."
    if adapted == role:
        return ""
    match role:
        case "system" if adapted == "developer":
            return "This model uses the role “developer” for system messages."
        case "system":
            return f"{protocol.label} gets this system message in the role “{adapted}”."
        case "tool":
            return f"{protocol.label} takes tool results in the role “{adapted}”."
        case _:
            return f"{protocol.label} calls the {role} “{adapted}”."

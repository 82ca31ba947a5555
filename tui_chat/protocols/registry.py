"""Protocol -> its definition. A new protocol adds its package and one line here.

Detecting a protocol by a model's name, or by a captured request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import objects_in
from tui_chat.protocols.anthropic import ANTHROPIC
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns
from tui_chat.protocols.gemini import GEMINI
from tui_chat.protocols.ollama import OLLAMA
from tui_chat.protocols.openai_chat import OPENAI_CHAT
from tui_chat.protocols.openai_responses import OPENAI_RESPONSES

PROTOCOLS: dict[Protocol, ProtocolDefinition] = {
    OPENAI_CHAT.protocol: OPENAI_CHAT,
    OPENAI_RESPONSES.protocol: OPENAI_RESPONSES,
    ANTHROPIC.protocol: ANTHROPIC,
    GEMINI.protocol: GEMINI,
    OLLAMA.protocol: OLLAMA,
}
"""In the order in which they are listed on the screen."""


def protocol_of(protocol: Protocol) -> ProtocolDefinition:
    """Return the definition of a protocol."""
    return PROTOCOLS[protocol]


def detect_protocol(model: str) -> Protocol | None:
    """Guess a model's native protocol by its name; a router's prefix (`openai/`) is ignored.

    Returns None if the name says nothing.
    """
    name = model.rpartition("/")[2].lower()
    for definition in PROTOCOLS.values():
        if definition.model_pattern is not None and definition.model_pattern.match(name):
            return definition.protocol
    return None


def protocol_of_path(path: str) -> Protocol | None:
    """Return the protocol of a request for a reply by the path of its URL; None for any other."""
    owners = (p for p, definition in PROTOCOLS.items() if definition.urls.reply_end.search(path))
    return next(owners, None)


def detect_request(body: Mapping[str, Any]) -> Protocol | None:
    """Return the protocol of a request body; None if it is not a request.

    If the body fits several protocols equally well, the model's name decides, then the order
    of the registry.
    """
    keys = body.keys()
    for definition in PROTOCOLS.values():
        if definition.signs.unique_keys & keys:
            return definition.protocol
    if not isinstance(body.get("messages"), list):
        return None
    scores = {
        definition.protocol: _score(definition.signs, body)
        for definition in PROTOCOLS.values()
        if not definition.signs.unique_keys
    }
    best = [protocol for protocol, score in scores.items() if score == max(scores.values())]
    by_model = detect_protocol(str(body.get("model", "")))
    return by_model if by_model in best else best[0]


def _score(signs: RequestSigns, body: Mapping[str, Any]) -> int:
    """Return how many signs of a protocol a body with `messages` has."""
    messages = list(objects_in(body["messages"]))
    blocks = (block for message in messages for block in objects_in(message.get("content")))
    is_peculiar = (
        bool(_texts("role", messages) & signs.roles)
        or any(signs.message_keys & message.keys() for message in messages)
        or bool(_texts("type", blocks) & signs.block_types)
    )
    tools = sum(bool(signs.tool_keys & tool.keys()) for tool in objects_in(body.get("tools")))
    own = 3 * any(map(signs.is_own_message, messages))
    return len(body.keys() & signs.settings) + 2 * is_peculiar + tools + own


def _texts(key: str, objects: Iterable[dict[str, Any]]) -> set[str]:
    """Return the strings that objects have under a key."""
    return {value for item in objects if isinstance(value := item.get(key), str)}

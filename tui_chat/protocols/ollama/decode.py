"""Decode a request of Ollama's `/api/chat`.

1. A message is one turn: its thinking, its text, its images and its calls, in this order.
2. An image is bare base64; its first bytes show its type.
3. `options` holds the settings that other protocols have at the top.
4. A stream is the default: `stream` is often false in a request.
5. What no field holds is kept in the extras of the message, the call, the tool or the
   request, so that it can be encoded again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.json_text import as_array, as_object, to_json, type_name
from tui_chat.models.message import MESSAGE_ROLES, MessageRole, Part, ToolCall
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.common.decoding import TurnBuilder, captured_envelope
from tui_chat.protocols.common.request_fields import Fields, excerpt, load_request
from tui_chat.protocols.ollama.messages import image_type
from tui_chat.protocols.ollama.reader import READER

_OLLAMA = Protocol.OLLAMA


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError if it is not of this protocol."""
    request, notes = load_request(body, _OLLAMA, "messages")
    captured = READER.read(dict(request.remaining))
    turns = tuple(
        _turn(message, number) for number, message in enumerate(request.take_list("messages"), 1)
    )
    return captured_envelope(captured, turns, notes)


def is_own_message(message: Mapping[str, Any]) -> bool:
    """Return True if a message's tool calls have objects as arguments; OpenAI Chat has texts."""
    functions = (
        as_object(as_object(call).get("function")) for call in as_array(message.get("tool_calls"))
    )
    return any(isinstance(function.get("arguments"), dict) for function in functions)


def _turn(message: Fields, number: int) -> Turn:
    word = message.remaining.pop("role", None)
    role = _role(word)
    if role is None:
        role_names = ", ".join(MESSAGE_ROLES)
        raise InputError(
            f"{message.path('role')} must be one of {role_names}, not {excerpt(word)}."
        )
    builder = TurnBuilder(_OLLAMA, role, number)
    builder.role_word = word if word != role else ""
    if role == "assistant" and (thinking := message.take_text("thinking")):
        builder.add_reasoning(ReasoningBlock(_OLLAMA, thinking))
    _read_content(message, builder)
    for image in message.take_strings("images"):
        builder.add_part(Part("image", image_type(image), data=image))
    if role == "assistant":
        _read_calls(message, builder)
    if role == "tool":
        builder.name = message.take_text("tool_name")
        builder.tool_call_id = message.take_text("tool_call_id")
    builder.extras = message.remaining_json()
    return builder.build()


def _role(word: object) -> MessageRole | None:
    """Return the role that a word means, in any capitalization, as the server reads it."""
    text = word.lower() if isinstance(word, str) else ""
    return next((role for role in MESSAGE_ROLES if role == text), None)


def _read_content(message: Fields, builder: TurnBuilder) -> None:
    if "content" not in message.remaining:
        builder.shape = "absent"
        return
    content = message.remaining.pop("content")
    if content is None:
        builder.shape = "null"
    elif isinstance(content, str):
        builder.shape = "string"
        if content:
            builder.add_text(content)
    else:
        place = message.path("content")
        raise InputError(f"{place} must be a text, not {type_name(content)}.")


def _read_calls(message: Fields, builder: TurnBuilder) -> None:
    """Take the tool calls. null and [] stay as they are."""
    calls = message.remaining.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return
    for call in message.take_list("tool_calls"):
        function = call.take_fields("function") or Fields({}, "")
        identity, name = call.take_text("id"), function.take_text("name")
        arguments = function.remaining.get("arguments")
        arguments_json = ""
        if isinstance(arguments, dict):
            del function.remaining["arguments"]
            arguments_json = to_json(cast("object", arguments))
        call.put_back("function", function)
        builder.add_call(ToolCall(identity, name, arguments_json), extras=call.remaining_json())

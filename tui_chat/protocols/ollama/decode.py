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
from typing import Any, ClassVar, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, Turn
from tui_chat.models.json_text import as_array, as_object, to_json, type_name
from tui_chat.models.message import MESSAGE_ROLES, MessageRole, Part, ToolCall
from tui_chat.models.semantics import UNSET, Namespace, ReasoningBlock, Setting
from tui_chat.protocols.common.decoding import (
    Meanings,
    TurnBuilder,
    captured_envelope,
    captured_model,
    read_settings,
    read_tools,
    sourced,
)
from tui_chat.protocols.common.openai import read_tool
from tui_chat.protocols.common.request_fields import (
    Fields,
    excerpt,
    load_request,
    take_if_reversible,
)
from tui_chat.protocols.common.settings import INTEGER, NUMBER, TEXTS, Scalar, read_scalars
from tui_chat.protocols.ollama.messages import image_type
from tui_chat.protocols.ollama.settings import read_format, read_think, write_format, write_think

_OLLAMA = Protocol.OLLAMA


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError if it is not of this protocol."""
    request, notes = load_request(body, _OLLAMA, "messages")
    turns = tuple(
        _turn(message, number) for number, message in enumerate(request.take_list("messages"), 1)
    )
    tools = read_tools(request, _OLLAMA, read_tool)
    parameters = _parameters(request)
    settings = read_settings(OllamaSettings, request.remaining)
    meanings = settings.meanings()
    return captured_envelope(request, turns, parameters, tools, settings, notes, meanings=meanings)


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


def _parameters(request: Fields) -> Parameters:
    options = request.take_fields("options") or Fields({}, "options")
    parameters = Parameters(
        model=captured_model(request.take_text("model")),
        stream=request.remaining.get("stream") is not False,
        response_format=sourced(
            "format", take_if_reversible(request, "format", read_format, write_format)
        ),
        effort=sourced("think", take_if_reversible(request, "think", read_think, write_think)),
        **read_scalars(options, _SCALARS),
    )
    request.put_back("options", options)
    return parameters


def _take_limit(options: Fields, key: str) -> int | None:
    """Take a reply limit, unless it is one of the numbers below 1 that mean no limit."""
    limit = options.remaining.get(key)
    return options.take_integer(key) if isinstance(limit, int) and limit > 0 else None


_SCALARS = (
    Scalar("temperature", "temperature", NUMBER),
    Scalar("top_p", "top_p", NUMBER),
    Scalar("top_k", "top_k", INTEGER),
    Scalar("presence_penalty", "presence_penalty", NUMBER),
    Scalar("frequency_penalty", "frequency_penalty", NUMBER),
    Scalar("seed", "seed", INTEGER),
    Scalar("max_tokens", "num_predict", _take_limit),
    Scalar("stop", "stop", TEXTS),
)
"""Keys of `options`."""


@dataclass(frozen=True, slots=True)
class OllamaSettings(Namespace):
    """The settings that only Ollama has."""

    protocol: ClassVar = Protocol.OLLAMA
    informational: ClassVar = frozenset({"keep_alive"})
    groups: ClassVar = frozenset({"options"})

    format: Setting = UNSET
    """Only a form that `Parameters.response_format` does not give back word for word."""
    keep_alive: Setting = UNSET
    """The time for which the model stays loaded after the request: seconds, or `5m`; -1 for
    ever."""
    logprobs: Setting = UNSET
    options: Setting = UNSET
    """The options that no unified field holds: `num_ctx`, `min_p`, `repeat_penalty` ..."""
    shift: Setting = UNSET
    """False: fail at the end of the context, instead of dropping its beginning."""
    stream: Setting = UNSET
    """As it was written; absent means true."""
    think: Setting = UNSET
    """Only a value that `Parameters.effort` does not give back."""
    top_logprobs: Setting = UNSET
    truncate: Setting = UNSET
    """False: fail where the messages exceed the context, instead of dropping the oldest."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        meanings = Meanings()
        meanings.add_logprobs(self.logprobs, self.top_logprobs, "logprobs", "top_logprobs")
        return meanings

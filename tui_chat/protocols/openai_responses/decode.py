"""Reading a captured Responses request.

1. `instructions` is a leading system turn that remembers its place.
2. Items of the model that follow each other are one turn; every message of another and every
   output of a call is one.
3. A request may continue what the provider kept (`previous_response_id`, `conversation`); then
   it need not have any input, and outputs need not have their calls beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, Turn
from tui_chat.models.message import MessageRole
from tui_chat.models.namespaces import (
    ResponsesSettings,
    Semantics,
    SessionSemantics,
    ToolSemantics,
)
from tui_chat.protocols.captured import model_of, settings_of, sourced, take_if_said_back, tools_of
from tui_chat.protocols.fields import Fields, kind_of, load_request, shown
from tui_chat.protocols.openai_responses.items import is_message, read_content, read_said
from tui_chat.protocols.openai_responses.tools import (
    read_choice,
    read_format,
    read_tool,
    say_choice,
    say_format,
)
from tui_chat.protocols.turn_builder import TurnBuilder

_RESPONSES = Protocol.OPENAI_RESPONSES
_ROLES: dict[str, MessageRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_CONTINUES = ("previous_response_id", "conversation", "prompt")


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError where it is none of this protocol."""
    request, notes = load_request(body, _RESPONSES)
    shape = request.left.get("input")
    if shape is None and not any(request.left.get(key) for key in _CONTINUES):
        raise InputError("This is no OpenAI Responses request: it has no “input”.")
    turns = tuple(_turns(request))
    tools, native = tools_of(request, _RESPONSES, read_tool)
    parameters = _parameters(request)
    previous = request.text("previous_response_id")
    settings = settings_of(ResponsesSettings, request.left, spelled={"input_shape": ""})
    if not isinstance(shape, list):
        settings = replace(settings, input_shape="string" if isinstance(shape, str) else "absent")
    semantics = Semantics(
        source=_RESPONSES,
        session=SessionSemantics(previous),
        tools=ToolSemantics(native=native),
        responses=settings,
        provider_extras={_RESPONSES: request.left} if request.left else {},
    )
    return ChatEnvelope(turns, parameters, tools, notes=tuple(notes), semantics=semantics)


def _turns(request: Fields) -> Iterator[Turn]:
    number = 1
    if instructions := request.text("instructions"):
        builder = TurnBuilder(_RESPONSES, "system", number)
        builder.slot = "instructions"
        builder.text(instructions)
        yield builder.turn()
        number += 1
    given = request.left.get("input")
    if given is None:
        return  # an explicit null stays among the extras
    if isinstance(given, str):
        del request.left["input"]
        builder = TurnBuilder(_RESPONSES, "user", number)
        if given:
            builder.text(given)
        yield builder.turn()
        return
    if not isinstance(given, list):
        raise InputError(f"input must be a text or a list of items, not {kind_of(given)}.")
    said: TurnBuilder | None = None
    after_message = False
    for item in request.objects("input"):
        message = is_message(item)
        if (message and item.left["role"] == "assistant") or not (message or _is_output(item)):
            if said is not None and message and after_message:
                yield said.turn()
                number += 1
                said = None
            said = said or TurnBuilder(_RESPONSES, "assistant", number)
            read_said(item, said)
            after_message = message
            continue
        if said is not None:
            yield said.turn()
            number += 1
            said = None
        yield _message(item, number) if message else _output(item, number)
        number += 1
    if said is not None:
        yield said.turn()


def _is_output(item: Fields) -> bool:
    return item.left.get("type") in ("function_call_output", "custom_tool_call_output")


def _message(item: Fields, number: int) -> Turn:
    word = item.left.pop("role")
    role = _ROLES.get(word) if isinstance(word, str) else None
    if role is None:
        known = ", ".join(_ROLES)
        raise InputError(f"{item.at('role')} must be one of {known}, not {shown(word)}.")
    builder = TurnBuilder(_RESPONSES, role, number)
    builder.role_word = "developer" if word == "developer" else ""
    read_content(item, "content", builder)
    builder.extras = item.rest()
    return builder.turn()


def _output(item: Fields, number: int) -> Turn:
    builder = TurnBuilder(_RESPONSES, "tool", number)
    custom = item.left.pop("type") == "custom_tool_call_output"
    builder.tool_call_id = item.text("call_id")
    identity = item.text("id")
    if identity or custom:
        builder.result(id=identity, name="custom" if custom else "")
    read_content(item, "output", builder)
    builder.extras = item.rest()
    return builder.turn()


def _parameters(request: Fields) -> Parameters:
    text, form = request.inner("text"), None
    if text is not None:
        form = take_if_said_back(text, "format", read_format, say_format)
        request.put_back("text", text)
    reasoning, effort = request.inner("reasoning"), ""
    if reasoning is not None:
        effort = reasoning.text("effort")
        request.put_back("reasoning", reasoning)
    return Parameters(
        model=model_of(request.text("model")),
        temperature=sourced("temperature", request.number("temperature")),
        max_tokens=sourced("max_output_tokens", request.integer("max_output_tokens")),
        stream=request.exactly("stream", True),
        top_p=sourced("top_p", request.number("top_p")),
        tool_choice=sourced(
            "tool_choice", take_if_said_back(request, "tool_choice", read_choice, say_choice)
        ),
        parallel_tool_calls=sourced("parallel_tool_calls", request.flag("parallel_tool_calls")),
        response_format=sourced("text.format", form),
        effort=sourced("reasoning.effort", effort or None),
    )

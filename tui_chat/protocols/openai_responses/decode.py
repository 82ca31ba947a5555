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
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, Turn
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.models.namespaces import (
    ResponsesSettings,
    Semantics,
    SessionSemantics,
    ToolSemantics,
)
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.common.request_fields import (
    Fields,
    compact,
    kind_of,
    load_request,
    model_of,
    settings_of,
    shown,
    sourced,
    take_if_said_back,
    tools_of,
)
from tui_chat.protocols.common.turn_builder import TurnBuilder, marks_of
from tui_chat.protocols.common.urls import split_data_url
from tui_chat.protocols.openai_responses.tools import (
    read_choice,
    read_format,
    read_tool,
    say_choice,
    say_format,
)

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


SUMMARY, REASONING_TEXT = "summary", "reasoning_text"


def read_said(item: Fields, builder: TurnBuilder) -> None:
    """Take one item of the model's into its turn."""
    kind = item.left.get("type")
    if is_message(item):
        _assistant_message(item, builder)
    elif kind == "function_call" and isinstance(item.left.get("arguments"), str):
        del item.left["type"]
        arguments = item.left.pop("arguments")
        call = ToolCall(item.text("call_id"), item.text("name"), arguments)
        builder.call(call, id=item.text("id"), extras=item.rest())
    elif kind == "custom_tool_call" and isinstance(item.left.get("input"), str):
        del item.left["type"]
        words = item.left.pop("input")
        call = ToolCall(item.text("call_id"), item.text("name"), words)
        builder.call(call, name="custom", id=item.text("id"), extras=item.rest())
    elif kind == "reasoning" and (blocks := _reasoning(item)):
        rest = item.rest()
        for index, block in enumerate(blocks):
            builder.think(block, extras="" if index else rest)
    else:
        builder.other(str(kind or "item"), item.left)


def is_message(item: Fields) -> bool:
    """Whether an item is a message."""
    return item.left.get("type", "message") == "message" and "role" in item.left


def _assistant_message(item: Fields, builder: TurnBuilder) -> None:
    whole = dict(item.left)
    content = item.left.pop("content", None)
    del item.left["role"]
    identity, phase = item.text("id"), item.text("phase")
    if isinstance(content, str):
        builder.text(content, id=identity, phase=phase, name="string", extras=item.rest())
        return
    parts = cast("list[object]", content) if isinstance(content, list) else []
    if not parts or not all(_is_text(part) or _is_refusal(part) for part in parts):
        builder.other("message", whole)
        return
    if builder.refusal or sum(map(_is_refusal, parts)) > 1:
        builder.other("message", whole)
        return
    for index, each in enumerate(parts):
        part = Fields(cast("dict[str, Any]", each), "")
        del part.left["type"]
        words = str(part.left.pop("text", "") or part.left.pop("refusal", ""))
        extras = dict(item.left) if index == 0 else {}
        if part.left:
            extras["content"] = part.left
        marks: dict[str, Any] = {"name": "more" if index else ""}
        if index == 0:
            marks |= {"id": identity, "phase": phase}
        marks["extras"] = compact(extras) if extras else ""
        if _is_refusal(each):
            builder.refuse(words, **marks)
        else:
            builder.text(words, **marks)


def _is_text(part: object) -> bool:
    said = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    return said.get("type") == "output_text" and isinstance(said.get("text"), str)


def _is_refusal(part: object) -> bool:
    said = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    return said.get("type") == "refusal" and isinstance(said.get("refusal"), str)


def _reasoning(item: Fields) -> list[ReasoningBlock]:
    """Return the blocks of a reasoning item, its keys taken; nothing where its parts are odd."""
    summary = _texts(item.left.get("summary"), "summary_text")
    content = _texts(item.left.get("content", []), "reasoning_text")
    if summary is None or content is None or ("content" in item.left and not content):
        return []
    del item.left["type"], item.left["summary"]
    item.left.pop("content", None)
    identity, encrypted = item.text("id"), item.text("encrypted_content")
    texts = [(SUMMARY, text) for text in summary] + [(REASONING_TEXT, text) for text in content]
    # An item without a summary is still an item.
    return [
        ReasoningBlock(_RESPONSES, text, encrypted="" if index else encrypted, id=identity, kind=k)
        for index, (k, text) in enumerate(texts or [(SUMMARY, "")])
    ]


def _texts(parts: object, kind: str) -> list[str] | None:
    """Return the texts of a reasoning item's parts; None where one is not just that."""
    if not isinstance(parts, list):
        return None
    texts: list[str] = []
    for each in cast("list[Any]", parts):
        text = cast("dict[str, Any]", each).get("text") if isinstance(each, dict) else None
        if not isinstance(text, str) or not text or each != {"type": kind, "text": text}:
            return None
        texts.append(text)
    return texts


def read_content(holder: Fields, key: str, builder: TurnBuilder) -> None:
    """Take the content of a message that is not the model's, or the output of a call."""
    if key not in holder.left:
        builder.shape = "absent"
        return
    content = holder.left.pop(key)
    if content is None:
        builder.shape = "null"
    elif isinstance(content, str):
        builder.shape = "string"
        if content:
            builder.text(content)
    elif isinstance(content, list):
        builder.shape = "parts"
        for index, each in enumerate(cast("list[object]", content)):
            place = f"{holder.at(key)}[{index}]"
            if not isinstance(each, dict):
                raise InputError(f"{place} must be an object, not {kind_of(each)}.")
            _part(Fields(cast("dict[str, Any]", each), place), builder)
    else:
        place = holder.at(key)
        raise InputError(f"{place} must be a text or a list of parts, not {kind_of(content)}.")


def _part(block: Fields, builder: TurnBuilder) -> None:
    whole = dict(block.left)
    kind = block.text("type")
    if kind == "input_text" and isinstance(block.left.get("text"), str):
        builder.text(block.left.pop("text"), **marks_of(block))
    elif (kind == "input_image" and (part := _image(block)) is not None) or (
        kind == "input_file" and (part := _file(block)) is not None
    ):
        builder.part(part, **marks_of(block))
    else:
        builder.other(kind, whole)


def _image(block: Fields) -> Part | None:
    url, detail = block.text("image_url"), block.text("detail")
    if url and (split := split_data_url(url)) is not None:
        return Part("image", split[0], data=split[1], detail=detail)
    if url:
        return Part("image", url=url, detail=detail)
    if file_id := block.text("file_id"):
        return Part("image", file_id=file_id, protocol=_RESPONSES, detail=detail)
    return None


def _file(block: Fields) -> Part | None:
    name = block.text("filename")
    if data := block.text("file_data"):
        if (split := split_data_url(data)) is not None:
            return Part("file", split[0], data=split[1], name=name)
        return Part("file", data=data, name=name)
    if url := block.text("file_url"):
        return Part("file", url=url, name=name)
    if file_id := block.text("file_id"):
        return Part("file", file_id=file_id, protocol=_RESPONSES, name=name)
    return None

"""Decode an OpenAI Responses request.

1. `instructions` is a leading system turn, marked as such.
2. Consecutive items of the model (reasoning, messages, calls) are one turn; a message directly
   after a message begins another. Every other message and every output of a call is a turn.
3. A text piece is called `string` if its message's content was one string, and `more` if it is
   another part of the message of the piece before. Its extras are the message's, which hold the
   part's extras under `content`.
4. A reasoning item is one block for each part of its summary and its content; the blocks share
   the item's id, and the first one, whose piece is called `item`, has its encrypted content. The
   pieces of the others are called `more`.
5. An item that has no unified form is kept whole, in the model's turn. One of an unknown type that
   names a role, or that no turn of the model is open for, is a turn of its own.
6. An item that announces tools (`additional_tools`) is a turn, too; see `common.openai_tools`.
7. A request may continue what the provider kept (`previous_response_id`, `conversation`); then
   it may have no input, and outputs without their calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.json_text import as_object, to_json, type_name
from tui_chat.models.media import split_data_url
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.common.decoding import (
    TurnBuilder,
    captured_envelope,
    take_marks,
    take_role,
)
from tui_chat.protocols.common.request_fields import Fields, load_request
from tui_chat.protocols.openai_responses.messages import INPUT, OF_THE_MODEL, ROLES
from tui_chat.protocols.openai_responses.reader import READER

_RESPONSES = Protocol.OPENAI_RESPONSES
_KNOWN = OF_THE_MODEL | {
    *("additional_tools", "message", "input_image", "input_file", "output_text", "refusal"),
}
_CONTINUES = ("previous_response_id", "conversation", "prompt")


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError if it is not of this protocol."""
    request, notes = load_request(body, _RESPONSES)
    captured = READER.read(dict(request.remaining))
    shape = request.remaining.get("input")
    if shape is None and not any(request.remaining.get(key) for key in _CONTINUES):
        raise InputError("This is not a valid OpenAI Responses request: it has no “input”.")
    return captured_envelope(captured, _turns(request), notes, _KNOWN)


def _turns(request: Fields) -> Iterator[Turn]:
    """Yield the turns of a request."""
    number = 1
    if instructions := request.take_text("instructions"):
        builder = TurnBuilder(_RESPONSES, "system", number)
        builder.slot = "instructions"
        builder.add_text(instructions)
        yield builder.build()
        number += 1
    input_value = request.remaining.get("input")
    if input_value is None:
        return  # an explicit null stays among the extras
    if isinstance(input_value, str):
        del request.remaining["input"]
        builder = TurnBuilder(_RESPONSES, "user", number)
        builder.slot = INPUT
        if input_value:
            builder.add_text(input_value)
        yield builder.build()
        return
    if not isinstance(input_value, list):
        raise InputError(f"input must be a text or a list of items, not {type_name(input_value)}.")
    assistant: TurnBuilder | None = None
    after_message = False
    for item in request.take_list("input"):
        message = is_message(item)
        alone = not message and _stands_alone(item, is_open=assistant is not None)
        of_the_model = not (message or alone or _is_output(item))
        if (message and item.remaining["role"] == "assistant") or of_the_model:
            if assistant is not None and message and after_message:
                yield assistant.build()
                number += 1
                assistant = None
            assistant = assistant or TurnBuilder(_RESPONSES, "assistant", number)
            read_model_item(item, assistant)
            after_message = message
            continue
        if assistant is not None:
            yield assistant.build()
            number += 1
            assistant = None
        if alone:
            yield _unknown_item(item, number)
        else:
            yield _message(item, number) if message else _output(item, number)
        number += 1
    if assistant is not None:
        yield assistant.build()


def _is_output(item: Fields) -> bool:
    return item.remaining.get("type") in ("function_call_output", "custom_tool_call_output")


def _stands_alone(item: Fields, *, is_open: bool) -> bool:
    """Return True for an unknown item that is its own turn. `is_open`: in the model's turn."""
    kind, role = item.remaining.get("type"), item.remaining.get("role")
    if (isinstance(kind, str) and kind in OF_THE_MODEL) or _is_output(item):
        return False
    return (isinstance(role, str) and role in ROLES) or not is_open


def _unknown_item(item: Fields, number: int) -> Turn:
    word = item.remaining.get("role")
    role = ROLES.get(word, "system") if isinstance(word, str) else "system"
    builder = TurnBuilder(_RESPONSES, role, number)
    builder.slot = "item"
    builder.add_other(str(item.remaining.get("type") or "item"), item.remaining)
    return builder.build()


def _message(item: Fields, number: int) -> Turn:
    word, role = take_role(item, ROLES)
    builder = TurnBuilder(_RESPONSES, role, number)
    builder.role_word = "developer" if word == "developer" else ""
    builder.read_content(item, "content", _part)
    builder.extras = item.remaining_json()
    return builder.build()


def _output(item: Fields, number: int) -> Turn:
    builder = TurnBuilder(_RESPONSES, "tool", number)
    custom = item.remaining.pop("type") == "custom_tool_call_output"
    builder.tool_call_id = item.take_text("call_id")
    identity = item.take_text("id")
    if identity or custom:
        builder.add_result(id=identity, name="custom" if custom else "")
    builder.read_content(item, "output", _part)
    builder.extras = item.remaining_json()
    return builder.build()


SUMMARY, REASONING_TEXT = "summary", "reasoning_text"


def read_model_item(item: Fields, builder: TurnBuilder) -> None:
    """Read one item of the model into its turn."""
    kind = item.remaining.get("type")
    if is_message(item):
        _assistant_message(item, builder)
    elif kind == "function_call" and isinstance(item.remaining.get("arguments"), str):
        del item.remaining["type"]
        arguments = item.remaining.pop("arguments")
        call = ToolCall(item.take_text("call_id"), item.take_text("name"), arguments)
        builder.add_call(call, id=item.take_text("id"), extras=item.remaining_json())
    elif kind == "custom_tool_call" and isinstance(item.remaining.get("input"), str):
        del item.remaining["type"]
        words = item.remaining.pop("input")
        call = ToolCall(item.take_text("call_id"), item.take_text("name"), words)
        builder.add_call(call, name="custom", id=item.take_text("id"), extras=item.remaining_json())
    elif kind == "reasoning" and (blocks := _reasoning(item)):
        rest = item.remaining_json()
        for index, block in enumerate(blocks):
            marks = {"name": "more"} if index else {"name": "item", "extras": rest}
            builder.add_reasoning(block, **marks)
    else:
        builder.add_other(str(kind or "item"), item.remaining)


def is_message(item: Fields) -> bool:
    """Return True if an item is a message."""
    return item.remaining.get("type", "message") == "message" and "role" in item.remaining


def _assistant_message(item: Fields, builder: TurnBuilder) -> None:
    whole = dict(item.remaining)
    content = item.remaining.pop("content", None)
    del item.remaining["role"]
    identity, phase = item.take_text("id"), item.take_text("phase")
    if isinstance(content, str):
        builder.add_text(
            content, id=identity, phase=phase, name="string", extras=item.remaining_json()
        )
        return
    parts = cast("list[object]", content) if isinstance(content, list) else []
    if not parts or not all(_is_text(part) or _is_refusal(part) for part in parts):
        builder.add_other("message", whole)
        return
    if builder.refusal or sum(map(_is_refusal, parts)) > 1:
        builder.add_other("message", whole)
        return
    for index, content_part in enumerate(parts):
        part = Fields(cast("dict[str, Any]", content_part), "")
        del part.remaining["type"]
        words = str(part.remaining.pop("text", "") or part.remaining.pop("refusal", ""))
        extras = dict(item.remaining) if index == 0 else {}
        if part.remaining:
            extras["content"] = part.remaining
        marks: dict[str, Any] = {"name": "more" if index else ""}
        if index == 0:
            marks |= {"id": identity, "phase": phase}
        marks["extras"] = to_json(extras) if extras else ""
        if _is_refusal(content_part):
            builder.add_refusal(words, **marks)
        else:
            builder.add_text(words, **marks)


def _is_text(part: object) -> bool:
    fields = as_object(part)
    return fields.get("type") == "output_text" and isinstance(fields.get("text"), str)


def _is_refusal(part: object) -> bool:
    fields = as_object(part)
    return fields.get("type") == "refusal" and isinstance(fields.get("refusal"), str)


def _reasoning(item: Fields) -> list[ReasoningBlock]:
    """Take the keys of a reasoning item and return its blocks; none if a part's form is unknown."""
    summary = _texts(item.remaining.get("summary"), "summary_text")
    content = _texts(item.remaining.get("content", []), "reasoning_text")
    if summary is None or content is None or ("content" in item.remaining and not content):
        return []
    del item.remaining["type"], item.remaining["summary"]
    item.remaining.pop("content", None)
    identity, encrypted = item.take_text("id"), item.take_text("encrypted_content")
    texts = [(SUMMARY, text) for text in summary] + [(REASONING_TEXT, text) for text in content]
    # An item without a summary is still an item.
    return [
        ReasoningBlock(_RESPONSES, text, encrypted="" if index else encrypted, id=identity, kind=k)
        for index, (k, text) in enumerate(texts or [(SUMMARY, "")])
    ]


def _texts(parts: object, kind: str) -> list[str] | None:
    """Return the texts of a reasoning item's parts; None if one is anything else."""
    if not isinstance(parts, list):
        return None
    texts: list[str] = []
    for part in cast("list[Any]", parts):
        text = as_object(part).get("text")
        if not isinstance(text, str) or not text or part != {"type": kind, "text": text}:
            return None
        texts.append(text)
    return texts


def _part(block: Fields, builder: TurnBuilder) -> None:
    whole = dict(block.remaining)
    kind = block.take_text("type")
    if kind == "input_text" and isinstance(block.remaining.get("text"), str):
        builder.add_text(block.remaining.pop("text"), **take_marks(block))
    elif (kind == "input_image" and (part := _image(block)) is not None) or (
        kind == "input_file" and (part := _file(block)) is not None
    ):
        builder.add_part(part, **take_marks(block))
    else:
        builder.add_other(kind, whole)


def _image(block: Fields) -> Part | None:
    url, detail = block.take_text("image_url"), block.take_text("detail")
    if url and (split := split_data_url(url)) is not None:
        return Part("image", split[0], data=split[1], detail=detail)
    if url:
        return Part("image", url=url, detail=detail)
    if file_id := block.take_text("file_id"):
        return Part("image", file_id=file_id, protocol=_RESPONSES, detail=detail)
    return None


def _file(block: Fields) -> Part | None:
    name = block.take_text("filename")
    if data := block.take_text("file_data"):
        if (split := split_data_url(data)) is not None:
            return Part("file", split[0], data=split[1], name=name)
        return Part("file", data=data, name=name)
    if url := block.take_text("file_url"):
        return Part("file", url=url, name=name)
    if file_id := block.take_text("file_id"):
        return Part("file", file_id=file_id, protocol=_RESPONSES, name=name)
    return None

"""Input items, read: messages, reasoning, function calls and their outputs.

1. What the model said in one go is several items and one turn: reasoning, messages and calls that
   follow each other. A message right after a message begins another turn.
2. A text piece is called `string` where its message's content was one string, and `more` where
   it is another part of the message of the piece before. Its extras are the message's; those of
   the part are in there under `content`.
3. A reasoning item is one block for each part of its summary and its content; the blocks share
   the item's id, and the first one has its encrypted content.
4. An item that is none of ours is kept whole, in the model's turn.
"""

from __future__ import annotations

from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.fields import Fields, compact, kind_of
from tui_chat.protocols.turn_builder import TurnBuilder, marks_of
from tui_chat.protocols.urls import split_data_url

_RESPONSES = Protocol.OPENAI_RESPONSES
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

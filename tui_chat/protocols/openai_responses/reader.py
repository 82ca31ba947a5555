"""Reading a request of Responses as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_chat.errors import InputError
from tui_chat.models.blocks import Extras, JsonObject, TextBlock, form_of
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.reading import (
    RequestReader,
    objects_at,
    string,
    turn_origin,
)
from tui_chat.protocols.common.setting_rows import boolean
from tui_chat.protocols.common.trees import dictionary
from tui_chat.protocols.common.turn_fit import merged_text
from tui_chat.protocols.openai_responses.messages import (
    INPUT,
    INSTRUCTIONS,
    OF_THE_MODEL,
    RESPONSES,
    read_items,
    write_items,
)
from tui_chat.protocols.openai_responses.settings import (
    TABLE,
    read_hosted,
    write_function,
    write_hosted,
)

_CONTINUES = ("previous_response_id", "conversation", "prompt")
"""Keys of what the provider keeps; a request with one of them may need no input."""


def _read_turns(body: JsonObject) -> Iterator[Turn]:
    number = 1
    if instructions := string(body, "instructions"):
        extras = Extras(RESPONSES, INSTRUCTIONS)
        blocks = (TextBlock(instructions),)
        yield Turn("system", blocks, turn_origin("system", 1), extras=extras)
        number = 2
    said = body.get("input")
    if isinstance(said, str):
        blocks = (TextBlock(said),) if said else ()
        extras = Extras(RESPONSES, INPUT)
        yield Turn("user", blocks, turn_origin("user", number), extras=extras)
    elif said is None:
        if not any(body.get(key) for key in _CONTINUES):
            raise InputError("This is not a valid OpenAI Responses request: it has no “input”.")
    else:
        yield from read_items(objects_at(body, "input"), number)


def _write_turns(turns: Sequence[Turn]) -> JsonObject:
    body: JsonObject = {}
    if turns and form_of(turns[0], RESPONSES) == INSTRUCTIONS:
        body["instructions"], turns = merged_text(turns[0]), turns[1:]
    if len(turns) == 1 and form_of(turns[0], RESPONSES) == INPUT:
        return body | {"input": merged_text(turns[0])}
    return body | {"input": [item for turn in turns for item in write_items(turn)]}


def _read_tool(wire: JsonObject) -> ToolDefinition | None:
    name, parameters = string(wire, "name"), dictionary(wire.get("parameters"))
    if string(wire, "type") != "function" or not name:
        return None
    about, strict = string(wire, "description"), boolean(wire.get("strict"))
    return ToolDefinition(name, about, parameters, strict)


_KNOWN = OF_THE_MODEL | {
    *("additional_tools", "message", "input_image", "input_file", "output_text", "refusal"),
}
"""Types of content that the protocol has beside those of the blocks."""

READER = RequestReader(
    RESPONSES,
    TABLE,
    _read_turns,
    _write_turns,
    _read_tool,
    write_function,
    read_hosted,
    write_hosted,
    conversation="",
    known=_KNOWN,
)

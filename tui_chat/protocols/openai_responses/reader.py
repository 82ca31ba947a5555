"""Reading a request of Responses as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import Extras, JsonObject, TextBlock, form_of
from tui_chat.models.envelope import ToolDefinition
from tui_chat.protocols.common.reading import (
    boolean,
    objects_at,
    string,
    turn_origin,
)
from tui_chat.protocols.common.request_reader import RequestReader
from tui_chat.protocols.common.trees import dictionary
from tui_chat.protocols.common.turn_fit import merged_text
from tui_chat.protocols.openai_responses.messages import (
    INPUT,
    INSTRUCTIONS,
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


def _read_turns(body: JsonObject) -> Iterator[BlockTurn]:
    number = 1
    if instructions := string(body, "instructions"):
        extras = Extras(RESPONSES, INSTRUCTIONS)
        blocks = (TextBlock(instructions),)
        yield BlockTurn("system", blocks, turn_origin("system", 1), extras=extras)
        number = 2
    said = body.get("input")
    if isinstance(said, str):
        blocks = (TextBlock(said),) if said else ()
        extras = Extras(RESPONSES, INPUT)
        yield BlockTurn("user", blocks, turn_origin("user", number), extras=extras)
    elif said is not None:  # what the provider keeps may need no input
        yield from read_items(objects_at(body, "input"), number)


def _write_turns(turns: Sequence[BlockTurn]) -> JsonObject:
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


READER = RequestReader(
    RESPONSES,
    TABLE,
    _read_turns,
    _write_turns,
    _read_tool,
    write_function,
    read_hosted,
    write_hosted,
)

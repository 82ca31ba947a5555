"""Reading a request of generateContent as blocks.

A content is one turn, or several joined ones; `systemInstruction` is a leading system turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import Json, JsonObject, form_of
from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.common.reading import (
    NativeDefinition,
    WireRequest,
    WireTool,
    items_of,
    objects_at,
)
from tui_chat.protocols.common.request_reader import RequestReader
from tui_chat.protocols.common.trees import dictionary
from tui_chat.protocols.gemini.contents import (
    JOINED,
    read_content,
    read_instruction,
    write_content,
    write_parts,
)
from tui_chat.protocols.gemini.settings import TABLE
from tui_chat.protocols.gemini.spelling import Places, camel, spelled
from tui_chat.protocols.gemini.tools import (
    read_function,
    read_group,
    write_function,
    write_groups,
)

_GEMINI = Protocol.GEMINI
_PLACES: Places = {
    "systemInstruction": {},
    "generationConfig": {"thinkingConfig": {}},
    "toolConfig": {"functionCallingConfig": {}},
}


class GeminiReader(RequestReader):
    """Reads keys in snake_case too, and functions in their groups."""

    __slots__ = ()

    def read(self, body: JsonObject) -> WireRequest:
        wire, form = camel(body, _PLACES)
        request = RequestReader.read(self, wire)
        rest = request.rest
        return request if rest is None else replace(request, rest=replace(rest, form=form))

    def write(self, request: WireRequest) -> JsonObject:
        form = request.rest.form if request.rest is not None else ""
        return spelled(RequestReader.write(self, request), form.split(), _PLACES)

    def read_tools(self, listed: Json) -> Iterable[WireTool | NativeDefinition]:
        groups: list[Json] = [listed] if isinstance(listed, dict) else items_of(listed)
        return (tool for group in groups for tool in read_group(group))

    def write_tools(self, tools: Sequence[WireTool | NativeDefinition]) -> list[Json]:
        return write_groups(tools)


def _read_turns(body: JsonObject) -> list[BlockTurn]:
    instruction = read_instruction(dictionary(body.get("systemInstruction")))
    turns = [instruction] if instruction is not None else []
    for content in objects_at(body, "contents"):
        turns += read_content(content, len(turns) + 1)
    return turns


def _write_turns(turns: Sequence[BlockTurn]) -> JsonObject:
    body: JsonObject = {}
    runs: list[list[BlockTurn]] = []
    for turn in turns:
        if turn.role == "system":
            body["systemInstruction"] = write_content(turn, write_parts(turn))
        elif runs and form_of(turn, _GEMINI) == JOINED:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    contents = [
        write_content(run[0], [part for turn in run for part in write_parts(turn)]) for run in runs
    ]
    return {**body, "contents": contents}


READER = GeminiReader(_GEMINI, TABLE, _read_turns, _write_turns, read_function, write_function)

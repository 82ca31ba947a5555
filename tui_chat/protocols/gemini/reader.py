"""Reading a request of generateContent as blocks.

A content is one turn, or several joined ones; `systemInstruction` is a leading system turn.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import Json, JsonObject, extras_of, form_of, patched
from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.common.reading import (
    WireRequest,
    items_of,
    objects_at,
)
from tui_chat.protocols.common.setting_rows import read_settings, write_values
from tui_chat.protocols.common.trees import dictionary, plain
from tui_chat.protocols.gemini.contents import (
    JOINED,
    read_content,
    read_instruction,
    write_content,
    write_parts,
)
from tui_chat.protocols.gemini.settings import TABLE
from tui_chat.protocols.gemini.spelling import Places, camel, spelled
from tui_chat.protocols.gemini.tools import read_tools, write_tools

_GEMINI = Protocol.GEMINI
_PLACES: Places = {
    "systemInstruction": {},
    "generationConfig": {"thinkingConfig": {}},
    "toolConfig": {"functionCallingConfig": {}},
}


def read_request(body: JsonObject) -> WireRequest:
    """Return a captured request. Raises InputError if it has no conversation."""
    wire, form = camel(body, _PLACES)
    instruction = read_instruction(dictionary(wire.get("systemInstruction")))
    turns = [instruction] if instruction is not None else []
    for content in objects_at(wire, "contents"):
        turns += read_content(content, len(turns) + 1)
    listed = wire.get("tools")
    groups: list[Json] = [listed] if isinstance(listed, dict) else items_of(listed)
    tools = (
        None if listed is None else tuple(tool for group in groups for tool in read_tools(group))
    )
    request = WireRequest(_GEMINI, tuple(turns), read_settings(wire, TABLE), tools)
    return replace(request, rest=extras_of(_GEMINI, wire, plain(_written(request)), form))


def write_request(request: WireRequest) -> JsonObject:
    """Return the body of a captured request: what `read_request` has read."""
    written = patched(plain(_written(request)), request.rest)
    form = request.rest.form if request.rest is not None else ""
    return spelled(written, form.split(), _PLACES)


def _written(request: WireRequest) -> JsonObject:
    body: JsonObject = {}
    runs: list[list[BlockTurn]] = []
    for turn in request.turns:
        if turn.role == "system":
            body["systemInstruction"] = write_content(turn, write_parts(turn))
        elif runs and form_of(turn, _GEMINI) == JOINED:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    body["contents"] = [
        write_content(run[0], [part for turn in run for part in write_parts(turn)]) for run in runs
    ]
    if request.tools is not None:
        body["tools"] = write_tools(request.tools)
    return body | write_values(request.values, TABLE)

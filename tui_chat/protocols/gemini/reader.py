"""Reading a request of generateContent as blocks.

A content is one turn, or several joined ones; `systemInstruction` is a leading system turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from tui_chat.models.blocks import Extras, Json, JsonObject, form_of, patched
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, RequestTool, ToolDefinition
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.reading import RequestReader, items_of, objects_at
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
from tui_chat.protocols.gemini.tools import (
    read_function,
    read_group,
    read_hosted,
    write_function,
    write_groups,
    write_hosted,
)

_GEMINI = Protocol.GEMINI
PLACES: Places = {
    "systemInstruction": {},
    "generationConfig": {"thinkingConfig": {}},
    "toolConfig": {"functionCallingConfig": {}},
}
"""The objects of a request whose keys are the protocol's."""
BARE = "bare"
"""The word of the form of a request whose `tools` is one group and no list."""


class GeminiReader(RequestReader):
    """Reads keys in snake_case too, and functions in their groups."""

    __slots__ = ()

    def read(self, body: JsonObject) -> ChatEnvelope:
        wire, form = camel(body, PLACES)
        if group := dictionary(wire.get("tools")):
            wire, form = {**wire, "tools": [group]}, f"{form} {BARE}".strip()
        request = RequestReader.read(self, wire)
        rest = request.rest
        return request if rest is None else replace(request, rest=replace(rest, form=form))

    def write(self, envelope: ChatEnvelope) -> JsonObject:
        return as_spelled(RequestReader.write(self, envelope), envelope.rest)

    def read_tools(self, listed: Json) -> Iterator[RequestTool]:
        return (tool for group in items_of(listed) for tool in read_group(group, self.native))

    def write_tools(self, tools: Sequence[RequestTool]) -> list[Json]:
        def write(tool: ToolDefinition) -> JsonObject:
            return patched(plain(write_function(tool)), tool.extras)

        return write_groups(tools, write)


def as_spelled(body: JsonObject, rest: Extras | None) -> JsonObject:
    """Return a body with the keys in snake_case that a captured request has so."""
    words = rest.form.split() if rest is not None else []
    groups = body.get("tools")
    if BARE in words and isinstance(groups, list) and len(cast("list[Json]", groups)) == 1:
        body = {**body, "tools": groups[0]}
    return spelled(body, words, PLACES)


def _read_turns(body: JsonObject) -> list[Turn]:
    instruction = read_instruction(dictionary(body.get("systemInstruction")))
    turns = [instruction] if instruction is not None else []
    for index, content in enumerate(objects_at(body, "contents")):
        turns += read_content(content, len(turns) + 1, f"contents[{index}]")
    return turns


def _write_turns(turns: Sequence[Turn]) -> JsonObject:
    body: JsonObject = {}
    runs: list[list[Turn]] = []
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


_KNOWN = frozenset(
    (
        *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
        *("functionCall", "function_call", "functionResponse", "function_response"),
        *("inlineData", "inline_data", "fileData", "file_data"),
        *("toolCall", "tool_call", "toolResponse", "tool_response"),
    )
)
"""Types of content that the protocol has beside those of the blocks."""

READER = GeminiReader(
    _GEMINI,
    TABLE,
    _read_turns,
    _write_turns,
    read_function,
    write_function,
    read_hosted,
    write_hosted,
    conversation="contents",
    known=_KNOWN,
)

"""Reading a request of the Messages API as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from tui_chat.models.blocks import JsonObject, form_of
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.turn import Turn
from tui_chat.protocols.anthropic.messages import (
    ANTHROPIC,
    JOINED,
    SYSTEM,
    read_message,
    read_system,
    write_content,
    write_message,
)
from tui_chat.protocols.anthropic.settings import TABLE
from tui_chat.protocols.anthropic.tools import read_hosted, write_definition, write_hosted
from tui_chat.protocols.common.reading import RequestReader, objects_at, string
from tui_chat.protocols.common.setting_rows import boolean
from tui_chat.protocols.common.trees import dictionary


def _read_turns(body: JsonObject) -> list[Turn]:
    turns = list(read_system(body.get("system")))
    for place, wire in enumerate(objects_at(body, "messages")):
        turns += read_message(wire, place, len(turns) + 1)
    return turns


def _write_turns(turns: Sequence[Turn]) -> JsonObject:
    system = list(takewhile(lambda turn: form_of(turn, ANTHROPIC) == SYSTEM, turns))
    contents = [write_content(turn) for turn in system]
    body: JsonObject = {}
    if len(contents) == 1:
        body["system"] = contents[0][1]
    elif contents:
        body["system"] = [block for blocks, _ in contents for block in blocks]
    runs: list[list[Turn]] = []
    for turn in turns[len(system) :]:
        if form_of(turn, ANTHROPIC) != JOINED:
            runs.append([])
        runs[-1].append(turn)
    return body | {"messages": [write_message(run) for run in runs]}


def _read_tool(wire: JsonObject) -> ToolDefinition | None:
    name, schema = string(wire, "name"), dictionary(wire.get("input_schema"))
    if wire.get("type") not in (None, "custom") or not (name and schema):
        return None
    return ToolDefinition(name, string(wire, "description"), schema, boolean(wire.get("strict")))


_KNOWN = frozenset(
    (
        *("image", "document", "search_result", "thinking", "redacted_thinking", "tool_use"),
        *("tool_result", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result"),
        *("code_execution_tool_result", "bash_code_execution_tool_result", "mcp_tool_use"),
        *("text_editor_code_execution_tool_result", "mcp_tool_result", "container_upload"),
        *("tool_search_tool_result", "tool_reference", "compaction", "fallback"),
        *("advisor_tool_result",),
    )
)
"""Types of content that the protocol has beside those of the blocks."""

READER = RequestReader(
    ANTHROPIC,
    TABLE,
    _read_turns,
    _write_turns,
    _read_tool,
    write_definition,
    read_hosted,
    write_hosted,
    known=_KNOWN,
)

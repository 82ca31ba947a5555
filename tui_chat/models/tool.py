"""Tools: any source's, configured commands, and the definitions in a request of any protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import AsTable, Hidden, Range
from tui_chat.models.envelope import ToolDefinition, ToolOrigin

if TYPE_CHECKING:
    from tui_chat.models.blocks import CallBlock
    from tui_chat.models.message import Message

GROUPS = ("functionDeclarations", "function_declarations", "tools")
"""Keys of an entry of `tools` that hold several definitions: Gemini's functions, and the tools of a
namespace in Responses."""
_OF_A_GROUP = frozenset(("type", "role", "name"))
"""Keys of a group that define no tool."""

DECLINED = "The user declined this call."
"""The result of a call that the user declined."""


def definitions_in(
    entry: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and JSON of each definition in an entry of `tools`. What a group says besides
    its definitions is one of its own. `prefix` is that of the names.
    """
    grouped = [key for key in GROUPS if isinstance(entry.get(key), list)]
    for key in grouped:
        for each in cast("list[Any]", entry[key]):
            if isinstance(each, dict):
                yield from definitions_in(cast("dict[str, Any]", each), prefix_in(entry))
    rest = {key: value for key, value in entry.items() if key not in grouped}
    if not grouped or any(value for key, value in rest.items() if key not in _OF_A_GROUP):
        yield prefix + name_in(rest), rest


def prefix_in(group: Mapping[str, Any]) -> str:
    """Return what goes before the names of a group's tools: the MCP server of a namespace."""
    name = str(group.get("name") or "")
    return name.rstrip("_") + "__" if name.startswith("mcp__") else ""


def name_in(definition: Mapping[str, Any]) -> str:
    """Return a tool's name in a request: the model's, else the provider's word for it."""
    function = definition.get("function")
    inner = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
    named = inner.get("name") or definition.get("name") or definition.get("type")
    return str(named or next(iter(definition), "") or "tool")


def definition_text(definition: ToolDefinition) -> str:
    """Return a definition for people: the description, and the schema of its arguments."""
    schema = json.dumps(definition.parameters, indent=2, ensure_ascii=False)
    return f"{definition.description}\n{schema}".lstrip("\n")


def origin_text(origin: ToolOrigin) -> str:
    """Return in a line where a definition comes from, and what it is called there."""
    version = f" ({origin.version})" if origin.version else ""
    return f"“{origin.name}” of the server {origin.server}{version} · SHA-256 {origin.digest[:12]}"


def server_of(name: str) -> str:
    """Return a tool's MCP server from `mcp__SERVER__TOOL` or `SERVER__TOOL`; else empty."""
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return server if tool else ""


def results_of(calls: Sequence[CallBlock], results: Sequence[Message]) -> dict[int, Message]:
    """Return the results of calls by the calls' positions. Of calls with the same id a result is
    that of the first with its name; without ids the name alone tells them apart.
    """
    waiting: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        waiting.setdefault(call.id, []).append(index)
    found: dict[int, Message] = {}
    for result in results:
        same = waiting.get(result.tool_call_id, [])
        named = (index for index in same if calls[index].name == result.tool_name)
        first = same[0] if same and result.tool_call_id else None
        if (index := next(named, first)) is not None:
            found[index] = result
            same.remove(index)
    return found


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of any source: what the model reads of it, and what a call runs."""

    definition: ToolDefinition
    runs: str = ""
    """What answers a call, as it is shown: a command line, or that or the URL of a server; empty
    for a person."""
    digest: str = ""
    """The SHA-256 of the definition at its source."""
    claims: tuple[str, ...] = ()
    """What the source says about it besides, such as “only reads”; nobody has checked it."""
    consent: Literal["ask", "always"] = "ask"
    """`ask` asks before each run."""
    offered: bool = True
    """True if new sessions offer it to the model."""
    identity: str = ""
    """The SHA-256 of what answers a call, for a source that does not show all of it."""
    folder: str = ""
    """The folder that a command runs in."""
    files: tuple[str, ...] = ()
    """The absolute paths of the program that answers a call and of the files that its command line
    names: permission is bound to their content. Empty if there is no such program."""

    @property
    def name(self) -> str:
        """The name for the model."""
        return self.definition.name

    @property
    def server(self) -> str:
        """The server that has it; empty for a local command."""
        return "" if self.definition.source is None else self.definition.source.server


@dataclass(frozen=True, slots=True)
class CommandTool:
    """One of `[tools.NAME]`."""

    definition: Annotated[ToolDefinition, Hidden()]
    command: tuple[str, ...] = ()
    """Program and arguments; empty for a tool that you answer."""
    env: Annotated[tuple[tuple[str, str], ...], AsTable()] = ()
    """Variables for the program, such as `{ TOKEN = "${MY_TOKEN}" }`."""
    consent: Literal["ask", "always"] = "ask"
    """`ask` asks the user before each run."""
    offered: bool = True
    """True if new sessions offer it to the model."""
    timeout: Annotated[float, Range(above=0, high=86_400)] = 60.0
    """Seconds after which a run is ended."""
    most_output: Annotated[int, Range(1, 10_000_000)] = 100_000
    """Bytes of output after which it is cut."""

    @property
    def name(self) -> str:
        """The name for the model."""
        return self.definition.name

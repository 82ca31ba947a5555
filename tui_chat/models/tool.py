"""Tools: any source's, configured commands, and the definitions in a request of any protocol; what
a call does in a few words, and what a user is asked before it runs.

In summaries tools are known by the names of their arguments rather than by their own, since
programs name the same tool differently (`Edit`, `replace`, `str_replace`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock
from tui_chat.models.boundary import AsTable, Hidden, Range
from tui_chat.models.envelope import ToolDefinition, ToolOrigin
from tui_chat.models.json_text import JsonObject, as_array, as_object, objects_in
from tui_chat.models.sanitize import one_line, sanitize

if TYPE_CHECKING:
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


# --- what a call does --------------------------------------------------------------------

_LARGEST = 200_000
"""Characters of arguments that are read."""
_MOST_LINES = 2_000
"""Lines of a text that is compared line by line; comparing longer ones takes too long."""
_PATHS = ("file_path", "filePath", "path", "filename", "notebook_path", "absolute_path")
_OLD = ("old_string", "oldString", "old_str", "old_text")
_NEW = ("new_string", "newString", "new_str", "new_text", "new_source")
_CONTENT = ("content", "contents", "file_text")
_SUMMARIES = (
    *("command", "cmd", "script", "code", "pattern", "query", "regex", "q", "url", "urls"),
    *("skill", "description", "prompt", "question"),
)
"""Arguments that say what a call does, the most telling first."""
_WRITES = re.compile(r"write|create|save", re.IGNORECASE)
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)


def call_summary(call: CallBlock) -> str:
    """Return what a call does in a few words, not safe to draw; empty if its tool is unknown."""
    data = _arguments(call.arguments)
    path = _first(data, _PATHS)
    if patch := call_diff(call):
        lines = [line[:4] for line in patch.split("\n")]
        added = sum(line[:1] == "+" and line != "+++ " for line in lines)
        removed = sum(line[:1] == "-" and line != "--- " for line in lines)
        named = path or ", ".join(_PATCHED.findall(patch)[:3])
        return f"{named}  +{added} −{removed}".strip()
    for key in _SUMMARIES:
        value = data.get(key)
        words = [word for word in as_array(value) if isinstance(word, str)]
        if words[:2] in (["bash", "-lc"], ["sh", "-c"], ["bash", "-c"]):
            words = words[2:]
        text = value if isinstance(value, str) else " ".join(words)
        if text := " ".join(text[:1000].split()):
            return f"{text}  in {path}" if path else text
    return path


def call_diff(call: CallBlock) -> str:
    """Return the edit of files that a call asks for as a diff; empty if it is no edit."""
    if len(call.arguments) <= _LARGEST and call.arguments.startswith(_PATCH):
        return call.arguments
    return _diff(call.name, call.arguments)


@lru_cache(maxsize=64)
def _diff(name: str, arguments: str) -> str:
    data = _arguments(arguments)
    values = (*data.values(), *as_array(data.get("command")))
    for text in (value for value in values if isinstance(value, str) and _PATCH in value):
        patch, end, _ = text[text.index(_PATCH) :].partition("*** End Patch")  # of Codex
        return patch + end
    path, content = _first(data, _PATHS), _first(data, _CONTENT)
    pieces = [
        line
        for edit in list(objects_in(data.get("edits"))) or [data]
        if any(key in edit for key in _OLD) and any(key in edit for key in _NEW)
        for line in _changed_lines(_first(edit, _OLD), _first(edit, _NEW))
    ]
    if not pieces and content and path and _WRITES.search(name):
        pieces = [f"+{line}" for line in content.split("\n")]
    head = [f"--- {path}", f"+++ {path}"] if path and pieces else []
    return "\n".join([*head, *pieces])


def _arguments(arguments: str) -> JsonObject:
    if len(arguments) > _LARGEST or not arguments.lstrip().startswith("{"):
        return {}
    try:
        return as_object(json.loads(arguments))
    except (ValueError, RecursionError):
        return {}


def _changed_lines(old: str, new: str) -> list[str]:
    """Return the lines of a diff of two pieces of a file, without its head."""
    before, after = old.split("\n") if old else [], new.split("\n")
    if not old or max(len(before), len(after)) > _MOST_LINES:
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    lines = list(unified_diff(before, after, lineterm="", n=3))[2:]
    # Its head names no files here, and its numbers are of the piece only.
    return ["@@" if line.startswith("@@") else line for line in lines]


def _first(data: JsonObject, keys: tuple[str, ...]) -> str:
    values = (data.get(key) for key in keys)
    return next((text for text in values if isinstance(text, str) and text), "")


# --- what a user is asked ----------------------------------------------------------------


def question_text(call: CallBlock, tool: Tool | None) -> tuple[tuple[str, bool], ...]:
    """Return what would run and with what, in pieces; True with those that matter most.

    Nothing is cut. What a stranger wrote is in its exact form (`sanitize`); a line break stays one,
    and the line after it is indented, so that it cannot be taken for a line of ours.
    """

    def exact(text: str) -> str:
        return "\n  ".join(sanitize(line, "exact") for line in text.split("\n"))

    name, arguments = exact(call.name), exact(call.arguments.strip() or "{}")
    source = None if tool is None else tool.definition.source
    if tool is not None and source is not None:
        claims = ", ".join(map(one_line, tool.claims)) or "nothing"
        return (
            (name, True),
            (f" is {one_line(origin_text(source))}: ", False),
            (exact(tool.runs), True),
            (f"\nThe server claims, unverified: {claims}.", False),
            (f"\nIt gets: {arguments}", False),
        )
    if tool is None or not tool.runs:
        words = f" has no command; the model calls it with: {arguments}"
        return ((name, True), (words, False))
    folder = f"\nin the folder: {exact(tool.folder)}" if tool.folder else ""
    return (
        (name, True),
        (" will run: ", False),
        (exact(tool.runs), True),
        (f"{folder}\nwith input: {arguments}", False),
    )

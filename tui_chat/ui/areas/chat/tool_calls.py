"""Lays out tool calls: name, what they do, whether there is a result, and how to give one.
Calls of well-known tools have a summary in a few words, and edits of files are drawn as a diff.

Tools are known by the names of their arguments rather than by their own, since programs name the
same tool differently (`Edit`, `replace`, `str_replace`). What is not known stays JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from rich.cells import cell_len

from tui_chat.models.message import ToolCall
from tui_chat.models.sanitize import one_line
from tui_chat.ui.areas.chat.code_blocks import code_lines
from tui_chat.ui.areas.chat.text_lines import (
    ClickAction,
    TextLine,
    TextRun,
    clipped,
    safe_run,
    width_of,
    wrap,
)

if TYPE_CHECKING:
    from tui_chat.models.message import ToolCall

JsonObject: TypeAlias = Mapping[str, object]

LARGEST = 200_000
"""Characters of arguments that are read."""
_MOST_LINES = 2_000
"""Lines of a text that is compared line by line; comparing longer ones takes too long."""

_PATHS = ("file_path", "filePath", "path", "filename", "notebook_path", "absolute_path")
_OLD = ("old_string", "oldString", "old_str", "old_text")
_NEW = ("new_string", "newString", "new_str", "new_text", "new_source")
_CONTENT = ("content", "contents", "file_text")
_SUMMARIES = (
    *("command", "cmd", "script", "code"),
    *(
        "pattern",
        "query",
        "regex",
        "q",
        "url",
        "urls",
        "skill",
        "description",
        "prompt",
        "question",
    ),
)
"""Arguments that say what a call does, the most telling first."""
_WRITES = re.compile(r"write|create|save", re.IGNORECASE)
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_BLOCK = re.compile(
    r"^<<<<<<< ORIGINAL\n(.*?)^=======\n(.*?)^>>>>>>> UPDATED", re.DOTALL | re.MULTILINE
)
SHOWN = 200_000
"""Characters of a tool call or tool message that are laid out when it is unfolded."""

LISTED = 200
"""Maximum tool calls of a message that are listed."""

CallState = Literal["arriving", "awaits", "answered", "unanswered", "subagent"]
"""`awaits`: the conversation waits for the result. `unanswered`: it went on without one.
`subagent`: it started one, whose session can be opened."""

_STATES: dict[CallState, tuple[str, str]] = {
    "arriving": ("", ""),
    "awaits": ("● waiting for a result", "awaiting"),
    "answered": ("✓ answered", "answered"),
    "unanswered": ("no answer", "meta"),
    "subagent": ("→ S opens the subagent", "answered"),
}


def summary(call: ToolCall) -> str:
    """Return what a call does in a few words, not safe to draw; empty if its tool is unknown."""
    data = _arguments(call)
    path = _first(data, _PATHS)
    if patch := diff(call):
        added, removed = _changes(patch)
        named = path or ", ".join(_PATCHED.findall(patch)[:3]) or _saved_path(data)
        return f"{named}  +{added} −{removed}".strip()
    for key in _SUMMARIES:
        if words := _words(data.get(key)):
            return f"{words}  in {path}" if path else words
    return path


def diff(call: ToolCall) -> str:
    """Return the edit of files that a call asks for as a diff; empty if it is no edit."""
    if len(call.arguments) > LARGEST:
        return ""
    if call.arguments.startswith(_PATCH):
        return call.arguments
    data = _arguments(call)
    if not data:
        return ""
    return _cached_diff(call.name, call.arguments)


@lru_cache(maxsize=64)
def _cached_diff(name: str, arguments: str) -> str:
    data = _arguments(ToolCall("", name, arguments))
    if patch := _patch_in(data):
        return patch
    path = _first(data, _PATHS)
    edits = [_object(each) for each in _list(data.get("edits"))] or [data]
    pieces = [
        piece
        for edit in edits
        if any(key in edit for key in _OLD) and any(key in edit for key in _NEW)
        for piece in _unified(_first(edit, _OLD), _first(edit, _NEW))
    ]
    if not pieces and (content := _first(data, _CONTENT)):
        if _BLOCK.search(content):  # gptme's patch
            blocks = ((found[1], found[2]) for found in _BLOCK.finditer(content))
            pieces = [piece for old, new in blocks for piece in _unified(old, new)]
            path = path or _saved_path(data)
        elif path and _WRITES.search(name):
            pieces = [f"+{line}" for line in content.split("\n")]
    if not pieces:
        return ""
    return "\n".join([f"--- {path}", f"+++ {path}", *pieces] if path else pieces)


def _arguments(call: ToolCall) -> JsonObject:
    if len(call.arguments) > LARGEST or not call.arguments.lstrip().startswith("{"):
        return {}
    try:
        return _object(json.loads(call.arguments))
    except (ValueError, RecursionError):
        return {}


def _patch_in(data: JsonObject) -> str:
    """Return a patch of Codex among the arguments, alone or within a shell command."""
    values = [*data.values(), *_list(data.get("command"))]
    for text in (value for value in values if isinstance(value, str)):
        start = text.find(_PATCH)
        if start >= 0:
            end = text.find("*** End Patch", start)
            return text[start : end + len("*** End Patch") if end >= 0 else len(text)]
    return ""


def _saved_path(data: JsonObject) -> str:
    """Return the path that gptme has in the line before the content."""
    return _first(data, ("args",))


def _unified(old: str, new: str) -> Iterator[str]:
    """Yield the lines of a diff of two pieces of a file, without its head."""
    before, after = old.split("\n"), new.split("\n")
    if not old:
        yield from (f"+{line}" for line in after)
    elif len(before) > _MOST_LINES or len(after) > _MOST_LINES:
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
    else:
        lines = unified_diff(before, after, lineterm="", n=3)
        for number, line in enumerate(lines):
            if number > 1:  # its head names no files here, and its numbers are of the piece only
                yield "@@" if line.startswith("@@") else line


def _changes(patch: str) -> tuple[int, int]:
    added = removed = 0
    for line in patch.split("\n"):
        added += line.startswith("+") and not line.startswith("+++ ")
        removed += line.startswith("-") and not line.startswith("--- ")
    return added, removed


def _first(data: JsonObject, keys: tuple[str, ...]) -> str:
    found = (data.get(key) for key in keys)
    return next((text for text in found if isinstance(text, str) and text), "")


def _words(value: object) -> str:
    """Return a text, or the words of a command, on one line."""
    words = [word for word in _list(value) if isinstance(word, str)]
    if words[:2] in (["bash", "-lc"], ["sh", "-c"], ["bash", "-c"]):
        words = words[2:]
    text = value if isinstance(value, str) else " ".join(words)
    return " ".join(text[:1000].split())


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def call_lines(
    call: ToolCall, width: int, *, key: str, unfolded: bool, state: CallState
) -> list[TextLine]:
    """Lay out a call: name, arguments and state in a line; unfolded, the arguments below it."""
    label, style = _STATES[state]
    if width < 2 * cell_len(label) + 8:
        label = label[:1]
    name = clipped(one_line(call.name, 60) or "tool", max(width - cell_len(label) - 12, 4))
    runs = [TextRun("▾ " if unfolded else "▸ ", ("fold-mark",)), TextRun("calls ", ("fold",))]
    runs.append(TextRun(name, ("tool",)))
    room = width - width_of(runs) - (cell_len(label) + 2 if label else 0)
    words = "" if call.arguments.strip() in ("", "{}") else summary(call) or call.arguments
    if words and (not unfolded or words is not call.arguments) and room > 8:
        runs.append(safe_run("  " + clipped(one_line(words), room - 2), "quiet"))
    if label:
        gap = max(width - width_of(runs) - cell_len(label), 1)
        does = {"awaits": ClickAction("answer"), "subagent": ClickAction("subagent", call.id)}
        runs += [TextRun(" " * gap), TextRun(label, (style,), action=does.get(state))]
    lines = [TextLine(wrap(runs, width)[0].runs, action=ClickAction("toggle", key))]
    if unfolded:
        shown, language = _unfolded_text(call)
        lines += code_lines(shown[:SHOWN], language, width, opens=False)
    return lines


def _unfolded_text(call: ToolCall) -> tuple[str, str]:
    """Return what is shown of a call when it is unfolded, and its language: an edit of a file is a
    diff, anything else JSON.
    """
    if patch := diff(call):
        return patch, "diff"
    return _indented_json(call.arguments), "json"


def searchable_text(call: ToolCall) -> str:
    """Return the name and arguments of a call, as they are read when unfolded."""
    if patch := diff(call):
        return f"{call.name} {patch}"
    escaped = "\\" in call.arguments
    return f"{call.name} {_indented_json(call.arguments) if escaped else call.arguments}"


def _indented_json(arguments: str) -> str:
    """Return arguments as indented JSON; broken or very long ones unchanged."""
    if len(arguments) > SHOWN:
        return arguments
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments

"""Summaries of what a tool call does, in a few words, and the edit of files that it asks for.

Tools are known by the names of their arguments rather than by their own, since programs name the
same tool differently (`Edit`, `replace`, `str_replace`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from functools import lru_cache

from tui_chat.models.blocks import CallBlock
from tui_chat.models.json_text import JsonObject, as_array, as_object

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


def summary(call: CallBlock) -> str:
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


def diff(call: CallBlock) -> str:
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
    data = _arguments(CallBlock("", name, arguments))
    if patch := _patch_in(data):
        return patch
    path = _first(data, _PATHS)
    edits = [as_object(each) for each in as_array(data.get("edits"))] or [data]
    pieces = [
        piece
        for edit in edits
        if any(key in edit for key in _OLD) and any(key in edit for key in _NEW)
        for piece in _unified(_first(edit, _OLD), _first(edit, _NEW))
    ]
    if not pieces and (content := _first(data, _CONTENT)):
        if _BLOCK.search(content):  # gptme's patch
            blocks = ((match[1], match[2]) for match in _BLOCK.finditer(content))
            pieces = [piece for old, new in blocks for piece in _unified(old, new)]
            path = path or _saved_path(data)
        elif path and _WRITES.search(name):
            pieces = [f"+{line}" for line in content.split("\n")]
    if not pieces:
        return ""
    return "\n".join([f"--- {path}", f"+++ {path}", *pieces] if path else pieces)


def _arguments(call: CallBlock) -> JsonObject:
    if len(call.arguments) > LARGEST or not call.arguments.lstrip().startswith("{"):
        return {}
    try:
        return as_object(json.loads(call.arguments))
    except (ValueError, RecursionError):
        return {}


def _patch_in(data: JsonObject) -> str:
    """Return a patch of Codex among the arguments, alone or within a shell command."""
    values = [*data.values(), *as_array(data.get("command"))]
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
    values = (data.get(key) for key in keys)
    return next((text for text in values if isinstance(text, str) and text), "")


def _words(value: object) -> str:
    """Return a text, or the words of a command, on one line."""
    words = [word for word in as_array(value) if isinstance(word, str)]
    if words[:2] in (["bash", "-lc"], ["sh", "-c"], ["bash", "-c"]):
        words = words[2:]
    text = value if isinstance(value, str) else " ".join(words)
    return " ".join(text[:1000].split())

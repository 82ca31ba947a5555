"""Arguments of a function call that arrive by JSON path.

Vertex streams `{"jsonPath": "$.recipe.items[0].name", "stringValue": "Pasta"}`; later
pieces with the same path continue a string. A path that cannot be followed becomes a key, so that
no value is lost.
"""

from __future__ import annotations

import re
from typing import TypeAlias, cast

from tui_chat.models.reply_limits import ARGUMENTS_SIZE
from tui_chat.protocols.common.lenient_json import JsonObject, as_object, as_raw_string
from tui_chat.protocols.common.reply_events import too_large

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,4})\]|\[(?:"([^"]*)"|'([^']*)')\]""")
_MOST_STEPS = 64
_MOST_SKIPPED = 16
"""Places of an array that a path may leave empty. A path of 400 bytes could ask for 64 arrays of
10,000 places each."""
_VALUES = ("stringValue", "numberValue", "boolValue")

Step: TypeAlias = str | int


class PartialArguments:
    """The arguments of one call so far, joined on demand."""

    def __init__(self, begun: object = None) -> None:
        self._begun = as_object(begun)
        self._strings: dict[str, list[str]] = {}
        self._values: dict[str, object] = {}
        """By path, in order of arrival; a string is its list of pieces."""
        self._size = 0

    def add(self, piece: JsonObject) -> None:
        """Add one of `partialArgs`. Raises TooLarge if there are too many."""
        path = as_raw_string(piece.get("jsonPath"))
        self._size += len(path) + len(as_raw_string(piece.get("stringValue")))
        if self._size > ARGUMENTS_SIZE:
            raise too_large("arguments of a tool call", ARGUMENTS_SIZE, "characters")
        if "stringValue" in piece:
            pieces = self._strings.setdefault(path, [])
            pieces.append(as_raw_string(piece.get("stringValue")))
            self._values[path] = pieces
            return
        for name in ("numberValue", "boolValue", "nullValue"):
            if name in piece:
                self._values[path] = None if name == "nullValue" else piece.get(name)

    def whole(self) -> dict[str, object]:
        """Return the arguments."""
        arguments = dict(self._begun)
        for path, value in self._values.items():
            pieces = self._strings.get(path)
            if pieces is not None and value is pieces:
                value = "".join(pieces)
            steps = _steps(path)
            if not steps or not _put(arguments, steps, value):
                arguments[path] = value
        return arguments


def _steps(path: str) -> list[Step]:
    steps: list[Step] = []
    at = 1 if path.startswith("$") else 0
    if at == 0:
        path = f".{path}"
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or len(steps) == _MOST_STEPS:
            return []
        plain, index, double, single = step.groups()
        steps.append(int(index) if index is not None else plain or double or single or "")
        at = step.end()
    return steps


def _put(root: dict[str, object], steps: list[Step], value: object) -> bool:
    """Set the value at the end of the path; False if another value is in the way."""
    here = cast("object", root)
    empty: object
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        empty = [] if isinstance(following, int) else {}
        if isinstance(step, str) and isinstance(here, dict):
            table = cast("dict[str, object]", here)
            if following is None:
                table[step] = value
            here = table.setdefault(step, empty)
        elif isinstance(step, int) and isinstance(here, list):
            row = cast("list[object]", here)
            if step - len(row) > _MOST_SKIPPED:
                return False
            row.extend([None] * (step + 1 - len(row)))
            if following is None:
                row[step] = value
            elif row[step] is None:
                row[step] = empty
            here = row[step]
        else:
            return False
    return True

"""A place of the body that a person edits by hand: a value, and where another one is added."""

from __future__ import annotations

import json
import re
from typing import Literal

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.payload import Arr, Obj, Str, Tree, plain
from tui_chat.models.request_edit import END, BodyPath, json_pointer
from tui_chat.ui.inspector.drawn_row import BodyRow, Part

LONGEST_TEXT = 200_000
"""Characters that are edited in a dialog."""


_OTHER_BREAKS = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What `str.splitlines` takes as the end of a line, other than a line feed."""


@dataclass(frozen=True, slots=True)
class EditPlace:
    """A value of the body."""

    path: BodyPath
    value: Tree
    holder: Literal["", "object", "list"]
    """What holds it; empty for the body itself."""
    part: Part
    """The line of it: `close` for the bracket that ends it."""

    @property
    def pointer(self) -> str:
        """Its path as a JSON pointer."""
        return json_pointer(self.path)

    @property
    def is_text(self) -> bool:
        """True if it is edited as a text, False if as JSON: what a text field would take as a line
        break and write as another one needs escapes.
        """
        return isinstance(self.value, Str) and not _OTHER_BREAKS.search(self.value.text.plain)

    @property
    def written(self) -> str:
        """The value as it is edited. Raises InputError if it is too long for that."""
        if isinstance(self.value, Str) and self.is_text:
            text = self.value.text.plain
        else:
            text = json.dumps(plain(self.value), indent=2, ensure_ascii=False)
            text = _OTHER_BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        if len(text) > LONGEST_TEXT:
            raise InputError(
                f"This value has {len(text):,} characters, too many to edit here.",
                advice="Delete leaves it out of the request.",
            )
        return text

    @property
    def new_path(self) -> BodyPath:
        """The path of what is added here, with an empty key where one is to be named: in an empty
        object or list, at the end of the one that a bracket closes, else behind the value.
        """
        is_inside = self.part == "close" or not self.holder
        is_inside = is_inside or (isinstance(self.value, Obj | Arr) and not self.value.items)
        if is_inside:
            return (*self.path, END if isinstance(self.value, Arr) else "")
        return self.path if self.holder == "list" else (*self.path[:-1], "")

    def new_value(self) -> str:
        """Return the JSON of a new element here to begin with: an empty message among messages,
        else nothing.
        """
        match self.new_path:
            case ("contents", _):
                message = {"role": "user", "parts": [{"text": ""}]}
            case ("messages" | "input", _):
                message = {"role": "user", "content": ""}
            case _:
                return ""
        return json.dumps(message, indent=2)


def place_of(spot: BodyRow) -> EditPlace:
    """Return the value that a row of a layout shows."""
    steps = spot.place.steps
    path = tuple(step.index if step.key is None else step.key for step in steps)
    holder = "" if not steps else "list" if steps[-1].key is None else "object"
    return EditPlace(path, spot.node, holder, spot.place.part)

"""An edit of a request body by hand: a place of the body, and what is changed there."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol

BodyPath: TypeAlias = tuple[str | int, ...]
"""Keys of objects and indices of lists, from the body inwards."""

END = "-"
"""The step of a path that is behind the last element of a list; see `RequestEdit.path`."""
MOST_EDITS = 100
"""Edits of one session."""
LONGEST_VALUE = 4_000_000
"""Characters of one edit's value."""


@dataclass(frozen=True, slots=True)
class RequestEdit:
    """One change of a request body."""

    protocol: Protocol
    """The protocol of the bodies that it changes."""
    path: BodyPath
    """The place of the value that is set or removed, or of the key that is added. An element is
    added after the element of its path; -1 is before the first one, `END` after the last."""
    operation: Literal["set", "add", "remove"]
    value: str = ""
    """The new value as JSON text; empty where one is removed."""
    kept: bool = False
    """True if it holds for every request of the session, False for the next one only."""
    fingerprint: str = ""
    """The `fingerprint` of the innermost list element on the path, before any edit; empty if there
    is none."""
    answered: str = ""
    """The id of the message that was answered, of an edit for one request that was sent: another
    version of its reply has the edit too. Empty while it waits for its request."""

    @property
    def pointer(self) -> str:
        """Its path as a JSON pointer, for people."""
        return json_pointer(self.path)


def json_pointer(path: BodyPath) -> str:
    """Return a path as a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)

"""An edit of a request body by hand: a place of the body, and what is changed there."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import MAX_DEPTH, JsonError, decode_json

BodyPath: TypeAlias = tuple[str | int, ...]
"""Keys of objects and indices of lists, from the body inwards."""

EDITED, NOT_APPLIED = "edited", "edit-not-applied"
"""The codes of notes about an edit."""
END = "-"
"""The step of a path that is behind the last element of a list; see `RequestEdit.path`."""
MOST_EDITS = 100
"""Edits of one session that hold for its next request."""
MOST_SENT = 20
"""Edits for one request that a session remembers of requests before the last one."""
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


def edits_for(edits: tuple[RequestEdit, ...], answered: str) -> tuple[RequestEdit, ...]:
    """Return the edits of a request that answers a stored message, or what is typed (empty)."""
    return tuple(edit for edit in edits if edit.kept or edit.answered == answered)


def edits_after(
    edits: tuple[RequestEdit, ...],
    sent: tuple[RequestEdit, ...],
    answered: str,
    *,
    is_one_of_several: bool = False,
) -> tuple[RequestEdit, ...]:
    """Return a session's edits after a request that `sent` changed has left, which answers the
    message `answered`. Those for one request belong to that message from now on, also those that
    belong to the message of another one since, if the request is one of several that left together.
    Those of earlier messages are dropped when they become too many.
    """
    after = [
        edit if edit.kept or edit not in sent else replace(edit, answered=answered)
        for edit in edits
    ]
    if is_one_of_several:
        own = [replace(edit, answered=answered) for edit in sent if not edit.kept]
        after += [edit for edit in own if edit not in after]
    old = [edit for edit in after if not edit.kept and edit.answered not in ("", answered)]
    dropped = old[: max(len(old) - MOST_SENT, 0)]
    return tuple(edit for edit in after if edit not in dropped)


def edit_fault(edits: tuple[RequestEdit, ...]) -> tuple[str, str] | None:
    """Return place and fault of an edit that somebody else wrote; None if there is none."""
    if len(edits) > MOST_EDITS + MOST_SENT:
        return "", f"must have at most {MOST_EDITS + MOST_SENT}"
    for index, edit in enumerate(edits):
        if not 0 < len(edit.path) <= MAX_DEPTH:
            return f"[{index}].path", f"must have 1 to {MAX_DEPTH} steps"
        if len(edit.value) > LONGEST_VALUE:
            return f"[{index}].value", f"must have at most {LONGEST_VALUE:,} characters"
        try:
            if edit.operation != "remove":
                decode_json(edit.value)
        except JsonError as error:
            return f"[{index}].value", error.sentence
    return None

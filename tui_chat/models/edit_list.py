"""A session's list of edits by hand, changed at places of the body that is seen.

1. A person points at a place of the edited body, an edit names one of the body without edits:
   `locate` leads from one to the other.
2. A place inside a value that was set or added by hand changes that edit. So a list has at most one
   edit for a place, and what is taken back leaves none behind.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from tui_chat.errors import InputError
from tui_chat.models.edited_body import (
    EditedBody,
    EditResult,
    fingerprint,
    list_plan_at,
    value_at,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.models.json_tree import Obj, body_of, tree_of
from tui_chat.models.request_edit import END, LONGEST_VALUE, MOST_EDITS, BodyPath, RequestEdit

Edits: TypeAlias = tuple[RequestEdit, ...]


def locate(body: EditedBody, path: BodyPath) -> tuple[EditResult | None, BodyPath]:
    """Return the edit that made the value at a path of the edited body, with the path inside its
    value; None and the path in the body without edits if no edit did.
    """
    results = [result for result in body.results if not result.fault]
    original: BodyPath = ()
    for depth, step in enumerate(path):
        if isinstance(step, int) and step >= 0:
            plan = list_plan_at(body.original, original, body.changes)
            step = plan[step] if step < len(plan) else step
            if isinstance(step, RequestEdit):
                adding = next(result for result in results if result.edit is step)
                return adding, path[depth + 1 :]
        original = (*original, step)
        for result in results:
            if result.path == original and not result.adds_element:
                return result, path[depth + 1 :]
    return None, original


def set_value(
    edits: Edits, body: EditedBody, protocol: Protocol, path: BodyPath, value: Any, *, kept: bool
) -> Edits:
    """Return the edits with another value at a path of the edited body. Raises InputError."""
    result, place = locate(body, path)
    if result is not None:
        value = _patched(json.loads(result.edit.value or "null"), place, "set", value)
        changed = replace(result.edit, value=_text(value), kept=kept, answered="")
        is_back = changed.operation == "set" and _is_as_before(result, changed)
        return _replaced(edits, result.edit, *(() if is_back else (changed,)))
    left = _without_inside(edits, body, place)
    before = value_at(body.original, place)
    if before is not None and body_of(tree_of(value)) == body_of(before):
        return left
    new = RequestEdit(protocol, place, "set", _text(value), kept, _anchor(body.original, place))
    return _inserted(left, len(left), new)


def remove_value(
    edits: Edits, body: EditedBody, protocol: Protocol, path: BodyPath, *, kept: bool
) -> Edits:
    """Return the edits without the value at a path of the edited body. Raises InputError."""
    result, place = locate(body, path)
    if result is None:
        left = _without_inside(edits, body, place)
        anchor = _anchor(body.original, place)
        new = RequestEdit(protocol, place, "remove", "", kept, anchor)
        return _inserted(left, len(left), new)
    edit = result.edit
    if place:
        value = _patched(json.loads(edit.value), place, "remove", None)
        changed = replace(edit, value=_text(value), kept=kept)
    elif result.before is None:
        return _replaced(edits, edit)
    else:
        changed = replace(edit, operation="remove", value="", kept=kept)
    return _replaced(edits, edit, changed)


def add_value(
    edits: Edits, body: EditedBody, protocol: Protocol, path: BodyPath, value: Any, *, kept: bool
) -> Edits:
    """Return the edits with a new key, or an element after that at the end of the path; see
    `RequestEdit.path`. The path is one of the edited body. Raises InputError.
    """
    *start, last = path
    holder, place = locate(body, tuple(start))
    if holder is not None:
        changed = _patched(json.loads(holder.edit.value), (*place, last), "add", value)
        edit = replace(holder.edit, value=_text(changed), kept=kept)
        return _replaced(edits, holder.edit, edit)
    if isinstance(last, int) and last >= 0:
        neighbor, original = locate(body, path)
        if neighbor is not None and neighbor.adds_element:
            edit = neighbor.edit
            new = replace(edit, value=_text(value), kept=kept, answered="")
            return _inserted(edits, _index(edits, edit) + 1, new)
        place = neighbor.path if neighbor is not None else original
    else:
        place = (*place, last)
    anchored = place[:-1] if isinstance(last, str) or last < 0 else place
    anchor = _anchor(body.original, anchored)
    new = RequestEdit(protocol, place, "add", _text(value), kept, anchor)
    here = [result for result in body.results if result.path == place and not result.fault]
    if isinstance(last, int):  # in front of what was added behind the same element
        added = [_index(edits, result.edit) for result in here if result.adds_element]
        return _inserted(edits, min(added, default=len(edits)), new)
    if not here:
        return _inserted(edits, len(edits), new)
    [removed] = here
    changed = replace(new, operation="set")
    is_back = _is_as_before(removed, changed)
    return _replaced(edits, removed.edit, *(() if is_back else (changed,)))


def _anchor(tree: Obj, path: BodyPath) -> str:
    """Return the fingerprint of the innermost list element on a path; empty if there is none."""
    ends = [depth + 1 for depth, step in enumerate(path) if isinstance(step, int)]
    element = value_at(tree, path[: ends[-1]]) if ends else None
    return "" if element is None else fingerprint(element)


def _text(value: object) -> str:
    text = to_json(value)
    if len(text) > LONGEST_VALUE:
        raise InputError(f"A value may have at most {LONGEST_VALUE:,} characters.")
    return text


def _is_as_before(result: EditResult, edit: RequestEdit) -> bool:
    before = result.before
    return before is not None and body_of(tree_of(json.loads(edit.value))) == body_of(before)


def _index(edits: Edits, edit: RequestEdit) -> int:
    """Return the place of an edit itself, not of an equal one."""
    return [other is edit for other in edits].index(True)


def _inserted(edits: Edits, index: int, edit: RequestEdit) -> Edits:
    if sum(other.kept or not other.answered for other in edits) >= MOST_EDITS:
        raise InputError(
            f"A session has at most {MOST_EDITS} edits by hand.", advice="Remove some of them."
        )
    return (*edits[:index], edit, *edits[index:])


def _replaced(edits: Edits, edit: RequestEdit, *new: RequestEdit) -> Edits:
    index = _index(edits, edit)
    return (*edits[:index], *new, *edits[index + 1 :])


def _without_inside(edits: Edits, body: EditedBody, place: BodyPath) -> Edits:
    """Return the edits without those inside the value at a place of the body without edits."""
    inside = {
        id(result.edit)
        for result in body.results
        if not result.fault and len(result.path) > len(place) and result.path[: len(place)] == place
    }
    return tuple(edit for edit in edits if id(edit) not in inside)


def _patched(
    value: Any, path: BodyPath, operation: Literal["set", "add", "remove"], new: object
) -> Any:
    """Return a JSON value with a change at a path inside it."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        changed: dict[str, Any] = dict(value)  # type: ignore[arg-type]
        if rest:
            changed[str(step)] = _patched(changed[str(step)], rest, operation, new)
        elif operation == "remove":
            del changed[str(step)]
        else:
            changed[str(step)] = new
        return changed
    items: list[Any] = list(value)
    if rest:
        items[int(step)] = _patched(items[int(step)], rest, operation, new)
    elif operation == "add":
        items.insert(len(items) if step == END else int(step) + 1, new)
    elif operation == "remove":
        del items[int(step)]
    else:
        items[int(step)] = new
    return items

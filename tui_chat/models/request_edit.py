"""Edits of a request body by hand: a session's list of them, and the body that they make.

1. An edit names a place of the body as it is without any edit. So edits do not depend on each
   other, and one can be removed without moving the others.
2. A path of keys leads to its place. A path through lists may lead to another place in the next
   request, since messages come and go: it holds where the innermost list element on it is as it
   was, by its fingerprint. That is sought at its own index, then ever farther away in the lists on
   the path, the lower index first. If there is none, the edit is not applied, and says why.
3. A value keeps the origins of the characters that an edit did not change; the others have the
   origin “edited by hand”, within the origin of what was there.
4. A person points at a place of the edited body: `locate` leads from there to the body without
   edits. A place inside a value that was set or added by hand changes that edit. So a list has at
   most one edit for a place, and what is taken back leaves none behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from heapq import merge
from typing import Literal, TypeAlias, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_ends
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import MAX_DEPTH, JsonError, decode_json, to_json
from tui_chat.models.payload import (
    LEAVES,
    Arr,
    JsonValue,
    Obj,
    Str,
    Tree,
    body_of,
    plain,
    tree_of,
)
from tui_chat.models.text import GLUE, Origin, OriginKind, Text, clean

BodyPath: TypeAlias = tuple[str | int, ...]
"""Keys of objects and indices of lists, from the body inwards."""
Operation = Literal["set", "add", "remove"]

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
    operation: Operation
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


Edits: TypeAlias = tuple[RequestEdit, ...]
_Changes: TypeAlias = tuple[tuple[BodyPath, RequestEdit], ...]
"""Edits with their places, counted from a value that holds them all."""


def json_pointer(path: BodyPath) -> str:
    """Return a path as a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


@dataclass(frozen=True, slots=True, eq=False)
class EditResult:
    """What became of an edit in a body."""

    edit: RequestEdit
    path: BodyPath = ()
    """Its place in the body without edits."""
    pointer: str = ""
    """Its place in the edited body as a JSON pointer; that of what holds it if it was removed."""
    before: Tree | None = None
    """The value in the body without edits; None if there was none."""
    fault: str = ""
    """Why it was not applied, as the end of a sentence; empty if it was."""

    @property
    def adds_element(self) -> bool:
        """True if it adds an element to a list, behind that of its path."""
        return self.edit.operation == "add" and isinstance(self.path[-1], int)


@dataclass(frozen=True, slots=True, eq=False)
class EditedBody:
    """A body with edits applied."""

    original: Obj
    """The body without edits."""
    tree: Obj
    results: tuple[EditResult, ...] = ()
    """One for each edit, in their order."""

    @property
    def applied(self) -> Edits:
        """The edits that changed it."""
        return tuple(result.edit for result in self.results if not result.fault)


# --- the list of a session ---------------------------------------------------------------


def edits_for(edits: Edits, answered: str) -> Edits:
    """Return the edits of a request that answers a stored message, or what is typed (empty)."""
    return tuple(edit for edit in edits if edit.kept or edit.answered == answered)


def edits_after(
    edits: Edits, sent: Edits, answered: str, *, is_one_of_several: bool = False
) -> Edits:
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


def edit_fault(edits: Edits) -> tuple[str, str] | None:
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


def changed_edits(edits: Edits, body: EditedBody, new: RequestEdit) -> Edits:
    """Return the edits after a person did what `new` says, with its path in the edited body.
    Raises InputError.
    """
    operation, path = new.operation, new.path
    if len(new.value) > LONGEST_VALUE:
        raise InputError(f"A value may have at most {LONGEST_VALUE:,} characters.")
    is_add = operation == "add"
    result, place = locate(body, path[:-1] if is_add else path)
    if result is None:
        if is_add:
            return _with_added(edits, body, (*place, path[-1]), new)
        left = _without_inside(edits, body, place)
        before = value_at(body.original, place)
        if operation == "set" and before is not None and _is_equal(before, new.value):
            return left
        return _inserted(left, len(left), _placed(body.original, place, new))
    value, index = new.value, _index(edits, result.edit)
    if place or is_add:  # inside of a value that is edited
        value = _patched(result.edit.value, (*place, path[-1]) if is_add else place, new)
    elif operation == "remove" and result.before is None:
        return (*edits[:index], *edits[index + 1 :])
    elif operation == "remove" or result.edit.operation == "remove":
        new = replace(result.edit, operation=operation, value=value, kept=new.kept, answered="")
        return (*edits[:index], new, *edits[index + 1 :])
    is_back = result.before is not None and _is_equal(result.before, value)
    changed = replace(result.edit, value=value, kept=new.kept, answered="")
    return (*edits[:index], *(() if is_back else (changed,)), *edits[index + 1 :])


def _with_added(edits: Edits, body: EditedBody, place: BodyPath, new: RequestEdit) -> Edits:
    """Return the edits with one that adds a key or an element; `place` is its place in the body
    without edits, save for the last step of the path.
    """
    last = new.path[-1]
    if isinstance(last, int) and last >= 0:
        neighbor, place = locate(body, new.path)
        if neighbor is not None and neighbor.adds_element:
            added = replace(neighbor.edit, value=new.value, kept=new.kept, answered="")
            return _inserted(edits, _index(edits, neighbor.edit) + 1, added)
        place = neighbor.path if neighbor is not None else place
    new = _placed(body.original, place, new)
    here = [result for result in body.results if result.path == place and not result.fault]
    if isinstance(last, int):  # in front of what was added behind the same element
        added = [_index(edits, result.edit) for result in here if result.adds_element]
        return _inserted(edits, min(added, default=len(edits)), new)
    if not here:
        return _inserted(edits, len(edits), new)
    [removed] = here
    index = _index(edits, removed.edit)
    is_back = removed.before is not None and _is_equal(removed.before, new.value)
    changed = () if is_back else (replace(new, operation="set"),)
    return (*edits[:index], *changed, *edits[index + 1 :])


def _placed(tree: Obj, path: BodyPath, new: RequestEdit) -> RequestEdit:
    """Return an edit at a place of a body without edits."""
    last = path[-1]
    is_by_holder = new.operation == "add" and (isinstance(last, str) or last < 0)
    anchored = path[:-1] if is_by_holder else path
    ends = [depth + 1 for depth, step in enumerate(anchored) if isinstance(step, int)]
    element = value_at(tree, path[: ends[-1]]) if ends else None
    print_ = "" if element is None else fingerprint(element)
    return replace(new, path=path, fingerprint=print_)


def _patched(text: str, place: BodyPath, new: RequestEdit) -> str:
    """Return the value of an edit with a change inside it."""
    holder = Obj((("", tree_of(json.loads(text))),))
    edited = apply_edits(holder, [_placed(holder, ("", *place), new)])
    return to_json(plain(edited.tree)[""])


def _is_equal(node: Tree, value: str) -> bool:
    return body_of(tree_of(json.loads(value))) == body_of(node)


def _index(edits: Edits, edit: RequestEdit) -> int:
    """Return the place of an edit itself, not of an equal one."""
    return [other is edit for other in edits].index(True)


def _inserted(edits: Edits, index: int, edit: RequestEdit) -> Edits:
    if sum(other.kept or not other.answered for other in edits) >= MOST_EDITS:
        raise InputError(
            f"A session has at most {MOST_EDITS} edits by hand.", advice="Remove some of them."
        )
    return (*edits[:index], edit, *edits[index:])


def locate(body: EditedBody, path: BodyPath) -> tuple[EditResult | None, BodyPath]:
    """Return the edit that made the value at a path of the edited body, with the path inside its
    value; None and the path in the body without edits if no edit did.
    """
    results = [result for result in body.results if not result.fault]
    original: BodyPath = ()
    for depth, step in enumerate(path):
        if isinstance(step, int) and step >= 0:
            plan = _plan_at(body.original, original, _changes(results))
            step = plan[step] if step < len(plan) else step
            if isinstance(step, RequestEdit):
                adding = next(result for result in results if result.edit is step)
                return adding, path[depth + 1 :]
        original = (*original, step)
        for result in results:
            if result.path == original and not result.adds_element:
                return result, path[depth + 1 :]
    return None, original


def _without_inside(edits: Edits, body: EditedBody, place: BodyPath) -> Edits:
    """Return the edits without those inside the value at a place of the body without edits."""
    depth = len(place)
    results = (result for result in body.results if not result.fault and len(result.path) > depth)
    inside = {id(result.edit) for result in results if result.path[:depth] == place}
    return tuple(edit for edit in edits if id(edit) not in inside)


# --- where an edit belongs ---------------------------------------------------------------


def fingerprint(node: Tree) -> str:
    """Return length and SHA-256 of a value's JSON; most values differ by the length alone. A
    container keeps it.
    """
    known = getattr(node, "digest", None)
    if known is None:
        body = body_of(node)
        known = f"{len(body)}-{sha256(body).hexdigest()}"
        if type(node) not in LEAVES:
            object.__setattr__(node, "digest", known)
    return known


def value_at(node: Tree | None, path: BodyPath) -> Tree | None:
    """Return the value at a path; None if there is none."""
    for step in path:
        if isinstance(node, Obj) and isinstance(step, str):
            node = node.get(step)
        elif isinstance(node, Arr) and isinstance(step, int) and 0 <= step < len(node.items):
            node = node.items[step]
        else:
            return None
    return node


def _resolved(tree: Obj, edit: RequestEdit) -> BodyPath | str:
    """Return the place of an edit in a body; if there is none, why, as the end of a sentence."""
    *holder, last = edit.path
    is_by_holder = edit.operation == "add" and (isinstance(last, str) or last < 0)
    path: BodyPath | None = tuple(holder) if is_by_holder else edit.path
    if any(isinstance(step, int) for step in path):
        path = next(_places(tree, path, edit.fingerprint), None)
        if path is None:
            return "what it changed is not in this request, or has changed since"
    around, last = (path, last) if is_by_holder else (path[:-1], path[-1])
    parent = value_at(tree, around)
    if isinstance(parent, Arr) and is_by_holder:
        last = len(parent.items) - 1 if last == END else -1
    if isinstance(last, int) and isinstance(parent, Arr):
        return (*around, last)
    if isinstance(last, int) or not isinstance(parent, Obj):
        return "the request has nothing there that it could change"
    if edit.operation == "remove" and parent.get(last) is None:
        return "the request does not have what it removes"
    return (*around, last)


def _places(node: Tree | None, path: BodyPath, wanted: str) -> Iterator[BodyPath]:
    """Yield the places of a path whose innermost list element has a fingerprint, nearest first."""
    depth, step = next((d, s) for d, s in enumerate(path) if isinstance(s, int))
    keys, rest = path[:depth], path[depth + 1 :]
    node = value_at(node, keys)
    if not isinstance(node, Arr):
        return
    length = len(node.items)
    below, above = range(min(step, length) - 1, -1, -1), range(max(step, 0), length)
    for index in merge(below, above, key=lambda other: abs(other - step)):  # the lower one first
        element = node.items[index]
        if any(isinstance(step, int) for step in rest):
            for place in _places(element, rest, wanted):
                yield (*keys, index, *place)
        elif (
            wanted.startswith(f"{len(body_of(element))}-")
            and fingerprint(element) == wanted
            and value_at(element, rest[:-1]) is not None
        ):
            yield (*keys, index, *rest)


def _is_covered(number: int, results: Sequence[EditResult]) -> bool:
    """Return True if another edit changes what holds an edit's place, or a later one the place."""
    path = results[number].path
    for other, result in enumerate(results):
        if other == number or result.fault or result.adds_element:
            continue
        is_around = len(result.path) < len(path) and path[: len(result.path)] == result.path
        is_same = result.path == path and not results[number].adds_element
        if is_around or (is_same and other > number):
            return True
    return False


# --- the edited body ---------------------------------------------------------------------


def apply_edits(tree: Obj, edits: Sequence[RequestEdit]) -> EditedBody:
    """Return a body with edits applied. Where two concern the same place, the later one holds."""
    results: list[EditResult] = []
    for edit in edits:
        place = _resolved(tree, edit)
        if isinstance(place, str):
            results.append(EditResult(edit, fault=place))
            continue
        result = EditResult(edit, place)
        before = None if result.adds_element else value_at(tree, place)
        results.append(replace(result, before=before))
    for number, result in enumerate(results):
        if not result.fault and _is_covered(number, results):
            fault = "another edit by hand changes the same place"
            results[number] = EditResult(result.edit, result.path, fault=fault)
    changes = _changes([result for result in results if not result.fault])
    edited = _rebuilt(tree, changes) if changes else tree
    assert isinstance(edited, Obj)
    placed = tuple(
        result if result.fault else replace(result, pointer=_pointer(result, tree, changes))
        for result in results
    )
    return EditedBody(tree, edited, placed)


def _changes(results: Sequence[EditResult]) -> _Changes:
    return tuple((result.path, result.edit) for result in results)


def _plan(length: int, changes: _Changes) -> list[int | RequestEdit]:
    """Return the elements of an edited list: the indices of those that stay, and the edits that
    add one. The paths of `changes` are counted from the list.
    """
    removed: set[str | int] = set()
    added: dict[str | int, list[RequestEdit]] = {}
    for path, edit in changes:
        if len(path) == 1 and edit.operation == "add":
            added.setdefault(path[0], []).append(edit)
        elif len(path) == 1 and edit.operation == "remove":
            removed.add(path[0])
    plan: list[int | RequestEdit] = []
    for index in range(-1, length):
        plan += [index] if index >= 0 and index not in removed else []
        plan += added.get(index, ())
    return plan


def _plan_at(tree: Obj, holder: BodyPath, changes: _Changes) -> list[int | RequestEdit]:
    """Return the elements of the list at a place of the body without edits; see `_plan`."""
    node, depth = value_at(tree, holder), len(holder)
    inside = tuple((path[depth:], edit) for path, edit in changes if path[:depth] == holder)
    return _plan(len(node.items) if isinstance(node, Arr) else 0, inside)


def _pointer(result: EditResult, tree: Obj, changes: _Changes) -> str:
    """Return the place of an edit in the edited body."""
    path = result.path[:-1] if result.edit.operation == "remove" else result.path
    steps = list(path)
    for depth, step in enumerate(path):
        if isinstance(step, int):
            plan = _plan_at(tree, path[:depth], changes)
            is_added = depth == len(path) - 1 and result.adds_element
            matches = (other is result.edit if is_added else other == step for other in plan)
            steps[depth] = list(matches).index(True)
    return json_pointer(tuple(steps))


def _rebuilt(node: Tree, changes: _Changes) -> Tree:
    """Return a value with edits inside it."""
    inside: dict[str | int, list[tuple[BodyPath, RequestEdit]]] = {}
    for path, edit in changes:
        if not (len(path) == 1 and isinstance(path[0], int) and edit.operation == "add"):
            inside.setdefault(path[0], []).append((path[1:], edit))
    if isinstance(node, Obj):
        items = [(key, _changed(value, tuple(inside.pop(key, ())))) for key, value in node.items]
        items += [(str(key), _changed(None, tuple(added))) for key, added in inside.items()]
        return Obj(tuple((key, value) for key, value in items if value is not None), node.origin)
    assert isinstance(node, Arr)
    elements = (
        _new_value(place, None)
        if isinstance(place, RequestEdit)
        else _changed(node.items[place], tuple(inside.get(place, ())))
        for place in _plan(len(node.items), changes)
    )
    return Arr(tuple(each for each in elements if each is not None), node.origin)


def _changed(value: Tree | None, changes: _Changes) -> Tree | None:
    """Return a value with edits of itself or inside it; None if it is removed."""
    if not changes:
        return value
    if changes[0][0] and value is not None:
        return _rebuilt(value, changes)
    edit = changes[-1][1]
    return None if edit.operation == "remove" else _new_value(edit, value)


def _new_value(edit: RequestEdit, before: Tree | None) -> Tree:
    return merged(before, json.loads(edit.value), edit.pointer)


def merged(before: Tree | None, value: JsonValue, place: str) -> Tree:
    """Return a new value; what is the same as before keeps its origins. The rest is edited by hand,
    at a place given as a JSON pointer.
    """
    within = None
    if before is not None:
        spans = before.text.spans if isinstance(before, Str) else ()
        own = (spans[0].origin if spans else GLUE) if isinstance(before, Str) else before.origin
        within = None if own.kind is OriginKind.GLUE else own
    after = tree_of(value, Origin(OriginKind.EDIT, place, within=within))
    if before is None or body_of(after) == body_of(before):
        return before or after
    if isinstance(value, str) and isinstance(before, Str):
        return Str(_merged_text(before.text, clean(value), place))
    if isinstance(after, Obj) and isinstance(before, Obj):
        values = cast("Mapping[str, JsonValue]", value).items()
        items = ((clean(key), merged(before.get(key), part, place)) for key, part in values)
        return Obj(tuple(items), before.origin)
    if isinstance(after, Arr) and isinstance(before, Arr):
        elements = _merged_items(before.items, cast("list[JsonValue]", value), place)
        return Arr(elements, before.origin)
    return after


def _merged_items(
    before: Sequence[Tree], values: Sequence[JsonValue], place: str
) -> tuple[Tree, ...]:
    """Return the new elements of a list: those at its ends that are as before, and the others."""
    if len(before) == len(values):
        return tuple(merged(was, value, place) for was, value in zip(before, values, strict=True))
    old, new = list(map(body_of, before)), [body_of(tree_of(value)) for value in values]
    start, end = common_ends(old, new)
    middle = (merged(None, value, place) for value in values[start : len(new) - end])
    return (*before[:start], *middle, *before[len(old) - end :])


def _merged_text(before: Text, after: str, place: str) -> Text:
    """Return a text whose changed characters are edited by hand."""
    old = before.plain
    start, end = common_ends(old, after)
    within = before.span_at(min(start, len(old) - 1)).origin if old else None
    within = None if within is None or within.kind is OriginKind.GLUE else within
    changed = after[start : len(after) - end]
    middle = Text.of(changed, Origin(OriginKind.EDIT, place, within=within))
    return before[:start] + middle + before[len(old) - end :]

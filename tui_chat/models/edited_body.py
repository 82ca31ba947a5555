"""A request body with edits by hand.

1. An edit names a place of the body as it is without any edit. So edits do not depend on each
   other, and one can be removed without moving the others.
2. A path of keys leads to its place. A path through lists may lead to another place in the next
   request, since messages come and go: it holds where the innermost list element on it is as it
   was, by its fingerprint. That is sought at its own index, then ever farther away in the lists on
   the path, the lower index first. If there is none, the edit is not applied, and says why.
3. A value keeps the origins of the characters that an edit did not change; the others have the
   origin “edited by hand”, within the origin of what was there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from heapq import merge
from typing import TypeAlias, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_ends
from tui_chat.models.json_tree import LEAVES, Arr, JsonValue, Obj, Str, Tree, body_of, tree_of
from tui_chat.models.memo import recent_memo
from tui_chat.models.request_edit import END, BodyPath, RequestEdit, json_pointer
from tui_chat.models.text import GLUE, Origin, OriginKind, Text, clean

Changes: TypeAlias = tuple[tuple[BodyPath, RequestEdit], ...]
"""Edits with their places, counted from a value that holds them all."""


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
    def applied(self) -> tuple[RequestEdit, ...]:
        """The edits that changed it."""
        return tuple(edit for _, edit in self.changes)

    @property
    def changes(self) -> Changes:
        """The edits that changed it, with their places in the body without edits."""
        return tuple((result.path, result.edit) for result in self.results if not result.fault)


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


def child_of(node: Tree | None, step: str | int) -> Tree | None:
    """Return the value at a step of a path; None if there is none."""
    if isinstance(node, Obj) and isinstance(step, str):
        return node.get(step)
    if isinstance(node, Arr) and isinstance(step, int) and 0 <= step < len(node.items):
        return node.items[step]
    return None


def value_at(node: Tree | None, path: BodyPath) -> Tree | None:
    """Return the value at a path; None if there is none."""
    for step in path:
        node = child_of(node, step)
    return node


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
        results.append(EditResult(edit, place, before=before))
    for number, result in enumerate(results):
        if not result.fault and _is_covered(number, results):
            fault = "another edit by hand changes the same place"
            results[number] = EditResult(result.edit, result.path, fault=fault)
    applied = [result for result in results if not result.fault]
    changes = tuple((result.path, result.edit) for result in applied)
    edited = _rebuilt(tree, changes) if changes else tree
    assert isinstance(edited, Obj)
    placed = tuple(_with_pointer(result, tree, changes) for result in results)
    return EditedBody(tree, edited, placed)


# Where an edit belongs


def _resolved(tree: Obj, edit: RequestEdit) -> BodyPath | str:
    """Return the place of an edit in a body; if there is none, why, as the end of a sentence."""
    *holder, last = edit.path
    is_by_holder = edit.operation == "add" and (isinstance(last, str) or last < 0)
    sought = tuple(holder) if is_by_holder else edit.path
    path: BodyPath | None = sought
    if any(isinstance(step, int) for step in sought):
        path = next(_places(tree, sought, edit.fingerprint), None)
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
    for depth, step in enumerate(path):
        if isinstance(step, str):
            node = child_of(node, step)
            continue
        if not isinstance(node, Arr):
            return
        keys, rest = path[:depth], path[depth + 1 :]
        is_innermost = not any(isinstance(step, int) for step in rest)
        for index in _nearest(step, len(node.items)):
            element = node.items[index]
            if not is_innermost:
                for below in _places(element, rest, wanted):
                    yield (*keys, index, *below)
            elif _has_fingerprint(element, wanted) and value_at(element, rest[:-1]) is not None:
                yield (*keys, index, *rest)
        return


def _nearest(index: int, length: int) -> Iterator[int]:
    """Yield the indices of a list by their distance to one of them, the lower first."""
    below, above = range(min(index, length) - 1, -1, -1), range(max(index, 0), length)
    return merge(below, above, key=lambda other: abs(other - index))


def _has_fingerprint(node: Tree, wanted: str) -> bool:
    return wanted.startswith(f"{len(body_of(node))}-") and fingerprint(node) == wanted


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


# The edited body


def list_plan(length: int, changes: Changes) -> list[int | RequestEdit]:
    """Return the elements of an edited list: the indices of those that stay, and the edits that
    add one. The paths of `changes` are counted from the list.
    """
    removed: set[int] = set()
    added: dict[int, list[RequestEdit]] = {}
    for path, edit in changes:
        index, *rest = path
        if rest or not isinstance(index, int):
            continue
        if edit.operation == "add":
            added.setdefault(index, []).append(edit)
        elif edit.operation == "remove":
            removed.add(index)
    plan: list[int | RequestEdit] = []
    start = 0
    for index in sorted({*removed, *added}):
        plan += range(start, index if index in removed else index + 1)
        plan += added.get(index, ())
        start = index + 1
    return [*plan, *range(start, length)]


def _rebuilt(node: Tree, changes: Changes) -> Tree:
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
    elements: list[Tree] = []
    for place in list_plan(len(node.items), changes):
        if isinstance(place, RequestEdit):
            elements.append(_added_value(place))
        elif place not in inside:
            elements.append(node.items[place])
        elif (changed := _changed(node.items[place], tuple(inside[place]))) is not None:
            elements.append(changed)
    return Arr(tuple(elements), node.origin)


def _changed(value: Tree | None, changes: Changes) -> Tree | None:
    """Return a value with edits of itself or inside it; None if it is removed."""
    if not changes:
        return value
    if changes[0][0] and isinstance(value, Obj | Arr):
        return _rebuilt_part(value, changes)
    edit = changes[-1][1]
    return None if edit.operation == "remove" else _new_value(edit, value)


@recent_memo(64)
def _rebuilt_part(node: Tree, changes: Changes) -> Tree:
    """Return a part with edits inside: for equal ones the same object, which is encoded once."""
    return _rebuilt(node, changes)


@recent_memo(64)
def _added_value(edit: RequestEdit) -> Tree:
    return _new_value(edit, None)


def _new_value(edit: RequestEdit, before: Tree | None) -> Tree:
    value: JsonValue = json.loads(edit.value)
    return merged(before, value, edit.pointer)


def merged(before: Tree | None, value: JsonValue, place: str) -> Tree:
    """Return a new value; what is the same as before keeps its origins. The rest is edited by hand,
    at a place given as a JSON pointer.
    """
    after = tree_of(value, Origin(OriginKind.EDIT, place, within=_origin_of(before)))
    if before is None or body_of(after) == body_of(before):
        return before or after
    if isinstance(value, str) and isinstance(before, Str):
        return Str(_merged_text(before.text, clean(value), place))
    if isinstance(after, Obj) and isinstance(before, Obj):
        values = cast("Mapping[str, JsonValue]", value).items()
        items = ((clean(key), merged(before.get(key), part, place)) for key, part in values)
        return Obj(tuple(items), before.origin)
    if isinstance(after, Arr) and isinstance(before, Arr):
        return Arr(
            _merged_items(before.items, cast("list[JsonValue]", value), place), before.origin
        )
    return after


def _merged_items(
    before: Sequence[Tree], values: Sequence[JsonValue], place: str
) -> tuple[Tree, ...]:
    """Return the new elements of a list: those at its ends that are as before, and the others."""
    old, new = list(map(body_of, before)), [body_of(tree_of(value)) for value in values]
    if len(old) == len(new):
        return tuple(merged(was, value, place) for was, value in zip(before, values, strict=True))
    start, end = common_ends(old, new)
    middle = (merged(None, value, place) for value in values[start : len(new) - end])
    return (*before[:start], *middle, *before[len(old) - end :])


def _merged_text(before: Text, after: str, place: str) -> Text:
    """Return a text whose changed characters are edited by hand."""
    old = before.plain
    start, end = common_ends(old, after)
    changed = after[start : len(after) - end]
    place_before = min(start, max(len(old) - 1, 0))
    within = before.span_at(place_before).origin if old else None
    within = None if within is None or within.kind is OriginKind.GLUE else within
    middle = Text.of(changed, Origin(OriginKind.EDIT, place, within=within))
    return before[:start] + middle + before[len(old) - end :]


def _origin_of(node: Tree | None) -> Origin | None:
    """Return the origin of a value, unless it is the protocol's or there is none."""
    if node is None:
        return None
    spans = node.text.spans if isinstance(node, Str) else ()
    origin = (spans[0].origin if spans else GLUE) if isinstance(node, Str) else node.origin
    return None if origin.kind is OriginKind.GLUE else origin


# Places in the edited body


def _with_pointer(result: EditResult, tree: Obj, changes: Changes) -> EditResult:
    """Return the result of an edit with its place in the edited body."""
    if result.fault:
        return result
    path = result.path[:-1] if result.edit.operation == "remove" else result.path
    steps: list[str | int] = []
    for depth, step in enumerate(path):
        if isinstance(step, int):
            plan = list_plan_at(tree, path[:depth], changes)
            if depth == len(path) - 1 and result.adds_element:
                step = [place is result.edit for place in plan].index(True)
            else:
                step = plan.index(step)
        steps.append(step)
    return EditResult(result.edit, result.path, json_pointer(tuple(steps)), result.before)


def list_plan_at(tree: Obj, holder: BodyPath, changes: Changes) -> list[int | RequestEdit]:
    """Return the elements of the list at a place of the body without edits; see `list_plan`."""
    node, depth = value_at(tree, holder), len(holder)
    below = tuple((path[depth:], edit) for path, edit in changes if path[:depth] == holder)
    inside = tuple(change for change in below if change[0])
    return list_plan(len(node.items) if isinstance(node, Arr) else 0, inside)

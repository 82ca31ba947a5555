"""Gemini's keys are camelCase; its servers also accept snake_case, and some clients send it.

The decoder turns every key of the protocol into camelCase and keeps which ones were not; the
encoder writes those as they were. Arguments, responses and schemas are never changed. Proxies in
Python answer in snake_case, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tui_chat.models.boundary import camel_case
from tui_chat.models.json_text import JsonObject, as_array, as_object
from tui_chat.models.json_tree import Obj
from tui_chat.protocols.common.request_fields import Fields, snake


def camel_fields(value: Mapping[str, Any], place: str, spelled: set[str]) -> Fields:
    """Take an object apart by its camelCase keys; add those that were not to `spelled`."""
    fields: dict[str, Any] = {}
    for key, inner in value.items():
        name = camel_case(key)
        if name != key and name not in value and snake(name) == key:
            spelled.add(key)
            fields[name] = inner
        else:
            fields[key] = inner
    return Fields(fields, place)


def camel_inner(fields: Fields, key: str, spelled: set[str]) -> Fields | None:
    """Take an inner object apart in the same way."""
    inner = fields.take_fields(key)
    return camel_fields(inner.remaining, inner.place, spelled) if inner else None


def as_spelled(tree: Obj, spelled: Collection[str]) -> Obj:
    """Return an object with the keys as they were written; inner objects are left alone."""
    if not spelled:
        return tree
    items = tuple((s if (s := snake(key)) in spelled else key, value) for key, value in tree.items)
    return Obj(items, tree.origin)


_FOREIGN = frozenset({"args", "response", "output", "code"})
"""Keys whose values are not the protocol's."""
_DEPTH = 8


def camel_reply(value: JsonObject) -> JsonObject:
    """Return a reply with camelCase keys."""
    return as_object(_camel(value, _DEPTH))


def _camel(value: object, depth: int) -> object:
    if not depth:
        return value
    if fields := as_object(value):
        return {
            camel_case(key): inner if key in _FOREIGN else _camel(inner, depth - 1)
            for key, inner in fields.items()
        }
    return [_camel(each, depth - 1) for each in as_array(value)] or value

"""Gemini's keys are camelCase; its servers also accept snake_case, and some clients send it.

A reader turns every key of the protocol into camelCase and keeps which ones were not; the writer
spells those as they were. Arguments, responses and schemas are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias, cast

from tui_chat.models.boundary import camel_case
from tui_chat.models.json_text import JsonObject
from tui_chat.protocols.common.trees import Labelled

Places: TypeAlias = "Mapping[str, Places]"
"""The keys of objects within an object whose own keys are the protocol's too, and those in them."""
NOWHERE: Places = {}
HOLDERS: Places = {"inlineData": {}, "fileData": {}, "functionCall": {}, "functionResponse": {}}
"""Those in a part."""


def camel(wire: JsonObject, places: Places = NOWHERE) -> tuple[dict[str, Any], str]:
    """Return an object with its own keys, and those at `places`, in camelCase; and as the words of
    a form those that were not.
    """
    words: set[str] = set()
    fields = _camel_keys(wire, places, words)
    form = " ".join(sorted(words))
    is_reversible = spelled(fields, form.split(), places) == wire
    return (fields, form) if is_reversible else (dict(wire), "")


def _camel_keys(wire: JsonObject, places: Places, words: set[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, inner in wire.items():
        name = camel_case(key)
        if name != key and name not in wire and snake(name) == key:
            words.add(key)
            fields[name] = inner
        else:
            fields[key] = inner
    for key, inside in places.items():
        if isinstance(inner := fields.get(key), dict):
            fields[key] = _camel_keys(cast("JsonObject", inner), inside, words)
    return fields


def spelled(
    written: dict[str, Any], words: Collection[str], places: Places = NOWHERE
) -> dict[str, Any]:
    """Return an object with the keys among the words, its own and those at `places`, in snake_case
    again.
    """
    if not words:
        return written
    result: dict[str, Any] = {}
    for key, value in written.items():
        if key in places and isinstance(value, dict):
            value = spelled(cast("dict[str, Any]", value), words, places[key])
        name = snake(key)
        result[name if name in words else key] = value
    if isinstance(written, Labelled):
        return Labelled(result, written.name, written.origin)
    return result


_UPPER = re.compile(r"[A-Z]")


def snake(name: str) -> str:
    """Return a camelCase name in snake_case."""
    return _UPPER.sub(lambda match: "_" + match[0].lower(), name)

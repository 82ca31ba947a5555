"""Settings of a captured request, as the envelope holds them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Sourced, ToolDefinition
from tui_chat.models.namespaces import NativeTool
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.fields import Fields, compact

T = TypeVar("T")
S = TypeVar("S")


def sourced(name: str, value: T | None) -> Sourced[T] | None:
    """Return a setting as the captured request gave it; None where it did not."""
    if value is None:
        return None
    origin = Origin(OriginKind.SETTING, name, f"{name}, from the captured request")
    return Sourced(value, origin)


def model_of(name: str) -> Sourced[str]:
    """Return the model, which may be unknown."""
    origin = Origin(OriginKind.SETTING, "model", "model, from the captured request")
    return Sourced(name, origin)


def settings_of(kind: type[S], left: dict[str, Any], *, spelled: Mapping[str, str]) -> S:
    """Take the keys that a namespace has fields for out of `left`, and return the namespace.

    `spelled` gives the key of a field where it is not the field's own name.
    """
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    found = {n: left.pop(k) for n in names if (k := spelled.get(n, n)) in left}
    return kind(**found)


def tools_of(
    request: Fields, protocol: Protocol, read: Callable[[Fields], ToolDefinition | None]
) -> tuple[tuple[ToolDefinition, ...] | None, tuple[NativeTool, ...]]:
    """Take `tools` apart: the functions that `read` knows, and whatever else the protocol has."""
    if request.left.get("tools") is None:
        return None, ()
    tools: list[ToolDefinition] = []
    native: list[NativeTool] = []
    for position, entry in enumerate(request.objects("tools")):
        whole = dict(entry.left)
        tool = read(entry)
        if tool is None:
            kind = str(whole.get("type") or whole.get("name") or "tool")
            native.append(NativeTool(protocol, position, kind, compact(whole)))
        else:
            tools.append(tool)
    return tuple(tools), tuple(native)


def take_if_said_back(
    fields: Fields, key: str, read: Callable[[Any], T | None], write: Callable[[T], Any]
) -> T | None:
    """Return what a key means. Take it where `write` says the very same again; else leave it to
    the protocol's namespace, whose word then wins in its own protocol.
    """
    value = fields.left.get(key)
    if value is None:
        return None
    meaning = read(value)
    if meaning is not None and write(meaning) == value:
        del fields.left[key]
    return meaning


_UPPER = re.compile(r"[A-Z]")


def snake(name: str) -> str:
    """Return a camelCase name in snake_case."""
    return _UPPER.sub(lambda found: "_" + found[0].lower(), name)


_LOWER = re.compile(r"_([a-z0-9])")


def camel(name: str) -> str:
    """Return a snake_case name in camelCase."""
    return _LOWER.sub(lambda found: found[1].upper(), name)

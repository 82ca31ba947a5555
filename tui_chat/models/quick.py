"""Frozen dataclasses that are made by the thousand.

`__init__` of a frozen dataclass sets each field through `object.__setattr__`, which looks its slot
up by name. To set the slots themselves takes half the time, and nothing else is different.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick(cls: type[T]) -> type[T]:
    """Give a frozen dataclass with slots and without factories a quicker `__init__`."""
    each = fields(cls)  # type: ignore[arg-type]
    scope: dict[str, Any] = {
        f"set_{field.name}": getattr(cls, field.name).__set__ for field in each
    }
    arguments: list[str] = []
    for field in each:
        given = field.default is not MISSING
        scope[f"default_{field.name}"] = field.default
        arguments.append(field.name + (f"=default_{field.name}" if given else ""))
    lines = [f"    set_{field.name}(self, {field.name})" for field in each]
    exec(f"def __init__(self, {', '.join(arguments)}):\n" + "\n".join(lines), scope)  # noqa: S102
    made = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    made.__annotations__ = cls.__init__.__annotations__
    setattr(cls, "__init__", made)  # noqa: B010
    return cls

"""Files with each value replaced by values of another type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 10**400, 1e308, "", "\ud800", [], {}, [[]], [{}], [None], {"a": []}),
    *({"type": []}, {"role": {}}, "x", ["x"], {"type": "text", "text": []}),
)


SAMPLES = json.loads((Path(__file__).parent / "samples.json").read_text("utf-8"))
"""Requests, replies, files of presets and conversations of each kind, by its name."""


def paths_in(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every node of a JSON value."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_in(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths_in(inner, (*path, index))


def replaced(value: Any, path: tuple[str | int, ...], wrong: object) -> Any:
    """Return the value with the value at a path replaced."""
    if not path:
        return wrong
    value = inner = deepcopy(value)
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = wrong
    return value


def mutants(value: Any, wrong: tuple[Any, ...] = WRONG) -> Iterator[str]:
    """Yield the JSON of a value with each node replaced by each wrong value."""
    for path in paths_in(value):
        for each in wrong:
            yield json.dumps(replaced(value, path, each))

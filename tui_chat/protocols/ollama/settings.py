"""The settings of Ollama.

1. `format` is “json”, or the schema itself.
2. `think` is a level, false for no thinking, or true for the model's default level.
3. All others are in `options`, of which the server ignores unknown ones.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from tui_chat.models.blocks import Json
from tui_chat.models.settings import ResponseFormat
from tui_chat.protocols.common.reasoning_effort import AUTO
from tui_chat.protocols.common.setting_rows import (
    Row,
    Table,
    boolean,
    count,
    integer,
    never,
    number,
    positive,
    text,
    texts,
    unread,
)
from tui_chat.protocols.common.trees import dictionary

LEVELS = ("low", "medium", "high", "max")
"""The words of `think`; each is an effort of the same name."""


def read_format(value: Json) -> ResponseFormat | None:
    """Return the meaning of `format`; None if the unified fields cannot express it."""
    if value == "json":
        return ResponseFormat("json")
    return ResponseFormat("schema", dictionary(value)) if dictionary(value) else None


def write_format(form: ResponseFormat) -> Json:
    """Return `format` as the protocol writes it."""
    return form.schema if form.kind == "schema" and form.schema else "json"


def read_think(value: Json) -> str | None:
    """Return the effort that `think` means; None if it means none."""
    if isinstance(value, bool):
        return AUTO if value else "none"
    return value if value in LEVELS else None


def write_think(effort: str) -> str | bool:
    """Return `think` for an effort: `none`, `AUTO` or one of the levels."""
    return effort if effort in LEVELS else effort == AUTO


def _limit(value: Json) -> int | None:
    """Read a reply limit; the numbers below 1 mean none."""
    limit = integer(value)
    return limit if limit is not None and limit > 0 else None


_FIRST: Table = (
    Row("response_format", ("format",), read_format, write_format),
    Row("effort", ("think",), read_think, write_think),
    Row("logprobs", ("logprobs",), unread, lambda _: True),
    Row("logprobs", ("top_logprobs",), count, positive, beside=("logprobs", True)),
    Row("logprobs", ("logprobs",), lambda on: 0 if on is True else None, never),
)


def _sampling(name: str, read: Callable[[Json], Any], low: float, high: float = inf) -> Row:
    return Row(name, ("options", name), read, low=low, high=high, is_sampling=True)


OPTIONS: Table = (
    _sampling("temperature", number, 0),
    _sampling("top_p", number, 0, 1),
    _sampling("top_k", integer, 0),
    _sampling("presence_penalty", number, -2, 2),
    _sampling("frequency_penalty", number, -2, 2),
    Row("seed", ("options", "seed"), integer, low=-(2**63), high=2**63 - 1),
    Row("max_tokens", ("options", "num_predict"), _limit),
    Row("stop", ("options", "stop"), texts),
)
TABLE: Table = (
    Row("model", ("model",), text),
    *_FIRST,
    Row("stream", ("stream",), boolean),
    *OPTIONS,
)
"""In the order in which they are sent."""

"""The settings that only Ollama has.

Response format and thinking, read and written side by side. Tools are written as in OpenAI Chat,
without `strict`.

1. `format` is “json”, or the schema itself.
2. `think` is a level, false for no thinking, or true for the model's default level.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.semantics import UNSET, Namespace, Setting
from tui_chat.models.settings import ResponseFormat
from tui_chat.protocols.common.decoding import Meanings
from tui_chat.protocols.common.reasoning_effort import AUTO
from tui_chat.protocols.common.request_fields import Fields
from tui_chat.protocols.common.settings import INTEGER, NUMBER, TEXTS, Scalar


def _take_limit(options: Fields, key: str) -> int | None:
    """Take a reply limit, unless it is one of the numbers below 1 that mean no limit."""
    limit = options.remaining.get(key)
    return options.take_integer(key) if isinstance(limit, int) and limit > 0 else None


SCALARS = (
    Scalar("temperature", "temperature", NUMBER, 0, is_sampling=True),
    Scalar("top_p", "top_p", NUMBER, 0, 1, is_sampling=True),
    Scalar("top_k", "top_k", INTEGER, 0, is_sampling=True),
    Scalar("presence_penalty", "presence_penalty", NUMBER, -2, 2, is_sampling=True),
    Scalar("frequency_penalty", "frequency_penalty", NUMBER, -2, 2, is_sampling=True),
    Scalar("seed", "seed", INTEGER, -(2**63), 2**63 - 1),
    Scalar("max_tokens", "num_predict", _take_limit),
    Scalar("stop", "stop", TEXTS),
)
"""Keys of `options`."""
LEVELS = ("low", "medium", "high", "max")
"""The words of `think`; each is an effort of the same name."""


def read_format(value: Any) -> ResponseFormat | None:
    """Return the meaning of `format`; None if the unified fields cannot express it."""
    if value == "json":
        return ResponseFormat("json")
    if isinstance(value, dict) and value:
        return ResponseFormat("schema", cast("dict[str, Any]", value))
    return None


def write_format(form: ResponseFormat) -> str | dict[str, Any]:
    """Return `format` as the protocol writes it."""
    return form.schema if form.kind == "schema" and form.schema else "json"


def read_think(value: Any) -> str | None:
    """Return the effort that `think` means; None if it means none that has a name."""
    if value is False:
        return "none"
    return value if value in LEVELS else None


def write_think(effort: str) -> str | bool:
    """Return `think` for an effort: `none` or one of the levels."""
    return effort if effort in LEVELS else False


@dataclass(frozen=True, slots=True)
class OllamaSettings(Namespace):
    """The settings that only Ollama has."""

    protocol: ClassVar = Protocol.OLLAMA
    informational: ClassVar = frozenset({"keep_alive"})
    groups: ClassVar = frozenset({"options"})

    format: Setting = UNSET
    """Only a form that `Parameters.response_format` does not give back word for word."""
    keep_alive: Setting = UNSET
    """The time for which the model stays loaded after the request: seconds, or `5m`; -1 for
    ever."""
    logprobs: Setting = UNSET
    options: Setting = UNSET
    """The options that no unified field holds: `num_ctx`, `min_p`, `repeat_penalty` ..."""
    shift: Setting = UNSET
    """False: fail at the end of the context, instead of dropping its beginning."""
    stream: Setting = UNSET
    """As it was written; absent means true."""
    think: Setting = UNSET
    """Only a value that `Parameters.effort` does not give back: true, for the model's default."""
    top_logprobs: Setting = UNSET
    truncate: Setting = UNSET
    """False: fail where the messages exceed the context, instead of dropping the oldest."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        meanings = Meanings()
        if self.think is True:
            meanings.add("effort", AUTO, "think")
        meanings.add_logprobs(self.logprobs, self.top_logprobs, "logprobs", "top_logprobs")
        return meanings

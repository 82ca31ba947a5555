"""What if: a request with something else in it than the session has. Nothing is kept of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tui_chat.context import Inputs, Settings
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.preset import Preset


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What is another; empty and None leave it as it is."""

    limit: int | None = None
    """Tokens of input and output together."""
    endpoint: str = ""
    model: str = ""
    messages: int | None = None
    """Only so many of the newest messages."""
    preset: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is another."""
        return self == _NOTHING

    @property
    def words(self) -> str:
        """What is another, in words."""
        told = [f"a limit of {self.limit:,} tokens"] if self.limit is not None else []
        told += [f"{self.model or 'its first model'} at {self.endpoint}"] if self.endpoint else []
        told += [self.model] if self.model and not self.endpoint else []
        told += [f"the last {self.messages:,} messages"] if self.messages is not None else []
        told += [f"preset {self.preset}"] if self.preset else []
        return ", ".join(told)


_NOTHING = WhatIf()


def supposed(
    inputs: Inputs, asked: WhatIf, endpoint: Endpoint | None, preset: Preset | None
) -> Inputs:
    """Return the inputs as they would be; their history is cut already."""
    settings: Settings = inputs.settings
    if asked.model or asked.endpoint:
        settings = replace(settings, model=asked.model)
    return replace(
        inputs,
        endpoint=endpoint or inputs.endpoint,
        preset=preset or inputs.preset,
        settings=settings,
        context_limit=inputs.context_limit if asked.limit is None else asked.limit,
    )

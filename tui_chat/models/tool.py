"""A configured tool: its definition for the model, and the command that runs it."""

from __future__ import annotations

from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import ToolDefinition


@dataclass(frozen=True, slots=True)
class Tool:
    """One of `[tools.NAME]`."""

    definition: ToolDefinition
    command: tuple[str, ...] = ()
    """Program and arguments, started without a shell; empty for a tool that a person answers."""
    consent: Literal["ask", "always"] = "ask"
    """`ask` asks the user before each run."""
    offered: bool = True
    """True if new sessions offer it to the model."""
    timeout: float = 60.0
    """Seconds after which a run is ended."""
    most_output: int = 100_000
    """Maximum bytes of output; more is cut off with a remark for the model."""

    @property
    def name(self) -> str:
        """The name for the model."""
        return self.definition.name

"""The settings that only Anthropic has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tui_chat.models.endpoint import Protocol
from tui_chat.models.semantics import UNSET, Namespace, Setting
from tui_chat.models.settings import EFFORTS
from tui_chat.protocols.common.lenient_json import as_object, as_string
from tui_chat.protocols.common.reasoning import AUTO
from tui_chat.protocols.common.request_fields import Meanings, is_count


@dataclass(frozen=True, slots=True)
class AnthropicSettings(Namespace):
    """The settings that only Anthropic has."""

    protocol: ClassVar = Protocol.ANTHROPIC
    informational: ClassVar = frozenset(
        ("betas", "cache_control", "inference_geo", "metadata", "service_tier", "speed")
    )
    groups: ClassVar = frozenset({"metadata", "output_config", "thinking"})

    cache_control: Setting = UNSET
    """Top-level: marks the last block that can be cached."""
    container: Setting = UNSET
    context_management: Setting = UNSET
    inference_geo: Setting = UNSET
    mcp_servers: Setting = UNSET
    metadata: Setting = UNSET
    output_config: Setting = UNSET
    """Effort and output format."""
    output_format: Setting = UNSET
    """Older beta form of the output format."""
    service_tier: Setting = UNSET
    speed: Setting = UNSET
    stream: Setting = UNSET
    """Only if it was false."""
    thinking: Setting = UNSET
    tool_choice: Setting = UNSET
    """Only a form that the unified fields do not give back word for word."""
    betas: Setting = UNSET
    """Some clients put the beta header into the body."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        found = Meanings()
        thinking, config = as_object(self.thinking), as_object(self.output_config)
        kind, budget, display = (thinking.get(k) for k in ("type", "budget_tokens", "display"))
        if is_count(budget) and kind == "enabled":
            found.add("reasoning_budget", budget, "thinking.budget_tokens", "thinking.type")
        elif kind == "adaptive":
            found.add("effort", AUTO, "thinking.type")
        if kind == "disabled":
            found.add("effort", "none", "thinking.type")
        elif (effort := config.get("effort")) in EFFORTS:
            found.add("effort", effort, "output_config.effort")
        if display in _SUMMARIES:
            found.add("reasoning_summary", _SUMMARIES[display], "thinking.display")
        if user := as_string(as_object(self.metadata).get("user_id")):
            found.add("user_id", user, "metadata.user_id")
        if self.service_tier in TIERS:
            found.add("service_tier", TIERS[self.service_tier], "service_tier")
        return found


_SUMMARIES: Mapping[Any, str] = {"summarized": "auto", "omitted": "none"}
TIERS: Mapping[Any, str] = {"auto": "auto", "standard_only": "default"}
"""Anthropic's service tiers in OpenAI's words."""

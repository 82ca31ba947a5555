"""The settings that only Gemini has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tui_chat.models.endpoint import Protocol
from tui_chat.models.semantics import UNSET, Namespace, Setting
from tui_chat.models.settings import EFFORTS
from tui_chat.protocols.common.lenient_json import as_object, as_string
from tui_chat.protocols.common.reasoning import AUTO
from tui_chat.protocols.common.request_fields import Fields, Meanings, camel, is_count


@dataclass(frozen=True, slots=True)
class GeminiSettings(Namespace):
    """The settings that only Gemini has."""

    protocol: ClassVar = Protocol.GEMINI
    form_only: ClassVar = frozenset({"system_instruction", "tool_groups", "tools_shape", "spelled"})
    informational: ClassVar = frozenset({"labels", "service_tier", "store"})
    earlier_turns: ClassVar = frozenset({"cached_content"})
    keys: ClassVar = {
        name: camel(name)
        for name in (
            *("cached_content", "continuation_token", "generation_config", "safety_settings"),
            *("service_tier", "tool_config"),
        )
    }
    groups: ClassVar = frozenset({"generation_config", "tool_config"})

    cached_content: Setting = UNSET
    continuation_token: Setting = UNSET
    generation_config: Setting = UNSET
    """The part of `generationConfig` that no unified field holds."""
    labels: Setting = UNSET
    model: Setting = UNSET
    """The body's own `model`, as it was written; the one that counts is in the URL."""
    safety_settings: Setting = UNSET
    service_tier: Setting = UNSET
    store: Setting = UNSET
    tool_config: Setting = UNSET
    """The part that the unified tool choice does not give back word for word."""
    system_instruction: Setting = UNSET
    """Not in the body: the instruction's keys other than its parts (`role`)."""
    tool_groups: tuple[tuple[int, str], ...] = ()
    """Not in the body: how `tools` was written: for each entry, how many function declarations
    it holds, and its other keys (`googleSearch`, ...) as compact JSON."""
    tools_shape: Literal["", "object"] = ""
    """Not in the body: whether `tools` was one bare object."""
    spelled: tuple[str, ...] = ()
    """Not in the body: the keys above the contents that were written in snake_case."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        found = Meanings()
        config = as_object(self.generation_config)
        thinking = Fields(as_object(config.get("thinkingConfig")), "")
        level = as_string(thinking.remaining.get("thinkingLevel")).lower()
        budget = thinking.remaining.get("thinkingBudget")
        shown = thinking.remaining.get("includeThoughts")
        base = "generation_config"
        if level in EFFORTS:
            found.add("effort", level, f"{base}.thinkingConfig.thinkingLevel")
        if is_count(budget):
            found.add("reasoning_budget", budget, f"{base}.thinkingConfig.thinkingBudget")
        elif budget == -1:
            found.add("effort", AUTO, f"{base}.thinkingConfig.thinkingBudget")
        if isinstance(shown, bool):
            summary = "auto" if shown else "none"
            found.add("reasoning_summary", summary, f"{base}.thinkingConfig.includeThoughts")
        if is_count(count := config.get("candidateCount")):
            found.add("replies", count, f"{base}.candidateCount")
        if config.get("responseLogprobs") is True:
            top = config.get("logprobs")
            paths = (f"{base}.responseLogprobs", f"{base}.logprobs")
            found.add("logprobs", top if is_count(top) else 0, *paths)
        if (tier := as_string(self.service_tier).lower()) in TIERS:
            found.add("service_tier", TIERS[tier], "service_tier")
        if isinstance(self.store, bool):
            found.add("store", self.store, "store")
        return found


TIERS = {"standard": "default", "flex": "flex", "priority": "priority", "unspecified": "auto"}
"""Gemini's service tiers in OpenAI's words."""

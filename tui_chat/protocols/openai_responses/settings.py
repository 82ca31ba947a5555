"""The settings that only OpenAI Responses has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tui_chat.models.endpoint import Protocol
from tui_chat.models.semantics import UNSET, Setting
from tui_chat.protocols.common.lenient_json import as_array, as_object, as_string
from tui_chat.protocols.common.openai import OpenAISettings
from tui_chat.protocols.common.request_fields import Meanings, is_count


@dataclass(frozen=True, slots=True)
class ResponsesSettings(OpenAISettings):
    """The settings that only OpenAI Responses has."""

    protocol: ClassVar = Protocol.OPENAI_RESPONSES
    form_only: ClassVar = frozenset({"input_shape"})
    informational: ClassVar = frozenset(
        (
            *("background", "include", "metadata", "prompt_cache_key", "prompt_cache_options"),
            *("prompt_cache_retention", "safety_identifier", "service_tier", "store"),
            *("stream_options", "user"),
        )
    )
    earlier_turns: ClassVar = frozenset({"conversation", "prompt"})
    groups: ClassVar = frozenset({"reasoning", "text"})

    background: Setting = UNSET
    context_management: Setting = UNSET
    conversation: Setting = UNSET
    """A conversation that the provider keeps."""
    include: Setting = UNSET
    """The content of the reply beyond its text: `reasoning.encrypted_content`, ..."""
    max_tool_calls: Setting = UNSET
    previous_response_id: Setting = UNSET
    """Only an explicit null; an id is in `semantics.session`."""
    prompt: Setting = UNSET
    """A prompt template that the provider keeps."""
    reasoning: Setting = UNSET
    """Summary, context and so on; the effort is unified."""
    stream: Setting = UNSET
    """Only if it was false."""
    stream_options: Setting = UNSET
    text: Setting = UNSET
    """Verbosity, and any format that `Parameters.response_format` does not give back."""
    tool_choice: Setting = UNSET
    """Only a form that `Parameters.tool_choice` does not give back word for word."""
    top_logprobs: Setting = UNSET
    truncation: Setting = UNSET
    input_shape: Literal["", "string", "absent"] = ""
    """Not in the body: whether the input was one string, or not there at all."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        found = self.shared_meanings()
        if summary := as_string(as_object(self.reasoning).get("summary")):
            found.add("reasoning_summary", summary, "reasoning.summary")
        if verbosity := as_string(as_object(self.text).get("verbosity")):
            found.add("verbosity", verbosity, "text.verbosity")
        include = as_array(self.include)
        if LOGPROBS in include or self.top_logprobs is not UNSET:
            top = self.top_logprobs if is_count(self.top_logprobs) else 0
            found.add("logprobs", top, "top_logprobs")
        if set(include) <= {LOGPROBS, "reasoning.encrypted_content"}:
            found.paths.add("include")
        return found


LOGPROBS = "message.output_text.logprobs"
"""The content that `include` must name for log probabilities."""

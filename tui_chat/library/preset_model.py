"""How pydantic checks a preset file in which something is unusual; see `presets`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from tui_chat.library.file_model import FileModel
from tui_chat.models.message import MessageRole
from tui_chat.models.policies import OWN_POLICIES, GenerationKind, NamesPolicy, PostProcessing
from tui_chat.models.preset import AnchorPoint, CacheLifetime, CardField, PresetMessageType


def _lifetime(found: object) -> CacheLifetime | None:
    """Parse a cache mark: true, false, or Anthropic's form."""
    if found is None or found is False:
        return None
    if found in (True, {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "5m"}):
        return "5m"
    if found == {"type": "ephemeral", "ttl": "1h"}:
        return "1h"
    raise ValueError('true, false or {"type": "ephemeral", "ttl": "5m" or "1h"}')


class MessageFile(FileModel):
    """A message of a preset file."""

    id: StrictStr | None = None
    name: StrictStr = ""
    type: PresetMessageType = "message"
    role: MessageRole | None = None
    content: StrictStr = ""
    enabled: StrictBool = True
    insertion_point: StrictInt | None = None
    anchor_point: AnchorPoint | None = None
    anchor_target: StrictStr | None = None
    order: StrictInt = 0
    cache_control: Annotated[CacheLifetime | None, BeforeValidator(_lifetime)] = None
    requires: StrictStr = ""
    triggers: tuple[GenerationKind, ...] = ()
    card_field: CardField = ""


class PoliciesFile(FileModel):
    """The policies of a preset file."""

    depths: Literal["separate", "joined"] = "separate"
    budget: Literal["history", "history_with_injections"] = "history"
    without_anchor: Literal["last", "not_sent"] = "last"
    names: NamesPolicy = "field"
    squash_system: StrictBool = False
    post_processing: PostProcessing = ""
    expand_history: StrictBool = False
    legacy_macros: StrictBool = False
    example_separator: StrictStr = ""
    pin_examples: StrictBool = False
    strip_examples: StrictBool = False
    collapse_newlines: StrictBool = False
    card_prompts: tuple[Literal["system_prompt", "post_history"], ...] = OWN_POLICIES.card_prompts
    scripts: tuple[Literal["preset", "card"], ...] = OWN_POLICIES.scripts
    role_prompt: Literal["first", "description"] = "first"
    continue_nudge: StrictStr = OWN_POLICIES.continue_nudge
    continue_prefill: StrictBool | None = None
    continue_postfix: StrictStr | None = None
    impersonation_prompt: StrictStr = OWN_POLICIES.impersonation_prompt
    send_if_empty: StrictStr = ""
    assistant_prefill: StrictStr = ""
    assistant_impersonation: StrictStr = ""
    system_as_user: StrictBool = False


class PresetFile(FileModel):
    """A preset file."""

    name: StrictStr | None = None
    preset_messages: tuple[MessageFile, ...]
    system_placement: Literal["hoist", "in_place"] = "hoist"
    variables: dict[str, StrictStr] = Field(default_factory=dict)
    policies: PoliciesFile = Field(default_factory=PoliciesFile)
    sillytavern: dict[str, Any] = Field(default_factory=dict)

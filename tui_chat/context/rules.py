"""What a preset's builder decides of the steps that it shares with the core's builder.

The core's steps, the editor and the checks ask these rules, never the builder's own policies.
"""

from __future__ import annotations

from typing import Literal

from tui_chat.errors import InputError
from tui_chat.hooks import failed, load_part, parts
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import CardField, Preset


@dataclass(frozen=True, slots=True)
class BuilderRules:
    """The rules of a builder; the defaults are those of the core's."""

    needs_anchor: bool = False
    """True if no conversation is sent without an enabled `chat_history` anchor."""
    card_prompts: tuple[CardField, ...] = ("system_prompt", "post_history")
    """The prompts of a character card that replace those of the preset."""
    role_prompt: Literal["first", "description"] = "first"
    """Where the prompt of a role without a character card goes; `description`: it is the value of
    that macro."""
    depth_roles: tuple[MessageRole, ...] = ()
    """The order of roles at one depth and order; empty if only the list's order counts."""
    continues_user: bool = False
    """True if the user's last message can be continued, too."""
    continue_prefill: bool | None = None
    """True if the last message is sent last instead, without a request to continue it; None for
    models that are known to continue it (prefill)."""
    continue_postfix: str | None = None
    """What goes between a message and its continuation, unless it ends in white space; None for a
    space where the continuation was asked for, and nothing after a prefill."""


CORE_RULES = BuilderRules()
"""The rules of the core's builder."""


@Memo
def rules_of(preset: Preset) -> BuilderRules:
    """Return the rules of a preset's builder; the core's where it is missing."""
    try:
        return load_rules(preset)
    except InputError:  # a note of the request says so
        return CORE_RULES


def load_rules(preset: Preset) -> BuilderRules:
    """Return the same. Raises InputError if they cannot be used."""
    name = preset.builder_name
    for plugin, builder in parts("builder") if name else ():
        if builder.name == name and "rules" in builder.about:
            rules = load_part(plugin, builder.about["rules"])(preset)
            if isinstance(rules, BuilderRules):
                return rules
            raise failed(plugin.name, f"builder {name}", TypeError("its rules are none"))
    return CORE_RULES

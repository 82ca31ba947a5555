"""What SillyTavern's builder decides of the steps that it shares with the core's."""

from __future__ import annotations

from tui_chat.context.rules import BuilderRules
from tui_chat.models.memo import Memo
from tui_chat.models.preset import Preset
from tui_chat.plugins.sillytavern.context.depths import DEPTH_ROLES
from tui_chat.plugins.sillytavern.policies import policies_of


@Memo
def rules_of(preset: Preset) -> BuilderRules:
    """Return the rules of a preset for the steps that are the core's."""
    policies = policies_of(preset)
    is_joined = policies.depths == "joined"
    return BuilderRules(
        needs_anchor=policies.without_anchor == "not_sent",
        card_prompts=policies.card_prompts,
        role_prompt=policies.role_prompt,
        depth_roles=DEPTH_ROLES if is_joined else (),
        continues_user=is_joined,
        continue_prefill=policies.continue_prefill,
        continue_postfix=policies.continue_postfix,
    )

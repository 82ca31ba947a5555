"""The policies of SillyTavern's builder in preset files and in the form of a preset's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tui_chat.library.policies import BuilderPolicies, PolicyField
from tui_chat.models.preset import Preset
from tui_chat.plugins.sillytavern.policies import Policies
from tui_chat.plugins.sillytavern.presets import source_of
from tui_chat.plugins.sillytavern.scripts import scripts_in

_SWITCH: Mapping[str, object] = {"off": False, "on": True}
_FIELDS = (
    PolicyField("depths", "Messages at one depth", {"separate": "separate", "joined": "joined"}),
    PolicyField(
        "budget",
        "Dropped first",
        {"oldest history": "history", "with injections": "history_with_injections"},
    ),
    PolicyField(
        "without_anchor",
        "History without an anchor",
        {"goes last": "last", "is not sent": "not_sent"},
    ),
    PolicyField(
        "names",
        "Names (names_behavior)",
        {
            "field": "field",
            "none": "none",
            "other speakers": "other_speakers",
            "name": "name",
            "in the text": "content",
        },
    ),
    PolicyField("squash_system", "Squash system messages", _SWITCH),
    PolicyField(
        "post_processing",
        "Post-processing",
        {"none": "", "merge": "merge", "semi": "semi", "strict": "strict", "single": "single"},
    ),
    PolicyField("system_as_user", "System as user (no sysprompt)", _SWITCH),
    PolicyField("expand_history", "Macros in the history", _SWITCH),
    PolicyField("pin_examples", "Pin examples", _SWITCH),
    PolicyField("strip_examples", "No examples", _SWITCH),
    PolicyField("collapse_newlines", "Single line breaks", _SWITCH),
    PolicyField(
        "card_prompts",
        "Card's own prompts",
        {
            "both": ("system_prompt", "post_history"),
            "system prompt": ("system_prompt",),
            "post-history": ("post_history",),
            "none": (),
        },
    ),
    PolicyField(
        "scripts",
        "Regex scripts",
        {
            "preset and card": ("preset", "card"),
            "preset": ("preset",),
            "card": ("card",),
            "none": (),
        },
    ),
    PolicyField(
        "role_prompt",
        "Prompt of a plain role",
        {"goes first": "first", "as description": "description"},
    ),
    PolicyField(
        "continue_prefill",
        "Continue with prefill",
        {"if the model takes it": None, "on": True, "off": False},
    ),
    PolicyField(
        "continue_postfix",
        "Between reply and continuation",
        {"automatic": None, "nothing": "", "space": " ", "line break": "\n", "blank line": "\n\n"},
    ),
    PolicyField("example_separator", "Before example dialogues"),
    PolicyField("continue_nudge", "Continue nudge"),
    PolicyField("impersonation_prompt", "Impersonation prompt"),
    PolicyField("send_if_empty", "Send if empty"),
    PolicyField("assistant_prefill", "Assistant prefill (Anthropic)"),
    PolicyField("assistant_impersonation", "Impersonation prefill"),
)


def _complete(preset: Preset) -> Preset:
    """Return a preset with the scripts of the file that it was imported from."""
    return replace(preset, scripts=scripts_in(source_of(preset).get("extensions")))


POLICIES = BuilderPolicies(Policies, _FIELDS, _complete)

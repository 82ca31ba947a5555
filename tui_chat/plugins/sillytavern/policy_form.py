"""The policies of SillyTavern's builder in preset files and in the form of a preset's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args, get_origin, get_type_hints

from tui_chat.library.presets import BuilderPolicies, PolicyField
from tui_chat.models.preset import Preset
from tui_chat.plugins.sillytavern.policies import Policies
from tui_chat.plugins.sillytavern.presets import source_of
from tui_chat.plugins.sillytavern.scripts import scripts_in

_LABELS = {
    "depths": "Messages at one depth",
    "budget": "Dropped first",
    "without_anchor": "History without an anchor",
    "names": "Names (names_behavior)",
    "squash_system": "Squash system messages",
    "post_processing": "Post-processing",
    "system_as_user": "System as user (no sysprompt)",
    "expand_history": "Macros in the history",
    "pin_examples": "Pin examples",
    "strip_examples": "No examples",
    "collapse_newlines": "Single line breaks",
    "card_prompts": "Card's own prompts",
    "scripts": "Regex scripts",
    "role_prompt": "Prompt of a plain role",
    "continue_prefill": "Continue with prefill",
    "continue_postfix": "Between reply and continuation",
    "example_separator": "Before example dialogues",
    "continue_nudge": "Continue nudge",
    "impersonation_prompt": "Impersonation prompt",
    "send_if_empty": "Send if empty",
    "assistant_prefill": "Assistant prefill (Anthropic)",
    "assistant_impersonation": "Impersonation prefill",
}
_BREAKS = {"nothing": "", "space": " ", "line break": "\n", "blank line": "\n\n"}
_CHOICES: Mapping[str, Mapping[str, object]] = {
    "card_prompts": {
        "both": ("system_prompt", "post_history"),
        "system prompt": ("system_prompt",),
        "post-history": ("post_history",),
        "none": (),
    },
    "scripts": {
        "preset and card": ("preset", "card"),
        "preset": ("preset",),
        "card": ("card",),
        "none": (),
    },
    "continue_prefill": {"if the model takes it": None, "on": True, "off": False},
    "continue_postfix": {"automatic": None, **_BREAKS},
}
"""The values of policies by words, where their type does not say them."""


def _choices(name: str, hint: object) -> Mapping[str, object]:
    """Return the values of a policy of a type by words; nothing for a text."""
    if hint is bool:
        return {"off": False, "on": True}
    if get_origin(hint) is Literal:
        return {value.replace("_", " ") or "none": value for value in get_args(hint)}
    return _CHOICES.get(name, {})


def _complete(preset: Preset) -> Preset:
    """Return a preset with the scripts of the file that it was imported from."""
    return replace(preset, scripts=scripts_in(source_of(preset).get("extensions")))


_HINTS = get_type_hints(Policies)
_FIELDS = tuple(
    PolicyField(name, label, _choices(name, _HINTS[name])) for name, label in _LABELS.items()
)
POLICIES = BuilderPolicies(Policies, _FIELDS, _complete)

"""The fields of a preset's policies: how its requests are built where programs differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from tui_chat.models.policies import Policies
from tui_chat.models.text import clean
from tui_chat.ui.areas.presets.form_fields import ChoiceField, FormField

_SWITCH: Mapping[str, object] = {"off": False, "on": True}
_CHOICES: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "depths": ("Messages at one depth", {"separate": "separate", "joined": "joined"}),
    "budget": (
        "Dropped first",
        {"oldest history": "history", "with injections": "history_with_injections"},
    ),
    "without_anchor": (
        "History without an anchor",
        {"goes last": "last", "is not sent": "not_sent"},
    ),
    "names": (
        "Names (names_behavior)",
        {
            "field": "field",
            "none": "none",
            "other speakers": "other_speakers",
            "name": "name",
            "in the text": "content",
        },
    ),
    "squash_system": ("Squash system messages", _SWITCH),
    "post_processing": (
        "Post-processing",
        {"none": "", "merge": "merge", "semi": "semi", "strict": "strict", "single": "single"},
    ),
    "system_as_user": ("System as user (no sysprompt)", _SWITCH),
    "expand_history": ("Macros in the history", _SWITCH),
    "legacy_macros": ("Old macro engine", _SWITCH),
    "pin_examples": ("Pin examples", _SWITCH),
    "card_prompts": (
        "Card's own prompts",
        {
            "both": ("system_prompt", "post_history"),
            "system prompt": ("system_prompt",),
            "post-history": ("post_history",),
            "none": (),
        },
    ),
    "continue_prefill": (
        "Continue with prefill",
        {"if the model takes it": None, "on": True, "off": False},
    ),
    "continue_postfix": (
        "Between reply and continuation",
        {"automatic": None, "nothing": "", "space": " ", "line break": "\n", "blank line": "\n\n"},
    ),
}
_TEXTS: Mapping[str, str] = {
    "example_separator": "Before example dialogues",
    "continue_nudge": "Continue nudge",
    "impersonation_prompt": "Impersonation prompt",
    "send_if_empty": "Send if empty",
    "assistant_prefill": "Assistant prefill (Anthropic)",
    "assistant_impersonation": "Impersonation prefill",
}


class PolicyRow(Horizontal):
    """The label and the field of a policy."""

    DEFAULT_CSS = """
    PolicyRow { height: 1; }
    PolicyRow > .policy-label { width: 32; color: $foreground 72%; }
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.policy = name
        self._label = Static(classes="policy-label")
        label, self._values = _CHOICES.get(name, (_TEXTS.get(name, name), {}))
        self._words = label
        self.choice: ChoiceField | None = None
        self.text: FormField | None = None
        if self._values:
            words = tuple((key, key) for key in self._values)
            self.choice = ChoiceField(words, id=f"policy-{name}", folded=True)
        else:
            self.text = FormField(placeholder="empty: none", select_on_focus=False)

    def compose(self) -> ComposeResult:
        """Put the field after its label."""
        yield self._label
        if field := self.choice or self.text:
            yield field

    def show(self, policies: Policies, saved: Policies) -> None:
        """Show the value of the policy; a changed one is marked."""
        value = getattr(policies, self.policy)
        mark = "● " if value != getattr(saved, self.policy) else "  "
        self._label.update(mark + self._words)
        if self.choice is not None:
            self.choice.choose(next((k for k, each in self._values.items() if each == value), "?"))
        elif self.text is not None and self.value != value:
            self.text.fill(value.replace("\\", "\\\\").replace("\n", "\\n"))

    @property
    def value(self) -> Any:
        """The value that is chosen, or typed with line breaks as in JSON."""
        if self.choice is not None:
            return self._values.get(self.choice.value)
        typed = clean(self.text.value) if self.text is not None else ""
        return typed.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")

    def changed(self, policies: Policies) -> Policies:
        """Return the policies with the value of this field."""
        return replace(policies, **{self.policy: self.value})


def policy_rows() -> Iterator[PolicyRow]:
    """Yield a row for each policy."""
    yield from map(PolicyRow, (*_CHOICES, *_TEXTS))

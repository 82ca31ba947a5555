"""The form of a preset's settings: name, placement of system messages, variables, policies.
Policies are how its requests are built where programs differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_chat.library.policies import BuilderPolicies, PolicyField, policies_of_builder
from tui_chat.models.preset import Preset
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.ui.areas.presets.form_fields import EditForm, FormField
from tui_chat.ui.widgets.choice_field import ChoiceField

_PLACEMENTS = (("hoist", "all first"), ("in_place", "where they are put"))


class PolicyRow(Horizontal):
    """The label and the field of a policy."""

    DEFAULT_CSS = """
    PolicyRow { height: 1; }
    PolicyRow > .policy-label { width: 32; color: $foreground 72%; }
    """

    def __init__(self, field: PolicyField, default: object) -> None:
        """`default` is the value of a preset without the policy."""
        super().__init__()
        self.policy = field.name
        self._default = default
        self._label = Static(classes="policy-label")
        self._words, self._values = field.label, field.choices
        self.choice: ChoiceField | None = None
        self.text: FormField | None = None
        if self._values:
            words = tuple((key, key) for key in self._values)
            self.choice = ChoiceField(words, id=f"policy-{field.name}", folded=True)
        else:
            self.text = FormField(placeholder="empty: none", select_on_focus=False)

    def compose(self) -> ComposeResult:
        yield self._label
        if field := self.choice or self.text:
            yield field

    def show(self, policies: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
        """Show the value of the policy; a changed one is marked."""
        value = policies.get(self.policy, self._default)
        mark = "● " if value != saved.get(self.policy, self._default) else "  "
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

    def changed(self, policies: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the policies with the value of this field."""
        others = {name: value for name, value in policies.items() if name != self.policy}
        own = {} if self.value == self._default else {self.policy: self.value}
        return MappingProxyType(others | own)


def policy_rows(policies: BuilderPolicies | None) -> Iterator[PolicyRow]:
    """Yield a row for each policy of a builder."""
    if policies is not None:
        for field in policies.fields:
            yield PolicyRow(field, policies.default(field.name))


class VariableRow(Horizontal):
    """A variable's name and value; without a name it is not a variable."""

    DEFAULT_CSS = """
    VariableRow {
        height: 1;
        .variable-name { width: 24; }
        .sign { width: 3; color: $foreground 72%; padding: 0 1; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.name_field = FormField(
            placeholder="name", classes="variable-name", select_on_focus=False
        )
        self.value = FormField(placeholder="value", select_on_focus=False)

    def compose(self) -> ComposeResult:
        yield self.name_field
        yield Static("=", classes="sign")
        yield self.value

    @property
    def typed(self) -> tuple[str, str]:
        """Name and value as typed."""
        return clean(self.name_field.value).strip(), clean(self.value.value)


class SettingsForm(EditForm):
    """Shows a preset's settings; posts every change."""

    DEFAULT_CSS = """
    SettingsForm {
        .heading { margin: 1 0 0 0; color: $foreground 72%; }
        .hint { height: auto; color: $foreground 72%; padding: 0 1; }
        #settings-variables { height: 1fr; scrollbar-size-vertical: 1; padding: 0 1; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._preset = Preset("")
        self.name_field = FormField(placeholder="name", id="settings-name", select_on_focus=False)
        self._placement = ChoiceField(_PLACEMENTS, id="settings-system")
        self._labels = {
            "name": Static(classes="label"),
            "system_placement": Static(classes="label"),
            "variables": Static(classes="label"),
        }
        self._variables = [VariableRow()]
        self._policies = list(policy_rows(policies_of_builder("")))
        self._list = VerticalScroll(
            *self._variables,
            Static("Policies: how its requests are built", classes="heading"),
            *self._policies,
            id="settings-variables",
            can_focus=False,
        )
        self._kept = Static(classes="hint")

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield self._labels["name"]
            yield self.name_field
        with Horizontal():
            yield self._labels["system_placement"]
            yield self._placement
        with Horizontal():
            yield self._labels["variables"]
        yield self._list
        yield self._kept

    def show(self, preset: Preset, saved: Preset) -> None:
        """Show a preset; text being typed is left alone, unsaved fields are marked."""
        self._preset = preset
        words = {
            "name": "Name",
            "system_placement": "System messages",
            "variables": "Variables  {{getvar::name}} or {{name}}; clear a name to remove one",
        }
        for field, label in self._labels.items():
            mark = "● " if getattr(preset, field) != getattr(saved, field) else "  "
            label.update(mark + words[field])
        with self.prevent(Input.Changed):
            self.name_field.fill(preset.name)
            if self._typed() != dict(preset.variables):
                self._fill(preset.variables)
            for row in self._policies:
                row.show(preset.policies, saved.policies)
        self._grow(len([line for line in self._variables if line.typed[0]]) + 1)
        self._placement.choose(preset.system_placement)
        kept = ", ".join(one_line(key, 40) for key in preset.without_builder_keys().extras)
        self._kept.update(f"Also in the file, and kept: {kept}" if kept else "")
        self._kept.display = bool(kept)

    def _fill(self, variables: Mapping[str, str]) -> None:
        self._grow(len(variables))
        typed = [*variables.items(), *[("", "")] * (len(self._variables) - len(variables))]
        for line, (name, value) in zip(self._variables, typed, strict=True):
            line.name_field.fill(name)
            line.value.fill(value)

    def _grow(self, count: int) -> None:
        """Make sure there are so many lines, and hide empty ones below them."""
        new = [VariableRow() for _ in range(count - len(self._variables))]
        self._variables += new
        self._list.mount_all(new, before=".heading")
        for number, line in enumerate(self._variables):
            line.display = number < count or line.has_focus_within or any(line.typed)

    def _typed(self) -> dict[str, str]:
        """Return the variables as typed; a name that occurs twice counts once."""
        values: dict[str, str] = {}
        for line in self._variables:
            name, value = line.typed
            line.name_field.set_class(name in values, "-invalid")
            if name and name not in values:
                values[name] = value
        return values

    @on(Input.Changed)
    def _field_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input is self.name_field:
            name = clean(event.value).strip()
            event.input.set_class(not name, "-invalid")
            if name and name != self._preset.name:
                self.post_change({"name": name}, "name")
            return
        if row := self._policy_of(event.input):
            self._change_policy(row, row.policy)
            return
        typed = self._typed()
        if typed != dict(self._preset.variables):
            at = next(n for n, line in enumerate(self._variables) if event.input in line.children)
            self.post_change({"variables": MappingProxyType(typed)}, f"variable {at}")

    @on(ChoiceField.ChoiceMade)
    def _chosen(self, event: ChoiceField.ChoiceMade) -> None:
        event.stop()
        if row := self._policy_of(event.field):
            self._change_policy(row)
        else:
            self.post_change({"system_placement": event.value})

    def _policy_of(self, field: Widget) -> PolicyRow | None:
        return next((row for row in self._policies if field in (row.choice, row.text)), None)

    def _change_policy(self, row: PolicyRow, key: str = "") -> None:
        policies = row.changed(self._preset.policies)
        if policies != self._preset.policies:
            self.post_change({"policies": policies}, key)

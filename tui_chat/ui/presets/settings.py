"""The form of a preset's settings: name, placement of system messages, variables, policies.
Policies are how its requests are built where programs differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static

from tui_chat.library.policies import PolicyField, policies_of_builder
from tui_chat.models.preset import Preset
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.ui.presets.form_fields import EditForm, FormField, FormRow

_PLACEMENTS = (("hoist", "all first"), ("in_place", "in place"))


class PolicyRow(FormRow):
    """The label and the field of a policy."""

    def __init__(self, policy: PolicyField, default: object) -> None:
        """`default` is the value of a preset without the policy."""
        choices = tuple((key, key) for key in policy.choices) or None
        super().__init__(f"policy-{policy.name}", policy.label, choices)
        self.policy = policy.name
        self._default = default
        self._values = policy.choices

    def show_policy(self, policies: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
        """Show the value of the policy; a changed one is marked."""
        value = policies.get(self.policy, self._default)
        is_changed = value != saved.get(self.policy, self._default)
        if self._values:
            shown = next((key for key, each in self._values.items() if each == value), "?")
            self.show(shown, is_changed=is_changed)
        else:
            typed = self.value if value == self._policy_value else None
            shown = typed or value.replace("\\", "\\\\").replace("\n", "\\n")
            self.show(shown, is_changed=is_changed)

    @property
    def _policy_value(self) -> Any:
        """The value that is chosen, or typed with line breaks as in JSON."""
        if self._values:
            return self._values.get(self.value)
        return clean(self.value).replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")

    def changed(self, policies: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the policies with the value of this field."""
        others = {name: value for name, value in policies.items() if name != self.policy}
        value = self._policy_value
        own = {} if value == self._default else {self.policy: value}
        return MappingProxyType(others | own)


class VariableRow(Horizontal):
    """A variable's name and value; without a name it is not a variable."""

    DEFAULT_CSS = """
    VariableRow {
        height: 1;
        padding-left: 2;
        .variable-name { width: 24; max-width: 40%; }
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
        FormRow .label { width: 34; max-width: 60%; }
        .heading { margin-top: 1; padding: 0 2; color: $foreground 72%; }
        #settings-list { height: 1fr; scrollbar-size-vertical: 1; }
    }
    """

    def __init__(self) -> None:
        builder = policies_of_builder("")
        fields = builder.fields if builder is not None else ()
        policies = [PolicyRow(field, builder.default(field.name)) for field in fields if builder]
        super().__init__(
            FormRow("name", "Name"),
            FormRow("system_placement", "System messages", _PLACEMENTS),
            *policies,
        )
        self.border_title = "Preset settings"
        self._policies = policies
        self._variables = [VariableRow()]
        self._heading = Static(classes="heading", id="settings-policies")
        self._list = VerticalScroll(id="settings-list", can_focus=False)
        self._kept = Static(classes="heading")

    def compose(self) -> ComposeResult:
        with self._list:
            yield self.rows["name"]
            yield self.rows["system_placement"]
            hint = "Variables  {{getvar::name}} or {{name}}; clear a name to remove one"
            yield Static(hint, classes="heading")
            yield from self._variables
            self._heading.update("Policies: how its requests are built")
            yield self._heading
            yield from self._policies
            yield self._kept

    def show(self, preset: Preset, saved: Preset) -> None:
        """Show a preset; text being typed is left alone, unsaved fields are marked."""
        self.shown = preset
        with self.prevent(Input.Changed):
            for key in ("name", "system_placement"):
                value = getattr(preset, key)
                self.rows[key].show(value, is_changed=value != getattr(saved, key))
            if self._typed_variables() != dict(preset.variables):
                self._fill(preset.variables)
            for row in self._policies:
                row.show_policy(preset.policies, saved.policies)
        self._grow(len([line for line in self._variables if line.typed[0]]) + 1)
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
        self._list.mount_all(new, before="#settings-policies")
        for number, line in enumerate(self._variables):
            line.display = number < count or line.has_focus_within or any(line.typed)

    def _typed_variables(self) -> dict[str, str]:
        """Return the variables as typed; a name that occurs twice counts once."""
        values: dict[str, str] = {}
        for line in self._variables:
            name, value = line.typed
            line.name_field.set_class(name in values, "-invalid")
            if name and name not in values:
                values[name] = value
        return values

    def field_changed(self, row: FormRow, key: str) -> None:
        """Post the new value of a row."""
        preset: Preset = self.shown
        if isinstance(row, PolicyRow):
            policies = row.changed(preset.policies)
            if policies != preset.policies:
                self.post_change({"policies": policies}, key)
            return
        value = clean(row.value).strip()
        row.field.set_class(not value, "-invalid")
        if value and value != getattr(preset, row.key):
            self.post_change({row.key: value}, key)

    @on(Input.Changed)
    def _variable_typed(self, event: Input.Changed) -> None:
        lines = (n for n, line in enumerate(self._variables) if event.input in line.children)
        typed = self._typed_variables()
        if (at := next(lines, None)) is not None and typed != dict(self.shown.variables):
            self.post_change({"variables": MappingProxyType(typed)}, f"variable {at}")

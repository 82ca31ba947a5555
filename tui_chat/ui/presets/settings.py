"""The form of a preset's settings: name, placement of system messages, variables, policies.
Policies are how its requests are built where programs differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Select, Static, TextArea

from tui_chat.library.policies import PolicyField, policies_of_builder
from tui_chat.models.preset import Preset
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.ui.presets.form import ChoiceSelect, FieldsChanged, FormField
from tui_chat.ui.widgets.safe_text import SafeTextArea

_PLACEMENTS = (("all first", "hoist"), ("in place", "in_place"))


class SettingsForm(VerticalScroll, can_focus=False):
    """Shows a preset's settings; posts every change."""

    DEFAULT_CSS = """
    SettingsForm {
        display: none;
        height: 1fr;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-color: $foreground 25%;
        Grid { grid-size: 2; grid-columns: 36 1fr; grid-rows: 1; height: auto; }
        .label { color: $label; }
        .heading { margin-top: 1; color: $label; }
        TextArea, TextArea:focus { height: 5; border: none; padding: 0 1; background: $panel; }
        TextArea:focus { background: $primary 20%; }
        #settings-fault { height: 1; color: $text-error; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "preset_editor.close_form", "List", tooltip="Back to the list"),
    ]

    def __init__(self) -> None:
        super().__init__()
        builder = policies_of_builder("")
        self._policies = {field.name: field for field in builder.fields} if builder else {}
        self._defaults = {name: builder.default(name) for name in self._policies} if builder else {}
        self._shown = Preset("")
        self._fields: dict[str, FormField | ChoiceSelect] = {
            "name": FormField(id="settings-name"),
            "system_placement": ChoiceSelect(_PLACEMENTS, id="settings-system_placement"),
        }
        for name, policy in self._policies.items():
            labels = [(label, label) for label in policy.choices]
            id = f"settings-{name}"
            self._fields[name] = ChoiceSelect(labels, id=id) if labels else FormField(id=id)
        self._variables = SafeTextArea(id="settings-variables", tab_behavior="focus", compact=True)
        self._fault = Static(id="settings-fault")
        self._kept = Static(classes="heading")

    def compose(self) -> ComposeResult:
        labels = {"name": "Name", "system_placement": "System messages"}
        labels |= {name: policy.label for name, policy in self._policies.items()}
        own, policies = list(self._fields)[:2], list(self._fields)[2:]
        yield from self._grid(own, labels)
        yield Static("Variables (NAME = VALUE), used as {{NAME}}", classes="heading")
        yield self._variables
        yield self._fault
        if policies:
            yield Static("Policies: how its requests are built", classes="heading")
            yield from self._grid(policies, labels)
        yield self._kept

    def _grid(self, names: list[str], labels: Mapping[str, str]) -> ComposeResult:
        with Grid():
            for name in names:
                yield Static(labels[name], classes="label", markup=False)
                yield self._fields[name]

    def focus_first(self) -> None:
        """Focus the first field."""
        self._fields["name"].focus()

    def show(self, preset: Preset) -> None:
        """Show a preset; text being typed is left alone."""
        self._shown = preset
        with self.prevent(Input.Changed, TextArea.Changed, Select.Changed):
            for name, field in self._fields.items():
                value = self._words_of(preset, name)
                if isinstance(field, ChoiceSelect):
                    field.choose(value)
                elif name not in self._policies or _read(field.value) != _read(value):
                    field.fill(value)
            if self._typed_variables() != dict(preset.variables):
                lines = (f"{name} = {_written(text)}" for name, text in preset.variables.items())
                self._variables.load_text("\n".join(lines))
        kept = ", ".join(one_line(key, 40) for key in preset.without_builder_keys().extras)
        self._kept.update(Content(f"Also in the file, and kept: {kept}" if kept else ""))

    def _words_of(self, preset: Preset, name: str) -> str:
        """Return a setting as its field shows it."""
        policy = self._policies.get(name)
        if policy is None:
            return getattr(preset, name)
        value = preset.policies.get(name, self._defaults[name])
        if policy.choices:
            return next((label for label, each in policy.choices.items() if each == value), "?")
        return _written(value)

    def _typed_variables(self) -> dict[str, str] | None:
        """Return the variables as typed; None, after saying so, if a line is none."""
        values: dict[str, str] = {}
        fault = ""
        for line in clean(self._variables.text).split("\n"):
            name, sign, value = (part.strip() for part in line.partition("="))
            if name in values:
                fault = f"✗ “{one_line(name, 40)}” occurs twice."
            elif name and sign:
                values[name] = _read(value)
            elif line.strip():
                fault = f"✗ “{one_line(line, 40)}” is not NAME = VALUE."
        self._fault.update(Content(fault))
        return None if fault else values

    @on(Input.Changed)
    @on(Select.Changed)
    @on(TextArea.Changed)
    def _changed(self, event: Message) -> None:
        event.stop()
        field, preset = event.control, self._shown
        name = (field.id or "").removeprefix("settings-") if field is not None else ""
        fields: dict[str, Any] = {}
        if field is self._variables:
            if (typed := self._typed_variables()) is not None:
                fields = {"variables": MappingProxyType(typed)}
        elif policy := self._policies.get(name):
            value = self._policy_value(policy, self._fields[name].value)
            policies = {**preset.policies, name: value}
            if value == self._defaults[name]:
                del policies[name]
            fields = {"policies": MappingProxyType(policies)}
        elif name in self._fields:
            text = clean(str(self._fields[name].value)).strip()
            self._fields[name].set_class(not text, "-invalid")
            fields = {name: text} if text else {}
        if any(getattr(preset, key) != value for key, value in fields.items()):
            is_typed = not isinstance(field, Select)
            self.post_message(FieldsChanged(fields, name if is_typed else "", preset))

    def _policy_value(self, policy: PolicyField, shown: object) -> Any:
        """Return the value that is chosen, or typed with line breaks as in JSON."""
        words = clean(str(shown))
        return policy.choices.get(words) if policy.choices else _read(words)


def _written(value: object) -> str:
    """Return a text on one line, with line breaks as in JSON."""
    return str(value).replace("\\", "\\\\").replace("\n", "\\n")


def _read(words: str) -> str:
    """Return the text that is written with line breaks as in JSON."""
    return words.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")

"""The form of a preset's settings: name, placement of system messages, variables, policies.
Policies are how its requests are built where programs differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tui_chat.errors import FieldError
from tui_chat.library.presets import BuilderPolicies, PolicyField, policies_of_builder
from tui_chat.library.typed_fields import Field, FieldRows, Values
from tui_chat.models.preset import Preset
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.ui.dialogs.forms import FieldsForm

_PLACEMENT = Field(
    "system_placement",
    "System messages",
    "choice",
    (("hoist", "all first"), ("in_place", "in place")),
)
_VARIABLES = Field("variables", "Variables (NAME = VALUE), used as {{NAME}}", "lines")


def preset_form(preset: Preset, keep: Callable[[Preset], None]) -> FieldsForm:
    """Return the form of a preset; `keep` takes the preset as it was changed."""
    builder = policies_of_builder("")
    policies = builder.fields if builder is not None else ()
    lines = (f"{name} = {_written(text)}" for name, text in preset.variables.items())
    shown: dict[str, str | bool] = {
        "name": preset.name,
        "system_placement": preset.system_placement,
        "variables": "\n".join(lines),
        **{policy.name: _words_of(preset, policy, builder) for policy in policies},
    }

    async def save(values: Values, overwrite: bool) -> None:
        del overwrite
        words = {name: clean(str(value)) for name, value in values.items()}
        if not words["name"].strip():
            raise FieldError("name", "Enter a name.")
        changed = dict(preset.policies)
        for policy in policies:
            value = _policy_value(policy, words[policy.name])
            changed[policy.name] = value
            if builder is not None and value == builder.default(policy.name):
                del changed[policy.name]
        keep(
            replace(
                preset,
                name=words["name"].strip(),
                system_placement=words["system_placement"],
                variables=MappingProxyType(_variables(words["variables"])),
                policies=MappingProxyType(changed),
            )
        )

    return FieldsForm(f"Preset: {one_line(preset.name, 40)}", _rows(policies), shown, save)


def _rows(policies: tuple[PolicyField, ...]) -> FieldRows:
    """Return the fields of the form."""
    fields = (
        Field(
            policy.name,
            policy.label,
            "choice" if policy.choices else "line",
            tuple((label, label) for label in policy.choices),
        )
        for policy in policies
    )
    return ((Field("name", "Name"), _PLACEMENT), (_VARIABLES,), *((field,) for field in fields))


def _words_of(preset: Preset, policy: PolicyField, builder: BuilderPolicies | None) -> str:
    """Return a policy as its field shows it."""
    default = builder.default(policy.name) if builder is not None else ""
    value = preset.policies.get(policy.name, default)
    if policy.choices:
        return next((label for label, each in policy.choices.items() if each == value), "")
    return _written(value)


def _policy_value(policy: PolicyField, words: str) -> Any:
    """Return the value that is chosen, or typed with line breaks as in JSON."""
    return policy.choices.get(words) if policy.choices else _read(words)


def _variables(typed: str) -> dict[str, str]:
    """Return the variables as typed. Raises FieldError for a line that is none."""
    values: dict[str, str] = {}
    for line in typed.split("\n"):
        name, sign, value = (part.strip() for part in line.partition("="))
        if name in values:
            raise FieldError("variables", f"“{one_line(name, 40)}” occurs twice.")
        if name and sign:
            values[name] = _read(value)
        elif line.strip():
            raise FieldError("variables", f"“{one_line(line, 40)}” is not NAME = VALUE.")
    return values


def _written(value: object) -> str:
    """Return a text on one line, with line breaks as in JSON."""
    return str(value).replace("\\", "\\\\").replace("\n", "\\n")


def _read(words: str) -> str:
    """Return the text that is written with line breaks as in JSON."""
    return words.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")

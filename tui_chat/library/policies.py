"""The policies of presets: options of their builders, which the core stores and shows.

A builder's plugin says which there are. Without the plugin, a file keeps them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field, fields
from typing import Any

from tui_chat.errors import InputError
from tui_chat.hooks import load_part, parts_at
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.models.preset import FIRST_BUILDER, Preset


@dataclass(frozen=True, slots=True)
class PolicyField:
    """A policy in the form of a preset's settings."""

    name: str
    label: str
    choices: Mapping[str, object] = field(default_factory=dict[str, object])
    """The values by the words for them; empty for a text."""


@dataclass(frozen=True, slots=True)
class BuilderPolicies:
    """The policies of a builder."""

    kind: type
    """A frozen dataclass of them. A preset has those that differ from its defaults."""
    fields: tuple[PolicyField, ...]
    complete: Callable[[Preset], Preset]
    """Returns a preset as it was read from a file with what the builder's own keys of the file
    say."""

    def default(self, name: str) -> object:
        """Return the value of a policy that a preset does not have."""
        return next(policy.default for policy in fields(self.kind) if policy.name == name)


def policies_of_builder(name: str) -> BuilderPolicies | None:
    """Return the policies of a builder, of the first one for the core's, which has none."""
    name = name or FIRST_BUILDER
    for plugin, builder in parts_at("builder"):
        if builder.name == name and "policies" in builder.about:
            with suppress(InputError):  # the missing builder is a note of the request
                return load_part(plugin, builder.about["policies"])
    return None


def read_policies(
    file: JsonFile, values: Mapping[str, Any], policies: BuilderPolicies, path: JsonPath
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the changed policies and the unknown keys. Faults become findings of the file."""
    keys = KnownKeys(policy.name for policy in fields(policies.kind))
    taken = file.sort_keys(values, path, keys)
    checked = file.read_fields(policies.kind, taken.fields, path) or {}
    return {
        name: value for name, value in checked.items() if value != policies.default(name)
    }, taken.extras

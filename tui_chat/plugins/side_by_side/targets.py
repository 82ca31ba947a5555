"""The targets of slots: in words, as they are typed, and as the last set is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from tui_chat.models.boundary import pack, unpack
from tui_chat.models.settings import (
    NO_SETTINGS,
    SettingError,
    Settings,
    parse_setting,
    setting_text,
    typed_setting_name,
)
from tui_chat.workspace.exchange import Target
from tui_chat.workspace.state import WorkspaceState
from tui_chat.workspace.workspace import Workspace

MOST, LEAST = 4, 2
"""Slots of a panel."""
_KEY = "side by side"
"""The stored setting with the last targets."""


def typed_settings(settings: Settings) -> str:
    """Return settings as they are typed: `temperature 0.2, effort low`."""
    values = ((each.name, getattr(settings, each.name)) for each in fields(settings))
    return ", ".join(f"{name} {setting_text(value)}" for name, value in values if value is not None)


def read_settings(text: str) -> Settings:
    """Return settings from what a person types, separated by commas. Raises SettingError."""
    settings = NO_SETTINGS
    for typed in filter(None, map(str.strip, text.split(","))):
        name, _, value = typed.replace("=", " ", 1).partition(" ")
        name = typed_setting_name(name)
        if not value.strip():
            raise SettingError(f"{name}: type a value behind it")
        settings = replace(settings, **{name: parse_setting(name, value.strip())})
    return settings


def described(target: Target) -> str:
    """Return preset and settings of a target in words; empty for none."""
    return " · ".join(filter(None, (target.preset, typed_settings(target.settings))))


async def remembered_targets(workspace: Workspace) -> tuple[Target, ...]:
    """Return the targets of the last panel that can still be used, else the session's model and
    another one.
    """
    stored = await workspace.store.settings.get(_KEY)
    try:
        targets = unpack(tuple[Target, ...], stored) if stored else ()
    except (ValueError, TypeError, AttributeError):
        targets = ()
    names = {endpoint.name for endpoint in workspace.state.config.endpoints}
    targets = tuple(target for target in targets if target.endpoint in names)[:MOST]
    return targets if len(targets) >= LEAST else _first_targets(workspace.state)


def _first_targets(state: WorkspaceState) -> tuple[Target, ...]:
    own = Target(state.endpoint.name, state.effective_model)
    others = [Target(own.endpoint, model) for model in state.endpoint.models if model != own.model]
    return (own, *others[:1])


async def remember_targets(workspace: Workspace, targets: Sequence[Target]) -> None:
    """Store the targets for the next panel."""
    await workspace.core.remember(_KEY, pack(tuple(targets)))

"""Targets: where messages go besides the session's own choice, each with a branch of its own.

A request to a target is composed like any other, from the state with what the target chooses in
its place. Edits by hand hold here, too, where the protocol is theirs; the model is the target's.
"""

from __future__ import annotations

from dataclasses import fields, replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.library import Library
from tui_chat.models.session import Entry
from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.workspace.state import WorkspaceState


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint and model with a preset and settings."""

    endpoint: str
    model: str
    preset: str = ""
    """The name of its preset; empty for the session's."""
    settings: Settings = NO_SETTINGS
    """Settings that count before the session's."""

    def applied_to(self, state: WorkspaceState, library: Library) -> WorkspaceState:
        """Return the state with the target's choices. Raises InputError if they cannot be used."""
        preset, name = state.preset, state.preset_name
        if self.preset and self.preset != name:
            opened, name = state.open_presets.get(self.preset), self.preset
            preset = opened.edits.preset if opened is not None else library.preset(name)
        chosen = {
            each.name: value
            for each in fields(self.settings)
            if (value := getattr(self.settings, each.name)) is not None
        }
        return replace(
            state,
            endpoint=state.config.endpoint_named(self.endpoint),
            model=self.model,
            preset=preset,
            preset_name=name,
            settings=replace(state.settings, **chosen),
            edits=tuple(edit for edit in state.edits if edit.path[:1] != ("model",)),
        )


@dataclass(frozen=True, slots=True)
class Slot:
    """A target and the branch that it continues."""

    target: Target
    entries: tuple[Entry, ...]
    """First message first."""

"""The plugins that are here: a test passes over what belongs to a deleted one."""

from __future__ import annotations

from tui_chat.hooks import built_in_plugins


def is_deleted(name: str) -> bool:
    """Return True if the folder of a built-in plugin was deleted."""
    return all(plugin.name != name for plugin in built_in_plugins())

"""The app's actions: one declaration each, from which keys, footer, help and palette are made."""

from __future__ import annotations

import os
from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Action:
    """Something the user can do anywhere in the app."""

    id: str
    """Its name in the config's `[keys]`."""
    keys: str
    """Keys in Textual's notation, separated by commas; empty if it has none by default."""
    run: str
    """The action without `action_`, of the app, or of an area if it has the area's name in front:
    `new`, `panes.toggle_pane('sessions')`.
    """
    label: str
    """A word or two, for the footer."""
    title: str
    """What it does, for help and palette."""
    aliases: str = ""
    """Other words that people search for in the palette."""
    in_footer: bool = False
    has_priority: bool = False
    """True if its keys work even where the focused widget uses them."""

    def binding(self) -> Binding:
        """Return the binding of its keys."""
        return Binding(
            self.keys,
            self.run,
            self.label,
            show=self.in_footer,
            tooltip=self.title,
            id=self.id,
            priority=self.has_priority,
        )


AREAS = ("panes",)
"""Attributes of the app whose actions its bindings run: with an area's name in front of an action,
Textual looks for `action_...` and asks `check_action` there.
"""

RENAMED_IDS = {"again": "regenerate"}
"""Former ids that the config's `[keys]` may still have, and what they are called now."""

UNDO_KEYS = "ctrl+underscore,ctrl+slash,alt+z,super+z"
"""Undo an edit of a text. Ctrl+Z does not: in a terminal it suspends the program."""

_SUSPEND = (
    Action(
        "suspend",
        "ctrl+z",
        "suspend_process",
        "Suspend",
        "Suspend the app (fg in the shell resumes it)",
        "background",
        has_priority=True,
    ),
)
if os.name == "nt":  # Windows has no job control
    _SUSPEND = ()


def _action(
    id: str, keys: str, run: str, label: str, title: str, aliases: str = "", footer: bool = False
) -> Action:
    return Action(id, keys, run, label, title, aliases, in_footer=footer)


ACTIONS = (
    _action("help", "f1", "keys", "Help", "Help: keys and commands", "shortcuts manual", True),
    _action("palette", "ctrl+p", "command_palette", "Commands", "Search commands", "palette", True),
    _action(
        "sessions",
        "f2",
        "panes.toggle_pane('sessions')",
        "Sessions",
        "Sessions",
        "sidebar list chats",
        True,
    ),
    _action("preset", "f3", "presets", "Preset", "Preset editor", "prompt", True),
    _action(
        "inspector",
        "f4",
        "panes.toggle_pane('inspector')",
        "Inspector",
        "Inspector",
        "payload request",
        True,
    ),
    _action("new", "ctrl+n", "new", "New", "New session", "new chat clear begin", True),
    _action("model", "ctrl+o", "choose_model", "Model", "Switch model", "change ask another", True),
    _action("search", "ctrl+f", "search", "Search", "Search all conversations", "find grep"),
    _action("find", "", "find", "Filter", "Filter sessions", "find session narrow title tag"),
    _action("light", "ctrl+t", "toggle_light", "Light/dark", "Toggle light and dark theme", "mode"),
    _action("theme", "", "choose_theme", "Theme", "Theme", "color colour dark light appearance"),
    _action(
        "regenerate",
        "ctrl+r",
        "again",
        "Regenerate",
        "Regenerate reply",
        "retry redo swipe ask again",
    ),
    _action("back", "escape", "back", "Back", "Stop the reply, or close a pane", "cancel abort"),
    _action("rename", "", "rename", "Rename", "Rename session", "title"),
    _action("use-preset", "", "choose_preset", "Use preset", "Choose preset", "switch prompt"),
    _action(
        "preset-files",
        "",
        "preset_more",
        "Preset files",
        "Preset files: new, copy, rename …",
    ),
    _action("role", "", "choose_role", "Role", "Choose role", "assistant character bot"),
    _action("roles", "", "edit_roles", "Roles", "Edit roles", "new role system prompt assistant"),
    _action("profile", "", "choose_profile", "Profile", "Choose profile", "persona user who"),
    _action("lorebooks", "", "choose_lorebooks", "Lorebooks", "Choose lorebooks", "world info"),
    _action("branches", "", "branches", "Branches", "Compare branches", "tree versions"),
    _action("import", "", "import_file", "Import", "Import conversations…", "open load"),
    _action("view", "", "view_file", "View", "View a file of conversations, read-only…", "browse"),
    _action("export", "", "export", "Export", "Export conversation…", "save download"),
    _action("undo", "", "bring_back", "Undo", "Undo delete or archive", "restore trash bring back"),
    _action("edit", "ctrl+g", "edit_outside", "Editor", "Edit the draft in $EDITOR", "vim"),
    _action("attach", "", "attach", "Attach", "Attach a file", "upload image"),
    _action("detach", "", "detach", "Detach", "Remove attachments", "detach files"),
    _action("system", "", "add_system", "System", "Add system message", "instruction note"),
    _action("what-if", "", "what_if", "What if", "What if: another limit, model or length"),
    _action("captured", "", "open_captured", "Captured", "Open captured request", "paste curl"),
    _action("keep-captured", "", "keep_captured", "Keep", "Save captured request as session"),
    _action("replay", "", "replay", "Replay", "Replay reply with another model", "compare"),
    _action("export-turn", "", "export_turn", "Turn", "Export this turn to a file", "debug bug"),
    *_SUSPEND,
    _action("quit", "ctrl+q", "quit", "Quit", "Quit (the draft is kept)", "exit close", True),
)
"""In the order of footer, help and palette."""

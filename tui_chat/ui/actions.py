"""The app's actions: one declaration each, from which keys, footer, help and palette are made."""

from __future__ import annotations

import os
from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do anywhere in the app."""

    id: str
    """What it is called in `[keys]` of the config."""
    keys: str
    """Keys as Textual writes them, parted by commas; empty where it is in the palette only."""
    run: str
    """The app's action, without `action_`: `new`, `pane('sessions')`."""
    label: str
    """A word or two, for the footer."""
    words: str
    """What it does, as a sentence for help and palette."""
    in_footer: bool = False
    comes_first: bool = False
    """Whether its keys are the app's even where the focused widget has a use for them."""

    def binding(self) -> Binding:
        """Return the keys as the app binds them."""
        return Binding(
            self.keys,
            self.run,
            self.label,
            show=self.in_footer,
            tooltip=self.words,
            id=self.id,
            priority=self.comes_first,
        )


UNDO_KEYS = "ctrl+underscore,ctrl+slash,alt+z,super+z"
"""What undoes an edit of a text. Ctrl+Z does not: in a terminal it suspends the program."""

_SUSPEND = (
    Action(
        "suspend",
        "ctrl+z",
        "suspend_process",
        "Suspend",
        "Suspend the app; fg in the shell brings it back",
        comes_first=True,
    ),
)
if os.name == "nt":  # there is no such thing
    _SUSPEND = ()

ACTIONS = (
    Action("help", "f1", "keys", "Help", "Show all keys", in_footer=True),
    Action(
        "palette", "ctrl+p", "command_palette", "Commands", "Search all commands", in_footer=True
    ),
    Action("sessions", "f2", "pane('sessions')", "Sessions", "Go to the sessions", in_footer=True),
    Action("preset", "f3", "presets", "Preset", "Go to the preset editor", in_footer=True),
    Action(
        "inspector", "f4", "pane('inspector')", "Inspector", "Go to the request", in_footer=True
    ),
    Action("new", "ctrl+n", "new", "New", "Begin a new session", in_footer=True),
    Action("model", "ctrl+o", "choose_model", "Model", "Ask another model", in_footer=True),
    Action("search", "ctrl+f", "search", "Search", "Search everything that was said"),
    Action("find", "", "find", "Find", "Find a session by its title or #tag"),
    Action("light", "ctrl+t", "toggle_light", "Light/dark", "Change between dark and light"),
    Action("theme", "", "choose_theme", "Theme", "Choose the colours"),
    Action("again", "ctrl+r", "again", "Ask again", "Ask again for the last reply"),
    Action("back", "escape", "back", "Back", "Stop a reply, or close a pane"),
    Action("rename", "", "rename", "Rename", "Give the session another title"),
    Action("use-preset", "", "choose_preset", "Use preset", "Choose the preset"),
    Action("preset-files", "", "preset_more", "Preset files", "New, copy, compare, rename presets"),
    Action("role", "", "choose_role", "Role", "Choose the role"),
    Action("roles", "", "edit_roles", "Roles", "Write or change roles"),
    Action("profile", "", "choose_profile", "Profile", "Choose who you are"),
    Action("lorebooks", "", "choose_lorebooks", "Lorebooks", "Choose the lorebooks"),
    Action("branches", "", "branches", "Branches", "Compare the session's branches"),
    Action("import", "", "import_file", "Import", "Import a file of conversations…"),
    Action("view", "", "view_file", "View", "View a file of conversations, read-only…"),
    Action("export", "", "export", "Export", "Export this conversation…"),
    Action("undo", "", "bring_back", "Undo", "Bring back what was deleted or archived last"),
    Action("edit", "ctrl+g", "edit_outside", "Editor", "Edit the message in $EDITOR"),
    Action("attach", "", "attach", "Attach", "Attach a file to the message"),
    Action("detach", "", "detach", "Detach", "Take the files off the message"),
    Action("system", "", "add_system", "System", "Add a system message to the conversation"),
    Action("what-if", "", "what_if", "What if", "What if: another limit, model or length"),
    Action("captured", "", "open_captured", "Captured", "Open a captured request"),
    Action("keep-captured", "", "keep_captured", "Keep", "Make a session of the captured request"),
    Action("replay", "", "replay", "Replay", "Replay this reply with another model"),
    Action("export-turn", "", "export_turn", "Turn", "Export this reply's turn into one file"),
    *_SUSPEND,
    Action("quit", "ctrl+q", "quit", "Quit", "Quit; the draft is kept", in_footer=True),
)
"""In the order of footer, help and palette."""

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
    `quit`, `sessions.new`.
    """
    label: str
    """A word or two, for the footer."""
    title: str
    """What it does, for help and palette."""
    in_footer: bool = False
    has_priority: bool = False
    """True if its keys work even where the focused widget uses them."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other words that people search for in the palette, in lower case."""
        return _ALIASES.get(self.id, ())

    @property
    def moves_focus(self) -> bool:
        """True if it opens a dialog or moves the focus: keys typed after it wait for that."""
        return self.id not in _KEEPING_FOCUS

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


AREAS = (
    *("main", "panes", "sessions", "presets", "inspector"),
    *("chat", "conversation", "composer", "attachments", "tool_calls"),
)
"""Attributes of the app whose actions its bindings run: with an area's name in front of an action,
Textual looks for `action_...` and asks `check_action` there.
"""

RENAMED_IDS = {"again": "regenerate"}
"""Former ids that the config's `[keys]` may still have, and what they are called now."""

UNDO_KEYS = "ctrl+underscore,ctrl+slash,alt+z,super+z"
"""Undo an edit of a text. Ctrl+Z does not: in a terminal it suspends the program."""

_KEEPING_FOCUS = frozenset(
    (
        *("default-model", "no-default-model", "border-left", "border-right", "reset-layout"),
        *("first", "latest"),
        *("light", "regenerate", "back", "view", "undo", "edit", "detach", "keep-captured"),
        *("ask-tools", "replay", "export-turn", "quit", "suspend"),
    )
)

_ALIASES: dict[str, tuple[str, ...]] = {
    "help": ("keys", "shortcuts", "manual", "key list", "?"),
    "palette": ("palette",),
    "sessions": ("sidebar", "session list", "chats", "history"),
    "preset": ("prompt", "edit preset", "messages of the preset"),
    "inspector": ("payload", "request", "body", "debug"),
    "new": ("new chat", "clear", "reset", "begin"),
    "model": ("model", "change model", "endpoint", "provider", "ask another model"),
    "temporary": ("incognito", "private", "off the record", "new temporary chat"),
    "keep-temporary": ("save session", "store"),
    "border-left": ("resize", "width", "narrower", "wider", "split"),
    "border-right": ("resize", "width", "narrower", "wider", "split"),
    "reset-layout": ("reset panes", "default layout", "widths"),
    "default-model": ("default model", "make default", "set default"),
    "no-default-model": ("default model", "reset default"),
    "settings": (
        *("temperature", "effort", "reasoning", "max tokens", "parameters", "sampling", "top p"),
        *("stop sequences", "seed", "verbosity", "json mode", "structured output", "web search"),
        *("context limit", "author's note", "options", "preferences"),
    ),
    "search": ("find", "grep", "history"),
    "find": ("find session", "narrow the list", "search sessions"),
    "light": ("dark", "light", "dark mode"),
    "theme": ("color", "colour", "appearance", "dark theme", "light theme"),
    "regenerate": ("retry", "redo", "swipe", "ask again", "another answer"),
    "first": ("top", "beginning", "scroll up"),
    "latest": ("bottom", "end", "scroll down", "newest"),
    "back": ("stop", "cancel", "abort", "interrupt"),
    "rename": ("title", "name", "rename"),
    "suggest-title": ("generate title", "auto title", "name"),
    "use-preset": ("preset", "switch prompt"),
    "role": ("role", "assistant", "character", "bot"),
    "roles": ("new role", "system prompt", "character"),
    "profile": ("persona", "user", "who am i", "profile"),
    "lorebooks": ("world info", "lorebook"),
    "snippet": ("snippets", "template", "prompt template", "fill in"),
    "save-snippet": ("new snippet", "template"),
    "compact": ("compact", "summarize", "summary", "compress", "context full"),
    "contents": ("toc", "outline", "turns", "jump to"),
    "branches": ("branch", "branches", "tree", "versions"),
    "import": ("import", "open", "load"),
    "view": ("browse", "open file", "read-only"),
    "export": ("export", "save", "download", "markdown"),
    "undo": ("restore", "trash", "bring back"),
    "usage": ("cost", "price", "money", "spending", "bill", "dollars"),
    "notifications": ("messages", "log", "errors", "toasts", "history of notifications"),
    "edit": ("vim", "external editor"),
    "attach": ("upload", "image", "picture", "document"),
    "view-part": ("image", "preview", "open attachment", "picture"),
    "detach": ("detach", "files"),
    "tool-call": ("tools", "approve", "consent", "allow", "function call", "execute"),
    "ask-tools": ("revoke", "permissions", "consent"),
    "system": ("instruction", "note"),
    "captured": ("paste", "curl", "har"),
    "replay": ("compare models",),
    "export-turn": ("debug", "bug report"),
    "quit": ("quit", "exit", "close", "leave"),
    "suspend": ("background",),
}
"""Other words that people search for, by the actions' ids; in lower case."""

_SUSPEND = (
    Action(
        "suspend",
        "ctrl+z",
        "suspend_process",
        "Suspend",
        "Suspend the app (fg in the shell resumes it)",
        has_priority=True,
    ),
)
if os.name == "nt":  # Windows has no job control
    _SUSPEND = ()


def _action(
    id: str,
    keys: str,
    run: str,
    label: str,
    title: str,
    footer: bool = False,
) -> Action:
    return Action(id, keys, run, label, title, in_footer=footer)


ACTIONS = (
    _action("help", "f1,question_mark", "help", "Help", "Help: keys and commands", True),
    _action("palette", "ctrl+p", "search_commands", "Commands", "Search commands", True),
    _action("sessions", "f2", "panes.toggle_area('sessions')", "Sessions", "Sessions", True),
    _action("preset", "f3", "presets.toggle_editor", "Preset", "Preset editor", True),
    _action("inspector", "f4", "panes.toggle_area('inspector')", "Inspector", "Inspector", True),
    _action(
        "border-left", "alt+left", "panes.move_border(-4)", "Border left", "Move the border left"
    ),
    _action(
        "border-right",
        "alt+right",
        "panes.move_border(4)",
        "Border right",
        "Move the border right",
    ),
    _action(
        "reset-layout", "", "panes.reset_layout", "Reset layout", "Reset the layout of the panes"
    ),
    _action("new", "ctrl+n", "sessions.new", "New", "New session", True),
    _action(
        "temporary",
        "f6",
        "sessions.new_temporary",
        "Temporary",
        "Temporary session (nothing is stored)",
    ),
    _action("keep-temporary", "", "sessions.keep_temporary", "Keep", "Keep this temporary session"),
    _action("model", "ctrl+o", "sessions.choose_model", "Model", "Switch model", True),
    _action(
        "default-model",
        "",
        "sessions.set_default_model(True)",
        "Default model",
        "Make this model the default of new sessions",
    ),
    _action(
        "no-default-model",
        "",
        "sessions.set_default_model(False)",
        "No default model",
        "Unset the default model (new sessions use the last used)",
    ),
    _action("settings", "f5", "sessions.edit_settings", "Settings", "Settings of the session"),
    _action("search", "ctrl+f", "main.search", "Search", "Search all conversations"),
    _action("find", "", "sessions.find", "Filter", "Filter sessions"),
    _action("light", "ctrl+t", "toggle_light", "Light/dark", "Toggle light and dark theme"),
    _action("theme", "", "choose_theme", "Theme", "Theme"),
    _action("regenerate", "ctrl+r", "chat.regenerate", "Regenerate", "Regenerate reply"),
    _action("first", "ctrl+home", "conversation.first_message", "First", "Jump to first message"),
    _action(
        "latest", "ctrl+end", "conversation.latest_message", "Latest", "Jump to latest message"
    ),
    _action("back", "escape", "chat.back", "Back", "Stop the reply, or close a pane"),
    _action("rename", "", "sessions.rename", "Rename", "Rename session"),
    _action("suggest-title", "", "sessions.suggest_title", "Suggest title", "Suggest title"),
    _action("use-preset", "", "presets.choose_preset", "Use preset", "Choose preset"),
    _action(
        "preset-files", "", "presets.files", "Preset files", "Preset files: new, copy, rename …"
    ),
    _action("role", "", "sessions.choose_role", "Role", "Choose role"),
    _action("roles", "", "sessions.edit_roles", "Roles", "Edit roles"),
    _action("profile", "", "presets.choose_profile", "Profile", "Choose profile"),
    _action("lorebooks", "", "presets.choose_lorebooks", "Lorebooks", "Choose lorebooks"),
    _action("snippet", "", "composer.insert_snippet", "Snippet", "Insert snippet…"),
    _action("save-snippet", "", "composer.save_snippet", "Save snippet", "Save draft as snippet…"),
    _action(
        "compact", "", "chat.compact", "Compact", "Compact history: a model sums up older messages"
    ),
    _action("branches", "", "conversation.branches", "Branches", "Compare branches"),
    _action("contents", "", "conversation.contents", "Contents", "Table of contents"),
    _action("import", "", "sessions.import_file", "Import", "Import conversations…"),
    _action("view", "", "sessions.view_file", "View", "View a file of conversations, read-only…"),
    _action("export", "", "sessions.export", "Export", "Export conversation…"),
    _action("undo", "", "sessions.undo", "Undo", "Undo delete or archive"),
    _action("usage", "", "main.usage", "Usage", "Usage and cost"),
    _action(
        "notifications", "", "show_notifications", "Notifications", "Notifications (with the time)"
    ),
    _action("edit", "ctrl+g", "composer.edit_draft", "Editor", "Edit the draft in $EDITOR"),
    _action("attach", "", "attachments.attach", "Attach", "Attach a file"),
    _action("view-part", "", "attachments.view_part", "View", "View attachment or picture"),
    _action("detach", "", "attachments.detach", "Detach", "Remove attachments"),
    _action(
        *(
            "tool-call",
            "f8",
            "tool_calls.answer_tool_call",
            "Tool call",
            "Answer the waiting tool call",
        )
    ),
    _action(
        "ask-tools",
        "",
        "tool_calls.ask_before_tools",
        "Ask",
        "Ask again before tools run (permissions)",
    ),
    _action("system", "", "conversation.add_system", "System", "Add system message"),
    _action(
        "what-if", "", "inspector.what_if", "What if", "What if: another limit, model or length"
    ),
    _action("captured", "", "inspector.open_captured", "Captured", "Open captured request"),
    _action(
        "keep-captured", "", "inspector.save_captured", "Keep", "Save captured request as session"
    ),
    _action("replay", "", "inspector.replay", "Replay", "Replay reply with another model"),
    _action("export-turn", "", "inspector.export_turn", "Turn", "Export this turn to a file"),
    *_SUSPEND,
    _action("quit", "ctrl+q", "quit", "Quit", "Quit (the draft is kept)", True),
)
"""In the order of footer, help and palette."""

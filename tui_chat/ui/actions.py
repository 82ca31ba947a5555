"""The app's actions: one declaration each, from which keys, footer, help and palette are made."""

from __future__ import annotations

import os
from collections.abc import Iterator

from textual.binding import Binding

from tui_chat import hooks
from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.widgets.pane_key import pane_key


@dataclass(frozen=True, slots=True)
class Action:
    """Something the user can do anywhere in the app."""

    id: str
    """Its name in the config's `[keys]`."""
    keys: str
    """Keys in Textual's notation, separated by commas; empty if it has none by default."""
    run: str
    """The action without `action_`, after its area if it has one: `quit`, `sessions.new`."""
    label: str
    """A word or two, for the footer."""
    title: str
    """Its description in help and palette."""
    in_footer: bool = False
    has_priority: bool = False
    """True if its keys work even where the focused widget uses them."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other words that people search for in the palette, in lower case."""
        if self.id in _ADDED_ALIASES:
            return _ADDED_ALIASES[self.id]
        return tuple(_ALIASES[self.id].split(", ")) if self.id in _ALIASES else ()

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
    *("main", "panes", "sessions", "presets", "preset_editor", "inspector"),
    *("chat", "conversation", "composer", "attachments", "tool_calls", "plugins"),
    *("configuration", "request_edits"),
)
"""Attributes of the app whose actions its bindings run: with an area's name in front of an action,
Textual looks for `action_...` and asks `check_action` there.
"""

_ADDED = {added.name: added for _, added in hooks.parts("actions")}
_ADDED_ALIASES = {
    added.name: added.aliases
    for plugin in hooks.plugins()
    for added in (*plugin.actions, *plugin.views)
}


def place_bindings(place: str) -> Iterator[Binding]:
    """Yield the bindings of the actions that plugins add in a place: see `Action.place`."""
    for added in _ADDED.values():
        if added.place == place:
            run = plugin_action(added.name)
            yield pane_key(added.keys, run, added.label, added.title)


def place_aliases() -> dict[str, tuple[str, ...]]:
    """Return other words for the actions that plugins add in places, by their titles."""
    return {added.title: added.aliases for added in _ADDED.values() if added.place}


def searched_words() -> dict[str, tuple[str, ...]]:
    """Return other words for actions, by what runs them."""
    added = {plugin_action(action.name): action.aliases for action in _ADDED.values()}
    return {action.run: action.aliases for action in ACTIONS} | added


def plugin_action(name: str) -> str:
    """Return what runs the action of a plugin."""
    return f"plugins.{name.replace('-', '_')}"


RENAMED_IDS = {"again": "regenerate"}
"""Former ids that the config's `[keys]` may still have, and what they are called now."""

YIELDING = frozenset(("next-session", "previous-session", "go-to-session", "zoom"))
"""Actions that give up a default key without an error where the config's `[keys]` has another use
for it: they came after configurations that use it.
"""

UNDO_KEYS = "ctrl+underscore,ctrl+slash,alt+z,super+z"
"""Undo an edit of a text. Ctrl+Z does not: in a terminal it suspends the program."""

_KEEPING_FOCUS = frozenset(
    (
        *("default-model", "no-default-model", "border-left", "border-right", "reset-layout"),
        "zoom",
        *("first", "latest"),
        *("light", "regenerate", "back", "undo", "edit", "detach", "keep-captured", "remove-edits"),
        *("mute-tool-results", "unmute-all"),
        *("ask-tools", "replay", "export-turn", "quit", "suspend"),
    )
)

_ALIASES = {
    "mute-part": (
        "hide reasoning, exclude file, leave out file, mute picture, mute thinking, mute range, "
        "mute all before, hide messages, exclude messages"
    ),
    "mute-tool-results": (
        "hide tool results, exclude tool results, leave out tool results, free context, "
        "omit tool results, prune, clear tool results"
    ),
    "unmute-all": "unhide, include all, show all, send all messages, restore context",
    "help": "keys, shortcuts, keybindings, hotkeys, manual, documentation, ?",
    "palette": "palette",
    "sessions": (
        "sidebar, session list, chats, conversations, history, show sidebar, hide, hide sidebar, "
        "hide sessions, hide list"
    ),
    "preset": (
        "prompt, edit preset, messages of the preset, prompt manager, main prompt, jailbreak, "
        "post-history, prompt order"
    ),
    "inspector": "payload, request, body, debug, hide, hide inspector",
    "context": "messages of the request, what is sent",
    "diff": "compare requests, what changed, base",
    "budget": "tokens, context size",
    "reply": "response, raw",
    "edit-request": "override, patch, edit payload, edit body, breakpoint",
    "list-edits": "override, overrides, patches, edit payload, edit body",
    "remove-edits": "override, overrides, patches, reset request, undo edits",
    "new": "new chat, new conversation, chat, conversation, clear, reset, begin, start",
    "go-to-session": (
        "go to chat, go to conversation, jump, switch chat, open chat, chat, conversation, "
        "switch session, open session, quick open, recent chats"
    ),
    "next-session": "next chat, next conversation",
    "previous-session": "previous chat, previous conversation",
    "delete-session": (
        "delete chat, delete conversation, remove chat, remove conversation, chat, conversation, "
        "remove session, trash"
    ),
    "pin-session": "pin chat, pin conversation, unpin chat, favorite, star, chat",
    "archive-session": "archive chat, archive conversation, hide chat, hide session",
    "tag": "label, tag chat, tags",
    "folder": "move, group, file chat, move chat",
    "model": "model, change model, provider, ask another model, configure model",
    "configuration": "config, config.toml, preferences file, proxy, headers, settings file",
    "endpoints": "provider, add provider, server, base url, connect, ollama, models",
    "tools": "function, add tool, command, function calling",
    "title-model": "generate title, auto title, summarizer",
    "api-key": "token, login, account, credentials, secret, set key, sign in",
    "temporary": "incognito, private, off the record, new temporary chat",
    "keep-temporary": "save session, store",
    "border-left": "resize, pane layout, width, narrower, wider, split",
    "border-right": "resize, pane layout, width, narrower, wider, split",
    "zoom": "maximize, full screen, fullscreen, only this pane, hide other panes",
    "reset-layout": "reset panes, default layout, widths",
    "default-model": "default model, make default, set default",
    "no-default-model": "default model, reset default, unset the default model",
    "settings": (
        "temperature, effort, reasoning, max tokens, parameters, sampling, top p, stop sequences, "
        "seed, verbosity, json mode, structured output, web search, context limit, author's note, "
        "options, preferences, configure, limit, token limit, context window, context size, "
        "budget, token budget, max output tokens, num_ctx"
    ),
    "find": "find session, find chat, narrow the list, search sessions",
    "light": "dark, light, dark mode",
    "theme": "colors, colours, contrast, appearance, dark theme, light theme",
    "regenerate": "retry, redo, swipe, ask again, another answer",
    "request-kind": "preview request, send as, dry run",
    "first": "top, beginning, scroll up",
    "latest": "bottom, end, scroll down, newest",
    "back": "stop, cancel, abort, interrupt, pause",
    "rename": "title, name, rename, rename chat, rename conversation, chat",
    "suggest-title": "generate title, auto title, name",
    "preset-files": "sillytavern, import preset, export preset, chat completion preset",
    "preset-add": (
        "add reminder, add system prompt, add example, few-shot, add prefill, add author's note, "
        "add preset message"
    ),
    "use-preset": "preset, use preset, switch preset, switch prompt, chat completion preset",
    "role": "role, assistant, character, bot, new chat with role",
    "roles": "new role, system prompt, character",
    "profile": "persona, user, user name, nickname, who am i, profile",
    "snippet": "snippet, snippets, template, prompt template, fill in",
    "save-snippet": "snippet, new snippet, template",
    "compact": "compact, summarize, summary, compress, context full",
    "contents": "toc, outline, turns, jump to",
    "paste-picture": "paste image, clipboard, screenshot",
    "prompts": "history, prompt history, reverse search, earlier messages, recall",
    "queue": "pending messages, type ahead, steer, next message, waiting",
    "clear-queue": "delete queue, empty queue",
    "export": "export, save chat, download, markdown, html, share, print, backup",
    "undo": "restore, trash, bin, bring back, recover, deleted",
    "usage": "cost, price, money, spending, bill, dollars, statistics, stats",
    "cache": "cache miss, cached tokens, cache break, why expensive, prompt caching",
    "notifications": "messages, log, errors, toasts, history of notifications",
    "edit": "external editor, nano, emacs",
    "search": "find everywhere, grep, history, search chats",
    "attach": "upload, image, picture, document",
    "view-part": "image, preview, open attachment, picture",
    "detach": "detach, files",
    "tool-call": "tools, approve, consent, allow, function call, execute",
    "session-tools": "offered tools, mcp, mcp servers, servers, grants, revoke, permissions",
    "plugins": "extensions, add-ons",
    "ask-tools": "revoke, permissions, consent",
    "system": "instruction, note",
    "captured": "paste, curl, har",
    "replay": "compare models, multi model",
    "export-turn": "debug, bug report",
    "quit": "quit, exit, close, leave",
    "suspend": "background",
}
"""Other words that people search for, by the actions' ids: in lower case, with commas between."""

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


def _of_views() -> Iterator[Action]:
    """Yield the actions that show the views of plugins."""
    for _, view in hooks.parts("views"):
        if view.title:
            run = f"inspector.show_view('{view.name}')"
            yield Action(view.name, "", run, view.label, view.title)


ACTIONS = (
    Action("help", "f1,question_mark", "help", "Help", "Help: keys and commands", True),
    Action("palette", "ctrl+p", "search_commands", "Commands", "Search commands", True),
    Action("sessions", "f2", "panes.toggle_area('sessions')", "Sessions", "Sessions", True),
    Action("preset", "f3", "presets.toggle_editor", "Preset", "Preset editor", True),
    Action("inspector", "f4", "panes.toggle_area('inspector')", "Inspector", "Inspector", True),
    Action(
        "border-left", "alt+left", "panes.move_border(-4)", "Border left", "Move the border left"
    ),
    Action(
        "border-right",
        "alt+right",
        "panes.move_border(4)",
        "Border right",
        "Move the border right",
    ),
    Action(
        "reset-layout", "", "panes.reset_layout", "Reset layout", "Reset the layout of the panes"
    ),
    Action("zoom", "f11", "panes.zoom", "Zoom", "Zoom the pane with the focus, or restore"),
    Action("new", "ctrl+n", "sessions.new", "New", "New session", True),
    Action("next-session", "ctrl+pagedown", "sessions.step(1)", "Next", "Next session"),
    Action("previous-session", "ctrl+pageup", "sessions.step(-1)", "Previous", "Previous session"),
    Action("go-to-session", "ctrl+k", "sessions.go_to", "Go to", "Go to session…"),
    Action("search", "ctrl+f", "search", "Search", "Search all conversations"),
    Action(
        "temporary",
        "f6",
        "sessions.new_temporary",
        "Temporary",
        "Temporary session (nothing is stored)",
    ),
    Action("keep-temporary", "", "sessions.keep_temporary", "Keep", "Keep this temporary session"),
    Action("model", "ctrl+o", "sessions.choose_model", "Model", "Switch model", True),
    Action(
        "default-model",
        "",
        "sessions.set_default_model(True)",
        "Default model",
        "Make this model the default of new sessions",
    ),
    Action(
        "no-default-model",
        "",
        "sessions.set_default_model(False)",
        "No default model",
        "New sessions use the model used last",
    ),
    Action("settings", "f5", "sessions.edit_settings", "Settings", "Session settings"),
    Action(
        "configuration",
        "",
        "configuration.edit_file",
        "Configuration",
        "Open the configuration file in $EDITOR",
    ),
    Action("api-key", "", "configuration.enter_key", "API key", "Enter an API key…"),
    Action("endpoints", "", "configuration.edit_endpoints", "Endpoints", "Add or edit endpoint…"),
    Action("tools", "", "configuration.edit_tools", "Tools", "Add or edit tool…"),
    Action(
        "title-model",
        "",
        "configuration.choose_title_model",
        "Title model",
        "Choose the model that writes titles…",
    ),
    Action("plugins", "", "configuration.list_plugins", "Plugins", "Plugins: what each one adds"),
    Action("find", "", "sessions.find", "Filter", "Filter sessions"),
    Action("light", "ctrl+t", "toggle_light", "Light/dark", "Toggle light and dark theme"),
    Action("theme", "", "choose_theme", "Theme", "Theme"),
    Action("regenerate", "ctrl+r", "chat.regenerate", "Regenerate", "Regenerate reply"),
    Action("first", "ctrl+home", "conversation.first_message", "First", "Jump to first message"),
    Action("latest", "ctrl+end", "conversation.latest_message", "Latest", "Jump to latest message"),
    Action("back", "escape", "chat.back", "Back", "Stop the reply, or close a pane"),
    Action("rename", "", "sessions.rename", "Rename", "Rename session"),
    Action("suggest-title", "", "sessions.suggest_title", "Suggest title", "Suggest title"),
    Action("delete-session", "", "sessions.delete", "Delete", "Delete this session"),
    Action(
        "pin-session",
        "",
        "sessions.mark('pinned')",
        "Pin",
        "Pin or unpin this session",
    ),
    Action(
        "archive-session",
        "",
        "sessions.mark('archived')",
        "Archive",
        "Archive or restore this session",
    ),
    Action("tag", "", "sessions.tag", "Tag", "Tag this session…"),
    Action("folder", "", "sessions.move_to_folder", "Folder", "Move this session to a folder…"),
    Action("use-preset", "", "presets.choose_preset", "Use preset", "Choose preset"),
    Action(
        "preset-files", "", "presets.files", "Preset files", "Preset files: new, copy, rename …"
    ),
    Action(
        "preset-add", "", "presets.add", "Add to preset", "Add to the preset: reminder, example …"
    ),
    Action("role", "", "sessions.choose_role", "Role", "Choose role"),
    Action("roles", "", "sessions.edit_roles", "Roles", "Roles and system prompts"),
    Action("profile", "", "presets.choose_profile", "Profile", "Choose profile"),
    Action("snippet", "", "composer.insert_snippet", "Snippet", "Insert snippet…"),
    Action("save-snippet", "", "composer.save_snippet", "Save snippet", "Save draft as snippet…"),
    Action(
        "compact",
        "",
        "chat.compact",
        "Compact",
        "Compact history: a model summarizes older messages",
    ),
    Action("queue", "", "composer.queue", "Queue", "Queued messages"),
    Action("clear-queue", "", "composer.clear_queue", "Clear queue", "Remove queued messages"),
    Action("contents", "", "conversation.contents", "Contents", "Table of contents"),
    Action("export", "", "conversation.export", "Export", "Export conversation…"),
    Action("undo", "", "sessions.undo", "Undo", "Undo the last change"),
    Action("usage", "", "main.usage", "Usage", "Usage and cost"),
    Action("cache", "", "main.cache_causes", "Cache", "Why the prompt cache was lost, by cause"),
    Action(
        "notifications", "", "show_notifications", "Notifications", "Notifications (with the time)"
    ),
    Action("edit", "ctrl+g", "composer.edit_draft", "Editor", "Edit the draft in $EDITOR"),
    Action("attach", "", "attachments.attach", "Attach", "Attach a file"),
    Action(
        *("paste-picture", "", "attachments.paste_picture", "Paste picture"),
        "Attach the picture in the clipboard",
    ),
    Action(*("prompts", "alt+r", "composer.search_prompts", "Prompts"), "Search earlier prompts"),
    Action("view-part", "", "attachments.view_part", "View", "View attachment or picture"),
    Action("detach", "", "attachments.detach", "Detach", "Remove attachments"),
    Action(
        *(
            "tool-call",
            "f8",
            "tool_calls.answer_tool_call",
            "Tool call",
            "Answer the waiting tool call",
        )
    ),
    Action(
        "session-tools",
        "",
        "tool_calls.choose_tools",
        "Session tools",
        "Tools of this session: choose, definitions, permissions…",
    ),
    Action(
        "ask-tools",
        "",
        "tool_calls.ask_before_tools",
        "Ask",
        "Ask again before tools run (permissions)",
    ),
    Action(
        "mute-part",
        "",
        "conversation.mute_part",
        "Mute part",
        "Mute reasoning, a file, or several messages…",
    ),
    Action(
        "mute-tool-results",
        "",
        "conversation.mute_tool_results",
        "Mute results",
        "Mute tool results older than the last turn",
    ),
    Action("unmute-all", "", "conversation.unmute_all", "Unmute all", "Unmute all messages"),
    Action("system", "", "conversation.add_system", "System", "Add system message"),
    Action(
        "what-if", "", "inspector.what_if", "What if", "What if: another limit, model or length"
    ),
    Action(
        "request-kind",
        "",
        "inspector.choose_kind",
        "Request of",
        "Show the request of regenerate, continue, compact, a title …",
    ),
    Action("context", "", "inspector.show_view('context')", "Context", "Context of the request"),
    Action("diff", "", "inspector.show_view('diff')", "Diff", "Compare the request (diff)"),
    Action("budget", "", "inspector.show_view('budget')", "Budget", "Token budget of the request"),
    Action("reply", "", "inspector.show_view('reply')", "Reply", "Reply as it was received"),
    *_of_views(),
    Action("edit-request", "", "request_edits.begin", "Edit", "Edit request by hand"),
    Action("list-edits", "", "request_edits.list", "Edits", "List edits of the request by hand"),
    Action("remove-edits", "", "request_edits.remove_all", "Unedit", "Remove all edits by hand"),
    Action("captured", "", "inspector.open_captured", "Captured", "Open captured request"),
    Action(
        "keep-captured", "", "inspector.save_captured", "Keep", "Save captured request as session"
    ),
    Action("replay", "", "inspector.replay", "Replay", "Replay reply with another model"),
    Action("export-turn", "", "inspector.export_turn", "Turn", "Export this turn to a file"),
    *(
        Action(added.name, added.keys, plugin_action(added.name), added.label, added.title)
        for added in _ADDED.values()
        if not added.place
    ),
    *_SUSPEND,
    Action("quit", "ctrl+q", "quit", "Quit", "Quit (the draft is kept)", True),
)
"""In the order of footer, help and palette."""

"""The table of verbs: everything that the user can do, one row each.

The row of keys, the panel of keys, the palette, the `/` commands and the config's `[keys]` follow
from it. What only moves in a pane is bound by the pane's widget.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal

from textual.binding import Binding

from tui_chat import hooks
from tui_chat.lazy_dataclass import dataclass

Place = Literal["", "conversation", "sessions", "preset", "inspector", "body"]

AREAS = (
    *("main", "panes", "sessions", "presets", "preset_editor", "inspector", "inspector_pane"),
    *("chat", "conversation", "composer", "attachments", "tool_calls", "plugins"),
    *("configuration", "request_edits"),
)
"""Attributes of the app whose actions its bindings run: with an area's name in front of an action,
Textual looks for `action_...` and asks `check_action` there.
"""

UNDO_KEYS = "ctrl+underscore,ctrl+slash,alt+z,super+z"
"""Undo an edit of a text. Ctrl+Z does not: in a terminal it suspends the program."""


@dataclass(frozen=True, slots=True)
class Verb:
    """Something that the user can do."""

    id: str
    """Its name in the config's `[keys]`."""
    run: str
    """The action without `action_`, after its area if it has one: `quit`, `sessions.new`."""
    title: str
    """What it does, for palette, panel of keys and suggestions."""
    keys: str = ""
    """Keys in Textual's notation, separated by commas; empty if it has none by default."""
    word: str = ""
    """Its word in the row of keys; empty if it is not there."""
    slash: str = ""
    """The names of its `/` command, then the argument in capitals; empty if it has no command."""
    words: str = ""
    """Other words that people search for, in lower case, with commas between."""
    place: Place = ""
    """The pane whose keys they are; empty for keys that work everywhere."""
    kind: str = "normal"
    """The kind of request that the command sends; the inspector shows it while it is typed."""
    priority: bool = False
    """True if its keys work even where the focused widget uses them."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its `/` command."""
        return tuple(name for name in self.slash.split() if name.islower())

    @property
    def argument(self) -> str:
        """The argument of its `/` command, such as MODEL; empty if it takes none."""
        return " ".join(name for name in self.slash.split() if not name.islower())

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other words that people search for."""
        return tuple(filter(None, self.words.split(", ")))

    @property
    def binding(self) -> Binding:
        """The binding of its keys."""
        return Binding(
            self.keys,
            self.run,
            self.word or self.title,
            show=bool(self.word),
            tooltip=self.title,
            id=self.id,
            priority=self.priority,
        )


# fmt: off
_EVERYWHERE = (
    Verb("help", "show_keys", "All keys", "f1,question_mark", "all keys", "help keys commands",
         "shortcuts, keybindings, hotkeys, manual, documentation, ?"),
    Verb("palette", "search_commands", "Commands", "ctrl+p", "Commands"),
    Verb("sessions", "panes.toggle_area('sessions')", "Sessions", "f2", "Sessions", "sessions",
         "sidebar, session list, chats, conversations, history, hide, hide sidebar, hide list"),
    Verb("preset", "presets.toggle_editor", "Preset editor", "f3", "Preset", "edit-preset",
         "prompt, prompt manager, main prompt, jailbreak, post-history, prompt order"),
    Verb("inspector", "panes.toggle_area('inspector')", "Inspector", "f4", "Inspector",
         "inspector request", "payload, request, body, debug, hide, hide inspector"),
    Verb("border-left", "panes.move_border(-4)", "Move the border left", "alt+left",
         words="resize, pane layout, width, narrower, wider, split"),
    Verb("border-right", "panes.move_border(4)", "Move the border right", "alt+right",
         words="resize, pane layout, width, narrower, wider, split"),
    Verb("zoom", "panes.zoom", "Zoom this pane, or restore it", "f11",
         words="maximize, full screen, fullscreen, only this pane, hide other panes"),
    Verb("new", "sessions.new", "New session", "ctrl+n", "", "new clear new-chat",
         "new chat, new conversation, chat, conversation, clear, reset, begin, start"),
    Verb("go-to-session", "sessions.go_to", "Go to session…", "ctrl+k", "",
         "go chats conversations jump TITLE",
         "go to chat, go to conversation, jump, switch chat, open chat, chat, conversation, "
         "switch session, open session, quick open, recent chats"),
    Verb("next-session", "sessions.step(1)", "Next session", "ctrl+pagedown", "",
         "next next-chat", "next chat, next conversation"),
    Verb("previous-session", "sessions.step(-1)", "Previous session", "ctrl+pageup", "",
         "previous previous-chat", "previous chat, previous conversation"),
    Verb("search", "search", "Search all conversations", "ctrl+f", "", "search WORDS",
         "find everywhere, grep, history, search chats"),
    Verb("model", "sessions.choose_model", "Switch model", "ctrl+o", "", "model MODEL",
         "model, change model, provider, ask another model, configure model, default model, "
         "make default, set default"),
    Verb("settings", "sessions.set_parameter", "Session settings", "f5", "",
         "set settings limit budget max-tokens context-window NAME VALUE",
         "temperature, effort, reasoning, max tokens, parameters, sampling, top p, stop sequences, "
         "seed, verbosity, json mode, structured output, web search, context limit, author's note, "
         "options, preferences, configure, limit, token limit, context window, context size, "
         "token budget, max output tokens, num_ctx"),
    Verb("regenerate", "chat.regenerate", "Regenerate reply", "ctrl+r", "",
         "regenerate again retry redo", "retry, redo, swipe, ask again, another answer",
         kind="regenerate"),
    Verb("edit", "composer.edit_draft", "Edit the draft in $EDITOR", "ctrl+g", "", "edit",
         "external editor, nano, emacs"),
    Verb("tool-call", "tool_calls.answer_tool_call", "Answer a waiting tool call", "f8", "",
         "tool-call", "tools, approve, consent, allow, function call, execute"),
    Verb("first", "conversation.begin", "Jump to first message", "ctrl+home",
         words="top, beginning, scroll up"),
    Verb("latest", "conversation.end", "Jump to latest message", "ctrl+end",
         words="bottom, end, scroll down, newest"),
    Verb("stop", "chat.back", "Stop the reply, or close a pane", "escape", "", "stop",
         "stop, cancel, abort, interrupt, pause"),
    Verb("temporary", "sessions.new_temporary", "Temporary session (nothing is stored)",
         slash="temporary incognito private",
         words="incognito, private, off the record, new temporary chat"),
    Verb("keep-temporary", "sessions.keep_temporary", "Keep this temporary session",
         slash="keep", words="save session, store"),
    Verb("theme", "choose_theme", "Theme", slash="theme NAME",
         words="colors, colours, contrast, appearance, dark, light, dark mode, dark theme, "
         "light theme"),
    Verb("notifications", "show_notifications", "Notifications (with the time)",
         slash="notifications log", words="messages, log, errors, toasts"),
    Verb("usage", "main.usage", "Usage and cost", slash="usage cost",
         words="cost, price, money, spending, bill, dollars, statistics, stats"),
    Verb("api-key", "configuration.enter_key", "Enter an API key…", slash="key login ENDPOINT",
         words="token, login, account, credentials, secret, set key, sign in"),
    Verb("configuration", "configuration.edit_file", "Open the configuration file in $EDITOR",
         slash="config configuration",
         words="config, config.toml, preferences file, proxy, headers, settings file"),
    Verb("endpoints", "configuration.edit_endpoints", "Add or edit endpoint…",
         slash="endpoints endpoint provider NAME",
         words="provider, add provider, server, base url, connect, ollama, models"),
    Verb("tools", "configuration.edit_tools", "Add or edit tool…", slash="tools tool NAME",
         words="function, add tool, command, function calling"),
    Verb("title-model", "configuration.choose_title_model", "Choose the model that writes titles…",
         slash="title-model ENDPOINT/MODEL", words="generate title, auto title, summarizer"),
    Verb("plugins", "configuration.list_plugins", "Plugins: what each one adds", slash="plugins",
         words="extensions, add-ons"),
    Verb("captured", "inspector.open_captured", "Open captured request", slash="captured",
         words="paste, curl, har"),
    Verb("keep-captured", "inspector.save_captured", "Save captured request as session"),
    Verb("quit", "quit", "Quit (the draft is kept)", "ctrl+q", "", "quit exit",
         "quit, exit, close, leave"),
    *(
        () if os.name == "nt"  # it has no job control
        else (Verb("suspend", "suspend_process", "Suspend the app (fg in the shell resumes it)",
                   "ctrl+z", words="background", priority=True),)
    ),
)
_MESSAGE_BOX = (
    Verb("attach", "attachments.attach", "Attach a file", slash="attach PATH",
         words="upload, image, picture, document"),
    Verb("paste-picture", "attachments.paste_picture", "Attach the picture in the clipboard",
         slash="paste-picture paste-image", words="paste image, clipboard, screenshot"),
    Verb("prompts", "composer.search_prompts", "Search earlier prompts", "alt+r", "",
         "prompts history",
         "history, prompt history, reverse search, earlier messages, recall"),
    Verb("snippet", "composer.insert_snippet", "Insert snippet, or save the draft as one…",
         slash="snippet NAME",
         words="snippet, snippets, template, prompt template, fill in, new snippet, save snippet"),
    Verb("queue", "composer.queue", "Queued messages", slash="queue",
         words="pending messages, type ahead, steer, next message, waiting, clear queue"),
    Verb("system", "conversation.add_system", "Add system message", slash="system TEXT",
         words="instruction, note"),
)
_CONVERSATION = (
    Verb("previous-version", "conversation.sibling(-1)", "Previous version", "left", "version",
         words="swipe left, sibling, alternative", place="conversation"),
    Verb("next-version", "conversation.sibling(1)", "Next version", "right", "version",
         words="swipe right, sibling, alternative", place="conversation"),
    Verb("edit-message", "conversation.edit", "Edit message as a new version", "e", "edit",
         "edit-message",
         "edit last message, edit and resend, resend, change, rewrite", place="conversation"),
    Verb("retry", "conversation.retry", "Regenerate this reply", "r", "regenerate",
         words="retry, redo, swipe, ask again", place="conversation"),
    Verb("fork", "conversation.fork", "Fork session from here", "f", "fork", "fork TITLE",
         "fork, branch off, duplicate, clone", place="conversation"),
    Verb("copy", "conversation.copy", "Copy the message or the selection", "y", "copy", "copy",
         "copy, copy last, copy reply, yank, clipboard", place="conversation"),
    Verb("sent-request", "conversation.inspect", "Show the request that made the reply", "i",
         "sent request", words="payload, debug, what was sent", place="conversation"),
    Verb("press", "conversation.press", "Open what is folded, or press its button", "enter",
         words="expand, collapse, fold, thinking, show more", place="conversation"),
    Verb("continue", "conversation.continue", "Continue this reply", "c", "",
         "continue extend go-on", "continue, go on, more, resume", place="conversation",
         kind="continue"),
    Verb("delete", "conversation.delete", "Delete from here (this message and below)", "d,delete",
         "", "delete rewind", "delete message, remove, rewind", place="conversation"),
    Verb("undo", "conversation.undo", "Undo the last deletion", "u", "", "undo",
         "restore, trash, bin, bring back, recover, deleted", place="conversation"),
    Verb("mute", "conversation.mute", "Mute message (not sent), or unmute it", "m", "",
         "mute hide exclude leave-out omit skip",
         "mute, hide message, hide, exclude, leave out, omit, skip, ignore, unmute, unhide, "
         "disable message, include again, hide reasoning, mute thinking, mute picture",
         place="conversation"),
    Verb("pin", "conversation.pin", "Pin message (always included)", "p",
         words="keep, always send, sticky, favorite, star", place="conversation"),
    Verb("open", "conversation.open", "Open a link or picture of this message, or save a file", "o",
         words="url, browser, link, image, preview, open attachment, picture",
         place="conversation"),
    Verb("save", "conversation.save", "Save the picture or file of this message", slash="save",
         words="attachment, download, image, audio", place="conversation"),
    Verb("where", "conversation.reveal", "Show its place in the request", "w",
         words="locate, reveal", place="conversation"),
    Verb("find", "conversation.find", "Find in this conversation", "slash", "", "find WORDS",
         "search in conversation, find in chat, find in conversation, find here, grep",
         place="conversation"),
    Verb("copy-code", "conversation.copy_code",
         "Copy a code block; again for the next", "Y", "", "copy-code",
         "copy code, snippet", place="conversation"),
    Verb("fold", "conversation.fold", "Fold or unfold; a summary: switch on or off", "space",
         place="conversation"),
    Verb("mute-tool-results", "conversation.mute_tool_results",
         "Mute tool results older than the last turn",
         slash="mute-tool-results hide-tool-results TURNS",
         words="hide tool results, exclude tool results, leave out tool results, free context, "
         "omit tool results, prune, clear tool results"),
    Verb("unmute-all", "conversation.unmute_all", "Unmute all messages",
         slash="unmute-all unmute unhide",
         words="include all, show all, send all messages, restore context"),
    Verb("contents", "conversation.contents", "Table of contents", slash="contents toc outline",
         words="turns, jump to"),
    Verb("export", "conversation.export", "Export conversation…", slash="export PATH",
         words="export, save chat, download, markdown, html, share, print, backup, copy all"),
    Verb("compact", "chat.compact", "Compact history: a model summarizes older messages",
         slash="compact summarize summary",
         words="compact, summarize, summary, compress, context full", kind="summary"),
    Verb("swipe", "chat.regenerate('swipe')",
         "Regenerate reply, with the presets' triggers for swipes", slash="swipe", kind="swipe"),
    Verb("replay", "inspector.replay", "Replay reply with another model", slash="replay",
         words="compare models, multi model"),
    Verb("export-turn", "inspector.export_turn", "Export this turn to a file",
         words="debug, bug report"),
    Verb("session-tools", "tool_calls.choose_tools",
         "Tools of this session: choose, definitions, permissions…", slash="session-tools mcp",
         words="offered tools, mcp, mcp servers, servers, grants, revoke, permissions, consent"),
)
_SESSIONS = (
    Verb("filter", "sessions.find", "Filter the sessions: words, #tag", "slash", "filter",
         "filter WORDS", "find session, find chat, narrow the list, search sessions",
         place="sessions"),
    Verb("rename", "sessions.rename", "Rename session", "e", "rename",
         "rename title rename-chat TITLE",
         "title, name, rename, rename chat, rename conversation, chat",
         place="sessions"),
    Verb("pin-session", "sessions.mark('pinned')", "Pin or unpin this session", "p", "pin",
         "pin-session pin-chat",
         "pin chat, pin conversation, unpin chat, favorite, star, chat", place="sessions"),
    Verb("delete-session", "sessions.delete", "Delete this session", "d,delete", "delete",
         "delete-session delete-chat delete-conversation",
         "delete chat, delete conversation, remove chat, remove conversation, chat, conversation, "
         "remove session, trash", place="sessions"),
    Verb("undo-session", "sessions.undo", "Undo the last deletion of sessions", "u",
         place="sessions"),
    Verb("archive-session", "sessions.mark('archived')", "Archive or restore this session",
         slash="archive archive-chat hide-chat",
         words="archive chat, archive conversation, hide chat, hide session"),
    Verb("tag", "sessions.tag", "Tag this session…", slash="tag label TAGS",
         words="label, tag chat, tags"),
    Verb("folder", "sessions.move_to_folder", "Move this session to a folder…",
         slash="folder NAME", words="move, group, file chat, move chat"),
    Verb("role", "sessions.choose_role", "Choose role", slash="role NAME",
         words="role, assistant, character, bot, new chat with role"),
    Verb("roles", "sessions.edit_roles", "Roles and system prompts", slash="roles",
         words="new role, system prompt, character"),
)
_PRESET = (
    Verb("edit-preset-message", "preset_editor.open", "Edit the message", "enter,e", "edit",
         place="preset"),
    Verb("send-or-not", "preset_editor.edit('enable')", "Send it or not", "space", "on/off",
         place="preset"),
    Verb("preset-add", "preset_editor.add", "Add to the preset: reminder, example …", "a", "add",
         "preset-add",
         "add reminder, add system prompt, add example, few-shot, add prefill, "
         "add author's note, add preset message", place="preset"),
    Verb("move-down", "preset_editor.edit('down')", "Move down", "J,alt+down", "move",
         place="preset"),
    Verb("move-up", "preset_editor.edit('up')", "Move up", "K,alt+up", "move", place="preset"),
    Verb("delete-preset-message", "preset_editor.edit('delete')", "Delete the message", "d,delete",
         "delete", place="preset"),
    Verb("duplicate", "preset_editor.edit('duplicate')", "Duplicate the message", "Y",
         place="preset"),
    Verb("copy-text", "preset_editor.copy", "Copy the text", "y", place="preset"),
    Verb("undo-preset", "preset_editor.undo", "Undo", "u", place="preset"),
    Verb("redo-preset", "preset_editor.redo", "Redo", "U", place="preset"),
    Verb("edit-preset-file", "presets.edit_file", "Edit the preset in $EDITOR", "ctrl+g",
         place="preset"),
    Verb("where-in-request", "presets.show_places", "Where it is in the request", "w",
         place="preset"),
    Verb("filter-preset", "preset_editor.filter", "Show what contains …", "slash",
         place="preset"),
    Verb("preset-settings", "preset_editor.settings", "Name, variables, policies", "s",
         place="preset"),
    Verb("preset-files", "presets.files", "Other presets: choose, new, copy, import …", "o", "",
         "preset-files",
         "sillytavern, import preset, export preset, chat completion preset, rename preset",
         place="preset"),
    Verb("use-preset", "presets.choose_preset", "Choose preset", slash="preset NAME",
         words="preset, use preset, switch preset, switch prompt, chat completion preset"),
    Verb("profile", "presets.choose_profile", "Choose profile", slash="profile persona NAME",
         words="persona, user, user name, nickname, who am i, profile"),
)
_INSPECTOR = (
    Verb("previous-view", "inspector_pane.step_view(-1)", "Previous view",
         "left,left_square_bracket", "view", place="inspector"),
    Verb("next-view", "inspector_pane.step_view(1)", "Next view",
         "right,right_square_bracket", "view", place="inspector"),
    *(
        Verb(protocol, f"inspector_pane.protocol('{protocol}')", f"As {label} sends it",
             str(number), "protocol", place="inspector")
        for number, (protocol, label) in enumerate((
            ("openai_chat", "OpenAI Chat"), ("openai_responses", "OpenAI Responses"),
            ("anthropic", "Anthropic"), ("gemini", "Gemini"), ("ollama", "Ollama"),
        ), 1)
    ),
    Verb("find-in-request", "inspector_pane.find", "Find in the request", "slash", "find",
         place="inspector"),
    Verb("copy-body", "inspector_pane.copy_body", "Copy the exact body", "y", "copy", "copy-body",
         "copy request, json, raw", place="inspector"),
    Verb("notes", "inspector_pane.notes", "Notes", "o", "notes",
         words="warnings, problems, diagnostics, overrides, patches, list edits",
         place="inspector"),
    Verb("origin", "inspector_pane.source", "Go to the origin", "w", place="inspector"),
    Verb("copy-curl", "inspector_pane.copy_curl", "Copy as curl", "Y", words="copy request, curl",
         place="inspector"),
    Verb("live", "inspector_pane.live", "Back to live", "escape", place="inspector"),
    Verb("edit-value", "request_edits.edit", "Edit this value by hand", "e", place="body"),
    Verb("add-value", "request_edits.add", "Add a value by hand", "a", place="body"),
    Verb("leave-out", "request_edits.remove", "Leave this value out", "d,delete", place="body"),
    Verb("undo-edit", "request_edits.undo", "Undo the edit by hand", "u", place="body"),
    Verb("edit-request", "request_edits.begin", "Edit request by hand",
         slash="edit-request edit-payload edit-body override patch breakpoint",
         words="override, patch, edit payload, edit body, breakpoint"),
    Verb("context", "inspector.show_view('context')", "Context of the request", slash="context",
         words="messages of the request, what is sent"),
    Verb("diff", "inspector.show_view('diff')", "Compare the request (diff)", slash="diff base",
         words="compare requests, what changed, base"),
    Verb("budget", "inspector.show_view('budget')", "Token budget of the request", slash="budget",
         words="tokens, context size"),
)
# fmt: on


def _of_plugins() -> Iterator[Verb]:
    """Yield the verbs that plugins add."""
    places: dict[str, Place] = {"message": "conversation", "preset": "preset"}
    for _, view in hooks.parts("views"):
        if view.title:
            run, words = f"inspector.show_view('{view.name}')", ", ".join(view.aliases)
            yield Verb(view.name, run, view.title, words=words)
    for _, added in hooks.parts("actions"):
        yield Verb(
            added.name,
            plugin_action(added.name),
            added.title,
            added.keys,
            slash=" ".join((added.name, *added.other_names, added.argument)),
            words=", ".join(added.aliases),
            place=places.get(added.place, ""),
            kind=added.kind,
        )


def plugin_action(name: str) -> str:
    """Return what runs the action of a plugin."""
    return f"plugins.{name.replace('-', '_')}"


VERBS: tuple[Verb, ...] = (
    *(*_EVERYWHERE, *_MESSAGE_BOX, *_CONVERSATION, *_SESSIONS, *_PRESET, *_INSPECTOR),
    *_of_plugins(),
)
"""All verbs, in the order in which they are offered."""

BY_ID = {verb.id: verb for verb in VERBS}
"""The verbs by their names in `[keys]`."""

RENAMED_IDS = {"again": "regenerate", "back": "stop", "light": "theme", "default-model": "model"}
"""Former ids that the config's `[keys]` may still have, and what does the same now."""
REMOVED_IDS = frozenset(
    (
        *("ask-tools", "cache", "clear-queue", "detach", "list-edits", "mute-part"),
        *("no-default-model", "remove-edits", "reply", "reset-layout", "save-snippet"),
        *("suggest-title", "view-part"),
    )
)
"""Former ids of what is gone: their keys in `[keys]` are passed over."""


def bindings(place: Place) -> Iterator[Binding]:
    """Yield the bindings of the verbs of a place that have keys."""
    return (verb.binding for verb in VERBS if verb.place == place and verb.keys)

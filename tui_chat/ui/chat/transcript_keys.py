"""The keys of the transcript, with their words in its row of keys and their titles in help and
palette. Keys with the same word stand together. A key that can do nothing says so.

Actions with an area in front, such as `conversation.pin`, are those of `MessageArea`, which asks
for the entry under the cursor; the others concern only the screen.
"""

from __future__ import annotations

from tui_chat.ui.widgets.pane_key import pane_key

TRANSCRIPT_KEYS = (
    pane_key("left", "conversation.sibling(-1)", "version", "Previous version", shown=True),
    pane_key("right", "conversation.sibling(1)", "version", "Next version", shown=True),
    pane_key("e", "conversation.edit", "edit", "Edit this message as a new version", shown=True),
    pane_key("c", "copy_code", "code", "Copy a code block of this message; again for the next"),
    pane_key("r", "conversation.retry", "regenerate", "Regenerate this reply", shown=True),
    pane_key("f", "conversation.fork", "fork", "Fork session from here", shown=True),
    pane_key("y", "copy", "copy", "Copy the message or the selection", shown=True),
    pane_key(
        "d,delete", "conversation.delete", "delete", "Delete from here (this message and all below)"
    ),
    pane_key("C", "conversation.continue", "continue", "Continue this reply"),
    pane_key("enter", "unfold", "unfold", "Unfold reasoning, calls, long text"),
    pane_key("slash", "conversation.find", "find", "Find in this conversation"),
    pane_key("up", "move(-1)", "↑↓", "Up"),
    pane_key("down", "move(1)", "↑↓", "Down"),
    pane_key("pageup", "page(-1)", "↑↓", "Page up"),
    pane_key("pagedown", "page(1)", "↑↓", "Page down"),
    pane_key("k,ctrl+up,alt+up", "message(-1)", "↑↓", "Previous message"),
    pane_key("j,ctrl+down,alt+down", "message(1)", "↑↓", "Next message"),
    pane_key("K", "question(-1)", "↑↓", "Previous question"),
    pane_key("J", "question(1)", "↑↓", "Next question"),
    pane_key("home,g", "begin", "↑↓", "Beginning"),
    pane_key("end,G", "end", "↑↓", "End"),
    pane_key("t", "conversation.contents", "turns", "Table of contents"),
    pane_key("n", "hit(1)", "find", "Next hit"),
    pane_key("N", "hit(-1)", "find", "Previous hit"),
    pane_key("escape", "leave", "leave", "Stop finding"),
    pane_key("space", "switch", "fold", "Unfold; a summary: switch on or off"),
    pane_key("W", "wrap_code", "code", "Wrap long lines of code, or cut them"),
    pane_key("less_than_sign,shift+left", "scroll_code(-1)", "code", "Scroll cut code left"),
    pane_key("greater_than_sign,shift+right", "scroll_code(1)", "code", "Scroll cut code right"),
    pane_key("Y", "copy_all", "copy", "Copy the conversation"),
    pane_key("E", "conversation.export", "export", "Export a part from or up to here"),
    pane_key(
        "o", "conversation.open_link", "link", "Open a link of this message; again for the next"
    ),
    pane_key(
        "v",
        "conversation.view",
        "file",
        "View a picture or file of this message; again for the next",
    ),
    pane_key(
        "s",
        "conversation.save",
        "file",
        "Save a picture or file of this message; again for the next",
    ),
    pane_key(
        "S", "conversation.subagent", "subagent", "Open the subagent of this call, or go back"
    ),
    pane_key("u", "conversation.undo", "undo", "Undo the last change"),
    pane_key("p", "conversation.pin", "pin", "Pin message (always included)"),
    pane_key("m", "conversation.mute", "mute", "Mute message (not sent), or unmute it"),
    pane_key("M", "conversation.mute_part", "mute", "Mute reasoning, a file, or several messages"),
    pane_key(
        "i", "conversation.inspect", "request", "Show the request that made the reply", shown=True
    ),
    pane_key("w", "conversation.reveal", "request", "Show where this message is in the request"),
    pane_key("a", "conversation.answer", "call", "Enter a tool call's result by hand"),
    pane_key("x", "conversation.run", "call", "Answer the waiting tool call"),
)

"""The keys of the transcript, with their words in its row of keys and their titles in help and
palette. Keys with the same word stand together; some are bound only where they have a use.

Actions with an area in front, such as `conversation.pin`, are those of `MessageArea`, which asks
for the entry under the cursor; the others concern only the screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from textual.binding import Binding

from tui_chat.ui.actions import keys_needing


def _key(keys: str, action: str, word: str, title: str) -> Binding:
    return Binding(keys, action, word, show=False, tooltip=title)


TRANSCRIPT_KEYS = (
    _key("y", "copy", "copy", "Copy the message or the selection"),
    _key("c", "copy_code", "code", "Copy a code block of this message; again, the next"),
    _key("r", "conversation.retry", "regenerate", "Regenerate this reply"),
    _key("e", "conversation.edit", "edit", "Edit this message, as another version"),
    _key("f", "conversation.fork", "fork", "Fork session from here"),
    _key(
        "d,delete", "conversation.delete", "delete", "Delete from here (this message and all below)"
    ),
    _key("C", "conversation.continue", "continue", "Continue this reply"),
    _key("left", "conversation.sibling(-1)", "version", "Previous version"),
    _key("right", "conversation.sibling(1)", "version", "Next version"),
    _key("enter", "unfold", "unfold", "Unfold reasoning, calls, long text"),
    _key("slash", "conversation.find", "find", "Find in this conversation"),
    _key("up", "move(-1)", "↑↓", "Up"),
    _key("down", "move(1)", "↑↓", "Down"),
    _key("pageup", "page(-1)", "↑↓", "Page up"),
    _key("pagedown", "page(1)", "↑↓", "Page down"),
    _key("k,ctrl+up,alt+up", "message(-1)", "↑↓", "Previous message"),
    _key("j,ctrl+down,alt+down", "message(1)", "↑↓", "Next message"),
    _key("K", "question(-1)", "↑↓", "Previous question"),
    _key("J", "question(1)", "↑↓", "Next question"),
    _key("home,g", "begin", "↑↓", "Beginning"),
    _key("end,G", "end", "↑↓", "End"),
    _key("t", "conversation.contents", "turns", "Table of contents"),
    _key("n", "hit(1)", "find", "Next hit"),
    _key("N", "hit(-1)", "find", "Previous hit"),
    _key("escape", "leave", "leave", "Stop finding"),
    _key("space", "switch", "fold", "Unfold; a summary: switch on or off"),
    _key("W", "wrap_code", "code", "Wrap long lines of code, or cut them"),
    _key("less_than_sign,shift+left", "scroll_code(-1)", "code", "Scroll cut code left"),
    _key("greater_than_sign,shift+right", "scroll_code(1)", "code", "Scroll cut code right"),
    _key("Y", "copy_all", "copy", "Copy the conversation"),
    _key("E", "conversation.export", "export", "Export a part from or up to here"),
    _key("o", "conversation.open_link", "link", "Open a link of this message; again, the next"),
    _key(
        "v",
        "conversation.view",
        "file",
        "View a picture or file of this message; again, the next",
    ),
    _key(
        "s",
        "conversation.save",
        "file",
        "Save a picture or file of this message; again, the next",
    ),
    _key("S", "conversation.subagent", "subagent", "Open the subagent of this call, or go back"),
    _key("u", "conversation.undo", "undo", "Undo the deletion or mute"),
    _key("p", "conversation.pin", "pin", "Pin message (always included)"),
    _key("m", "conversation.mute", "mute", "Mute message (not sent), or unmute it"),
    _key("M", "conversation.mute_part", "mute", "Mute reasoning, a file, or several messages"),
    _key("i", "conversation.inspect", "request", "Show the request that made the reply"),
    _key("w", "conversation.reveal", "request", "Show where this message is in the request"),
    _key("a", "conversation.answer", "tool call", "Enter a tool call's result by hand"),
    _key("x", "conversation.run", "tool call", "Answer the waiting tool call"),
)

KeyUse = Literal[
    "code", "link", "file", "mutable", "tokens", "version", "call", "subagent", "hit", "deletion"
]

KEYS_WITH_USE: Mapping[KeyUse, tuple[str, ...]] = {
    "code": ("c", "W", "less_than_sign", "greater_than_sign"),
    "link": ("o",),
    "file": ("v", "s"),
    "mutable": ("M",),
    "tokens": keys_needing("tokens"),
    "version": keys_needing("version"),
    "call": ("a", "x"),
    "subagent": ("S",),
    "hit": ("n", "N"),
    "deletion": ("u",),
}
"""Letters that are bound only while the session has what they act on. The session and not the
message under the cursor decides, so that the row of keys stays as it is while the cursor moves.
"""

"""The keys of the transcript, with their titles in help and palette.

Actions with an area in front, such as `conversation.pin`, are those of `MessageArea`, which asks
for the entry under the cursor; the others concern only the screen.
"""

from __future__ import annotations

from textual.binding import Binding


def _key(keys: str, action: str, title: str, label: str = "") -> Binding:
    """Return the binding of an action; with a label, the footer shows it."""
    return Binding(keys, action, label or title, show=bool(label), tooltip=title)


TRANSCRIPT_KEYS = (
    _key("y", "copy", "Copy the message or the selection", "Copy"),
    _key("c", "copy_code", "Copy a code block of this message; again, the next"),
    _key("r", "conversation.retry", "Regenerate this reply", "Regenerate"),
    _key("e", "conversation.edit", "Edit this message, as another version", "Edit"),
    _key("f", "conversation.fork", "Fork session from here", "Fork"),
    _key(
        "d,delete", "conversation.delete", "Delete from here (this message and all below)", "Delete"
    ),
    _key("C", "conversation.continue", "Continue this reply", "Continue"),
    _key("b", "conversation.branches", "Compare the branches", "Branches"),
    _key("left", "conversation.sibling(-1)", "Previous version"),
    _key("right", "conversation.sibling(1)", "Next version"),
    _key("enter", "unfold", "Unfold reasoning, calls, long text"),
    _key("slash", "conversation.find", "Find in this conversation"),
    _key("up", "move(-1)", "Up"),
    _key("down", "move(1)", "Down"),
    _key("pageup", "page(-1)", "Page up"),
    _key("pagedown", "page(1)", "Page down"),
    _key("home,g", "begin", "Beginning"),
    _key("end,G", "end", "End"),
    _key("k,ctrl+up,alt+up,left_square_bracket", "message(-1)", "Previous message"),
    _key("j,ctrl+down,alt+down,right_square_bracket", "message(1)", "Next message"),
    _key("K,left_curly_bracket", "question(-1)", "Previous question"),
    _key("J,right_curly_bracket", "question(1)", "Next question"),
    _key("t", "conversation.contents", "Table of contents"),
    _key("n", "hit(1)", "Next hit"),
    _key("N", "hit(-1)", "Previous hit"),
    _key("escape", "leave", "Stop finding"),
    _key("space", "switch", "Unfold; a summary: switch on or off"),
    _key("W", "wrap_code", "Wrap long lines of code, or cut them"),
    _key("less_than_sign,shift+left", "scroll_code(-1)", "Scroll cut code left"),
    _key("greater_than_sign,shift+right", "scroll_code(1)", "Scroll cut code right"),
    _key("Y", "copy_all", "Copy the conversation"),
    _key("E", "conversation.export", "Export a part from or up to here"),
    _key("o", "conversation.open_link", "Open a link of this message; again, the next"),
    _key("v", "conversation.view", "View a picture or file of this message; again, the next"),
    _key("s", "conversation.save", "Save a picture or file of this message; again, the next"),
    _key("S", "conversation.subagent", "Open the subagent of this call, or go back"),
    _key("u", "conversation.undo", "Undo the deletion"),
    _key("p", "conversation.pin", "Pin message (always included)"),
    _key("i", "conversation.inspect", "Show the request that made the reply"),
    _key("w", "conversation.reveal", "Show where this message is in the request"),
    _key("a", "conversation.answer", "Enter a tool call's result by hand"),
    _key("x", "conversation.run", "Answer the waiting tool call"),
)

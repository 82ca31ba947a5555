"""The keys of the transcript, with their titles in help and palette.

Actions with an area in front, such as `conversation.pin`, are those of `MessageArea`, which asks
for the entry under the cursor; the others concern only the screen.
"""

from __future__ import annotations

from textual.binding import Binding


def _key(keys: str, action: str, title: str, label: str = "") -> Binding:
    """Return the binding of an action; `label` is its word in the row of letters."""
    return Binding(keys, action, label or title, show=False, tooltip=title)


TRANSCRIPT_KEYS = (
    _key("y", "copy", "Copy the message or the selection", "Copy"),
    _key("c", "copy_code", "Copy a code block of this message; again, the next", "Code"),
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
    _key("home,g", "begin", "Beginning", "Ends"),
    _key("end,G", "end", "End", "Ends"),
    _key("k,ctrl+up,alt+up", "message(-1)", "Previous message", "Message"),
    _key("j,ctrl+down,alt+down", "message(1)", "Next message", "Message"),
    _key("K", "question(-1)", "Previous question", "Question"),
    _key("J", "question(1)", "Next question", "Question"),
    _key("t", "conversation.contents", "Table of contents", "Contents"),
    _key("n", "hit(1)", "Next hit", "Hit"),
    _key("N", "hit(-1)", "Previous hit", "Hit"),
    _key("escape", "leave", "Stop finding"),
    _key("space", "switch", "Unfold; a summary: switch on or off", "Fold"),
    _key("W", "wrap_code", "Wrap long lines of code, or cut them", "Wrap code"),
    _key("less_than_sign,shift+left", "scroll_code(-1)", "Scroll cut code left", "Scroll code"),
    _key("greater_than_sign,shift+right", "scroll_code(1)", "Scroll cut code right", "Scroll code"),
    _key("Y", "copy_all", "Copy the conversation", "Copy all"),
    _key("E", "conversation.export", "Export a part from or up to here", "Export"),
    _key("o", "conversation.open_link", "Open a link of this message; again, the next", "Link"),
    _key(
        "v",
        "conversation.view",
        "View a picture or file of this message; again, the next",
        "View file",
    ),
    _key(
        "s",
        "conversation.save",
        "Save a picture or file of this message; again, the next",
        "Save file",
    ),
    _key("S", "conversation.subagent", "Open the subagent of this call, or go back", "Subagent"),
    _key("u", "conversation.undo", "Undo the deletion", "Undo"),
    _key("p", "conversation.pin", "Pin message (always included)", "Pin"),
    _key("i", "conversation.inspect", "Show the request that made the reply", "Its request"),
    _key("w", "conversation.reveal", "Show where this message is in the request", "Where sent"),
    _key("a", "conversation.answer", "Enter a tool call's result by hand", "Enter result"),
    _key("x", "conversation.run", "Answer the waiting tool call", "Answer call"),
)

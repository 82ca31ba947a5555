"""The keys of the transcript, as help, palette and footer name them."""

from __future__ import annotations

from textual.binding import Binding, BindingType

WRITING_ACTIONS = frozenset(
    ("retry", "edit", "fork", "delete", "continue", "undo", "pin", "answer", "run")
)
"""Actions that begin, change or send something: a read-only transcript does not have them."""


def _key(keys: str, action: str, title: str, label: str = "") -> Binding:
    """Return the binding of an action; with a label, the footer shows it."""
    return Binding(keys, action, label or title, show=bool(label), tooltip=title)


KEYS: list[BindingType] = [
    _key("y", "copy", "Copy the message or the selection", "Copy"),
    _key("c", "copy_code", "Copy a code block of this message; again, the next"),
    _key("r", "retry", "Regenerate this reply", "Regenerate"),
    _key("e", "edit", "Edit this message, as another version", "Edit"),
    _key("f", "fork", "Fork session from here", "Fork"),
    _key("d,delete", "delete", "Delete this message and what follows", "Delete"),
    _key("C", "continue", "Continue this reply", "Continue"),
    _key("b", "branches", "Compare the branches", "Branches"),
    _key("left", "sibling(-1)", "Previous version"),
    _key("right", "sibling(1)", "Next version"),
    _key("enter", "unfold", "Unfold reasoning, calls, long text"),
    _key("slash", "find", "Find"),
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
    _key("t", "contents", "Table of contents"),
    _key("n", "hit(1)", "Next hit"),
    _key("N", "hit(-1)", "Previous hit"),
    _key("escape", "leave", "Stop finding"),
    _key("space", "switch", "Unfold; a summary: switch on or off"),
    _key("W", "wrap_code", "Wrap long lines of code, or cut them"),
    _key("less_than_sign,shift+left", "scroll_code(-1)", "Scroll cut code left"),
    _key("greater_than_sign,shift+right", "scroll_code(1)", "Scroll cut code right"),
    _key("Y", "copy_all", "Copy the conversation"),
    _key("E", "export", "Export a part from or up to here"),
    _key("o", "open_link", "Open a link of this message; again, the next"),
    _key("v", "view", "View a picture or file of this message; again, the next"),
    _key("s", "save", "Save a picture or file of this message; again, the next"),
    _key("S", "subagent", "Open the subagent of this call, or go back"),
    _key("u", "undo", "Undo the deletion"),
    _key("p", "pin", "Pin message (always included)"),
    _key("i", "inspect", "Show the request that made the reply"),
    _key("w", "reveal", "Show where this message is in the request"),
    _key("a", "answer", "Enter a tool call's result by hand"),
    _key("x", "run", "Answer the waiting tool call"),
]

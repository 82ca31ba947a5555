"""What the user asks for in the transcript: its keys, as help, palette and footer name them, and
the messages that the area acts on.

The transcript changes only what it shows; it never changes the conversation. Each message names
the entry it is about by the id of its stored message.
"""

from __future__ import annotations

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_chat.lazy_dataclass import dataclass

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


@dataclass
class EntryRequest(Message):
    """A request about one entry."""

    entry_id: str


class RegenerateRequested(EntryRequest):
    """Generate the reply again, as another version of this one."""


class ContinueRequested(EntryRequest):
    """Continue a reply from where it ended."""


class EditRequested(EntryRequest):
    """Edit a message; the edited text becomes another version of it."""


class ForkRequested(EntryRequest):
    """Fork a new session from the branch up to this message."""


class ExportPartRequested(EntryRequest):
    """Export a part of the branch: this message, its turn, or all before or after it."""


@dataclass
class DeleteMessageRequested(EntryRequest):
    """Delete a message and everything after it."""

    asks: bool = False
    """True to ask first in any case: the key may have been meant for the inspector."""


@dataclass
class PinRequested(EntryRequest):
    """Pin a message, or unpin it."""

    pinned: bool
    """The wanted state."""


@dataclass
class SummarySwitchRequested(EntryRequest):
    """Switch a summary on or off."""

    enabled: bool
    """The wanted state."""


class InspectRequested(EntryRequest):
    """Show the request that produced a reply."""


class RevealMessageRequested(EntryRequest):
    """Show where a message stands in the request that is being composed."""


@dataclass
class VersionRequested(EntryRequest):
    """Show another version of a message."""

    step: int
    """-1 for the previous version, 1 for the next."""


@dataclass
class ToolCallRequest(EntryRequest):
    """A request about one tool call of an entry."""

    call_id: str


class AnswerCallRequested(ToolCallRequest):
    """Let the user write a tool call's result."""


class RunCallRequested(ToolCallRequest):
    """Run a tool call's command once."""


class AlwaysRunRequested(ToolCallRequest):
    """Run a tool call's command, and the tool's further calls in this session without asking."""


class DeclineCallRequested(ToolCallRequest):
    """Tell the model that the user declined a tool call."""


class EditArgumentsRequested(ToolCallRequest):
    """Let the user edit a tool call's arguments, then run its command."""


class ToolQuestionRequested(Message):
    """Focus the question about the waiting tool call."""


@dataclass
class PartRequest(EntryRequest):
    """A request about a picture, sound or file of a message."""

    index: int
    """Its index among the message's parts."""


class SavePartRequested(PartRequest):
    """Save it."""


class ViewPartRequested(PartRequest):
    """Show it."""


@dataclass
class SubagentRequested(EntryRequest):
    """Open the session of a subagent, or the one that started this subagent."""

    call_ids: tuple[str, ...]
    """The calls of the message that started subagents; empty to go back."""


class ContentsRequested(Message):
    """Show the table of contents."""


class BranchesRequested(Message):
    """Show the branches of the session."""


@dataclass
class CopyRequested(Message):
    """Put text on the clipboard."""

    text: str
    what: str = ""
    """What it is, in words: `message`, `code block 2 of 3`."""


@dataclass
class OpenLinkRequested(Message):
    """Open a link. Its address comes from the model and is not to be trusted."""

    url: str


class UndoDeleteRequested(Message):
    """Restore what was deleted last."""


@dataclass
class ActionRefused(Message):
    """A key can do nothing here."""

    why: str
    """The reason, as a sentence."""


class FindRequested(Message):
    """Open the find bar."""


class SearchLeft(Message):
    """The user ended the search that led to a message from elsewhere."""


@dataclass
class FindStatus(Message):
    """The hits, or the hit that is shown, changed."""

    number: int
    """The hit that is shown, from 1; 0 if none is."""
    count: int
    """The number of hits."""
    is_on: bool
    """True while words are being searched for."""


@dataclass
class CursorMoved(Message):
    """The cursor came to another message while the transcript has the focus."""

    entry_id: str


@dataclass
class FocusChanged(Message):
    """The transcript got or lost the focus."""

    has_focus: bool

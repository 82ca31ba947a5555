"""What a desk tells its listener: that something is another now, or could not be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tui_chat.errors import TuiChatError
from tui_chat.models.session import Entry
from tui_chat.providers import RetryPause
from tui_chat.send import PartialReply


@dataclass(frozen=True, slots=True)
class SessionsChanged:
    """The list of sessions is another."""


@dataclass(frozen=True, slots=True)
class BranchChanged:
    """The shown session, its settings or its messages are others."""


@dataclass(frozen=True, slots=True)
class NewestRead:
    """A long session is being opened: this is the end of its branch, to be looked at while the
    rest is read. `BranchChanged` follows with the whole.
    """

    entries: tuple[Entry, ...]
    draft: str
    """What was being typed there."""


@dataclass(frozen=True, slots=True)
class PresetChanged:
    """The shown session's preset was edited, saved or read again."""


@dataclass(frozen=True, slots=True)
class ReplyGrew:
    """A reply of the shown session has more text."""

    grown: PartialReply


@dataclass(frozen=True, slots=True)
class ReplyWaits:
    """The provider refused for now; the shown session's request is sent again by itself."""

    waiting: RetryPause


@dataclass(frozen=True, slots=True)
class ReplyElsewhere:
    """A reply has ended in a session that is not shown."""

    title: str
    """Of the session."""
    entry: Entry


@dataclass(frozen=True, slots=True)
class SavingFailed:
    """Something is in memory only until the database can be written to, or is stored again."""

    why: str
    """A sentence; empty if everything is stored."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something could not be done; the sentence and the advice are for a person."""

    error: TuiChatError


@dataclass(frozen=True, slots=True)
class Done:
    """Something was done that a person should hear of."""

    words: str
    """A sentence: `Deleted “Salt and pepper”.`"""
    undoable: bool = False
    """Whether `Desk.undo` takes it back."""
    message_id: str = ""
    """The message that was brought back, if it was one."""


Change: TypeAlias = (
    SessionsChanged
    | BranchChanged
    | NewestRead
    | PresetChanged
    | ReplyGrew
    | ReplyWaits
    | ReplyElsewhere
    | SavingFailed
    | Trouble
    | Done
)

"""The events that a workspace publishes after its state was replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tui_chat.config import Config
from tui_chat.errors import TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.preset import Preset
from tui_chat.models.session import Entry
from tui_chat.providers.retry import RetryPause
from tui_chat.send import PartialReply
from tui_chat.workspace.exchange import Target
from tui_chat.workspace.state import OpenPreset


class WorkspaceEvent:
    """Something that a workspace tells those who subscribed to it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SessionsChanged(WorkspaceEvent):
    """The list of sessions changed."""


@dataclass(frozen=True, slots=True)
class BranchChanged(WorkspaceEvent):
    """The active session, its settings or its messages changed."""


@dataclass(frozen=True, slots=True)
class ConfigChanged(WorkspaceEvent):
    """The configuration was read again, or changed."""

    before: Config
    """What it was; `WorkspaceState.config` is what it is."""


@dataclass(frozen=True, slots=True)
class PresetChanged(WorkspaceEvent):
    """The active session's preset was edited, saved or reloaded."""


@dataclass(frozen=True, slots=True)
class PresetSaved(WorkspaceEvent):
    """A preset's file was written, by this program or another one."""

    name: str
    preset: Preset
    """Its content now."""
    before: OpenPreset | None
    """The preset with the file that was replaced; None for a new file."""


@dataclass(frozen=True, slots=True)
class PresetRenamed(WorkspaceEvent):
    """A preset and its file have another name."""

    name: str
    before: str


@dataclass(frozen=True, slots=True)
class RequestOutdated(WorkspaceEvent):
    """The inputs of the live request, or the request shown in its place, changed for another reason
    than the branch or the preset: compose it again; see `Requests.compose_shown`.
    """


@dataclass(frozen=True, slots=True)
class RequestComposed(WorkspaceEvent):
    """The live request was composed; `WorkspaceState.request` has it."""


@dataclass(frozen=True, slots=True)
class ReplyGrew(WorkspaceEvent):
    """More of a reply in the active session arrived."""

    grown: PartialReply


@dataclass(frozen=True, slots=True)
class ReplySettled(WorkspaceEvent):
    """A reply has ended (complete, stopped or failed), and branch and list of sessions show it."""

    session_id: str
    entry: Entry | None
    """None if its session is gone."""
    error: TuiChatError | None
    """The reason why it failed; None if it did not."""
    continues: bool
    """True if the conversation may go on by itself."""
    target: Target | None = None
    """The target that it was sent to; None for the session's own choice."""
    title: str = ""
    """The title of its session, if another one is active and the reply was not stopped."""


@dataclass(frozen=True, slots=True)
class ReplyRetrying(WorkspaceEvent):
    """The provider refused the active session's request for now; it will be sent again."""

    waiting: RetryPause


@dataclass(frozen=True, slots=True)
class FilesProgress(WorkspaceEvent):
    """The progress of reading a file changed; an empty sentence ends it."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Failed(WorkspaceEvent):
    """Something could not be done."""

    error: TuiChatError
    """Its message and its advice are meant for the user."""


@dataclass(frozen=True, slots=True)
class Done(WorkspaceEvent):
    """Something was done that the user should be told about."""

    sentence: str
    """For example `Deleted “Salt and pepper”.`"""
    undoable: bool = False
    """True if `Workspace.undo` reverts it."""
    message_id: str = ""
    """The id of the message that was restored; empty if none was."""
    session_id: str = ""
    """The session whose messages it is about; empty if it is about something else."""


@dataclass(slots=True)
class SourceAsked(WorkspaceEvent):
    """A source of tools asks the user something."""

    dialog: Callable[[], Any]
    """Returns the dialog to show, a `tui_chat.ui.dialogs.base.Dialog`."""
    answer: asyncio.Future[Any] | None = None
    """The dialog's result, set by the listener that shows it; None where there is no screen."""

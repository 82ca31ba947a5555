"""The application without a screen: one observable state, and the use cases that change it.

`Workspace` can be driven by the screen, a command, a test or a script. It decides; the screen
shows. See `workspace.workspace` for the rules, and `state` for what there is to see.
"""

from tui_chat.workspace.events import (
    BackgroundReplyEnded,
    BranchChanged,
    BranchEndLoaded,
    Done,
    Failed,
    PresetChanged,
    ReplyGrew,
    ReplyRetrying,
    SessionsChanged,
    UnsavedWritesChanged,
    WorkspaceEvent,
)
from tui_chat.workspace.request_history import SentRequest
from tui_chat.workspace.requests import WhatIf
from tui_chat.workspace.state import LastSent, PendingToolCall, WorkspaceState
from tui_chat.workspace.workspace import Workspace

__all__ = [
    "BackgroundReplyEnded",
    "BranchChanged",
    "BranchEndLoaded",
    "Done",
    "Failed",
    "LastSent",
    "PendingToolCall",
    "PresetChanged",
    "ReplyGrew",
    "ReplyRetrying",
    "SentRequest",
    "SessionsChanged",
    "UnsavedWritesChanged",
    "WhatIf",
    "Workspace",
    "WorkspaceEvent",
    "WorkspaceState",
]

"""The app for looking at conversations that are not the user's own: `tui-chat view`.

Same panes, same reader, same inspector; but nothing can be said, so nothing is sent. What the
user does to the sessions is done to a copy that goes when the app does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import time
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message
from textual.widgets import Static

from tui_chat.config import Config
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.messages import (
    AnswerCallRequested,
    ContinueRequested,
    EditRequested,
    RegenerateRequested,
    RunCallRequested,
)
from tui_chat.ui.sidebar import SessionList

if TYPE_CHECKING:
    from tui_chat.workspace import Workspace

_NOT_HERE = {
    *("new", "again", "choose_model", "choose_preset", "choose_role", "edit_roles"),
    *("choose_profile", "choose_lorebooks", "edit_outside", "import_file", "what_if", "replay"),
    *("attach", "detach", "add_system"),
    *("retry", "continue", "edit", "answer", "run"),
}
"""Actions that would begin, write or send something."""


class ReadOnlyLine(Static):
    """Stands where the composer would be, and says why."""

    DEFAULT_CSS = """
    ReadOnlyLine {
        height: auto;
        max-height: 3;
        padding: 0 1;
        background: $panel;
        color: $foreground 72%;
    }
    """


class Viewer(TuiChat):
    """tui-chat's screen without a composer."""

    AUTO_FOCUS = "Transcript"

    def __init__(
        self,
        config: Config,
        open_workspace: Callable[[], Awaitable[Workspace]],
        line: str,
        now: Callable[[], float] = time,
    ) -> None:
        super().__init__(config, open_workspace, now)
        self._line = line
        """What stands where the composer would be."""
        self._chat.read_only = True
        self._sessions.begins = False

    def on_mount(self) -> None:
        """Put a line in the composer's place."""
        self._composer.display = False
        self._composer.disabled = True
        self._chat.mount(ReadOnlyLine(self._line, markup=False))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Take away what would begin or send something."""
        return False if action in _NOT_HERE else super().check_action(action, parameters)

    @on(RegenerateRequested)
    @on(ContinueRequested)
    @on(EditRequested)
    @on(AnswerCallRequested)
    @on(RunCallRequested)
    @on(SessionList.NewRequested)
    def _only_read(self, event: Message) -> None:
        event.prevent_default()
        event.stop()
        self.notify(self._line, markup=False)

    async def action_back(self) -> None:
        """Close the pane that is in the way, and go to the conversation."""
        if self.panes.covers_chat:
            self.panes.close_overlay()
        self._chat.transcript.focus()

    def _after_choosing_session(self) -> None:
        super()._after_choosing_session()
        self._chat.transcript.focus()

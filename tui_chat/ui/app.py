"""The app: it opens and closes the workspace, and owns the panes and what concerns all of them.

1. Panes show values and post messages; the app answers with the workspace's use cases and shows the
   workspace's events. It decides nothing about conversations. The answers are in `ui.acting`, a
   class for each subject; the actions and their keys are declared in `ui.actions`.
2. The first frame needs no database and no dialog: the composer takes keys while the workspace is
   being opened, and dialogs are imported when they are needed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.screen import Screen
from textual.worker import Worker

from tui_chat.config import Config
from tui_chat.ui.acting.choosing import Choosing
from tui_chat.ui.acting.drafting import SessionSwitched
from tui_chat.ui.acting.hearing import Hearing
from tui_chat.ui.acting.messages import Messages
from tui_chat.ui.acting.revisiting import Revisiting
from tui_chat.ui.acting.searching import Searching
from tui_chat.ui.acting.sessions import Sessions
from tui_chat.ui.acting.supposing import Supposing
from tui_chat.ui.acting.talking import Talking
from tui_chat.ui.action_index import ActionIndex
from tui_chat.ui.actions import ACTIONS, AREAS
from tui_chat.ui.key_bar import KeyBar
from tui_chat.ui.key_queue import KeyMarker, KeyQueue
from tui_chat.ui.keys import NO_KEY
from tui_chat.ui.main_screen import MEDIUM, WIDE, MainScreen
from tui_chat.ui.sidebar import SessionList
from tui_chat.ui.themes import origin_defaults

if TYPE_CHECKING:
    from textual.command import Provider

    from tui_chat.workspace import Workspace

BREAKPOINTS = [(0, "-narrow"), (MEDIUM, "-medium"), (WIDE, "-wide")]
"""The class of the screen from a number of columns on."""
OPEN_AFTER = 0.15
"""Seconds after the first frame until the workspace is opened."""
OPENING_SECONDS = 3.0
"""How long the end by a signal waits for the workspace to open, if something was typed."""


def _action_provider() -> type[Provider]:
    from tui_chat.ui.command_palette import ActionProvider  # loaded with the palette

    return ActionProvider


class TuiChat(
    Revisiting,
    Supposing,
    Hearing,
    Talking,
    Messages,
    Sessions,
    Choosing,
    Searching,
):
    """tui-chat's screen."""

    TITLE = "tui-chat"
    AUTO_FOCUS = "Composer"
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    COMMANDS: ClassVar[set[Callable[[], type[Provider]]]] = {_action_provider}  # type: ignore[assignment]
    BINDINGS: ClassVar[list[BindingType]] = [action.binding() for action in ACTIONS if action.keys]

    def __init__(
        self,
        config: Config,
        open_workspace: Callable[[], Awaitable[Workspace]],
        now: Callable[[], float] = time,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(config, open_workspace, now, environ)
        self._action_targets |= {*AREAS}  # Textual has no public way to add a namespace
        self.action_index = ActionIndex(self, self.panes)
        self.key_queue = KeyQueue(self, self.panes, super().on_event)
        self._theme_errors = self.theme_files.load()
        self._ending: asyncio.Future[None] | None = None
        """The shutdown that a signal started."""

    def get_default_screen(self) -> Screen[None]:
        """Return the main screen."""
        self.panes.fit(self.size.width)
        return MainScreen(self.panes)

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        yield self.panes
        yield KeyBar()

    def on_mount(self) -> None:
        """Show the first frame, then open the workspace."""
        self.key_queue.watch_screens()
        self.notifications.watch_screens()
        for error in (*self._theme_errors, *self.key_bindings.errors):
            self.show_error(error)
        self.key_bindings.bind(self, self._composer)
        self._chat.set_hint_keys(self.key_bindings.labels)
        self._sessions.keys = self.key_bindings.labels
        self.theme_files.watch()
        self._chat.show("New chat", "", ())
        self._composer.focus()
        # Importing the composer of requests and the store blocks the loop: keys come first.
        self.set_timer(OPEN_AFTER, self.open_conversations)
        self.show_first()

    # --- keys, help and palette ----------------------------------------------------------

    def action_keys(self) -> None:
        """Show all keys and commands, those of the focused pane first."""
        from tui_chat.ui.dialogs.base import HelpDialog

        self.push_screen(HelpDialog(self.action_index.help_sections()))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return the palette's commands."""
        return self.action_index.system_commands()

    def action_help_quit(self) -> None:
        """Show which key quits, after Ctrl+C."""
        labels = self.key_bindings.labels
        key, palette = labels["quit"], labels["palette"]
        start = f"{key} quits" if key != NO_KEY else f"“Quit” is in the palette ({palette})"
        self.notify(f"{start}; the draft is kept.", markup=False)

    # --- themes --------------------------------------------------------------------------

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return colors of the origins for themes that define none."""
        return origin_defaults(self.current_theme.dark)

    @work(group="dialog", exclusive=True)
    async def action_choose_theme(self) -> None:
        """Choose a theme, with a preview."""
        from tui_chat.ui.dialogs.questions import ask_theme

        before = self.theme
        chosen = await ask_theme(self)
        if chosen is None:
            self.theme = before
        else:
            self.theme_files.choose(chosen)

    def action_toggle_light(self) -> None:
        """Switch between dark and light."""
        self.theme_files.toggle_light()

    # --- the key queue -------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Pass every event through the key queue."""
        await self.key_queue.on_event(event)

    async def on_key_marker(self, marker: KeyMarker) -> None:
        """Everything posted before the marker has been handled."""
        await self.key_queue.on_key_marker(marker)

    @on(SessionSwitched)
    async def _session_switched(self) -> None:
        await self.key_queue.on_session_switched()

    @on(SessionList.Stayed)
    def _session_list_stayed(self) -> None:
        self.key_queue.on_session_list_stayed()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A worker started or ended."""
        self.key_queue.on_worker_state_changed(event)

    def on_command_palette_closed(self, event: CommandPalette.Closed) -> None:
        """The palette closed, with or without a command."""
        if event.option_selected:
            self.key_queue.on_palette_command_chosen()

    # --- leaving -------------------------------------------------------------------------

    async def action_suspend_process(self) -> None:  # type: ignore[override]
        """Go to the background; `fg` in the shell brings the app back."""
        await self.keep_draft()
        super().action_suspend_process()

    async def action_quit(self) -> None:
        """Quit and keep the draft. Ask first if replies are streaming, presets are edited or
        something could not be saved.
        """
        await self.keep_draft()
        workspace = self.workspace
        if workspace is not None and (
            workspace.state.unsaved_presets
            or workspace.state.streaming_sessions
            or workspace.unsaved_writes.reason
        ):
            self.ask_before_leaving()
        else:
            self.exit()

    def end_by_signal(self, number: signal.Signals) -> bool:
        """Quit without asking. May be called in a signal handler. Return False if the app does not
        run yet.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if (hurry := getattr(self._driver, "hurry", None)) is not None:
            hurry()  # at once: the loop itself may be waiting for the terminal
        if self._ending is None:
            loop.call_soon_threadsafe(self._begin_end, number)
        return True

    def _begin_end(self, number: signal.Signals) -> None:
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(number))

    async def _end(self, number: signal.Signals) -> None:
        """Keep the draft, stop the replies, close the store, and leave."""
        with self._context():
            try:
                if self._composer.text and not self.is_workspace_open:
                    # It was typed before the session that it belongs to was open.
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._workspace_opened.wait(), OPENING_SECONDS)
                await self.keep_draft()
                await self.let_go()
            finally:
                self.exit(return_code=128 + number)

    def restore_terminal(self) -> None:
        """Restore the terminal at once; may be called in any thread."""
        restore = getattr(self._driver, "restore_at_once", None)
        if restore is not None:
            restore()

    async def on_unmount(self) -> None:
        """Stop replies and close the store, however the app ends."""
        await self.let_go()

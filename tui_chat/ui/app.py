"""The app: it opens and closes the workspace, and owns what concerns the whole terminal.

The main screen holds the areas (`ui.area`), and each area its own actions; the actions and their
keys are declared in `ui.verbs`. The first frame needs no database and no dialog: the composer
takes keys while the workspace is being opened, and dialogs are imported when they are needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import constants, events, on, work
from textual._context import active_message_pump
from textual.actions import parse
from textual.app import App, ComposeResult, ScreenStackError
from textual.binding import BindingType
from textual.dom import NoScreen
from textual.driver import Driver
from textual.filter import LineFilter
from textual.notifications import Notify, SeverityLevel
from textual.screen import Screen
from textual.widget import MountError, Widget
from textual.worker import WorkerFailed

from tui_chat import hooks
from tui_chat.errors import TuiChatError
from tui_chat.hooks import PluginFailed, PluginFault, failed, watch_reports
from tui_chat.ui.app_actions import ConfigurationActions, PluginActions
from tui_chat.ui.area import AreaContext
from tui_chat.ui.key_clock import KeyClock
from tui_chat.ui.key_queue import KeyMarker, KeyQueue
from tui_chat.ui.key_row import KeyPanel, KeyRow
from tui_chat.ui.keys import NO_KEY, KeyBindings, split_keys
from tui_chat.ui.lifecycle import CrashLog, Lifecycle
from tui_chat.ui.main_screen import MainScreen
from tui_chat.ui.notifications import SECONDS, Notifications, show_error
from tui_chat.ui.palette import VerbPalette
from tui_chat.ui.panes import MEDIUM, WIDE
from tui_chat.ui.terminal.clipboard_and_notifications import Clipboard, ReplyAlerts
from tui_chat.ui.themes import THEME_DEFAULTS, ThemeFiles, color_defaults
from tui_chat.ui.verbs import AREAS, BY_ID, VERBS, bindings
from tui_chat.ui.widgets.safe_text import ControlCharacterFilter

if TYPE_CHECKING:
    from tui_chat.config import Config
    from tui_chat.workspace.workspace import Workspace

BREAKPOINTS = [(0, "-narrow"), (MEDIUM, "-medium"), (WIDE, "-wide")]
"""The class of the screen from a number of columns on."""

_LINE_FILTER = ControlCharacterFilter()


class TuiChat(App[None]):
    """tui-chat in a terminal."""

    TITLE = "tui-chat"
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    ENABLE_COMMAND_PALETTE = False  # its key is in the table of verbs
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("")]
    CSS = """
    ToastRack { dock: top; align: right top; margin: 1 0; }
    Toast { max-width: 80%; padding: 0 1; margin: 0 1 1 0; background: $panel; }
    """

    def __init__(
        self,
        config: Config,
        open_workspace: Callable[[], Awaitable[Workspace]],
        now: Callable[[], float] = time,
        environ: Mapping[str, str] = os.environ,
        *,
        read_only: str = "",
        captured: str = "",
        key_clock: Callable[[], float] = monotonic,
    ) -> None:
        """`now` returns seconds since the epoch. `read_only` says why nothing can be sent or
        changed; empty if it can. `captured` is a captured request to be shown at the start.
        `key_clock` returns seconds of a clock that never goes back, by which keys are timed.
        """
        super().__init__()
        self._read_only = read_only
        self.key_bindings = KeyBindings(config.keys)
        self.theme_files = ThemeFiles(self, config)
        self.crash_log = CrashLog(self, config.data_dir)
        self.clipboard_command = Clipboard(environ)
        labels, report_errors = self.key_bindings.labels, self.crash_log.report_errors
        clock = KeyClock(key_clock)
        context = AreaContext(config, environ, now, labels, report_errors, clock, read_only)
        self.main = MainScreen(context)
        # The namespaces of actions: see `verbs.AREAS`.
        self.panes = self.main.panes
        self.chat, self.sessions = self.panes.chat, self.panes.sessions
        self.conversation, self.composer = self.chat.transcript, self.chat.composer
        self.attachments, self.tool_calls = self.chat.attachments, self.chat.tool_question
        self.presets, self.inspector = self.panes.presets, self.panes.inspector
        self.plugins = PluginActions(self, is_read_only=bool(read_only))
        self.configuration = ConfigurationActions(self, self.main.opened_workspace)
        self.request_edits = self.inspector
        self._action_targets |= {*AREAS}  # Textual has no public way to add a namespace
        self.notifications = Notifications(self, now)
        self.reply_alerts = ReplyAlerts(self, config.notify)
        self.lifecycle = Lifecycle(
            *(self, self.main, self.reply_alerts),
            *(config, open_workspace, now, captured),
        )
        self.end_by_signal = self.lifecycle.end_by_signal  # drivers call it
        self.key_row, self.key_panel = KeyRow(), KeyPanel()
        self.key_queue = KeyQueue(self, self.main, clock, self._deliver)
        self._theme_errors = self.theme_files.load()

    def get_default_screen(self) -> Screen[None]:
        """Return the main screen."""
        self.panes.fit(self.size)
        return self.main

    def compose(self) -> ComposeResult:
        """Fill the main screen. If it did so itself, keys could come before the composer."""
        yield self.panes
        yield self.key_row
        yield self.key_panel

    def on_mount(self) -> None:
        """Show the first frame, then open the workspace."""
        self.key_queue.start()
        watch_reports(self._show_fault)
        faults = [PluginFailed(fault) for fault in hooks.faults()]
        for error in (*faults, *self._theme_errors, *self.key_bindings.errors):
            show_error(self, error)
        self.composer.release_keys(self.key_bindings.configured)
        self.key_bindings.bind(self)
        self.lifecycle.name_start()
        self.chat.focus()
        self.call_after_refresh(self.lifecycle.open_soon)

    # --- the workspace -------------------------------------------------------------------

    @property
    def workspace(self) -> Workspace | None:
        """The workspace; None until it is open."""
        return self.main.workspace

    @property
    def is_workspace_open(self) -> bool:
        """True if the workspace is open and its last session is shown."""
        return self.main.is_workspace_open

    @property
    def preset_editor(self) -> Widget:
        """The pane of the preset editor, for its actions; the area until it is opened."""
        return self.presets.pane or self.presets

    @property
    def inspector_pane(self) -> Widget:
        """The pane of the inspector, for its actions; the area until it is opened."""
        return self.inspector.pane or self.inspector

    # --- keys and palette ----------------------------------------------------------------

    def action_show_keys(self) -> None:
        """Show all keys that work now."""
        self.key_panel.show_keys(self.key_bindings.labels["palette"])

    async def action_run_verb(self, id: str, argument: str = "") -> None:
        """Run a verb: one about a message on the newest one, unless the conversation has the focus;
        one of a pane in the pane, which is shown for it.
        """
        verb = BY_ID[id]
        area, name, parameters = parse(verb.run)
        if argument:
            parameters = (argument,)
        elif verb.place == "conversation" and verb.id != "undo":
            await self.conversation.reach_message()
        elif verb.place in ("preset", "inspector", "body"):
            shown = self.presets if verb.place == "preset" else self.inspector
            if self.is_workspace_open:
                await shown.open_pane()
            await self.panes.reveal(shown)
        await self.run_action((area, name, parameters))

    def action_search_commands(self) -> None:
        """Search for a verb and run it."""
        self.push_screen(VerbPalette())

    @work(group="dialog", exclusive=True)
    async def action_search(self, words: str = "") -> None:
        """Search all conversations."""
        from tui_chat.ui.search.screen import search

        await search(self, words)

    def action_help_quit(self) -> None:
        """Show which key quits, after Ctrl+C."""
        labels = self.key_bindings.labels
        key, palette = labels["quit"], labels["palette"]
        start = f"{key} quits" if key != NO_KEY else f"“Quit” is in the palette ({palette})"
        self.notify(f"{start}; the draft is kept.", markup=False)

    def on_key(self, event: events.Key) -> None:
        """Say why a key does nothing: in a dialog, since the palette's actions are those of the
        panes.
        """
        active = self.screen.active_bindings.get(event.key)
        if active is not None and active.enabled:
            return
        if self.screen.is_modal:
            keys = self.key_bindings.by_verb
            if any(event.key in split_keys(keys[verb.id]) for verb in VERBS if not verb.place):
                self.notify("Close this dialog first (Esc).")
        elif active is not None:
            title = active.binding.tooltip or active.binding.description
            self.notify(self._read_only or f"“{title}” is not possible here.")
        elif event.is_printable and event.character is not None:
            name = "Space" if event.character == " " else event.character
            self.notify(
                f"{name} does nothing here. {self.key_bindings.labels['help']} lists the keys."
            )

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.MouseDown):
            self.key_panel.display = False
        await self.key_queue.on_event(event)

    async def _deliver(self, event: events.Event) -> None:
        """Handle an event when it is its turn. A key closes the panel of keys, and does what it
        does, unless it is one that opens or closes the panel.
        """
        if isinstance(event, events.Key) and self.key_panel.display:
            self.key_panel.display = False
            keys = split_keys(self.key_bindings.by_verb["help"])
            if event.key in ("escape", *keys):
                return
        await super().on_event(event)

    @on(KeyMarker)
    def _key_followed(self, marker: KeyMarker) -> None:
        marker.arrived.set()

    # --- themes --------------------------------------------------------------------------

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return colors for themes that define none."""
        return {**THEME_DEFAULTS, **color_defaults(self.current_theme.dark)}

    @work(group="dialog", exclusive=True)
    async def action_choose_theme(self, name: str = "") -> None:
        await self.theme_files.choose_or_ask(name)

    # --- notifications -------------------------------------------------------------------

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a toast, by default for some seconds."""
        del markup  # it is never obeyed
        text = f"{title}: {message}" if title else message
        notice = self.notifications.add(text, severity)
        seconds = timeout or SECONDS[severity]
        super().notify(notice.message, severity=severity, timeout=seconds, markup=False)

    def on_notify(self, event: Notify) -> None:
        """Make room before Textual shows it."""
        self.notifications.make_room(event.notification)

    @work(group="dialog", exclusive=True)
    async def action_show_notifications(self) -> None:
        from tui_chat.ui.dialogs.notification_log import NotificationLog

        await self.push_screen_wait(NotificationLog([*self.notifications.log]))

    # --- the terminal --------------------------------------------------------------------

    def get_driver_class(self) -> type[Driver]:
        """Return our own driver on a Unix terminal."""
        if os.name == "nt" or constants.DRIVER:
            return super().get_driver_class()
        from tui_chat.ui.terminal.driver import TerminalDriver

        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Draw no control characters."""
        return [*super().get_line_filters(), _LINE_FILTER]

    @on(Driver.SignalResume)
    def _redraw(self) -> None:
        """Redraw everything: another program had the terminal."""
        self.refresh(layout=True)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text, through the terminal and through a command. With an escape character in it,
        the text could end its own bracketed paste, and a shell would run the rest: tmux pastes it
        as it is.
        """
        text = text.replace("\x1b", "␛")
        super().copy_to_clipboard(text)
        if not self.is_web:  # a command would fill the clipboard of the server's machine
            copy = partial(self.clipboard_command.copy, text)
            self.run_worker(copy, group="clipboard", description="copy to the clipboard")

    def _handle_exception(self, error: Exception) -> None:
        """Show an error of ours with which a worker ended; any other one is a bug. Once the app has
        ended, a worker that finds its screen gone is none.
        """
        cause = error.error if isinstance(error, WorkerFailed) else None
        if not self.is_running and isinstance(cause, (NoScreen, ScreenStackError, MountError)):
            return
        if isinstance(cause, TuiChatError):
            show_error(self, cause)
        elif not self._outlives(error):
            super()._handle_exception(error)

    def _show_fault(self, fault: PluginFault) -> None:
        """Show what failed of a plugin; may be called in any thread."""
        self.call_later(show_error, self, PluginFailed(fault))

    def _outlives(self, error: Exception) -> bool:
        """Show an exception of a plugin, and close the view or dialog that can do nothing after it;
        return False if more than that has ended.
        """
        cause = error.error if isinstance(error, WorkerFailed) else error
        if (plugin := hooks.plugin_in(cause)) is None:
            return False
        failure = cause if isinstance(cause, PluginFailed) else failed(plugin.name, "code", cause)
        if not isinstance(error, WorkerFailed) and not self._closes_faulty():
            return False
        show_error(self, failure)
        return True

    def _closes_faulty(self) -> bool:
        """Close the plugin's view, or the dialog, whose handler runs; return False for none."""
        from tui_chat.ui.inspector.rows_view import RowsView

        node = active_message_pump.get(None)
        if not isinstance(node, Widget):
            return False
        for widget in node.ancestors_with_self:
            if isinstance(widget, RowsView) and widget.plugin:
                self.call_later(self.inspector.drop_view, widget)
                return True
        if node.screen is self.main:
            return False
        self.call_later(node.screen.dismiss, None)
        return True

    def _fatal_error(self) -> None:
        """End the app after a bug with a sentence, and a traceback in a file without any values."""
        self.bell()
        where, whose = self.crash_log.write(), "the program itself"
        error = sys.exception()
        if error is not None and (plugin := hooks.plugin_in(error)) is not None:
            whose = f"the plugin {plugin.name}"
        text = f"tui-chat ended because of an error in {whose}. {where} Everything stored is kept."
        self._exit_renderables.append(Text(text))
        self._close_messages_no_wait()

    async def action_suspend_process(self) -> None:  # type: ignore[override]
        """Go to the background; `fg` in the shell brings the app back."""
        await self.chat.drafts.save()
        super().action_suspend_process()

    # --- quitting ------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Quit and keep the draft; ask first if something would be lost."""
        self.lifecycle.quit()

    async def on_unmount(self) -> None:
        """Stop replies and close the store, however the app ends."""
        watch_reports(None)
        self.key_queue.stop()
        await self.lifecycle.close()

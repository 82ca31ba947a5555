"""Shell: the app's state, and what every subject of it needs."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import time
from traceback import format_exc
from typing import TYPE_CHECKING

from rich.text import Text
from textual import constants, on, work
from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter
from textual.notifications import Notification, Notify, SeverityLevel

from tui_chat.config import Config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.sanitize import sanitize
from tui_chat.ui.key_bindings import KeyBindings
from tui_chat.ui.main_screen import Panes
from tui_chat.ui.notifications import TOAST_CSS, Notifications
from tui_chat.ui.theme_files import ThemeFiles
from tui_chat.ui.widgets.safe_text import ControlCharacterFilter

if TYPE_CHECKING:
    from tui_chat.attachments import Attachment
    from tui_chat.workspace import Workspace

_LINE_FILTER = ControlCharacterFilter()


CRASH_LOG = "crash.log"
"""In the data directory: the traceback of the error that ended the app last."""


def keep_traceback(folder: Path) -> str:
    """Write the traceback of the current exception to a file, without the values of variables.
    Return the sentence that says where.
    """
    file, trace = folder / CRASH_LOG, sanitize(format_exc())
    try:
        with open(file, "w", encoding="utf-8", opener=_open_privately) as log:
            log.write(trace)
    except OSError:
        return "The details could not be written to the data directory."
    return f"The details are in {sanitize(str(file))}; please report it."


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)


class Shell(App[None]):
    """Panes, config and workspace."""

    CSS = TOAST_CSS

    def __init__(
        self,
        config: Config,
        open_workspace: Callable[[], Awaitable[Workspace]],
        now: Callable[[], float] = time,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__()
        self._environ = environ
        self.workspace: Workspace | None = None
        """None until it is open."""
        self.unsaved = ""
        """Why something was not saved when the workspace was closed; empty if everything was."""
        self._now = now
        self._config = config
        self._open_workspace = open_workspace
        self.panes = Panes()
        """The panes, and a namespace of actions: see `actions.AREAS`."""
        self.key_bindings = KeyBindings(config.keys)
        self.theme_files = ThemeFiles(self, config, self.show_error)
        self.notifications = Notifications(self, lambda: self.panes.columns_beside_chat)
        self._sessions = self.panes.sessions
        self._chat = self.panes.chat
        self._composer = self._chat.composer
        self._attachments: tuple[Attachment, ...] = ()
        """Files that go with the draft."""
        self._protocol: Protocol | None = None
        """The inspector's tab; None follows the endpoint's own."""
        self._clipboard_lock = asyncio.Lock()
        self._workspace_opened = asyncio.Event()
        """Set once the workspace is open and the last session is shown."""
        self.is_switching_session = False
        """True until the composer holds the draft of the session that is being opened."""
        self.submission_lock = asyncio.Lock()
        """Held while a draft is being stored as a message; the next one waits for it."""
        self._session_opened = asyncio.Event()
        """Cleared while another session is being opened."""
        self._session_opened.set()

    def get_driver_class(self) -> type[Driver]:
        """Return our own driver on a Unix terminal."""
        if os.name == "nt" or constants.DRIVER:
            return super().get_driver_class()
        from tui_chat.ui.terminal.driver import TerminalDriver

        return TerminalDriver

    @on(Driver.SignalResume)
    def _draw_again(self) -> None:
        """Redraw everything: another program had the terminal."""
        self.refresh(layout=True)

    def _fatal_error(self) -> None:
        """End the app after a bug: print a sentence on the terminal, and write the traceback to a
        file. Textual would print the traceback with the values of all variables, among them
        what was typed and what providers sent.
        """
        self.bell()
        where = keep_traceback(self._config.data_dir)
        text = f"tui-chat ended because of an error of its own. {where} What was stored is kept."
        self._exit_renderables.append(Text(text))
        self._close_messages_no_wait()

    @contextmanager
    def report_errors(self, sentence: str) -> Generator[None]:
        """Show an exception of any kind as a toast instead of ending the app. `sentence` says what
        failed. For code that depends on a session's content: if one session cannot be shown, the
        others must stay usable. May be used in any thread.
        """
        try:
            yield
        except TuiChatError as error:
            self._show_error_from_any_thread(error)
        except Exception:
            advice = keep_traceback(self._config.data_dir)
            self._show_error_from_any_thread(InputError(sentence, advice=advice))

    def _show_error_from_any_thread(self, error: TuiChatError) -> None:
        if threading.current_thread() is threading.main_thread():
            self.show_error(error)
        else:
            self.call_from_thread(self.show_error, error)

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
        """Show a toast. Control characters in it are made visible."""
        self.notifications.place()
        message = sanitize(message)
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    def show_error(self, error: TuiChatError) -> None:
        """Show an error and its advice in a toast."""
        text = f"{error}\n{error.advice}".strip()
        self.notify(text, severity="error", timeout=12, markup=False)

    def on_notify(self, event: Notify) -> None:
        """Make room for a new toast."""
        self.notifications.make_room(event)

    def _unnotify(self, notification: Notification, refresh: bool = True) -> None:
        """Show a waiting toast once another one is gone."""
        super()._unnotify(notification, refresh)
        self.notifications.show_waiting()

    @on(Panes.LayoutChanged)
    def _place_toasts(self) -> None:
        self.notifications.place()

    # --- clipboard -----------------------------------------------------------------------

    def copy_to_clipboard(self, text: str) -> None:
        """Put a text on the clipboard, through the terminal and through a command. With an escape
        character in it, the text could end its own bracketed paste, and a shell would run the
        rest: tmux pastes it as it is.
        """
        text = text.replace("\x1b", "␛")
        super().copy_to_clipboard(text)
        self._copy_with_command(text)

    @work(group="clipboard", description="copy to the clipboard")
    async def _copy_with_command(self, text: str) -> None:
        from tui_chat.ui.terminal.clipboard import copy_with_command

        async with self._clipboard_lock:  # the last copy must win
            await asyncio.to_thread(copy_with_command, text, self._environ)

    # --- drawing and state ---------------------------------------------------------------

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Draw no control characters."""
        return [*super().get_line_filters(), _LINE_FILTER]

    @property
    def is_workspace_open(self) -> bool:
        """True if the workspace is open and the last session is shown."""
        return self._workspace_opened.is_set()

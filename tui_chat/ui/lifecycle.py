"""Opening the workspace after the first frame, and closing it however the app ends.

The error that ended the app last has a file of its own, with its traceback.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from traceback import format_exc
from typing import TYPE_CHECKING

from textual.app import App

from tui_chat import hooks
from tui_chat.errors import InputError, StoreDamaged, TuiChatError
from tui_chat.files import write_private
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import sanitize
from tui_chat.paths import CRASH_LOG, database_file
from tui_chat.ui.keys import screen_errors
from tui_chat.ui.main_screen import confirm_leave
from tui_chat.ui.notifications import notify_of, show_error
from tui_chat.ui.questions import ask, confirm, show_question

if TYPE_CHECKING:
    from tui_chat.config import Config
    from tui_chat.ui.main_screen import MainScreen
    from tui_chat.ui.terminal.clipboard_and_notifications import ReplyAlerts
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace

OPENING_SECONDS = 8.0
"""Seconds that the end by a signal waits for the workspace to open, if something was typed."""
BACK_UP_AFTER = 30.0
"""Seconds after the start until the database is backed up, once a day."""
CHECK_AFTER = 1.0
"""Seconds after the workspace was opened until it is checked for changes by other programs."""


class CrashLog:
    """Writes tracebacks without values of variables, which have typed and received texts."""

    def __init__(self, app: App[None], folder: Path) -> None:
        self._app = app
        self._file = folder / CRASH_LOG

    def write(self) -> str:
        """Write the traceback of the current exception; return a sentence that says where it is."""
        try:
            write_private(sanitize(format_exc()), self._file)
        except InputError:
            return "The details could not be written to the data directory."
        return f"The details are in {sanitize(str(self._file))}; please report it."

    @contextmanager
    def report_errors(self, sentence: str) -> Generator[None]:
        """Show an exception of any kind in a notification instead of ending the app; `sentence`
        says what failed. For code that depends on a session's content: if one session cannot be
        shown, the others must stay usable.
        """
        try:
            yield
        except TuiChatError as error:
            show_error(self._app, error)
        except Exception:
            show_error(self._app, InputError(sentence, advice=self.write()))


def _import_the_rest() -> None:
    """Import what the first frame does without: the inspector, the store and the workspace.

    In a thread, so that keys typed meanwhile are drawn: the event loop is blocked for 0.07 s
    at most instead of 0.4 s.
    """
    for name in ("ui.inspector.pane", "store", "workspace.workspace"):
        import_module(f"tui_chat.{name}")


@dataclass(eq=False)
class Lifecycle:
    """Opens and closes an app's workspace."""

    _app: App[None]
    _main: MainScreen
    _reply_alerts: ReplyAlerts
    _config: Config
    _open_workspace: Callable[[], Awaitable[Workspace]]
    _now: Callable[[], float]
    _captured: str
    """A captured request to show once the workspace is open; empty for none."""

    def __post_init__(self) -> None:
        self.unsaved = ""
        """Why something was not saved when the workspace was closed; empty if everything was."""
        self._is_start_confirmed = False
        """True once the session that was opened at the start has been on the screen for a while."""
        self._is_closed = False
        self._end: asyncio.Future[None] | None = None
        """The shutdown that a signal started."""

    @property
    def _workspace(self) -> Workspace | None:
        """The workspace until it is closed. Areas keep it to the end: a key may still come."""
        return None if self._is_closed else self._main.workspace

    # --- opening -------------------------------------------------------------------------

    def name_start(self) -> None:
        """Show the title of the session that will be opened: what is typed until then is for it."""
        from tui_chat.store.last_session import has_sessions, read_last_session

        path, panes = database_file(self._config.data_dir), self._main.panes
        has_any = has_sessions(path)
        panes.begin(has_sessions=has_any)
        panes.chat.show_start(read_last_session(path), has_sessions=has_any)

    def open_soon(self) -> None:
        """Open the workspace in the background."""
        self._app.run_worker(self._open, group="workspace", description="open the workspace")

    async def _open(self) -> None:
        app, main = self._app, self._main
        self._is_closed = False
        await asyncio.to_thread(_import_the_rest)
        await main.panes.inspector.open_pane()
        from tui_chat.store.last_session import UPDATING, is_update_long

        if await asyncio.to_thread(is_update_long, database_file(self._config.data_dir)):
            app.notify(UPDATING, markup=False)
        try:
            workspace = await self._open_workspace()
            workspace.subscribe(self.handle)
            main.workspace = workspace
            await workspace.start(guarded=True)
        except TuiChatError as error:
            await self.close()
            main.workspace = None
            if await self._recover(error):
                self.open_soon()
            else:
                app.exit(return_code=1)
            return
        await main.panes.chat.start()
        main.workspace_opened.set()
        if main.panes.presets.display:
            main.panes.presets.fill()
        app.set_timer(CHECK_AFTER, self._check_soon)
        if self._config.daily_backups:
            app.set_timer(BACK_UP_AFTER, self._back_up_soon)
        await main.panes.chat.recall_prompts(workspace)
        if self._captured:
            main.panes.inspector.show_captured(self._captured)

    def handle(self, event: WorkspaceEvent) -> None:
        """Show an event of the workspace; only errors while it is not open."""
        from tui_chat.workspace.events import ConfigChanged, Failed, SourceAsked

        app, workspace = self._app, self._workspace
        if app.is_running and (workspace is not None or isinstance(event, Failed)):
            notify_of(app, event, self._main.undo_key)
            if workspace is not None:
                for area in self._main.panes.areas:
                    area.handle(event)
                state = workspace.state
                if isinstance(event, ConfigChanged):
                    self._apply_config(event.before, state.config)
                elif isinstance(event, SourceAsked):
                    event.answer = show_question(app, event.dialog)
                self._reply_alerts.handle(event, state.entries)

    def _apply_config(self, before: Config, config: Config) -> None:
        """Use what a changed configuration says about the screen."""
        for error in screen_errors(config):
            show_error(self._app, error)
        if config.theme != before.theme and config.theme in self._app.available_themes:
            self._app.theme = config.theme
        self._reply_alerts.how = config.notify
        restart = [
            name for name in ("keys", "plugins") if getattr(config, name) != getattr(before, name)
        ]
        if restart:
            self._app.notify(
                f"[{'] and ['.join(restart)}] are read at the next start.", markup=False
            )

    async def _recover(self, error: TuiChatError) -> bool:
        """Ask what to do if the workspace cannot be opened; return False to quit."""
        from tui_chat.store.backup_files import list_backups

        backups = list_backups(database_file(self._config.data_dir))
        title, yes = "The database is damaged", "Restore the newest backup"
        is_damaged = isinstance(error, StoreDamaged) and bool(backups)
        rescue = next(hooks.load_all("rescue"), None) if is_damaged else None
        newest = backups[-1].name if backups else ""
        rescue_question = (
            f"{error}\n\nThe newest backup, {newest}, can be put in its place; the damaged file is "
            "kept beside it."
        )
        if rescue is not None and await confirm(
            self._app, title, rescue_question, yes=yes, no="Not now"
        ):
            path = database_file(self._config.data_dir)
            try:
                rescued = await asyncio.to_thread(rescue, path, now=self._now())
            except TuiChatError as rescue_error:
                error = rescue_error
            else:
                self._app.notify(str(rescued), markup=False)
                return True
        title, fault = "The conversations cannot be opened", f"{error}\n\n{error.advice}".strip()
        return await confirm(self._app, title, fault, yes="Try again", no="Quit")

    def _check_soon(self) -> None:
        check = self._check_external_changes
        self._app.run_worker(check, group="external-changes", exclusive=True, description="check")

    def _back_up_soon(self) -> None:
        self._app.run_worker(self._back_up, group="backup", description="back up the database")

    async def _back_up(self) -> None:
        """Make the backup of the day. A fault is not shown: the next start tries again, and
        `db status` says how old the newest backup is.
        """
        from tui_chat.store.backup import back_up_daily

        path = database_file(self._config.data_dir)
        with suppress(TuiChatError):
            await asyncio.to_thread(back_up_daily, path, self._now())

    async def _check_external_changes(self) -> None:
        """Check for changes by other programs, now and from now on."""
        if (workspace := self._workspace) is not None:
            if not self._is_start_confirmed:
                self._is_start_confirmed = True
                await workspace.sessions.confirm_start()
            await workspace.settings.check_config()
            seconds = await workspace.windows.check()
            self._app.set_timer(seconds, self._check_soon)

    async def wait_for_draft(self) -> None:
        """Wait for a while until text that was typed early can be saved with its session."""
        if self._main.panes.chat.composer.text and not self._main.is_workspace_open:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._main.opened_workspace(), OPENING_SECONDS)

    # --- quitting and closing ------------------------------------------------------------

    def quit(self) -> None:
        """Save the draft and quit; ask first about replies, edited presets and unsaved data."""
        self._app.run_worker(self._quit, group="dialog", exclusive=True, description="quit")

    async def _quit(self) -> None:
        await self.wait_for_draft()
        await self._main.panes.chat.drafts.save()
        workspace = self._workspace
        if workspace is not None and (
            workspace.state.unsaved_presets
            or workspace.state.is_temporary
            or workspace.state.streaming_sessions
            or workspace.state.unsaved
        ):
            await self._confirm_quit(workspace)
        else:
            self._app.exit()

    async def _confirm_quit(self, workspace: Workspace) -> None:
        """Ask about what would be lost: replies, edited presets, unsaved data. Then quit."""
        app, state = self._app, workspace.state
        if not await confirm_leave(app, workspace):
            return
        if count := len(state.streaming_sessions):
            what = "A reply is" if count == 1 else f"{count} replies are"
            question = (
                f"{what} still streaming. The text received so far is kept; the rest is lost."
            )
            if not await confirm(app, "Quit now?", question, yes="Quit", no="Stay"):
                return
        if state.unsaved_presets and not await self._saves_or_drops_presets(workspace):
            return
        await workspace.replies.stop_all()
        await workspace.save_again()
        question = (
            f"{workspace.state.unsaved}\n\n"
            "The end of a reply, a draft or a queued message exists only in memory and would be "
            "lost."
        )
        if not workspace.state.unsaved or await confirm(
            app, "Quit without saving?", question, yes="Quit", no="Stay"
        ):
            app.exit()

    async def _saves_or_drops_presets(self, workspace: Workspace) -> bool:
        """Ask what to do with the edits of presets; return False to stay."""
        listed = ", ".join(f"“{name}”" for name in workspace.state.unsaved_presets)
        choices = ("stay", "Stay"), ("save", "Save and quit"), ("leave", "Quit without saving")
        title = f"Unsaved presets: {listed}"
        chosen = await ask(self._app, title, choices, "stay", has_filter=False)
        return chosen == "leave" or (chosen == "save" and workspace.presets.save_all())

    async def close(self) -> None:
        """Stop replies and close the store."""
        workspace, self._is_closed = self._workspace, True
        self._main.workspace_opened.clear()
        if workspace is not None:
            # a signal is no fault
            if not self._is_start_confirmed and self._app._exception is None:  # pyright: ignore[reportPrivateUsage]  there is no public way
                await workspace.sessions.confirm_start()
            try:
                await workspace.close()
            finally:
                self.unsaved = workspace.state.unsaved

    def end_by_signal(self, number: signal.Signals) -> bool:
        """Quit without asking; may run in a signal handler. Return False before the app runs."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if self._end is None:
            loop.call_soon_threadsafe(self._begin_end, number)
        return True

    def _begin_end(self, number: signal.Signals) -> None:
        if self._end is None:
            self._end = asyncio.ensure_future(self._end_now(number))

    async def _end_now(self, number: signal.Signals) -> None:
        """Save the draft, stop the replies, close the store, and quit."""
        app = self._app
        with app._context():  # pyright: ignore[reportPrivateUsage]  a signal has no active app
            try:
                await self.wait_for_draft()
                if self._workspace is not None:
                    await self._main.panes.chat.drafts.save()
                await self.close()
            finally:
                app.exit(return_code=128 + number)

    def restore_terminal(self) -> None:
        """Restore the terminal at once; may be called in any thread."""
        restore = getattr(self._app._driver, "restore_at_once", None)  # pyright: ignore[reportPrivateUsage]
        if restore is not None:
            restore()

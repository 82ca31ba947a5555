"""Hearing: the workspace is laid, and what it tells is shown."""

from __future__ import annotations

from asyncio import to_thread
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING

from textual import work

from tui_chat.errors import StoreDamaged, TuiChatError
from tui_chat.models.session import Entry
from tui_chat.paths import database_file
from tui_chat.ui.acting.editing import Editing
from tui_chat.ui.welcome import keys_found, welcome

if TYPE_CHECKING:
    from tui_chat.workspace import WorkspaceEvent


LOOK_AFTER = 1.0
"""Seconds after the conversations were opened until it is looked what other programs do to them."""

LONG_REPLY = 5.0
"""Seconds from which a reply's end is told to those who look elsewhere."""


class Hearing(Editing):
    """Shows what the workspace tells."""

    _start_confirmed = False
    """True once the session that was opened at the start has been on the screen for a while."""
    _arriving = ""
    """Id of the reply that is arriving in the shown session."""

    @work(group="workspace")
    async def open_conversations(self) -> None:
        """Open the conversations and show the last session."""
        if self.panes.inspector is None:
            await self.panes.add_inspector()
        try:
            workspace = await self._open_workspace()
            workspace.subscribe(self._hear)
            self.workspace = workspace
            await workspace.start(guarded=True)
        except TuiChatError as error:
            await self.let_go()
            if await self._go_on_after(error):
                self.open_conversations()
            else:
                self.exit(return_code=1)
            return
        await self.bring_draft(keep_typed=True)
        self.compose_soon()
        self._workspace_opened.set()
        self.watch_preset_file()
        self.set_timer(LOOK_AFTER, self._look_elsewhere)
        with suppress(TuiChatError):  # the prompts of the active session are known all the same
            self._composer.prompt_history.recall(await workspace.store.messages.recent_prompts())

    @work(group="elsewhere", exclusive=True)
    async def _look_elsewhere(self) -> None:
        """See what other programs do to the conversations, now and from now on."""
        if self.workspace is not None:
            if not self._start_confirmed:
                self._start_confirmed = True
                await self.workspace.sessions.confirm_start()
            self.set_timer(await self.workspace.external_changes.check(), self._look_elsewhere)

    async def _go_on_after(self, error: TuiChatError) -> bool:
        """Ask what to do about conversations that cannot be opened; False to leave."""
        from tui_chat.ui.dialogs.questions import confirm_rescue, confirm_retry_open

        if isinstance(error, StoreDamaged) and await confirm_rescue(self, error):
            from tui_chat.store.maintenance.salvage import rescue

            path = database_file(self._config.data_dir)
            try:
                rescued = await to_thread(rescue, path, now=self._now())
            except TuiChatError as fault:
                error = fault
            else:
                self.notify(str(rescued), timeout=30, markup=False)
                return True
        return await confirm_retry_open(self, f"{error}\n\n{error.advice}".strip())

    async def let_go(self) -> None:
        """Stop replies and close the store."""
        workspace, self.workspace = self.workspace, None
        if workspace is not None:
            if self._exception is None and not self._start_confirmed:  # a signal is no fault
                await workspace.sessions.confirm_start()
            try:
                await workspace.close()
            finally:
                self.unsaved = workspace.unsaved_writes.reason

    def _hear(self, change: WorkspaceEvent) -> None:
        from tui_chat.workspace import (
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
        )

        if not self.is_running or (self.workspace is None and not isinstance(change, Failed)):
            return
        match change:
            case SessionsChanged():
                self._show_sessions()
            case BranchChanged():
                self._show_branch()
            case BranchEndLoaded():
                self._show_chat(change.entries, is_part=True)
                self.bring_early(change.draft)
            case PresetChanged():
                self.show_preset()
                self.compose_soon()
            case ReplyGrew():
                grown = change.grown
                self._chat.stream(grown.entry_id, grown.reply, grown.timing, grown.unsaved)
                self.reply_grew(grown.reply)
            case ReplyRetrying():
                waiting = change.waiting
                when = f"in {ceil(waiting.seconds)} s" if waiting.seconds >= 1 else "now"
                words = f"{waiting.why}\nTrying again {when}. Esc gives up."
                self.notify(
                    words, severity="warning", timeout=max(waiting.seconds, 3), markup=False
                )
            case BackgroundReplyEnded():
                self._tell_elsewhere(change.title, change.entry)
            case Done():
                words = change.sentence
                if change.undoable:
                    words += f" {self._undo_key} it back."
                self.notify(words, timeout=6, markup=False)
                if change.message_id:  # where it stood, and not at the end of all
                    self._chat.transcript.show_message(change.message_id)
            case UnsavedWritesChanged():
                self._chat.activity.is_saved = not change.reason
            case Failed():
                self.show_error(change.error)

    @property
    def _undo_key(self) -> str:
        """What brings back what was put away, from where the keys go now."""
        takes_u = (self._sessions.rows, self._chat.transcript)
        return "u brings" if self.focused in takes_u else "/undo brings"

    def _show_sessions(self) -> None:
        workspace = self.workspace
        if workspace is not None:
            current = workspace.state.session.session_id if workspace.state.session else None
            self._sessions.show(
                workspace.state.sessions, current, self._now(), workspace.state.streaming_sessions
            )

    def _show_chat(self, entries: tuple[Entry, ...], *, is_part: bool = False) -> None:
        """Show the shown session's branch, or the end of it."""
        workspace = self.workspace
        if workspace is None:
            return
        title = workspace.state.session.title if workspace.state.session else "New chat"
        model = workspace.state.effective_model
        role = workspace.state.role.name if workspace.state.role else "no role"
        subtitle = f"{model or 'no model'} · {workspace.state.endpoint.name} · {role}"
        if workspace.state.preset_name != "plain":
            subtitle += f" · {workspace.state.preset_name}"
        if workspace.state.role_fault:
            subtitle += f" · its role was {workspace.state.role_fault}"
        keys = keys_found(workspace.state.config.endpoints, self._environ) if not entries else ()
        words = welcome(model, workspace.state.is_offline, keys, self.key_bindings.labels)
        elsewhere = not workspace.state.is_streaming
        self._chat.show(
            title,
            subtitle,
            entries,
            words,
            workspace.replies.timing,
            session_id=workspace.state.session.session_id if workspace.state.session else None,
            is_part=is_part,
            elsewhere=elsewhere,
        )

    def _show_branch(self) -> None:
        workspace = self.workspace
        if workspace is None or not workspace.state.is_branch_loaded:
            return
        self.adopt_draft()
        self._show_chat(workspace.state.entries)
        if workspace.state.partial is not None:
            partial = workspace.state.partial
            self._chat.stream(partial.entry_id, partial.reply, partial.timing)
        if self.panes.inspector is not None:
            self.panes.inspector.own_protocol = workspace.state.endpoint.protocol
        self.show_preset()
        self._show_sessions()
        self._watch_ends(workspace.state.entries)
        self.compose_soon()

    def _tell_elsewhere(self, title: str, entry: Entry) -> None:
        """Tell that a reply has ended in a session that is not shown."""
        failed = entry.status == "failed"
        what = f"the reply failed: {entry.error}" if failed else "the reply is there."
        severity = "warning" if failed else "information"
        self.notify(f"“{title}”: {what}", severity=severity, timeout=8, markup=False)
        self._tell_ended(entry, title)

    def _watch_ends(self, entries: tuple[Entry, ...]) -> None:
        """Tell whoever looks elsewhere that a long reply has ended."""
        last = entries[-1] if entries else None
        if last is not None and last.status == "streaming":
            self._arriving = last.message.id
        elif last is not None and last.message.id == self._arriving:
            self._arriving = ""
            self._tell_ended(last)

    # Without a description Textual makes one of all the arguments, however large.
    @work(group="notice", description="tell that a reply ended")
    async def _tell_ended(self, entry: Entry, title: str = "") -> None:
        from tui_chat.ui.terminal.desktop_notification import describe_ending, is_hidden_in_tmux

        if (entry.seconds or 0) < LONG_REPLY:
            return
        if self.app_focus and not await to_thread(is_hidden_in_tmux, self._environ):
            return
        self.tell_outside(f"{title}: {describe_ending(entry)}" if title else describe_ending(entry))

    def tell_outside(self, words: str) -> None:
        """Say something outside of this window."""
        from tui_chat.ui.terminal.desktop_notification import notification_sequence

        written = notification_sequence(self._config.notify, "tui-chat", words, self._environ)
        if written and self._driver is not None:
            self._driver.write(written)

"""Drafts: the session that the text in the composer belongs to, its request, and its storage.

1. The draft is stored a fifth of a second after a change, and when its session is left.
2. Enter takes the draft out of the composer at once. Until it is stored as a message, its text
   counts as part of the stored draft; if it cannot be stored, it returns to the composer.
3. A message is stored only in the session that it was typed for. A session is not switched while a
   submission is being stored.
4. What is sent before the workspace is open is for the session that the screen names until then. It
   returns to the composer if another one is opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import App
from textual.timer import Timer

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.ui.commands import CommandCall, escape_command, parse_command
from tui_chat.ui.questions import confirm

if TYPE_CHECKING:
    from tui_chat.models.blocks import MediaBlock
    from tui_chat.models.envelope import Note
    from tui_chat.models.session import LastSession
    from tui_chat.ui.chat.chat_pane import ChatPane
    from tui_chat.workspace.attachments import Attachment
    from tui_chat.workspace.state import QueuedMessage
    from tui_chat.workspace.workspace import Workspace

SAVE_AFTER = 0.2
"""Seconds after a change until the draft is written, even if more is typed meanwhile. A stored
draft is never older than twice that, unless the disk is slow.
"""
SAVE_AGAIN_AFTER = 2.0
"""Seconds until the next attempt if that failed."""


@dataclass(slots=True, eq=False)
class Submission:
    """A draft that Enter took from the composer and that is not known to be stored yet."""

    session_id: str
    """The session it was typed for; empty before the workspace is open."""
    text: str
    files: tuple[Attachment, ...]


class ComposerDrafts:
    """Saves, submits and restores what the composer holds."""

    def __init__(self, chat: ChatPane) -> None:
        self._chat, self._composer = chat, chat.composer
        self.attachments: tuple[Attachment, ...] = ()
        """Files that are sent with the draft."""
        self.parts: tuple[MediaBlock, ...] = ()
        """Their contents; the same tuple until it changes."""
        self.named: LastSession | None = None
        """The session that the screen names until the workspace is open; None for none."""
        self.is_switching = False
        """True until the composer holds the draft of the session that is being opened."""
        self.submission_lock = asyncio.Lock()
        """Held while a submission is being stored; the next one waits for it."""
        self._session_id = ""
        """The session whose draft the composer holds."""
        self._submissions: tuple[Submission, ...] = ()
        """Oldest first."""
        self._switch: object = None
        """Stands for the latest switch."""
        self._is_composing = False
        """True until the request is composed."""
        self._save_timer: Timer | None = None
        """Runs from the first change that is not saved until the draft is saved."""

    def changed(self) -> None:
        """Compose and save what is in the composer now."""
        self.compose_soon()
        if self._save_timer is None:
            self._save_timer = self._chat.set_timer(SAVE_AFTER, self._save_in_background)

    # --- the live request ----------------------------------------------------------------

    def compose_soon(self) -> None:
        """Compose the request soon, once for all changes until then.

        Not after a refresh: Textual hands such a callback to the screen on top, and one that is
        closed before it refreshes, such as a dialog, never calls it.
        """
        if not self._is_composing:
            self._is_composing = True
            self._chat.call_later(self._compose_now)

    def _compose_now(self) -> None:
        self._is_composing = False
        workspace = self._chat.host.workspace
        if workspace is None or not workspace.state.is_branch_loaded:
            return
        live = workspace.requests
        typed = parse_command(self._composer.text)
        if isinstance(typed, CommandCall):
            live.set_draft("", self.parts, typed.command.kind, typed.argument)
        else:
            live.set_draft(typed if isinstance(typed, str) else "", self.parts)
        if live.takes_long:
            composing = partial(self._compose_in_thread, workspace)
            self._chat.run_worker(composing, group="compose", description="compose")
        else:
            with self._chat.context.report_errors("The request cannot be composed."):
                live.compose_shown()

    async def _compose_in_thread(self, workspace: Workspace) -> None:
        with self._chat.context.report_errors("The request cannot be composed."):
            await workspace.requests.compose_in_thread()

    # --- saving --------------------------------------------------------------------------

    def _save_in_background(self) -> None:
        self._save_timer = None
        self._chat.run_worker(self.save, group="draft", description="save the draft")

    async def save(self) -> None:
        """Store the active session's draft."""
        # Before the workspace is open, and while a session is being opened, the composer does not
        # hold the active session's draft.
        workspace = self._chat.host.workspace
        if workspace is None or not self.is_active:
            return
        session_id, session = workspace.state.session_id, workspace.state.session
        submitted = [each for each in self._submissions if each.session_id == session_id]
        draft = joined_drafts(*(each.text for each in submitted), self._composer.text)
        attached = (*(file for each in submitted for file in each.files), *self.attachments)
        files = tuple(attachment.stored for attachment in attached)
        await workspace.sessions.save_draft(session, draft, files)
        if workspace.state.unsaved_draft and self._save_timer is None:
            self._save_timer = self._chat.set_timer(SAVE_AGAIN_AFTER, self._save_in_background)

    @property
    def is_active(self) -> bool:
        """True if the composer holds the active session's draft."""
        host = self._chat.host
        is_open = host.workspace is not None and host.is_workspace_open
        return is_open and self._session_id == self._chat.workspace.state.session_id

    def show_attachments(self, attachments: tuple[Attachment, ...]) -> None:
        """Send these files with the draft, and no others."""
        self.attachments = attachments
        self.parts = tuple(attachment.part for attachment in attachments)
        self._chat.attachments.show()
        self._composer.has_attachments = bool(attachments)
        self.changed()

    # --- switching sessions --------------------------------------------------------------

    async def switch_session(self, opens: Callable[[Workspace], Awaitable[object]]) -> None:
        """Open another session with `opens`: the draft stays with the old one, and that of the new
        one comes.
        """
        workspace = self._chat.host.workspace
        if workspace is None:
            return
        self._switch = this = object()
        self.is_switching = True
        try:
            async with self.submission_lock:  # a submission is stored first, in its session
                pass
            await self.save()
            await opens(workspace)
            if workspace.state.session_id != self._session_id:
                await self.restore()
        finally:
            if self._switch is this:  # else a later switch goes on from here
                self.is_switching = False

    def adopt(self) -> None:
        """Keep the composer's draft when another program's change switched the session."""
        workspace = self._chat.host.workspace
        if workspace is not None and self._chat.host.is_workspace_open and not self.is_switching:
            self._session_id = workspace.state.session_id

    async def restore(self, *, keep_typed: bool = False) -> None:
        """Put the session's draft into the composer, with `keep_typed` before what was typed."""
        workspace = self._chat.host.workspace
        if workspace is None:
            return
        session_id = workspace.state.session_id
        stored = await workspace.sessions.draft()
        if workspace.state.session_id != session_id:
            return  # another session was opened meanwhile, and its draft comes
        if stored or not keep_typed:  # else its cursor would jump
            self._composer.text = stored + (self._composer.text if keep_typed else "")
        self._session_id = session_id
        if self.attachments and not keep_typed:
            self.show_attachments(())
        if files := await workspace.sessions.draft_files():
            await self._restore_attachments(files)

    async def _restore_attachments(self, files: tuple[str, ...]) -> None:
        """Attach a stored draft's files before those attached meanwhile; show what is gone."""
        from tui_chat.workspace.attachments import stored_attachment

        attachments: list[Attachment] = []
        session_id = self._session_id
        for file in files:
            try:
                attachments.append(await asyncio.to_thread(stored_attachment, file))
            except InputError as error:
                self._chat.show_error(error)
        if self._session_id == session_id:
            self.show_attachments((*attachments, *self.attachments))

    # --- submitting ----------------------------------------------------------------------

    def submit(self, draft: str, typed: str) -> None:
        """Take what was typed out of the composer, and send `draft` to the active session, or queue
        it there behind the reply that is arriving.
        """
        chat, text, workspace = self._chat, self._composer.text, self._chat.host.workspace
        if chat.host.is_workspace_open and not self.is_active:
            return
        if not text.startswith(typed) or not (typed.strip() or self.attachments):
            return  # Enter repeats, and the first one took the draft already
        state = workspace.state if workspace is not None and self.is_active else None
        if workspace is None or not workspace.state.is_temporary:
            self._composer.prompt_history.remember(draft)
        files, parts = self.attachments, self.parts
        submission = Submission("" if state is None else state.session_id, typed, files)
        self._composer.text = text[len(typed) :]
        self.show_attachments(())
        # Without a description Textual makes one of all the arguments, however large.
        if workspace is not None and state is not None and state.is_streaming:
            from tui_chat.workspace.state import QueuedMessage

            message = QueuedMessage(draft, tuple(attachment.stored for attachment in files))
            add = partial(workspace.queue.add, state.session_id, message)
            chat.run_worker(add, group="queue", description="queue")
        else:
            self._submissions = (*self._submissions, submission)
            send = partial(self._send, draft, parts, submission)
            chat.run_worker(send, group="send", description="send")

    async def take_back(self, message: QueuedMessage) -> None:
        """Put a queued message in front of what is typed."""
        text = escape_command(message.text)
        self._composer.text = joined_drafts(text, self._composer.text)
        self._composer.move_cursor(self._composer.document.end)
        self._composer.focus()
        if message.files:
            await self._restore_attachments(message.files)

    @property
    def is_sending(self) -> bool:
        """True while something that Enter took is not stored yet."""
        return bool(self._submissions)

    async def wait_until_stored(self) -> None:
        """Wait until all that Enter took is stored, or given back."""
        while self._submissions or self.submission_lock.locked():
            async with self.submission_lock:
                pass
            await asyncio.sleep(0)  # a submission may not have begun yet

    async def _send(
        self, draft: str, parts: tuple[MediaBlock, ...], submission: Submission
    ) -> None:
        """Send a draft to its session, unless the user left the session meanwhile or does not
        consent to send it.
        """
        async with self.submission_lock:
            # Enter may come before the workspace is open.
            workspace = await self._chat.host.opened_workspace()
            if not submission.session_id:
                submission.session_id = workspace.state.session_id
                if not self._is_as_named(workspace):
                    self._give_back(submission)
                    return
            is_first = workspace.state.session is None and self._is_for_active(submission)
            stored = partial(self._remove, submission)
            try:
                if self._is_for_active(submission):
                    await workspace.requests.prepare()
                    workspace.tool_sources.load()
                    is_ready = await workspace.tool_sources.ready()
                    is_active = is_ready and self._is_for_active(submission)
                    if is_active and workspace.state.is_branch_loaded:
                        composed = workspace.requests.compose(draft, parts=parts)
                        if await confirm_send(self._chat.tui, composed.errors):
                            session_id = submission.session_id
                            await workspace.replies.submit(draft, parts, session_id, stored)
            finally:
                is_stored = submission not in self._submissions
                self._remove(submission)
                if not is_stored and self._is_for_active(submission):
                    self._give_back(submission)
            if is_first and is_stored:
                # The new chat's draft belongs to its session now; one may be on its way to disk.
                await workspace.sessions.save_draft(None, "")
            if self._is_for_active(submission):  # else it was saved when the session was left
                await self.save()

    def _is_as_named(self, workspace: Workspace) -> bool:
        """True if the start opened the session that the screen named; else, say so."""
        session, named = workspace.state.session, self.named
        if named is not None and named.session_id == (session.session_id if session else ""):
            return True
        title = one_line(session.title, 60) if session is not None else "a new session"
        self._chat.notify(f"Not sent: “{title}” was opened meanwhile. Enter sends it there.")
        return False

    def _give_back(self, submission: Submission) -> None:
        """Return what Enter took to the composer."""
        self._remove(submission)
        self._composer.text = joined_drafts(submission.text, self._composer.text)
        self.show_attachments((*submission.files, *self.attachments))

    def _remove(self, submission: Submission) -> None:
        self._submissions = tuple(other for other in self._submissions if other is not submission)

    def _is_for_active(self, submission: Submission) -> bool:
        """True if the composer holds the draft of a submission's session."""
        # After the app has quit it holds none.
        return (
            self._chat.is_attached and self.is_active and self._session_id == submission.session_id
        )


async def confirm_send(app: App[None], faults: Sequence[Note]) -> bool:
    """Ask whether to send a request that has faults; True at once without any. Raises InputError
    for one that is not sent so.
    """
    from tui_chat.workspace.requests import require_usable_role

    require_usable_role(faults)
    sentences = "\n\n".join(note.sentence for note in faults)
    return not faults or await confirm(app, "Send anyway?", sentences, yes="Send")


def joined_drafts(*drafts: str) -> str:
    """Return several drafts as one, a line each."""
    return "\n".join(draft for draft in drafts if draft)

"""Talking: sending, asking again, stopping; what is done with a message."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.models.message import Part
from tui_chat.ui.acting.commanding import Commanding
from tui_chat.ui.acting.drafting import LeftDraft, Submission, joined_drafts
from tui_chat.ui.chat import Composer
from tui_chat.ui.chat.messages import (
    ActionRefused,
    CopyRequested,
    OpenLinkRequested,
    RegenerateRequested,
)
from tui_chat.ui.commands import CommandCall, UnknownCommand, parse_command

if TYPE_CHECKING:
    from tui_chat.models.session import Session
    from tui_chat.workspace import Workspace


class Talking(Commanding):
    """Answers the composer and the transcript."""

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        line = parse_command(event.text)
        if not isinstance(line, str):
            self._run_command(line)
        elif self._holds_draft or not self.is_workspace_open:
            self._submit(line, event.text)

    def _submit(self, draft: str, typed: str) -> None:
        """Take a draft out of the composer and send it to the active session."""
        stands = self._composer.text
        if not stands.startswith(typed) or not (typed.strip() or self._attachments):
            return  # Enter repeats, and the first one took the draft already
        session_id = (
            self.workspace.state.session_id
            if self.workspace is not None and self.is_workspace_open
            else ""
        )
        submission = Submission(session_id, typed, self._attachments)
        self._submissions = (*self._submissions, submission)
        self._composer.prompt_history.remember(draft)
        self._composer.text = stands[len(typed) :]
        parts = self.parts
        self.show_attachments(())
        self._send(draft, parts, submission)

    @work(group="command")
    async def _run_command(self, line: CommandCall | UnknownCommand) -> None:
        await self.run_command(line)

    @work(group="send")
    async def _send(self, draft: str, parts: tuple[Part, ...], submission: Submission) -> None:
        async with self.submission_lock:
            await self._workspace_opened.wait()  # Enter may come before the conversations are open
            workspace = self.workspace
            if workspace is None:
                return
            if not submission.session_id:
                self._remove_submission(submission)
                submission = replace(submission, session_id=workspace.state.session_id)
                self._submissions = (submission, *self._submissions)
            stored: list[Session | None] = []
            began = workspace.state.session is None and self._is_active(submission)

            def store() -> None:
                self._remove_submission(submission)
                stored.append(workspace.state.session)

            try:
                await self._store_submission(workspace, draft, parts, submission, store)
            finally:
                self._remove_submission(submission)
                if not stored and self._is_active(submission):
                    self._composer.text = joined_drafts(submission.text, self._composer.text)
                    self.show_attachments((*submission.files, *self._attachments))
            await self._keep_rest(workspace, submission, stored, began=began)

    async def _store_submission(
        self,
        workspace: Workspace,
        draft: str,
        parts: tuple[Part, ...],
        submission: Submission,
        stored: Callable[[], None],
    ) -> None:
        """Send a draft to its session, unless the user left the session meanwhile or does not
        consent to send it; `stored` is called as soon as it is on disk.
        """
        from tui_chat.ui.dialogs.questions import confirm_send

        await self._until_opened(workspace)
        if self._is_active(submission) and not workspace.requests.is_lore_searched:
            self._chat.set_status("Searching the lorebooks. Then this is sent.")
            await workspace.requests.search_lore()
            self._chat.set_status("")
        if self._is_active(submission) and workspace.state.is_branch_loaded:
            composed = workspace.requests.compose(draft, parts=parts)
            if await confirm_send(self, composed.errors):
                await workspace.replies.submit(draft, parts, submission.session_id, stored)

    def _remove_submission(self, submission: Submission) -> None:
        self._submissions = tuple(s for s in self._submissions if s is not submission)

    def _is_active(self, submission: Submission) -> bool:
        """True if the composer holds the draft of a submission's session."""
        workspace = self.workspace
        return (
            workspace is not None
            and self._holds_draft
            and workspace.state.session_id == submission.session_id
        )

    async def _keep_rest(
        self,
        workspace: Workspace,
        submission: Submission,
        stored: list[Session | None],
        *,
        began: bool,
    ) -> None:
        """Keep as the draft what remains of it once a submission is stored (`stored` holds its
        session) or is given back (`stored` is empty). `began` is True if it begins a session.
        """
        session_id = submission.session_id
        left = self._left_drafts.get(session_id)
        if began and stored:
            # The new chat's draft belongs to its session now; one may still be on its way to disk.
            await workspace.drafts.save(None, "")
        if self._is_active(submission):
            await self.keep_draft()
        elif left is not None:
            session = stored[0] if stored else left.session
            text = left.text if stored else joined_drafts(submission.text, left.text)
            files = left.files if stored else (*submission.files, *left.files)
            left = LeftDraft(session, text, files)
            self._left_drafts = {**self._left_drafts, session_id: left}
            waiting = (s.text for s in self._submissions if s.session_id == session_id)
            await workspace.drafts.save(
                session, joined_drafts(*waiting, text), tuple(str(file.path) for file in files)
            )
        if all(s.session_id != session_id for s in self._submissions):
            kept = {k: v for k, v in self._left_drafts.items() if k != session_id}
            self._left_drafts = kept

    async def _until_opened(self, workspace: Workspace) -> None:
        """Wait until all of the session that is being opened is read, and say so."""
        if not self._session_opened.is_set():
            listed = (
                s.message_count
                for s in workspace.state.sessions
                if s.session_id == workspace.state.session_id
            )
            count = next(listed, 0)
            self._chat.set_status(f"Loading {count:,} messages. Then this is sent.")
            await self._session_opened.wait()
            self._chat.set_status("")

    @work(group="send")
    async def action_again(self) -> None:
        """Ask again for the last reply, whatever became of it, or for one that is missing."""
        workspace = self.workspace
        if workspace is None or not workspace.state.entries:
            self.show_error(InputError("Nothing has been said in this session yet."))
        else:
            await workspace.replies.regenerate(workspace.state.entries[-1].message.id)

    @on(RegenerateRequested)
    @work(group="send")
    async def _retry(self, event: RegenerateRequested) -> None:
        if self.workspace is not None:
            await self.workspace.replies.regenerate(event.entry_id)

    @on(ActionRefused)
    def _refused(self, event: ActionRefused) -> None:
        self.notify(event.why, timeout=4, markup=False)

    @on(CopyRequested)
    def _copy(self, event: CopyRequested) -> None:
        self.copy_to_clipboard(event.text)
        count = len(event.text)
        what = f"the {event.what}: " if event.what else ""
        words = f"Copied {what}{count:,} character{'s' * (count != 1)}."
        self.notify(words, timeout=3, markup=False)

    @on(OpenLinkRequested)
    @work(group="dialog", exclusive=True)
    async def _follow_link(self, event: OpenLinkRequested) -> None:
        """Open a link only when it is one, and only when the user has read where it goes."""
        from tui_chat.ui.dialogs.questions import confirm_open_link
        from tui_chat.ui.terminal.browser import open_link

        url = event.url
        if not url.startswith(("https://", "http://")):
            self.show_error(InputError("Only web links can be opened.", advice=url[:200]))
        elif await confirm_open_link(self, url) and not await to_thread(open_link, url):
            self.copy_to_clipboard(url)
            self.notify(
                "No browser can be opened from here; the link is copied.", timeout=8, markup=False
            )

    @on(Composer.StopRequested)
    async def action_back(self) -> None:
        """Close the pane that is in the way, else stop the reply that is arriving."""
        workspace = self.workspace
        if self.panes.covers_chat:
            self.panes.close_overlay()
        elif workspace is not None and workspace.state.is_streaming:
            await workspace.replies.stop()
        self._composer.focus()

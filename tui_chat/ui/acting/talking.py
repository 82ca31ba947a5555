"""Talking: sending, asking again, stopping; what is done with a message."""

from __future__ import annotations

from asyncio import Lock, to_thread
from typing import TYPE_CHECKING

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.model.message import Part
from tui_chat.ui.acting.commanding import Commanding
from tui_chat.ui.acting.drafting import Submission, joined_drafts
from tui_chat.ui.chat import Composer, Transcript
from tui_chat.ui.commands import Order, Unknown, understood

if TYPE_CHECKING:
    from tui_chat.desk import Desk
    from tui_chat.model.session import Session


class Talking(Commanding):
    """Answers the composer and the transcript."""

    _submission_lock: Lock | None = None
    """Held while a draft is being stored; the next one waits for it."""

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        line = understood(event.text)
        if not isinstance(line, str):
            self._obey(line)
        elif self._holds_draft or not self.is_laid:
            self._submit(line, event.text)

    def _submit(self, draft: str, typed: str) -> None:
        """Take a draft out of the composer and send it to the active session."""
        stands = self._composer.text
        if not stands.startswith(typed) or not (typed.strip() or self._attachments):
            return  # Enter repeats, and the first one took the draft already
        session_id = self.desk.session_id if self.desk is not None and self.is_laid else ""
        submission = Submission(session_id, typed, self._attachments)
        self._submissions = (*self._submissions, submission)
        self._composer.past.remember(draft)
        self._composer.text = stands[len(typed) :]
        parts = self.parts
        self.show_attachments(())
        self._send(draft, parts, submission)

    @work(group="command")
    async def _obey(self, line: Order | Unknown) -> None:
        await self.obey(line)

    @work(group="send")
    async def _send(self, draft: str, parts: tuple[Part, ...], submission: Submission) -> None:
        is_stored = False
        self._submission_lock = self._submission_lock or Lock()
        try:
            async with self._submission_lock:
                await self._laid.wait()  # Enter may come before the conversations are open
                desk = self.desk
                if desk is None:
                    return
                session_id = submission.session_id or desk.session_id
                session = desk.session
                is_stored = await self._store_submission(desk, session_id, draft, parts, submission)
        finally:
            self._remove_submission(submission)
            since = self._typed_since.get(submission.session_id)
            if not self._submissions:
                self._typed_since = {}
            if not is_stored:
                self._give_back(submission)
        if is_stored:
            await self._keep_what_follows(desk, session_id, session, since)
        else:
            await self.keep_draft()

    async def _store_submission(
        self,
        desk: Desk,
        session_id: str,
        draft: str,
        parts: tuple[Part, ...],
        submission: Submission,
    ) -> bool:
        """Send a draft to its session; True once it is stored. False if the user left the session
        meanwhile, did not consent to send it, or it could not be sent.
        """
        from tui_chat.ui.questions import may_send

        await self._until_opened(desk)
        if desk.session_id != session_id or not desk.is_whole:
            return False
        if not await may_send(self, desk.composed(draft, attachments=parts).errors):
            return False
        return await desk.submit(
            draft, parts, session_id, lambda: self._remove_submission(submission)
        )

    def _give_back(self, submission: Submission) -> None:
        """Put a draft that was not sent back into the composer, in front of what is typed there;
        if its session was left, it was kept as that session's draft.
        """
        desk = self.desk
        if desk is not None and submission.session_id in ("", desk.session_id):
            self._composer.text = joined_drafts(submission.text, self._composer.text)
            self.show_attachments((*submission.files, *self._attachments))

    def _remove_submission(self, submission: Submission) -> None:
        self._submissions = tuple(s for s in self._submissions if s is not submission)

    async def _keep_what_follows(
        self,
        desk: Desk,
        session_id: str,
        session: Session | None,
        since: tuple[Session | None, str] | None,
    ) -> None:
        """Keep as the draft only what was typed behind a submission that is stored now.

        `session` is the submission's, None if it began one; `since` is what was kept last of what
        was typed behind it, None for nothing.
        """
        if session is None:
            await desk.keep_draft(None, "")
        if desk.session_id == session_id and self._holds_draft:
            await self.keep_draft()
        elif since is not None:
            await desk.keep_draft(*since)
        elif session is not None:
            await desk.keep_draft(session, "")

    async def _until_opened(self, desk: Desk) -> None:
        """Wait until all of the session that is being opened is read, and say so."""
        if not self._opened.is_set():
            listed = (s.message_count for s in desk.sessions if s.session_id == desk.session_id)
            count = next(listed, 0)
            self._chat.set_status(f"Loading {count:,} messages. Then this is sent.")
            await self._opened.wait()
            self._chat.set_status("")

    @work(group="send")
    async def action_again(self) -> None:
        """Ask again for the last reply, whatever became of it, or for one that is missing."""
        desk = self.desk
        if desk is None or not desk.entries:
            self.complain(InputError("Nothing has been said in this session yet."))
        else:
            await desk.retry(desk.entries[-1].message.id)

    @on(Transcript.RetryRequested)
    @work(group="send")
    async def _retry(self, event: Transcript.RetryRequested) -> None:
        if self.desk is not None:
            await self.desk.retry(event.entry_id)

    @on(Transcript.Refused)
    def _refused(self, event: Transcript.Refused) -> None:
        self.notify(event.why, timeout=4, markup=False)

    @on(Transcript.CopyRequested)
    def _copy(self, event: Transcript.CopyRequested) -> None:
        self.copy_to_clipboard(event.text)
        count = len(event.text)
        what = f"the {event.what}: " if event.what else ""
        words = f"Copied {what}{count:,} character{'s' * (count != 1)}."
        self.notify(words, timeout=3, markup=False)

    @on(Transcript.LinkClicked)
    @work(group="dialog", exclusive=True)
    async def _follow_link(self, event: Transcript.LinkClicked) -> None:
        """Open a link only when it is one, and only when the user has read where it goes."""
        from tui_chat.ui.questions import may_open
        from tui_chat.ui.terminal.browser import open_link

        url = event.url
        if not url.startswith(("https://", "http://")):
            self.complain(InputError("Only web links can be opened.", advice=url[:200]))
        elif await may_open(self, url) and not await to_thread(open_link, url):
            self.copy_to_clipboard(url)
            self.notify(
                "No browser can be opened from here; the link is copied.", timeout=8, markup=False
            )

    @on(Composer.StopRequested)
    async def action_back(self) -> None:
        """Close the pane that is in the way, else stop the reply that is arriving."""
        desk = self.desk
        if self._panes.covers_chat:
            self._panes.close_overlay()
        elif desk is not None and desk.is_streaming:
            await desk.stop()
        self._composer.focus()

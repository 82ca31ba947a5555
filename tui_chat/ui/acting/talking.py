"""Talking: sending, asking again, stopping; what is done with a message."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.ui.acting.commanding import Commanding
from tui_chat.ui.chat import Composer, Transcript
from tui_chat.ui.commands import Order, Unknown, understood

if TYPE_CHECKING:
    from tui_chat.desk import Desk


class Talking(Commanding):
    """Answers the composer and the transcript."""

    _sending = False

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        line = understood(event.text)
        if not isinstance(line, str):
            self._obey(line)
        elif not self._sending:  # a key that repeats sends once
            self._sending = True
            self._composer.past.said(event.text)
            self._send(line, event.text)

    @work(group="command")
    async def _obey(self, line: Order | Unknown) -> None:
        await self.obey(line)

    @work(group="send")
    async def _send(self, draft: str, typed: str) -> None:
        from tui_chat.ui.questions import may_send

        try:
            await self._laid.wait()  # Enter may come before the conversations are open
            desk = self.desk
            if desk is None or self._is_between:
                return  # another session is being opened, and what stands here is not its draft
            stood, session_id = self._composer.text, desk.session_id
            await self._until_opened(desk)
            if desk.session_id != session_id or not desk.is_whole:
                return  # it was left meanwhile, and what was typed is its draft
            files, parts = self._attachments, self.parts
            if not await may_send(self, desk.composed(draft, attachments=parts).errors):
                return
            session = desk.session
            self._being_sent = desk.session_id, typed
            if self._composer.text == stood:  # else more was typed meanwhile
                self._composer.text = ""
            self.show_attachments(())
            is_stored = await desk.submit(draft, parts)
            self._being_sent = None
            if is_stored:
                await desk.keep_draft(session, "")
                if session is None:  # it may have been kept in the one that was begun
                    await self.keep_draft()
            elif not self._composer.text:
                self._composer.text = typed
                self.show_attachments(files)
        finally:
            self._being_sent = None
            self._sending = False

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

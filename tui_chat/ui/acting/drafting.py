"""Drafting: the request that is being typed, and drafts that are kept.

Requests are composed once a frame however many keys came; a draft too long for a frame, and
a long conversation or large lorebooks of which nothing is remembered yet, are composed in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.timer import Timer

from tui_chat.errors import InputError
from tui_chat.models.message import Part
from tui_chat.models.session import Entry
from tui_chat.ui.acting.shell import Shell
from tui_chat.ui.chat import Composer
from tui_chat.ui.commands import message_text

if TYPE_CHECKING:
    from tui_chat.attachments import Attachment
    from tui_chat.compose import Composed
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Session
    from tui_chat.ui.inspector import Inspector
    from tui_chat.workspace import Workspace

LONG_DRAFT = 30_000
"""Characters from which composing may take longer than a frame."""
LONG_TEXT = 1_000_000
"""Characters of a branch from which it is composed beside the work on the screen."""
LONG_BRANCH = 500
"""Messages from which composing for the first time may take longer than a frame."""
DRAFT_KEPT_AFTER = 0.2
"""Seconds after a change until the draft is written, whether or not more is typed meanwhile. A
draft on the disk is never older than twice that, with a disk that takes its time.
"""


@dataclass(frozen=True, slots=True)
class Submission:
    """A draft that Enter took from the composer and that is not known to be stored yet."""

    session_id: str
    """The session it was typed for; empty before the conversations are open."""
    text: str
    files: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class LeftDraft:
    """What the composer held, behind the submissions, when it was last kept."""

    session: Session | None
    """None if the session was not begun yet."""
    text: str
    files: tuple[Attachment, ...]


class SessionSwitched(Message):
    """The composer holds the draft of the session that was opened."""


class Drafting(Shell):
    """Composes what is typed and keeps it."""

    _composing = False
    _composed_in = ""
    """Id of the session whose request was shown last."""
    _composing_first = ""
    """Id of the long session that is being composed for the first time."""
    _draft_timer: Timer | None = None
    """Runs from the first change that is not written to the writing of it."""
    _submissions: tuple[Submission, ...] = ()
    """Oldest first; their texts count as the draft until they are stored."""
    _left_drafts: Mapping[str, LeftDraft] = MappingProxyType({})
    """By session id, while the session has submissions."""
    _parts: tuple[Part, ...] = ()
    _opening: object = None
    """Stands for the latest opening of a session."""
    _draft_session_id = ""
    """Id of the session whose draft the composer holds."""
    _measured: tuple[tuple[Entry, ...], bool] = (), False
    """The branch that was measured last, and whether it is long."""

    @on(Composer.Changed)
    def _typed(self) -> None:
        self.compose_soon()
        if self._draft_timer is None:
            self._draft_timer = self.set_timer(DRAFT_KEPT_AFTER, self._keep_draft_now)

    @work(group="draft")
    async def _keep_draft_now(self) -> None:
        """Write the draft, with no key waiting for the disk meanwhile."""
        self._draft_timer = None
        await self.keep_draft()

    def on_inspector_protocol_chosen(self, event: Inspector.ProtocolChosen) -> None:
        """Show what another protocol would be sent; the session stays as it is."""
        self._protocol = event.protocol
        self.compose_soon()

    def compose_soon(self) -> None:
        """Compose before the next frame, once."""
        if not self._composing:
            self._composing = True
            self.call_after_refresh(self._compose_now)

    def _compose_now(self) -> None:
        self._composing = False
        workspace = self.workspace
        if workspace is None or not workspace.state.is_branch_loaded:
            return
        typed, session_id = self._composer.text, workspace.state.session_id
        is_first = session_id != self._composed_in and len(workspace.state.entries) >= LONG_BRANCH
        is_first = is_first or not workspace.requests.is_lore_searched
        if is_first and session_id == self._composing_first:
            return  # what is typed meanwhile is composed after it
        if is_first:
            self._composing_first = session_id
        if is_first or len(typed) > LONG_DRAFT or self._is_long(workspace.state.entries):
            self._compose_in_thread(workspace, session_id, typed)
        else:
            with self.report_errors("The request cannot be composed."):
                composed = workspace.requests.compose(
                    message_text(typed), self._protocol, self.parts
                )
                self._show_composed(session_id, typed, composed)

    def _is_long(self, entries: tuple[Entry, ...]) -> bool:
        """Return True if the branch has so much text that composing it can be felt."""
        if self._measured[0] is not entries:
            sizes = (
                len(entry.message.content)
                + sum(len(call.arguments) for call in entry.message.tool_calls)
                for entry in entries
            )
            self._measured = entries, sum(sizes) > LONG_TEXT
        return self._measured[1]

    @work(group="compose", exclusive=True, thread=True, description="compose")
    def _compose_in_thread(self, workspace: Workspace, session_id: str, typed: str) -> None:
        with self.report_errors("The request cannot be composed."):
            composed = workspace.requests.compose(message_text(typed), self._protocol, self.parts)
            self.call_from_thread(self._show_composed, session_id, typed, composed)

    def _show_composed(self, session_id: str, typed: str, composed: Composed) -> None:
        if self.workspace is None or session_id != self.workspace.state.session_id:
            return
        was_first = session_id == self._composing_first
        self._composed_in, self._composing_first = session_id, ""
        if was_first:
            self.compose_soon()  # for what was typed or chosen meanwhile; else it is remembered
        if typed != self._composer.text:
            return
        self.inspect(composed)
        if self.panes.presets is not None:
            self.panes.presets.show_request(composed)
        budget = composed.envelope.budget
        if budget is not None:
            about = "" if budget.exact else "~"
            left = "" if budget.free is None else f" · {budget.free:,} left"
            sends = bool(message_text(typed).strip() or self._attachments)
            what = f"Enter sends {about}{budget.total:,} tokens{left}" if sends else ""
            self._chat.set_status(what)
            of = "" if budget.limit is None else f" of {_short(budget.limit)}"
            self._chat.title_line.tokens = f"{about}{_short(budget.total)}{of} tokens"

    def inspect(self, composed: Composed) -> None:
        """Have the inspector show this; see `Inspecting`."""

    def reply_grew(self, reply: Reply) -> None:
        """Have the inspector show what has arrived; see `Inspecting`."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What goes with the draft; the same tuple until it changes."""
        return self._parts

    def show_attachments(self, attachments: tuple[Attachment, ...]) -> None:
        """Let these files go with the draft, and no others."""
        self._attachments = attachments
        self._parts = tuple(attachment.part for attachment in attachments)
        self._chat.show_attachments(tuple(attachment.label for attachment in attachments))
        self._typed()

    async def show_session(self, opens: Callable[[Workspace], Awaitable[object]]) -> None:
        """Open another session: what is typed stays with the old one, and the draft of the new one
        comes; that of a long session before all of it is read.
        """
        workspace = self.workspace
        if workspace is None:
            return
        self._opening = this = object()
        self.is_switching_session = True
        try:
            if self._session_opened.is_set():
                # What Enter took is stored first, in its session. A submission to a session that
                # is still being loaded would keep the user there; it becomes the draft again.
                async with self.submission_lock:
                    pass
            self._session_opened.clear()
            await self.keep_draft()
            left = self._draft_session_id
            await opens(workspace)
            if workspace.state.session_id != self._draft_session_id:
                await self.bring_draft()
            elif workspace.state.session_id != left and (files := await workspace.drafts.files()):
                await self._bring_files(files)
        finally:
            if self._opening is this:  # else the next opening goes on from here
                self._session_opened.set()
                self._switched()

    @property
    def _holds_draft(self) -> bool:
        """True if the draft in the composer is the active session's."""
        return (
            self.workspace is not None and self._draft_session_id == self.workspace.state.session_id
        )

    def adopt_draft(self) -> None:
        """Let the composer's draft go along where another program's change switched the session."""
        if self.workspace is not None and self.is_workspace_open and not self.is_switching_session:
            self._draft_session_id = self.workspace.state.session_id

    def _switched(self) -> None:
        self.is_switching_session = False
        self.post_message(SessionSwitched())

    def bring_early(self, draft: str) -> None:
        """Put the draft of a session that is still being opened into the composer."""
        if self.workspace is not None and self._draft_session_id != self.workspace.state.session_id:
            self._draft_session_id = self.workspace.state.session_id
            self._composer.text = draft
            self.show_attachments(())
            self._switched()

    async def bring_draft(self, keep_typed: bool = False) -> None:
        """Put the shown session's draft into the composer."""
        workspace = self.workspace
        if workspace is None:
            return
        session_id = workspace.state.session_id
        kept = await workspace.drafts.text()
        if workspace.state.session_id != session_id:
            return  # another session was opened meanwhile, and its draft comes
        self._composer.text = kept + (self._composer.text if keep_typed else "")
        self._draft_session_id = session_id
        files = await workspace.drafts.files()
        if files or (self._attachments and not keep_typed):
            await self._bring_files(files)

    async def _bring_files(self, files: tuple[str, ...]) -> None:
        """Attach what was attached to a kept draft; what has gone meanwhile is told."""
        from tui_chat.attachments import read_attachment

        found: list[Attachment] = []
        for file in files:
            try:
                found.append(await asyncio.to_thread(read_attachment, Path(file)))
            except InputError as fault:
                self.show_error(fault)
        self.show_attachments(tuple(found))

    async def keep_draft(self) -> None:
        """Have the shown session's draft on disk."""
        # Before the conversations are open, and while a session is being opened, the composer
        # does not hold the active session's draft.
        if self.workspace is not None and self.is_workspace_open and self._holds_draft:
            files = tuple(str(attachment.path) for attachment in self._attachments)
            here = [
                s.text for s in self._submissions if s.session_id == self.workspace.state.session_id
            ]
            text = self._composer.text
            if here:
                left = LeftDraft(self.workspace.state.session, text, self._attachments)
                self._left_drafts = {**self._left_drafts, self.workspace.state.session_id: left}
            await self.workspace.drafts.save(
                self.workspace.state.session, joined_drafts(*here, text), files
            )


def joined_drafts(*drafts: str) -> str:
    """Return several drafts as one, a line each."""
    return "\n".join(draft for draft in drafts if draft)


def _short(tokens: int) -> str:
    """Write a number of tokens in little room: 950, 12.3k, 1.05M."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 999_500:
        return f"{tokens / 1_000:.3g}k"
    return f"{tokens / 1_000_000:.3g}M"

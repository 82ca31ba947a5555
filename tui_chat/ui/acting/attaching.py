"""Attaching: files that go with the draft, and the user's own editor."""

from __future__ import annotations

import asyncio

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.paths import typed_path
from tui_chat.ui.acting.drafting import Drafting
from tui_chat.ui.chat import AttachmentLine, Composer


class Attaching(Drafting):
    """Puts files to the draft and takes them off."""

    @on(Composer.AttachRequested)
    def _attach_requested(self, event: Composer.AttachRequested) -> None:
        self.attach(event.path)

    @work(group="attach")
    async def attach(self, typed: str) -> None:
        """Read a file and let it go with the draft."""
        from tui_chat.attachments import read_attachment

        path = typed_path(typed)
        try:
            attachment = await asyncio.to_thread(read_attachment, path)
        except InputError as fault:
            self.show_error(fault)
            return
        if all(attachment.path != other.path for other in self._attachments):
            self.show_attachments((*self._attachments, attachment))

    @on(AttachmentLine.RemoveRequested)
    def _remove(self, event: AttachmentLine.RemoveRequested) -> None:
        self._take_off(event.index)

    @on(Composer.DetachRequested)
    def _remove_last(self) -> None:
        if self._attachments:
            self._take_off(len(self._attachments) - 1)

    def _take_off(self, index: int) -> None:
        self.show_attachments(self._attachments[:index] + self._attachments[index + 1 :])

    def action_detach(self) -> None:
        """Take every file off the draft."""
        if self._attachments:
            self.show_attachments(())
        else:
            self.show_error(InputError("Nothing is attached.", advice="@ attaches a file."))

    def action_attach(self) -> None:
        """Begin to type the path of a file; what is offered for it can be chosen."""
        self._composer.start_path()

    @work(group="dialog", exclusive=True)
    async def action_edit_outside(self) -> None:
        """Edit the draft in the user's own editor."""
        from tui_chat.ui.terminal.external_programs import edit_in_editor

        try:
            text = await edit_in_editor(self, self._composer.text)
        except InputError as fault:
            self.show_error(fault)
            return
        if text != self._composer.text:
            self._composer.rewrite(text)
        self._composer.focus()

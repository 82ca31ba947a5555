"""The files that are sent with the draft: attached, shown and removed."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, ClassVar

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.paths import typed_path
from tui_chat.ui.areas.area import Area
from tui_chat.ui.areas.chat.status_lines import AttachmentLine

if TYPE_CHECKING:
    from tui_chat.ui.areas.chat.area import ChatArea


class AttachmentArea(Area):
    """Contains the line of the attachments."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("attach", "detach"))

    def __init__(self, chat: ChatArea) -> None:
        super().__init__(chat.context, "attachments")
        self.chat = chat

    def action_attach(self, path: str = "") -> None:
        """Attach a file; without a path, start to type one."""
        if path:
            self._attach_file(path)
        else:
            self.chat.pane.composer.start_path()

    @work(group="attach")
    async def _attach_file(self, typed: str) -> None:
        from tui_chat.workspace.attachments import read_attachment

        try:
            attachment = await to_thread(read_attachment, typed_path(typed))
        except InputError as error:
            self.show_error(error)
            return
        attached = self.chat.drafts.attachments
        if all(attachment.path != other.path for other in attached):
            self.chat.drafts.show_attachments((*attached, attachment))
            if attachment.is_card:
                words = "is a character card, attached as it is. /import makes a role of it."
                self.notify(f"{one_line(attachment.path.name, 60)} {words}", markup=False)

    @on(AttachmentLine.RemoveRequested)
    def _remove_attachment(self, event: AttachmentLine.RemoveRequested) -> None:
        attached = self.chat.drafts.attachments
        self.chat.drafts.show_attachments(attached[: event.index] + attached[event.index + 1 :])

    def remove_last(self) -> None:
        """Remove the last attachment, if there is one."""
        if attached := self.chat.drafts.attachments:
            self.chat.drafts.show_attachments(attached[:-1])

    def action_detach(self, name: str = "") -> None:
        """Remove the attachments of the draft that have a name; without one, all."""
        attached = self.chat.drafts.attachments
        left = tuple(
            each for each in attached if name and name not in (each.path.name, str(each.path))
        )
        if attached and len(left) == len(attached):
            names = ", ".join(one_line(each.path.name, 40) for each in attached)
            sentence = f"There is no attachment “{one_line(name, 40)}”."
            self.show_error(InputError(sentence, advice=f"Attached: {names}."))
        elif attached:
            self.chat.drafts.show_attachments(left)
        else:
            self.show_error(InputError("Nothing is attached.", advice="@ attaches a file."))

    @on(AttachmentLine.OpenRequested)
    @work(group="dialog", exclusive=True)
    async def _view_attachment(self, event: AttachmentLine.OpenRequested) -> None:
        """Show an attachment of the draft."""
        from tui_chat.ui.areas.file_views import view_file

        part = self.chat.drafts.attachments[event.index].part
        from tui_chat.models.media import file_of

        file = await to_thread(file_of, part, event.index + 1)
        if file is not None:
            await view_file(self, *file)

    def action_view_part(self) -> None:
        """Show the draft's last attachment, else the last message's picture or file."""
        if attached := self.chat.drafts.attachments:
            self.chat.pane.attachments.post_message(AttachmentLine.OpenRequested(len(attached) - 1))
        else:
            self.chat.pane.transcript.action_view()

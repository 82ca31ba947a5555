"""The files that are sent with the draft: a row of chips, and what attaches and removes them."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.content import Content
from textual.style import Style

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.paths import typed_path
from tui_chat.ui.area import WorkspaceWidget
from tui_chat.ui.widgets.plain_links import PlainLinks
from tui_chat.ui.widgets.row_list import clipped

if TYPE_CHECKING:
    from tui_chat.ui.area import AreaContext
    from tui_chat.ui.chat.drafts import ComposerDrafts

_REMOVE = "✕"


class AttachmentLine(PlainLinks, WorkspaceWidget):
    """The draft's attachments as chips with a remove mark; hidden if there are none."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("attach", "paste_picture"))

    DEFAULT_CSS = """
    AttachmentLine { display: none; width: 100%; height: 1; padding: 0 3; background: $background; }
    """

    def __init__(self, context: AreaContext) -> None:
        super().__init__(id="attachments")
        self.context = context

    @property
    def count(self) -> int:
        """The number of attachments."""
        return len(self._drafts.attachments)

    @property
    def _drafts(self) -> ComposerDrafts:
        return self.host.panes.chat.drafts

    def show(self) -> None:
        """Show the attachments of the draft."""
        self.display = bool(self._drafts.attachments)
        self.refresh()

    def render(self) -> Content:
        """Draw the chips that fit. A click on a mark removes its attachment, elsewhere shows it."""
        room, line = self.content_size.width, Content("")
        for index, attachment in enumerate(self._drafts.attachments):
            name = Content(f" {clipped(one_line(attachment.label, 80), max(room - 5, 1))}")
            view = Style.from_meta({"@click": f"attachments.view({index})"})
            remove = Style.from_meta({"@click": f"attachments.remove({index})"})
            chip = name.stylize(view) + Content(f" {_REMOVE} ").stylize(remove)
            if index and line.cell_length + chip.cell_length > room - 5:
                return line + Content.styled(f"+{self.count - index}", "$label")
            line += chip.stylize_before("$text-primary on $primary 20%") + Content(" ")
        return line

    # --- actions -----------------------------------------------------------------------------

    def action_attach(self, path: str = "") -> None:
        """Attach a file; without a path, start to type one."""
        if path:
            self._attach_file(path)
        else:
            self.host.panes.chat.composer.start_path()

    @work(group="attach", description="paste a picture")
    async def action_paste_picture(self) -> None:
        """Attach the picture in the system's clipboard."""
        if not await self.attach_clipboard_picture():
            raise InputError("There is no picture in the clipboard.")

    async def attach_clipboard_picture(self) -> bool:
        """Attach the picture in the system's clipboard; False if there is none. Raises InputError
        if it cannot be read, or must not be written to a file.
        """
        from tui_chat.ui.terminal.clipboard_pictures import clipboard_picture

        state = (await self.host.opened_workspace()).state
        path = await to_thread(clipboard_picture, state.config.data_dir / "pasted")
        if path is None:
            return False
        if state.is_temporary and path.parent.name == "pasted":
            await to_thread(path.unlink, missing_ok=True)
            raise InputError(
                "A pasted picture needs a file, and a temporary session writes nothing to disk."
            )
        self._attach_file(str(path))
        return True

    @work(group="attach")
    async def _attach_file(self, typed: str) -> None:
        from tui_chat.workspace.attachments import read_attachment

        new = await to_thread(read_attachment, typed_path(typed))
        attached = self._drafts.attachments
        if all(other.path != new.path for other in attached):
            self._drafts.show_attachments((*attached, new))

    def action_remove(self, index: int) -> None:
        attached = self._drafts.attachments
        self._drafts.show_attachments(attached[:index] + attached[index + 1 :])

    def action_remove_last(self) -> None:
        if attached := self._drafts.attachments:
            self._drafts.show_attachments(attached[:-1])

    @work(group="dialog", exclusive=True)
    async def action_view(self, index: int) -> None:
        from tui_chat.models.media import file_of
        from tui_chat.ui.dialogs.file_viewer import view_file

        part = self._drafts.attachments[index].part
        file = await to_thread(file_of, part, index + 1)
        if file is not None:
            await view_file(self, *file)

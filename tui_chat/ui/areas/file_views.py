"""Files of messages, drafts and roles: saved where the user says, or shown."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.files import write_bytes
from tui_chat.models.media import detect_mime, format_size, kind_of
from tui_chat.models.sanitize import one_line
from tui_chat.paths import typed_path

if TYPE_CHECKING:
    from tui_chat.ui.areas.area import Area


async def save_file(area: Area, name: str, content: bytes) -> None:
    """Save a file where the user says."""
    from tui_chat.ui.dialogs import file_questions as questions

    typed = await questions.ask_attachment_path(area.tui, name)
    if not typed:
        return
    path = typed_path(typed)
    exists = await to_thread(path.exists)
    if exists and not await questions.confirm_overwrite(area.tui, path):
        return
    try:
        await to_thread(write_bytes, content, path, overwrite=exists)
    except InputError as error:
        area.show_error(error)
        return
    saved = f"Saved {one_line(str(path))}, {format_size(len(content))}."
    area.notify(saved, markup=False)


async def view_file(area: Area, name: str, content: bytes) -> None:
    """Preview a picture in the terminal if that is installed; open any other file outside."""
    from tui_chat.ui.dialogs.image_preview import ImagePreview, can_preview
    from tui_chat.ui.terminal.external_programs import open_outside

    wanted: str | None = "open"
    if can_preview() and kind_of(detect_mime(content)) == "image":
        try:
            preview = await to_thread(ImagePreview.of, name, content)
        except InputError as error:
            area.show_error(error)
        else:
            wanted = await area.tui.push_screen_wait(preview)
    if wanted == "save":
        await save_file(area, name, content)
    elif wanted == "open":
        try:
            opened = await to_thread(open_outside, content, area.context.environ)
        except InputError as error:
            area.show_error(error)
            return
        area.notify(f"Opened {one_line(name)} with {opened}.", markup=False)

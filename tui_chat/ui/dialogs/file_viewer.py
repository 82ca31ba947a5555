"""Files of messages, drafts and roles: saved where the user says, or shown.

A preview shows a picture in the terminal, as half blocks, which every terminal with colors can
draw. Its library asks the terminal about its abilities when it is imported, and again for the size
of a cell. The app reads the terminal then, and would take the answers for keys; so it is not asked.
"""

from __future__ import annotations

import io
import sys
from asyncio import to_thread
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from rich.console import RenderableType
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tui_chat.errors import InputError
from tui_chat.files import write_bytes
from tui_chat.models.media import detect_mime, format_size, kind_of
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.questions import ask_new_file

if TYPE_CHECKING:
    from PIL.Image import Image

    from tui_chat.ui.area import WorkspaceWidget

MOST_PIXELS = 50_000_000
"""Pixels of a picture that is previewed at most; decoded, they take three bytes each."""
WIDEST, TALLEST = 100, 34
"""Cells of a preview."""


class ImagePreview(Dialog[str | None]):
    """A picture; the answer is `save` if the user wants that."""

    DEFAULT_CSS = """
    ImagePreview > Vertical { width: auto; }
    ImagePreview Static { width: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "save", show=False),
    ]

    def __init__(self, title: str, picture: Image) -> None:
        super().__init__()
        self._title = title
        self._picture = picture

    @classmethod
    def of(cls, name: str, content: bytes) -> ImagePreview:
        """Read a picture; blocks. Raises InputError."""
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(io.BytesIO(content)) as picture:
                width, height = picture.size
                if width * height > MOST_PIXELS:
                    raise InputError(f"{name} is too large for a preview: {width:,} × {height:,}.")
                picture.draft("RGB", (WIDEST * 20, TALLEST * 40))
                small = picture.convert("RGB")
                small.thumbnail((WIDEST * 20, TALLEST * 40))
        except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError) as error:
            raise InputError(f"{one_line(name, 60)} cannot be decoded.") from error
        return cls(f"{one_line(name, 60)} · {width:,} × {height:,}", small)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, self._title)
            yield Static(id="picture")
            yield Static("s save · Esc close", classes="hint")

    def on_resize(self, event: events.Resize) -> None:
        columns, lines = event.size
        width, height = min(columns * 9 // 10 - 6, WIDEST), min(lines * 9 // 10 - 7, TALLEST)
        own_width, own_height = self._picture.size
        scale = min(width / own_width, 2 * height / own_height)
        cells = max(round(own_width * scale), 1), max(round(own_height * scale / 2), 1)
        self.query_one("#picture", Static).update(_renderable(self._picture, *cells))

    def action_save(self) -> None:
        self.dismiss("save")


def _renderable(picture: Image, width: int, height: int) -> RenderableType:
    """Return a picture drawn in this many cells, without asking the terminal anything."""
    stdout, sys.__stdout__ = sys.__stdout__, None  # type: ignore[assignment]  what the import asks
    try:
        from textual_image import _terminal, renderable
    finally:
        sys.__stdout__ = stdout  # type: ignore[misc]
    _terminal.get_cell_size._result = _terminal.CellSize(10, 20)  # type: ignore[attr-defined]
    return renderable.HalfcellImage(picture, width, height)


async def save_file(
    area: WorkspaceWidget, name: str, content: bytes, title: str = "Save attachment to file"
) -> None:
    """Save a file where the user says."""
    target = await ask_new_file(area.tui, title, name)
    if target is None:
        return
    path, replaces = target
    await to_thread(write_bytes, content, path, "private", overwrite=replaces)
    saved = f"Saved {one_line(str(path))}, {format_size(len(content))}."
    area.notify(saved, markup=False)


async def view_file(area: WorkspaceWidget, name: str, content: bytes) -> None:
    """Preview a picture in the terminal; save any other file."""
    answer: str | None = "save"
    can_preview = find_spec("textual_image") is not None and find_spec("PIL") is not None
    if can_preview and kind_of(detect_mime(content)) == "image":
        try:
            preview = await to_thread(ImagePreview.of, name, content)
        except InputError as error:
            area.show_error(error)
        else:
            answer = await area.tui.push_screen_wait(preview)
    if answer == "save":
        await save_file(area, name, content)

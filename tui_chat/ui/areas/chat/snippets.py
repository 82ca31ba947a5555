"""Inserting a snippet into the draft, and making one of it."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.library.library import file_name
from tui_chat.library.snippets import Blank, expanded
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.questions import (
    ask_snippet,
    ask_text,
    confirm_replace_snippet,
)

if TYPE_CHECKING:
    from tui_chat.ui.areas.chat.area import ChatArea
    from tui_chat.workspace.workspace import Workspace


async def insert_snippet(area: ChatArea, workspace: Workspace, name: str) -> None:
    """Insert a snippet into the draft; without a name, ask which one. Raises InputError."""
    name = name or await ask_snippet(area.tui, workspace) or ""
    if name:
        snippet = await to_thread(workspace.library.snippet, name)
        pieces = expanded(snippet, workspace.requests.inputs(""))
        area.pane.composer.insert_snippet(
            (each.name, each.text, each.choices) if isinstance(each, Blank) else each
            for each in pieces
        )


async def save_snippet(area: ChatArea, workspace: Workspace) -> None:
    """Write the draft to a snippet, asking for its name. Raises InputError."""
    text = area.pane.composer.text
    if not text.strip():
        advice = "{{?name}} makes a blank in it."
        raise InputError("Type the text of the snippet first.", advice=advice)
    typed = await ask_text(area.tui, "Name of the snippet", "")
    if not typed:
        return
    name = file_name(typed)
    exists = name in workspace.library.names("snippets")
    if not exists or await confirm_replace_snippet(area.tui, name):
        path = await to_thread(workspace.library.save_snippet, text, name, overwrite=exists)
        area.notify(f"Saved {one_line(str(path))}.", markup=False)

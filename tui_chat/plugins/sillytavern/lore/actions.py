"""The actions for lorebooks: choosing and editing them, and going to an entry of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.plugins.sillytavern.lore.books import Lorebooks
from tui_chat.plugins.sillytavern.lore.dialogs import choose_lorebooks, entry_form

if TYPE_CHECKING:
    from tui_chat.models.text import Origin
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

VIEW = "lore"
"""The view of the inspector."""


async def choose(app: TuiChat, name: str) -> None:
    """Choose, create and edit lorebooks; with a name, search that one or no longer."""
    workspace = await app.presets.host.opened_workspace()
    if not name:
        await choose_lorebooks(app, workspace)
        return
    is_used = name in workspace.state.lorebook_names
    await Lorebooks(workspace).use(name, is_used=not is_used)
    if (name in workspace.state.lorebook_names) is not is_used:
        how = "no longer searched" if is_used else "searched"
        app.notify(f"The lorebook “{name}” is {how} in this session.", markup=False)


async def reveal(app: TuiChat, origin: Origin) -> bool:
    """Go to a lore entry in its view, and say where it is kept; from there edit it."""
    area, entry = app.inspector, origin.lore_entry
    if area.pane is None or entry is None or entry.within is None:
        return False
    workspace = area.workspace
    target = Lorebooks(workspace).find(entry)
    if area.pane.shows(VIEW) and target is not None and area.may_write:
        app.run_worker(_edit(app, workspace, *target), group="dialog", exclusive=True)
        return True
    file = workspace.library.files("lorebooks").get(target[0] if target is not None else "")
    area.pane.show_in_view(VIEW, entry)
    where = f": {file}" if file is not None else ""
    words = f"{entry.label} of the lorebook “{entry.within.id}”{where}"
    app.notify(words[:1].upper() + words[1:], markup=False)
    return True


async def _edit(app: TuiChat, workspace: Workspace, name: str, entry_id: str) -> None:
    file = Lorebooks(workspace).read(name)
    entry = next((each for each in file.book.entries if each.id == entry_id), None)
    await app.push_screen_wait(entry_form(workspace, name, file, entry))

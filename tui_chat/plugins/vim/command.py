"""`/vim`: use Vim's keys in the composer, or no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.errors import InputError

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.ui.chat.editing_mode import EditingMode


def vim_editing() -> EditingMode:
    """Return the editing mode. Raises InputError without the extra that it needs."""
    try:
        from tui_chat.plugins.vim.editing import VimEditing
    except ModuleNotFoundError as error:
        sentence = f"Vim's keys need the extra “vim”: {error.name} is not installed."
        raise InputError(sentence, advice='pip install "tui-chat[vim]"') from error
    return VimEditing()


async def toggle_vim(app: TuiChat, _: str) -> None:
    """Write `editing_mode` into the configuration, which is used at once."""
    workspace = await app.main.opened_workspace()
    is_on = workspace.state.config.editing_mode == "vim"
    await workspace.settings.change_config({("editing_mode",): None if is_on else "vim"})
    if not is_on and workspace.state.config.editing_mode == "vim":
        app.notify("Vim's keys edit the draft: Esc for the normal mode. Enter sends in both modes.")

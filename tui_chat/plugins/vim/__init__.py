"""Vim's keys in the composer, as the configuration's `editing_mode = "vim"` or `/vim` chooses them.

editing         normal and insert mode; prompt_toolkit does the editing
command         `/vim`, and the error without the extra
"""

from tui_chat.api import Action, Part, Plugin

PLUGIN = Plugin(
    name="vim",
    summary="Edits text in the composer with Vim's keys.",
    parts=(Part("editing mode", "tui_chat.plugins.vim.command:vim_editing", "vim"),),
    actions=(
        Action(
            "vim",
            "tui_chat.plugins.vim.command:toggle_vim",
            "Vim",
            "Vim keys in the composer, or no longer",
            aliases=("vi", "modal editing", "normal mode", "keybindings", "editing mode"),
        ),
    ),
)

"""Macros: `{{...}}` in presets, prompts, profiles and lore.

declarations  what there is to say of a macro, once: names, help, arguments, function
syntax        reads a text into literals and macros
functions     the macros
expander      expands the texts of a request, in their order
"""

from tui_chat.context.macros import functions as functions

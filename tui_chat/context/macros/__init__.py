"""Macros: `{{...}}` in presets, prompts, profiles and lore.

syntax     reads a text into literals and macros
expansion  declares macros, expands the texts of a request, in their order
functions  the macros
"""

from tui_chat.context.macros import functions as functions  # declares them

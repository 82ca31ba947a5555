"""Macros: `{{...}}` in presets, prompts, profiles and lore.

syntax     reads a text into literals and macros
expansion  declares macros, expands one text
functions  the macros
expander   expands the texts of a request, in their order
"""

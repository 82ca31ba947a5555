"""Macros: `{{...}}` in presets, prompts and profiles.

syntax            reads a text into literals and macros
environment       what macros read: names, clock, conversation, chance, variables
functions         the macros that take arguments or have effects
expander          expands one text
preset_expansion  which texts are expanded, in which order, and when one is expanded again
completion        what each macro does, in a line, for completion in the editor
"""

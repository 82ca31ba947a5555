"""Macros: `{{...}}` in presets, prompts and profiles.

syntax            reads a text into literals and macros
dialect           how the macros of a preset's builder differ from the core's
environment       the values that macros read: names, clock, conversation, seeds, variables
functions         the macros that take arguments or have effects
times             times and durations in words
completion        the macros offered for completion, with a line of help
expander          expands one text
expansion         an expanded text, with its notes
preset_expansion  which texts are expanded, in which order, and when one is expanded again
"""

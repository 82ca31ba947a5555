"""Macros: `{{...}}` in presets, prompts and profiles.

syntax            reads a text into literals and macros
environment       the values that macros read: names, clock, conversation, seeds, variables
functions         the macros that take arguments or have effects
durations         the time between two moments in words
completion        the macros offered for completion, with a line of help
expander          expands one text
notes             the notes about the macros of a text
legacy            what SillyTavern's old engine takes for a macro
whitespace        trims and indents of expanded texts
preset_expansion  which texts are expanded, in which order, and when one is expanded again
"""

"""Editing a preset, without a screen: pure functions on immutable values.

outline  the preset's messages in the order of the context that they make
slots    the places in an outline where a message can go, moving it there, and what can be added
edits    the other edits, their undo history, and groups that are switched together
"""

"""Editing a preset, without a screen: pure values, so that each step can be undone.

sketch    the preset as a list that looks like the context it makes
slots     the places in it where a message can be put
changes   one edit: a preset in, a preset out
history   what was edited: undo, redo, and whether it is saved
"""

from tui_chat.editing.changes import added, changed, duplicated, moved, put, removed
from tui_chat.editing.history import Edits
from tui_chat.editing.sketch import Row, Sketch, sketch
from tui_chat.editing.slots import Slot, slots

__all__ = [
    "Edits",
    "Row",
    "Sketch",
    "Slot",
    "added",
    "changed",
    "duplicated",
    "moved",
    "put",
    "removed",
    "sketch",
    "slots",
]

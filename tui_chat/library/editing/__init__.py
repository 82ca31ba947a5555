"""Editing a preset, without a screen: pure values, so that each step can be undone.

sketch    the preset as a list that looks like the context it makes
slots     the places in it where a message can be put
changes   one edit: a preset in, a preset out
walking   from slot to slot with a key
history   what was edited: undo, redo, and whether it is saved
"""

from tui_chat.library.editing.changes import added, changed, duplicated, moved, put, removed
from tui_chat.library.editing.history import Edits
from tui_chat.library.editing.sketch import Row, Sketch, sketch
from tui_chat.library.editing.slots import Slot, slots
from tui_chat.library.editing.walking import beside, next_slot, touched

__all__ = [
    "Edits",
    "Row",
    "Sketch",
    "Slot",
    "added",
    "beside",
    "changed",
    "duplicated",
    "moved",
    "next_slot",
    "put",
    "removed",
    "sketch",
    "slots",
    "touched",
]

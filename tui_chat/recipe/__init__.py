"""What a request was made of, so that it can be made again, here or on another machine.

recipe     kept with each request: what the store does not have is named by its hash
history    which stored messages a model is shown
turn_file  a request with everything it was made of and its reply, in one file

The test of both is the SHA-256 of the body: what is rebuilt is the same to the byte, or it is
told that it is not.
"""

from tui_chat.recipe.history import prefilled, sendable
from tui_chat.recipe.recipe import (
    Recipe,
    as_json,
    read_recipe,
    rebuilt_inputs,
    recipe_of,
    revisions_of,
)
from tui_chat.recipe.turn_file import (
    CameBack,
    TurnFile,
    dump_turn,
    holds_turn,
    is_turn,
    read_turn,
)

__all__ = [
    "CameBack",
    "Recipe",
    "TurnFile",
    "as_json",
    "dump_turn",
    "holds_turn",
    "is_turn",
    "prefilled",
    "read_recipe",
    "read_turn",
    "rebuilt_inputs",
    "recipe_of",
    "revisions_of",
    "sendable",
]

"""Side by side: one draft to two to four models, and their replies in columns.

action             opens the dialog, then the screen
slot_dialog        the choice of models, presets and settings (targets: as they are remembered)
panel              the slots and what is done with them, without a screen
screen             the columns, the composer and the keys
column             one slot: its title and its conversation
tool_consent       the question about a tool call that waits in a slot
request_dialog     the request of a slot
"""

from tui_chat.api import Action, Plugin

PLUGIN = Plugin(
    name="side_by_side",
    summary="Sends one draft to several models, and shows their replies side by side.",
    actions=(
        Action(
            "compare",
            "tui_chat.plugins.side_by_side.action:compare_models",
            "Compare",
            "Compare models side by side…",
            aliases=(
                *("compare models", "side by side", "arena", "split", "beam", "models"),
                *("several models", "multiple models", "columns", "a/b", "vs", "versus", "battle"),
            ),
            other_names=("side-by-side", "arena"),
            writes=True,
        ),
    ),
)

"""The tree: all branches of a session at a glance, and what can be done with them.

actions       what the app runs: opens the screen, and goes where it says
screen        the screen, its keys and its dialogs
tree_list     the rows, of which only those in sight are drawn and have their texts read
layout        which rows there are: forks, folded runs of messages, search results (pure)
copies        copies of replies at the end of the active branch

docs/inspector.md says what it is for.
"""

from tui_chat.api import Action, Plugin

PLUGIN = Plugin(
    name="tree",
    summary="Shows all branches of a session, and brings replies from one to another.",
    actions=(
        Action(
            "branches",
            "tui_chat.plugins.tree.actions:show_tree",
            "Branches",
            "Show the branches of this conversation",
            aliases=(
                *("tree", "branches", "map", "history tree", "versions", "forks", "timeline"),
                *("compare branches", "bookmarks", "bring reply here", "merge branches"),
            ),
            argument="WORDS",
            other_names=("branch",),
        ),
        Action(
            "tree",
            "tui_chat.plugins.tree.actions:show_tree",
            "branches",
            "Show the branches around it",
            keys="b",
            aliases=("tree", "map", "versions", "forks", "history tree"),
            argument="WORDS",
            place="message",
        ),
    ),
)

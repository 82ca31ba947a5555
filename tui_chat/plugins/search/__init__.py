"""Search: messages and sessions found by their words, in the app and on the command line.

action      what the app runs: the screen on a workspace, and the way to the chosen hit
screen      SearchScreen: query, hits and preview
query_text  from typed text to a query: words, and filters such as `role:` and `after:`
hit_list    HitList and HitPreview: the hits, and the messages around one
command     `tui-chat search`

The index is the store's (`store/search`).
"""

from tui_chat.api import Action, Command, Plugin

PLUGIN = Plugin(
    name="search",
    summary="Finds messages and sessions by their words.",
    commands=(
        Command(
            "search",
            "tui_chat.plugins.search.command:search",
            "Search messages and sessions.",
            group="Chat",
        ),
    ),
    actions=(
        Action(
            "search",
            "tui_chat.plugins.search.action:search",
            "Search",
            "Search all conversations",
            keys="ctrl+f",
            aliases=("find everywhere", "grep", "history", "search chats"),
            argument="WORDS",
        ),
    ),
)

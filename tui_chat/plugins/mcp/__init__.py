"""Servers of the Model Context Protocol: a client, and our own history as a server.

source           the configured servers (settings) as sources of tools
server           one of them: its tools, its life
connection       the client of the package `mcp` in a task of its own, with timeouts and questions
                 to the user (elicitation, question_dialog)
transport        the streams between the package and a server: what it may read
process          the process of a server
http_transport   the way to a server over HTTP (login: its tokens)
tools            definitions of tools, their hashes and their names for models
content          texts, pictures and files in what a server sends
command          `tui-chat mcp` (foreign_files: servers in other programs' files)
history_server   our own history as a server (history_command: on standard input and output)

docs/tools.md says how it is used.
"""

from tui_chat.api import Command, Part, Plugin

PLUGIN = Plugin(
    name="mcp",
    summary="Offers the tools of MCP servers.",
    commands=(
        Command(
            "mcp",
            "tui_chat.plugins.mcp.command:mcp",
            "List, add and test MCP servers; serve your history as one.",
            group="Setup",
        ),
    ),
    config="tui_chat.plugins.mcp.settings:Table",
    parts=(Part("tool source", "tui_chat.plugins.mcp.source:open_sources"),),
)

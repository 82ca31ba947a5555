"""Servers of the Model Context Protocol: a client, and our own history as a server.

source           the configured servers (settings) as sources of tools
server           one of them: its tools, prompts and resources, its life
connection       the era of a server, requests with timeouts, questions to the user (elicitation)
messages         the messages of both eras, without I/O
stdio, streamable_http    the two ways to a server (transport: what they have in common)
tools            definitions of tools, their hashes and their names for models
content          texts, pictures and files in what a server sends
"""

from tui_chat.extensions import Plugin

PLUGIN = Plugin(
    name="mcp",
    summary="Offers the tools, prompts and resources of MCP servers.",
    config="tui_chat.plugins.mcp.settings:Table",
    tool_sources=("tui_chat.plugins.mcp.source:open_sources",),
)

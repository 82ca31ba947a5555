"""Web pages: exports a conversation as one HTML page without scripts.

page            the page, and its style
"""

from tui_chat.api import Format, Plugin

PLUGIN = Plugin(
    name="html",
    summary="Exports conversations as HTML pages.",
    formats=(
        Format(
            "html",
            "tui_chat.plugins.html.page:page",
            ending=".html",
            summary="For reading in a browser, offline",
        ),
    ),
)

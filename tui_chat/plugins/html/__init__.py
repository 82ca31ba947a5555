"""Web pages: exports a conversation as one HTML page without scripts.

page            the page, and its style
"""

from tui_chat.extensions import ExportPath, Plugin

PLUGIN = Plugin(
    name="html",
    summary="Exports conversations as HTML pages.",
    exports=(
        ExportPath(
            "html", "tui_chat.plugins.html.page:page", ".html", "For reading in a browser, offline"
        ),
    ),
)

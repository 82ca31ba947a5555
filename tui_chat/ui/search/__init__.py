"""The search area: a screen that searches all sessions.

screen      SearchScreen: query, hits and preview; what the app talks to
query_text  from typed text to a query: words, and filters such as `role:` and `after:`
hit_list    HitList and HitPreview: the hits, and the messages around one
"""

from tui_chat.ui.search.query_text import KnownNames
from tui_chat.ui.search.screen import SearchAnswer, SearchScreen

__all__ = ["KnownNames", "SearchAnswer", "SearchScreen"]

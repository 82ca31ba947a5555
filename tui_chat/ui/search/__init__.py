"""Searching everything that was said.

screen    SearchScreen: words, hits and the surroundings of one; what the app talks to
typed     from what was typed to a query: words, and filters such as `role:` and `after:`
hits      HitList: what was found, of which only the visible lines are drawn
preview   Preview: the messages around a hit
lines     marked text, wrapped
"""

from tui_chat.ui.search.screen import Answer, SearchScreen
from tui_chat.ui.search.typed import Known

__all__ = ["Answer", "Known", "SearchScreen"]

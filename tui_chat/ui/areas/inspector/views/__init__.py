"""The views of a request other than its body.

rows_view  RowsView: a list of rows that are made when they come into sight
context    ContextView: the turns with origin, rule and tokens, and what was left out; its section
           of settings is in settings_rows
request    RequestView: method, URL, headers, size
diff       DiffView: compared with another request
reply      ReplyView: the reply and the response as received
budget     BudgetView: tokens by origin
lore       LoreView: the entries of lorebooks over the turns, each with the reason
calls      CallsView: the calls of a recorded session, and what broke the cache
"""

from tui_chat.ui.areas.inspector.tabs import View, ViewTabs
from tui_chat.ui.areas.inspector.views.budget import BudgetView
from tui_chat.ui.areas.inspector.views.calls import CallsView
from tui_chat.ui.areas.inspector.views.context import ContextView
from tui_chat.ui.areas.inspector.views.diff import DiffView
from tui_chat.ui.areas.inspector.views.lore import LoreView
from tui_chat.ui.areas.inspector.views.reply import ReplyDetails, ReplyView
from tui_chat.ui.areas.inspector.views.request import SETTLED, RequestView
from tui_chat.ui.areas.inspector.views.rows_view import RowsView
from tui_chat.ui.areas.inspector.views.settings_rows import InProtocol

__all__ = [
    "SETTLED",
    "BudgetView",
    "CallsView",
    "ContextView",
    "DiffView",
    "InProtocol",
    "LoreView",
    "ReplyDetails",
    "ReplyView",
    "RequestView",
    "RowsView",
    "View",
    "ViewTabs",
]

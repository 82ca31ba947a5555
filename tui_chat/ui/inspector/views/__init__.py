"""What else there is to see of a request beside its body, a view each.

rows        Row, Rows: what a view shows, made row by row as it is looked at
rows_view   RowsView: draws the visible rows, has the cursor
said        texts as rows, for what is unfolded
survey      what a context is made of, from one to the next
context     ContextView: the turns, where each stands and why, what was left out
request     RequestView: method, URL, headers, size
diff        DiffView: beside another request
reply       ReplyView: what came back
budget      BudgetView: where the tokens go
tabs        View, ViewTabs: the line to choose one from
"""

from tui_chat.ui.inspector.tabs import View, ViewTabs
from tui_chat.ui.inspector.views.budget import BudgetView
from tui_chat.ui.inspector.views.context import ContextView
from tui_chat.ui.inspector.views.diff import DiffView
from tui_chat.ui.inspector.views.reply import Came, ReplyView
from tui_chat.ui.inspector.views.request import SETTLED, RequestView
from tui_chat.ui.inspector.views.rows_view import RowsView

__all__ = [
    "SETTLED",
    "BudgetView",
    "Came",
    "ContextView",
    "DiffView",
    "ReplyView",
    "RequestView",
    "RowsView",
    "View",
    "ViewTabs",
]

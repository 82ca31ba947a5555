"""The sidebar: the list of sessions.

session_list  SessionList: new-session row, filter and rows; what the app talks to
rows          SessionRows: the rows themselves, of which only the visible ones are drawn
ago           how long ago, in three characters
"""

from tui_chat.ui.sidebar.session_list import SessionList

__all__ = ["SessionList"]

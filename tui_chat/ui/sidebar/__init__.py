"""The sidebar: the list of sessions.

session_list    SessionList: new-session row, filter and rows; what the app talks to
session_rows    SessionRows: the rows, their keys, and how a line looks
session_groups  which sessions are shown, under which heading, on which line
messages        what the sidebar asks the app to do
"""

from tui_chat.ui.sidebar.session_list import SessionList

__all__ = ["SessionList"]

"""The sidebar: the list of sessions.

session_list  SessionList: new-session row, filter and rows; what the app talks to
posted        what it asks the app for
top           the row that begins a session, and the filter
rows          SessionRows: the rows themselves, of which only the visible ones are drawn
drawing       the look of a line
layout        where groups and sessions stand
groups        sessions by time, folder or tag
narrowing     which sessions have what was typed
"""

from tui_chat.ui.sidebar.session_list import SessionList

__all__ = ["SessionList"]

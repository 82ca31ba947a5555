"""The area of the sessions.

area            SessionsArea: opening, creating and organizing sessions, and files of them
session_list    SessionList: new-session row, filter and rows
session_rows    SessionRows: the rows, their keys, and how a line looks
session_groups  which sessions are shown, under which heading, on which line
"""

from tui_chat.ui.areas.sessions.session_list import SessionList

__all__ = ["SessionList"]

"""The inspector: the exact request body, live while the user types.

hostile        characters that hide or deceive, as visible marks
wrap           where a drawn line breaks
drawn_line     a line as drawn, in runs of one origin
blocks         how many rows everything takes; reused from keystroke to keystroke
place          where something is, by the nodes around it
layout         which row shows what, and where something is
walking        strings and literals in order, each with its row
landmarks      rows one comes back to: the draft, the top, the notes
looking        what is under the cursor, in words
letters        what tells origins apart without colour
row_painter    draws one row in its colours
finding        where words are, and what came from one source
payload_canvas draws the visible rows, has the cursor
payload_view   PayloadView: what keys and clicks do in the body
find_line      asks for the words to be found
forecast_line  what a prompt cache can serve
views          the other views: context, request, difference, reply, budget
figures        numbers and addresses in few cells
protocol_tabs  summary  legend  origin_status  notes_list   the one-liners around it
placing        which rule placed what is under the cursor
frame          InspectorFrame: puts them together, and shows a request
inspector      Inspector: what keys and clicks do in it
"""

from tui_chat.ui.inspector.drawn_row import CursorTarget
from tui_chat.ui.inspector.inspector import Inspector
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.views import Came, View

__all__ = ["Came", "CursorTarget", "Inspector", "PayloadView", "View"]

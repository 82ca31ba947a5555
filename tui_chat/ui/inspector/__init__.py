"""The inspector: the exact request body, live while the user types, and other views of the request.

area            InspectorArea: the live request, or another one in its place
pane            Inspector: the parts of the pane, and what keys and clicks do
view_stack      ViewStack: the views, of which one is visible
views           the table of views, and what a view is given
rows_view       RowsView: a list of rows that are made when they come into sight
context  settings_rows  budget  diff  http  reply   the views beside the body
unsent_origins  why nothing of an origin is in a request
payload_view    PayloadView: the body as a line view, and what keys and clicks do in it
payload_cursor  the row and piece under the cursor
payload_selection  what the mouse selects, and what is copied of it
payload_layout  which row shows what, for a width
payload_places  where words, sources, the draft and notes are
drawn_row       a row, its drawn line, and what is under the cursor
row_painter     a row as a strip
row_wrapping    where a line breaks; numbers and texts, shortened to fit
tabs            the lines of protocols and views
summary  origins  notes_list   the lines around the view
"""

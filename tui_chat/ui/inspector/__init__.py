"""The inspector: the exact request body, live while the user types, and other views of the request.

area            InspectorArea: the live request, or another one in its place
request_edit_actions  edits of the request by hand
pane            Inspector: the parts of the pane, and what keys and clicks do
lines           switches of views and protocols, origin line, worst note and cache forecast
view_stack      ViewStack: the views, of which one is visible; guarded_view: those of plugins
views           the table of views, and what a view is given
rows_view       RowsView: rows of styled text, made when they come into sight
context  settings_rows  diff  budget  http  reply  notes   the views beside the body
origins         origins and placement rules in words
payload_view    PayloadView: the body as a line view, and what keys and clicks do in it
payload_layout  which row shows what, for a width; body_nodes: walks over its nodes
payload_places  where words, sources, the draft, notes, the cursor and a selection are
drawn_row       a row, its drawn line, and what is under the cursor; row_painter: as a strip
row_wrapping    where a line breaks; numbers and texts, shortened to fit
edit_place      the place of a value that is edited by hand
"""

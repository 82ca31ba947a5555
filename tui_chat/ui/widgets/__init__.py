"""Base widgets and drawing helpers that several areas share.

line_view      the widget under transcript, payload and lists: lines, drawn when in sight
row_list       the one list widget, a line view of rows: cursor, paging, mouse
mouse_selection  text selected by drag
after_refresh  calls after a refresh that come in any case
component_styles  style names to Rich styles of the current theme
marked_text    text with marked places
safe_text      a last filter for control characters, and a text area that shows them
"""

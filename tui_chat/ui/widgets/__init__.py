"""Base widgets and drawing helpers that several areas share.

row_list       the one list widget: cursor, paging, mouse, visible lines only
one_pass       widgets and containers that are laid out and drawn once per resize
thin_scroll    a vertical scroll view with a one-cell scroll bar
acyclic_strip  a strip without a reference to itself
component_styles  style names to Rich styles of the current theme
safe_text      a last filter for control characters, and a text area that shows them
"""

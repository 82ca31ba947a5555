"""The areas of the main screen; they do not know each other.

In each, `area` has the actions and talks with the workspace; the other modules are widgets that
show values and post what the user wants. `area.AreaHost` is what areas ask of the main screen.
"""

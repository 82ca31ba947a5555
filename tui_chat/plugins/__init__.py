"""The built-in plugins: a folder for each, which can be deleted without a trace. See
`tui_chat.extensions` for what a plugin may add.

transcripts     conversations of other programs
web             the app in a browser
"""

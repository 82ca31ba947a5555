"""The built-in plugins: a folder for each, which can be deleted without a trace. See
`tui_chat.api` for what a plugin may add, and each folder's docstring for what it is.
"""

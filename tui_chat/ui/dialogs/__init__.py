"""Dialogs on top of the screen: prompts, choices and forms. `ui.questions` opens the common ones.

Loaded when one is opened, so that the first frame does not wait for them.
"""

"""Dialogs on top of the screen: prompts, choices, forms, and the questions that use them.

Loaded when one is opened, so that the first frame does not wait for them.
"""

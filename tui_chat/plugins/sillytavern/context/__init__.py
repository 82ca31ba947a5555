"""The requests of SillyTavern's presets.

builder          the order of the messages, and the policies that change it
depths           messages at a depth: one message per depth, order and role
prompt_budget    which messages fit, in the order in which they are charged
post_processing  squashing of neighbors, and what some servers do with the finished list
conversation     names of speakers, scripts and macros in the conversation
rules            what it decides of the steps that are the core's
scripts          regex scripts in what is sent
macros           those that the core does not have
control          what the kinds of generation add, and what is sent if nothing is typed
"""

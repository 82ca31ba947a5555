"""The pane of the sessions.

pane     SessionsPane: the list with its filter, and what organizes the sessions in it
actions  what opens, creates and changes a session, and files of conversations
rows     SessionList: groups, rows, selection and folding
"""

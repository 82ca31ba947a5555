"""Lorebooks: content that is sent when its keys occur in the conversation.

keys          the keys of a book, and the search for them
book_index    books prepared for searching
key_search    which keys occur in the texts of a request
conditions    filters, groups and budgets of entries
activation    the entries that are active in a request
timers        entries that stay active or pause, over a conversation
explanation   why an entry is active, or not
description   an entry in words
table         the entries over the turns of a conversation
edits         edits of the text of a book
fields        the fields of an entry in a form
books         the lorebooks that the user edits
book_list     the list of them
dialogs       the entries of a book, and the form of one
view          the view of the inspector
actions       the actions of the app
command       the command
"""

"""Lorebooks: content that is sent when its keys occur in the conversation.

keys       keys, and the search for them
index      books prepared for searching
conditions filters, timing and groups of entries
budget     their token budgets
search     the entries that are active in a request
timers     entries that stay active or pause, over a conversation
outcomes   what became of each entry; an entry in words
edits      edits of the text of a book
fields     the fields of an entry in a form
books      the lorebooks that the user edits
dialogs    the list of them, the entries of a book, and the form of one
view       the view of the inspector
actions    the actions of the app
command    the command
"""

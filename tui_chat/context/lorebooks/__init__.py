"""Lorebooks: preset content that keywords in the conversation activate.

activation      the contributor: which entries are active, and within which budget
book_index      books prepared for searching: ranked entries, their keys, their messages
key_search      which keys occur in the texts that are searched for a request
history_keys    which keys occur in the newest messages; remembered between keystrokes
keys            the keys of a book, found in a text all at once
conditions      what holds an entry back besides its keys: filters and timing
groups          of the active entries of a group one remains
lore_budget     the tokens of entries: each book's budget, and the session's
explanation     why each entry is active, or not
timers          sticky entries and pauses after a request
turns           the timers over the turns of a conversation, which follow from its messages
patterns        keys that are regular expressions in JavaScript's syntax
"""

"""Lorebooks: preset content that keywords in the conversation activate.

dialect         how the lorebooks of a preset's builder differ from the core's
activation      the contributor: which entries are active, and within which budget
book_index      books prepared for searching: ranked entries, their keys, their messages
key_search      which keys occur in the texts that are searched for a request
keys            the keys of a book, found in a text all at once
literals        many literals, found in a text all at once
conditions      what holds an entry back besides its keys: filters, timing, groups, budgets
explanation     why each entry is active, or not
timers          sticky entries and cooldowns over the turns of a conversation
patterns        keys that are regular expressions in JavaScript's syntax
"""

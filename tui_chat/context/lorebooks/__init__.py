"""Lorebooks: preset content that keywords in the conversation activate.

dialect         how the lorebooks of a preset's builder differ from the core's
activation      the contributor: which entries are active, and within which budget
book_index      books prepared for searching: numbered keys, ranked entries, their messages
key_search      which keys occur in the texts that are searched for a request
keys            the keys of a book, and which of them occur in a text
conditions      what holds an entry back besides its keys: filters, timing, groups, budgets
explanation     which entries are active, and by which key
timers          sticky entries and cooldowns over the turns of a conversation
patterns        regular expressions in JavaScript's syntax, in linear time
"""

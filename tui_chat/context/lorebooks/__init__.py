"""Lorebooks: preset content that keywords in the conversation activate.

activation      the contributor: which entries are active, and within which budget
book_index      books prepared for searching: ranked entries, their keys, their messages
keys            the keys of a book, found in a text all at once
patterns        keys that are regular expressions in JavaScript's syntax
"""

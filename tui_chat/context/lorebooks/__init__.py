"""Lorebooks: preset content that keywords in the conversation activate.

activation      the contributor: which entries come up, and within which budget
book_index      books prepared for searching: ranked entries, their keys, their messages
keys            the keys of a book, found in a text all at once
pattern_syntax  keys that are regular expressions: JavaScript's syntax, parsed
patterns        their matching in time linear in the text, by automata
backtracking    their matching where back-references need it, in a bounded number of steps
"""

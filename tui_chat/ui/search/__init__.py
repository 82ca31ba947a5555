"""Search: messages and sessions found by their words.

screen      SearchScreen: query, hits and preview, and the way to the chosen hit
hits        a hit as text: a line of the list, and the messages around it
query_text  from typed text to a query: words, and filters such as `role:` and `from:`

The index is the store's (`store/search`).
"""

"""Search: messages and sessions found by their words.

action      the screen on a workspace, and the way to the chosen hit
screen      SearchScreen: query, hits and preview
query_text  from typed text to a query: words, and filters such as `role:` and `after:`
hit_list    HitList and HitPreview: the hits, and the messages around one

The index is the store's (`store/search`).
"""

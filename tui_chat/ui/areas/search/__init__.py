"""The search area: a screen that searches all sessions.

area        WorkspaceSearch: the screen on a workspace
screen      SearchScreen: query, hits and preview
query_text  from typed text to a query: words, and filters such as `role:` and `after:`
hit_list    HitList and HitPreview: the hits, and the messages around one
"""

"""Analysis of requests without sending them. Pure.

prompt            the body in the order in which a model reads it, with token counts
cache_forecast    how much of it a prompt cache can serve, and the first difference
diff              the difference of two bodies, line by line
captured_request  a pasted request as a session and a preset
history_parts     what captured messages are made of: reminders, files, tool results, ...
token_shares      what is in the context window: tokens by origin, growth, largest turns
lore_table        the entries of lorebooks over the turns of a conversation
http_text         a request as HTTP text or as a curl command
"""

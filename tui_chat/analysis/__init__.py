"""Analysis of requests without sending them. Pure.

prompt            the body in the order in which a model reads it, with token counts
cache_forecast    how much of it a prompt cache can serve, the first difference, what was lost
diff              the difference of two bodies, line by line
captured_request  a pasted request as a session and a preset
token_shares      what is in the context window: tokens by origin, growth, largest turns; what
                  captured messages are made of: reminders, files, tool results, ...
http_text         a request as HTTP text or as a curl command
"""

"""The tap: a proxy that records what other programs send to models.

http_messages  where HTTP messages begin and end, in bytes that pass unchanged
exchange       what is kept of a request and its response
upstreams      the servers that requests go on to, and the protocols of requests
proxy          the connections
"""

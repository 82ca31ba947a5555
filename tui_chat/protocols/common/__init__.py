"""Code that the protocols share.

Captured requests
reading           a whole request as blocks, and its blocks
setting_rows      settings as rows of one table, read and written
trees             what a writer returns, its tree with origins, and origins of what has no text

Turns
turn_fit          rules by which a turn is made fit to send
call_pairing      calls and results in the order that a protocol requires
cache_marks       marks up to which a prompt is cached, as many as may be sent
losses            what a turn loses, found by comparison, and notes on tools and settings

Requests
request_encoder   the request that is being encoded: what all encoders ask of it, and its notes
reasoning_effort  how much a model is to think
tools             names of functions, the parts of tools that several protocols have, JSON Schemas
openai            what OpenAI's two protocols share
openai_tools      their tools that are no plain functions, as functions for other protocols

Replies
reply_events      bytes -> JSON objects; the events of a reply
error_body        errors of all providers, and advice on them
"""

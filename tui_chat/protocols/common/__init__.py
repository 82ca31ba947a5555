"""Code that the protocols share.

Blocks
trees             what a writer returns, and its tree with origins
reading           blocks of a captured request
request_reader    reading and writing a whole request, for protocols with a list of tools
setting_rows      settings as rows of one table, read and written
turn_fit          rules by which a turn is made fit to send
call_pairing      calls and results in the order that a protocol requires
cache_marks       marks up to which a prompt is cached, as many as may be sent
losses            what a turn loses, found by comparison

Captured requests
request_body      parsing a body

Requests
encoding          origins, and notes of all encoders
request_encoder   the request that is being encoded: what all encoders ask of it, and its notes
reasoning_effort  how much a model is to think
schemas           JSON Schemas of tools and replies, the format of a reply
tools             names of functions, and the parts of tools that several protocols have
loss_notes        notes on tools and settings that a protocol cannot express
media             notes on pictures and sounds that a model does not accept
openai            what OpenAI's two protocols share
openai_tools      their tools that are no plain functions, as functions for other protocols

Replies
reply_events      bytes -> JSON objects; the events of a reply
token_lists       tokens with their log probabilities
error_body        errors of all providers, and advice on them
"""

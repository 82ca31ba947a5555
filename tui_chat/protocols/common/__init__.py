"""Code that the protocols share.

Captured requests
request_fields    reading a body without losing a key
decoding          the envelope of a captured request: turns, tools, settings

Requests
content_order     a turn's content in the order in which it is sent
encoding          the smallest parts of a tree
settings          limits, sampling, stop sequences, tool choice: what a protocol accepts of them
reasoning_effort  how much a model is to think
schemas           JSON Schemas of tools and replies, the format of a reply
tools             names of functions, the protocol's own tools, those that the provider runs
tool_pairing      tool calls and results in the order that a protocol requires
cache_marks       marks up to which a prompt is cached
loss_notes        notes on what a protocol cannot express
media             notes on pictures and sounds that a model does not accept
openai            what OpenAI's two protocols share

Speed of long conversations, with the figures that justify them
segments          a long conversation is encoded in parts; a message that is only text, on demand

Replies
reply_events      bytes -> JSON objects; the events of a reply
error_body        errors of all providers, and advice on them
"""

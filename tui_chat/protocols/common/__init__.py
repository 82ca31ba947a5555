"""What the protocols share.

Requests, both ways
request_fields    reading a captured request without losing a key
turn_builder      building a turn from a captured message
content_order     a turn's content in the order in which it is sent
encoding          the smallest parts of a tree
settings          sampling, limits, formats and tool choice, as far as a protocol accepts them
tool_names        aliases for forbidden tool names
tool_pairing      tool calls and results in the order that a protocol requires
loss_notes        notes on what a protocol cannot express
openai, urls      what OpenAI's two protocols share

Speed of long conversations, with the figures that justify them
segments          a long conversation is encoded in parts; a message that is only text, on demand

Replies
reply_events      bytes -> JSON objects; the events of a reply
error_body        errors of all providers, and advice on them
"""

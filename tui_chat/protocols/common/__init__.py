"""What the protocols share.

Requests, both ways
request_fields    taking a captured request apart without losing a key
turn_builder      putting a captured message together as a turn
content_order     a turn's content in the order in which it is sent
encoding          the smallest parts of a tree
settings          sampling, limits, formats and tool choice, as far as a protocol takes them
tool_names        tool names that a protocol forbids, and the way back
tool_pairing      tool calls and results in the order that a protocol demands
loss_notes        notes for what a protocol cannot carry
openai, urls      what OpenAI's two protocols share

Speed of long conversations, with the figures that justify them
segments          a keystroke encodes one segment
plain_turns       a message that is only text is not encoded until it is looked at

Replies
lenient_json      reading JSON that a stranger wrote
reply_events      bytes -> JSON objects, and a reply's events on their way out
error_body        what an error body says, and what to do about it
"""

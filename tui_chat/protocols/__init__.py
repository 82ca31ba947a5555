"""HOW a protocol wants it said. Pure and sans-IO; the four protocols know nothing of each other.

protocol    the interface: encode, decode, parser, read, refusal
registry    name -> protocol
roles       the role adapter: which role a turn gets in which protocol

Requests, both ways
pieces         a turn's content in the order in which it is said
turn_builder   ... and put together from what was captured
fields         taking a captured request apart without losing a key
captured       its settings, as the envelope holds them
tool_pairing   calls and results in the order a protocol demands
tool_names     names that a protocol forbids, and the way back
settings       settings on their way to the wire
left_out       notes for what a protocol cannot carry
segments       long conversations in segments, so that a keystroke looks at one
encoding       the smallest pieces of a tree
openai_format  what OpenAI's two protocols say alike

Answers
chunks, lenient, reply_events, complaint, refusals

One package each: openai_chat, openai_responses, anthropic, gemini
decode, encode   requests; `tools` has what is read and written side by side
replies          answers
"""

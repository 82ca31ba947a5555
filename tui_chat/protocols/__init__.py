"""HOW a request is written in each protocol, and how its replies are read. Pure and sans-IO.

base        what a protocol consists of
registry    protocol -> its definition
roles       which role a turn gets in which protocol
detection   which protocol a model speaks, and which one a captured request is written in
common/     what the protocols share

One package per protocol, all with the same files; they know nothing of each other:
openai_chat, openai_responses, anthropic, gemini

decode        captured request -> envelope
encode        envelope -> request
messages      ... its list of messages
turn_content  ... one turn in it
tools         tool definitions, tool choice and response format, read and written side by side
stream        replies, streamed and whole
"""

"""Writers of requests and readers of replies for each protocol. Pure; no I/O.

base      what a protocol consists of
registry  protocol -> its definition; the protocol of a model, by its name, and of a request
roles     which role a turn gets in which protocol
base_url  where an endpoint is, from a URL as people paste it
common/   what the protocols share

One package per protocol; none imports another:
openai_chat, openai_responses, anthropic, gemini, ollama

settings      the settings that only this protocol has
decode        captured request -> envelope
encode        envelope -> request
messages      turns -> the request's list of messages, where that needs a module
turn_content  one turn -> its entry in that list
tools         tool choice, response format and the like, read and written side by side
stream        replies, streamed and whole
"""

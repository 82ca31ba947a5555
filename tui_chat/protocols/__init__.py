"""Writers of requests and readers of replies for each protocol. Pure; no I/O.

base      what a protocol consists of, and which role a turn gets in which protocol
registry  protocol -> its definition; the protocol of a model, by its name, and of a request; where
          an endpoint is, from a URL as people paste it
common/   what the protocols share

One package per protocol; none imports another:
openai_chat, openai_responses, anthropic, gemini, ollama

messages  a turn as its entry in the list of messages: written, read, and fitted to be sent
encode    envelope -> request; settings as rows that read and write them, tools, and READER
stream    replies, streamed and whole
"""

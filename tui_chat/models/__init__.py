"""Frozen, slotted values. They import nothing of ours but `errors`.

text           Origin, Span, Text: text that remembers where each character came from
message        Message and its parts: the unified, OpenAI-like shape that is stored
session        Session, Entry (a message in its session's tree), SessionSummary
role           Role: a named assistant
profile        Profile: who the user is
preset         Preset, PresetMessage: what surrounds the history
lorebook       Lorebook, LorebookEntry: preset content that keywords activate
endpoint       Endpoint, Protocol: where and how a request is sent
base_url       base URLs as people paste them
model_facts    ModelFacts: limits, prices and quirks of models, known by name
envelope       Turn, ChatEnvelope, Note: what the model will see, protocol-free
semantics      what a protocol can express and the unified message or envelope cannot
json_tree      Tree: the request body, whose characters know their origin, and its bytes
payload        Payload, Region, render: the body's bytes, its lines for reading, its origins
reply          StreamEvent, Reply, advance: a reply growing as it arrives
usage          Usage, Timing: tokens, pace and cost of a reply
request        RequestRecord, RawResponse: a request as it was sent, its response as received
transcript     Transcript, ImportResult: a conversation outside of any database
search         Query, Hit: full-text search
tool           Tool: a configured tool and its command
sanitize       characters that a terminal would obey or a reader not see, made visible
json_values    pack, unpack: any of these values as JSON and back
common_prefix  where two sequences part
memo           Memo: remembering by identity what was computed from a frozen value
"""

"""Values. Frozen, slotted, immutable; they import nothing of ours but `errors`.

text        Origin, Span, Text: text that remembers where each character came from
message     Message and its parts: the unified, OpenAI-like shape that is stored
session     Session, Entry (a message in its session's tree), SessionSummary
role        Role: a named assistant
preset      Preset, PresetMessage: what stands where around the history
profile     Profile: who the user is
endpoint    Endpoint, ModelFacts, Protocol: where and how a request is sent
envelope    Turn, ChatEnvelope, Note: what the model will see, protocol-free
semantics   what a protocol can express of a message and the unified message cannot
namespaces  what a request can say in one protocol and not in all
json_tree   Tree: the request body, whose characters know their origin, and its bytes
pretty      Lines, Line, Piece: the tree laid out for reading
payload     Payload, Region, render: both together, and the map of the origins
reply       StreamEvent, Reply, advance: an answer growing as it arrives
request     RequestRecord, Exchange: a request as it left, and what it was about
transcript  Transcript, Imported: a conversation outside of any database
visible     what a terminal would obey, or a reader not see, spelled out
memo        Memo: remembering by identity what was computed from a frozen value
"""

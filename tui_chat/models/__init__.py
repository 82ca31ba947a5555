"""Frozen, slotted values. They import nothing of ours but `errors`.

text           Origin, Span, Text: text whose characters have origins
blocks         Block, Extras: the pieces of a message in order, and what one protocol knows of each
message        Message: a role and blocks; About: what no protocol sends of it
flat           messages of before as blocks: for old databases and version 1 of our JSON
session        Session, Entry (a message in its tree), RequestRecord, SessionTranscript
role           Role: a named assistant, Character: its card; Profile: who the user is
preset         Preset, PresetMessage: the messages around the history
lorebook       Lorebook, LorebookEntry: preset content that keywords activate
endpoint       Endpoint, Protocol: where and how a request is sent
model_facts    ModelFacts: limits and quirks of models, known by name
prices         Prices: what providers charge; PriceTable: those that ship with the program
envelope       ChatEnvelope, Turn, Note: what the model will see, protocol-free
payload        Tree, Payload: the body's bytes, its lines for reading, its origins
reply          StreamEvent, Reply, advance: a reply while it arrives
token_probabilities  TokenProbability: how likely a token of a reply was
usage          Usage, Timing: tokens, pace and cost of a reply
request_edit   RequestEdit, apply_edits: changes of a request body by hand, a body with them
search         Query, Hit: full-text search
tool           Tool: a configured tool and its command
sanitize       control and invisible characters made visible
json_text      decoding JSON text that others wrote
boundary       read, write, pack, unpack: values from JSON, TOML and rows, and as such
common_prefix  the common prefix of two sequences
memo           Memo: results remembered by the identity of a frozen value
"""

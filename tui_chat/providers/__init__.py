"""HTTP to the providers. Apart from `offline`, this is the only package that knows httpx.

client             one request and its response; the connections that are kept open
keys               resolve a key reference to the key, which is never shown
key_mask           hide the request's key where a provider repeats it
retry              send again after a passing failure, never once a reply has begun
failures           httpx exceptions as `Unreachable` and `ReplyCut`, with advice
response_recorder  keep a response as it was received, and split a kept stream into events
discovery          list the models of an endpoint; find model servers on this machine, on request

No module here looks into a chat's body: request bytes are composed elsewhere, and the meaning of a
reply belongs to `protocols`.
"""

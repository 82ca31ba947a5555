"""The only way out: HTTP requests and their responses. With `loopback`, all that knows httpx.

client      one request and its response; the clients that are kept
keys        from a key reference to a key, which nothing shows
key_mask    hides a key that a provider repeats
retry       trying again where the trouble passes, never once a reply has begun
failures    what httpx raises, in words
recorded    the events of a stream that was kept in a file
tape        what a response brings, as it was received
catalogue   which models an endpoint has
discover    which servers run on this machine, when somebody asks

None of them looks into the body of a chat: bytes go out as somebody else made them, and what a
reply means is `wire`'s business.
"""

from tui_chat.providers.catalogue import list_models
from tui_chat.providers.client import Incoming, Outgoing, Transport
from tui_chat.providers.discover import discover, with_discovered
from tui_chat.providers.recorded import recorded_events
from tui_chat.providers.retry import Pause, begin
from tui_chat.providers.tape import Tape

__all__ = [
    "Incoming",
    "Outgoing",
    "Pause",
    "Tape",
    "Transport",
    "begin",
    "discover",
    "list_models",
    "recorded_events",
    "with_discovered",
]

"""The offline provider: all four protocols answered without network, key or configuration.

It stands on the provider's side. It reads the real HTTP requests that this app, or an official
SDK, sends to OpenAI, Anthropic and Google, checks them as those providers would, and answers with
their bodies, events, headers and errors. It shares nothing with `tui_chat.protocols`: two
independent readings of a protocol that agree are evidence, one reading tested against itself is
not.

Theory:

1. Everything between a request and an answer is a function: `Provider.answer(Received) -> Answer`.
   No I/O, no clock but the one handed in. An answer's body is a lazy sequence of steps (bytes,
   waits, a cut); only the two doors below ever wait.
2. A model knows no protocol and a protocol no model. `hear` turns a body into an `Asked`, a model
   turns that into pieces, `meter` into tokens within limits, a `Voice` into the provider's bytes.
3. What is wrong is said once, as a `Problem`; each provider complains in its own words.

The way of a request, and the map:

    transport  server               two doors: an httpx transport, a socket (h11)
      received                      the HTTP request, byte for byte
      provider  routes  house       whom it is for; the types that every provider's folder fills
        node  problems              reading JSON nobody vouches for; what can be wrong with it
        openai/  anthropic/  gemini/    per provider: `house` (headers, errors), `hear`, `say`
        asked                       what was asked, in nobody's dialect
        models                      the catalogue: names and what they do
          mirror  lorem  toolsmith  markdown
        pieces  tokens  meter       what a reply is made of; its size, speed and limits
      answer                        steps, and how they are played in time
    world                           clock, sleep and ids, to be replaced in tests

Models: `mirror` says what it received; `echo` repeats; `lorem[:SPEED[:TOKENS]]` talks; `thinker`
reasons first; `toolsmith` calls tools; `flaky-429`, `flaky-500`, `flaky-529` refuse (`:N` only the
first N times), `flaky-error`, `flaky-cut` and `flaky-stall` break in the middle. `SPEED` is tokens
per second or `max`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tui_chat.offline.models import MODELS, Model
from tui_chat.offline.received import Received
from tui_chat.offline.world import World

if TYPE_CHECKING:
    from tui_chat.offline.server import Server
    from tui_chat.offline.transport import LoopbackTransport

__all__ = ["BASE_URL", "MODELS", "LoopbackTransport", "Model", "Received", "World", "serve"]

BASE_URL = "http://loopback.invalid"
"""A base for requests through `LoopbackTransport`, which ignores the host. No resolver will ever
know the name, so a client that forgot the transport fails instead of sending somewhere."""


def serve(
    port: int = 0,
    host: str = "127.0.0.1",
    *,
    on_request: Callable[[Received], None] | None = None,
    world: World | None = None,
) -> "Server":
    """Make the provider listen on a loopback socket, inside an `async with`.

    The value entered has `port` and `base_url`. Port 0 takes a free one. Raises ValueError for a
    host that other machines can reach.
    """
    from tui_chat.offline.server import Server  # h11 is not needed until someone serves

    return Server(port, host, on_request=on_request, world=world)


def __getattr__(name: str) -> Any:
    """Import the transport when it is first asked for: httpx takes a quarter of a second."""
    if name != "LoopbackTransport":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tui_chat.offline.transport import LoopbackTransport

    return LoopbackTransport

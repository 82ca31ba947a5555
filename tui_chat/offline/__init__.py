"""The offline provider: all protocols answered without network, key or configuration.

It takes the provider's side. It reads the real HTTP requests that this app, or an official SDK,
sends to OpenAI, Anthropic, Google and Ollama, checks them as those providers would, and answers
with their bodies, events, headers and errors. It shares nothing with `tui_chat.protocols`, whose
decoders accept most of what a provider refuses: two independent readings of a protocol that agree
are evidence, one reading tested against itself is not.

1. Everything between a request and a response is a function: `OfflineService.respond`. It does no
   I/O and uses no clock but the injected one. A response's body is a lazy sequence of steps (bytes,
   waits, a disconnect); only the transport and the server wait.
2. A model knows no protocol, and a protocol no model. `parse_request` turns a body into a
   `PromptRequest`, a model turns that into pieces, `tokens` into tokens within limits, and a
   `ResponseWriter` into the provider's bytes.
3. Every error is one `RequestError`, which each provider words in its own way.

The modules, in the order in which a request passes them:

    transport  server                 an httpx transport; a loopback socket (h11)
      http_messages                   the HTTP request and response, byte for byte
      service                         from a request to a response; the list of providers
        base_provider                 the types that every provider's folder implements
        json_reader  request_errors   reading untrusted JSON; all errors
        openai/  anthropic/  gemini/  ollama/
                                      parse_request, response_writer, provider (headers, errors)
        prompt_request                the request in terms of no provider
        models/                       the catalogue, mirror, lorem, toolsmith, script
        structured_output             answers that fit a JSON schema
        reply_pieces  tokens          the pieces of a reply; its size, speed and limits
        prompt_cache                  what a real prompt cache would serve
    dependencies                      clock, sleep and ids, replaceable in tests

Models: `mirror` describes what it received; `echo` repeats; `lorem[:SPEED[:TOKENS]]` writes at
length; `thinker` reasons first; `researcher` cites pages; `picture` draws; `toolsmith` calls tools;
`flaky-429`, `flaky-500`, `flaky-529` refuse (`:N` only the first N times), `flaky-error`,
`flaky-cut` and `flaky-stall` break in the middle. `SPEED` is tokens per second or `max`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.http_messages import HttpRequest
from tui_chat.offline.models.catalogue import MODELS, OfflineModel

if TYPE_CHECKING:
    from tui_chat.offline.models.script import Script
    from tui_chat.offline.server import OfflineServer
    from tui_chat.offline.transport import LoopbackTransport

__all__ = [
    "BASE_URL",
    "MODELS",
    "HttpRequest",
    "LoopbackTransport",
    "OfflineDependencies",
    "OfflineModel",
    "serve",
]

BASE_URL = "http://loopback.invalid"
"""A base URL for requests through `LoopbackTransport`, which ignores the host. No resolver knows
the name, so a client without the transport fails instead of sending anywhere."""


def serve(
    port: int = 0,
    host: str = "127.0.0.1",
    *,
    on_request: Callable[[HttpRequest], None] | None = None,
    dependencies: OfflineDependencies | None = None,
    alias: str = "",
    script: "Script | None" = None,
) -> "OfflineServer":
    """Return a server of the offline provider on a loopback socket; it listens in an `async with`.

    It has a `port` and a `base_url`. Port 0 takes a free one. `alias` is the model that answers for
    unknown names; without one they are refused. `script` is what the model `script` plays. Raises
    ValueError for a host that other machines can reach.
    """
    from tui_chat.offline.server import OfflineServer  # h11 is needed only to serve

    return OfflineServer(
        port, host, on_request=on_request, dependencies=dependencies, alias=alias, script=script
    )


def __getattr__(name: str) -> Any:
    """Import the transport on first access: importing httpx takes a quarter of a second."""
    if name != "LoopbackTransport":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tui_chat.offline.transport import LoopbackTransport

    return LoopbackTransport

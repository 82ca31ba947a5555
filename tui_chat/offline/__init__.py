"""The offline provider: all protocols answered without network, key or configuration.

It takes the provider's side: it reads the real HTTP requests that this app, or an official SDK,
sends to OpenAI, Anthropic, Google and Ollama, and answers with their bodies, events and errors. It
is lenient where they refuse; `tests/vendors` refuses as they do. It shares nothing with
`tui_chat.protocols`: two independent readings of a protocol that agree are evidence.

The modules, in the order in which a request passes them:

    transport  server        an httpx transport; a loopback socket (h11)
      http_messages          the HTTP request and response, byte for byte; clock, sleep and ids
      service                from a request to a response; the list of protocols
        base_protocol        what each of them implements: reading, writing, errors
        openai_chat  openai_responses  anthropic  gemini  ollama
        prompt               the request in terms of no protocol
        models               every model by its name; mirror and script have modules of their own
        json_answers         arguments and answers that fit a JSON schema
        reply                the pieces of a reply; its tokens, speed and limits
        prompt_cache         what a real prompt cache would serve
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tui_chat.offline.http_messages import HttpRequest, OfflineDependencies
from tui_chat.offline.models import MODELS, OfflineModel

if TYPE_CHECKING:
    from tui_chat.offline.script import Script
    from tui_chat.offline.server import OfflineServer
    from tui_chat.offline.service import OfflineService
    from tui_chat.offline.transport import LoopbackTransport

__all__ = [
    "MODELS",
    "HttpRequest",
    "LoopbackTransport",
    "OfflineDependencies",
    "OfflineModel",
    "OfflineService",
    "serve",
]


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

    It has a `port` and a `base_url`. Port 0 takes a free one. The other arguments are those of
    `OfflineService`. Raises ValueError for a host that other machines can reach.
    """
    from tui_chat.offline.server import OfflineServer  # h11 is needed only to serve
    from tui_chat.offline.service import OfflineService

    return OfflineServer(OfflineService(dependencies, on_request, alias, script), port, host)


def __getattr__(name: str) -> Any:
    """Import the transport on first access: importing httpx takes a quarter of a second."""
    if name == "LoopbackTransport":
        from tui_chat.offline.transport import LoopbackTransport

        return LoopbackTransport
    if name == "OfflineService":
        from tui_chat.offline.service import OfflineService

        return OfflineService
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

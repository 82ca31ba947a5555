"""The offline provider with the vendors' strictness: evidence that our requests are right.

`tui_chat.offline` is lenient; OpenAI, Anthropic, Google and Ollama are not. A `VendorService` reads
each request a second time, with readers that share no code with `tui_chat.protocols` nor with the
offline provider, and refuses it as the vendor does: wrong types, missing results, each with the
vendor's words and place. Whatever both read must be the same request. The replies are those of the
offline provider, with the vendor's headers around them.

    service               the two readings; the vendor of a request
    provider              what a vendor implements; NAME_provider: its headers and errors
    read_NAME             the strict reader of a vendor's requests
    json_reader           reading untrusted JSON with errors that name the place
    request_errors        every error of a request, once
"""

from tests.support.vendors.service import VendorService, VendorTransport, serve

__all__ = ["VendorService", "VendorTransport", "serve"]

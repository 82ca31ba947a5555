"""httpx exceptions as errors of ours: `Unreachable` before a response begins, `ReplyCut` after.

Nothing of the original exception is repeated or kept: h11 quotes a header that it rejects, and that
header may hold the key.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import urlsplit

from tui_chat.errors import ReplyCut, TuiChatError, Unreachable
from tui_chat.models.endpoint import Timeouts
from tui_chat.providers.key_mask import KeyMasks


def is_loopback(url: str) -> bool:
    """True if a URL leads to this machine and nowhere else."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def errors_without_key(mask: KeyMasks) -> AsyncGenerator[None]:
    """Mask keys, and long parts of them, in the errors that a response ends with."""
    try:
        yield
    except TuiChatError as error:
        error.args = tuple(
            mask.mask_error(each) if isinstance(each, str) else each for each in error.args
        )
        error.advice = mask.mask_error(error.advice)
        raise


def unreachable(url: str, error: Exception, timeouts: Timeouts) -> Unreachable:
    """Return the error for an exception raised before a response began."""
    import httpx

    host = urlsplit(url).netloc.rpartition("@")[2]
    advice = "Check the network and the endpoint's address, then try again."
    passing = True
    unsent = (httpx.ConnectTimeout, httpx.ConnectError, httpx.ProxyError, httpx.PoolTimeout)
    invalid = (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError)
    match error:
        case httpx.ConnectTimeout():
            why = f"{host} did not answer within {timeouts.connect:g} seconds."
        case httpx.ConnectError() if _is_untrusted(error):
            why = f"{host} presents a certificate that is not trusted, so nothing was sent."
            advice = "Check the endpoint's address and this machine's clock and certificates."
            passing = False
        case httpx.ConnectError() if is_loopback(url):
            why = f"No server answers at {host} on this machine."
            advice = "Start it, or check the port in the endpoint's base_url."
            passing = False
        case httpx.ConnectError():
            why = f"Could not connect to {host}."
        case httpx.ReadTimeout():
            why = f"{host} took the request and sent nothing for {timeouts.silence:g} seconds."
            passing = False  # it may still be working; a second request would be paid twice
        case TimeoutError():
            why = f"{host} sent interim responses without an end, and no reply."
            advice = "Check the endpoint's address, and any proxy on the way."
            passing = False
        case httpx.ProxyError():
            why = f"The proxy refused to pass the request on to {host}."
            advice = "Check the endpoint's `proxy`, or HTTP_PROXY and similar variables."
            passing = False
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            why = f"“{host}” is not a valid address; check the endpoint's base_url."
            passing = False
        case httpx.LocalProtocolError():
            why = f"The request to {host} has an invalid header."
            advice = "Check the endpoint's headers and its key."
            passing = False
        case httpx.HTTPError():
            why = f"The connection to {host} broke before it answered."
        case _:
            why = f"The request to {host} could not be sent ({type(error).__name__})."
            advice = "Please report it."
            passing = False
    sent = not isinstance(error, (*unsent, *invalid))
    return Unreachable(why, advice=advice, passing=passing, sent=sent)


@contextmanager
def read_failures(silence: float) -> Generator[None]:
    """Turn what httpx raises while a body is read into our errors.

    `silence` is the read timeout in seconds. Raises ReplyCut.
    """
    import httpx

    kept = "What arrived is kept. Try again."
    try:
        yield
    except httpx.ReadTimeout:
        raise ReplyCut(f"Nothing arrived for {silence:g} seconds.", advice=kept) from None
    except (httpx.HTTPError, httpx.StreamError):
        sentence = "The connection broke before the reply was complete."
        raise ReplyCut(sentence, advice=kept) from None


def _is_untrusted(error: BaseException) -> bool:
    """True if a certificate was refused; httpx keeps the cause a few steps away."""
    cause: BaseException | None = error
    for _ in range(6):
        if cause is None:
            return False
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False

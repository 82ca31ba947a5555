"""What httpx raises, in words: `Unreachable` before a response begins, `ReplyCut` after.

Nothing of the original error is repeated or kept: h11 quotes a header that it does not like, and
that may be the one with the key.
"""

from __future__ import annotations

import ipaddress
import ssl
from urllib.parse import urlsplit

from tui_chat.errors import ProviderError, ReplyCut, Unreachable
from tui_chat.models.endpoint import Timeouts


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine and nowhere else."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def unreachable(url: str, error: Exception, timeouts: Timeouts) -> Unreachable:
    """Put what was raised before a response began into words."""
    import httpx

    host = urlsplit(url).netloc.rpartition("@")[2]
    advice = "Check the network and the endpoint's address, then try again."
    passing = True
    match error:
        case httpx.ConnectTimeout():
            why = f"{host} did not answer within {timeouts.connect:g} seconds."
        case httpx.ConnectError() if _is_untrusted(error):
            why = f"{host} shows a certificate that is not trusted, so nothing was sent."
            advice = "Check the endpoint's address and this machine's clock and certificates."
            passing = False
        case httpx.ConnectError() if is_loopback(url):
            why = f"No server answers at {host} on this machine."
            advice = "Start it, or check the port in the endpoint's base_url."
            passing = False
        case httpx.ConnectError():
            why = f"No connection to {host} could be made."
        case httpx.ReadTimeout():
            why = f"{host} took the request and said nothing for {timeouts.silence:g} seconds."
            passing = False  # it may well be at work; asking again would be paid twice
        case httpx.ProxyError():
            why = f"The proxy did not let the request through to {host}."
            advice = "Check the endpoint's `proxy`, or HTTP_PROXY and its like."
            passing = False
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            why = f"“{host}” is no address that can be reached; look at the endpoint's base_url."
            passing = False
        case httpx.LocalProtocolError():
            why = f"The request to {host} has a header that may not be sent."
            advice = "Check the endpoint's headers and its key."
            passing = False
        case httpx.HTTPError():
            why = f"The connection to {host} broke before it answered."
        case _:
            why = f"The request to {host} could not be sent ({type(error).__name__})."
            advice = "Please report it."
            passing = False
    return Unreachable(why, advice=advice, passing=passing)


class Reading:
    """Turns what httpx raises while a body is read into ours."""

    def __init__(self, silence: float) -> None:
        self._silence = silence

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        import httpx
        from httpx_sse import SSEError

        kept = "What came is kept. Try again."
        match error:
            case httpx.ReadTimeout():
                why = f"Nothing arrived for {self._silence:g} seconds."
                raise ReplyCut(why, advice=kept) from None
            case httpx.HTTPError() | httpx.StreamError():
                why = "The connection broke before the reply was complete."
                raise ReplyCut(why, advice=kept) from None
            case SSEError():
                raise ProviderError(
                    "The provider answered with something that is no event stream."
                ) from None
            case _:
                return


def _is_untrusted(error: BaseException) -> bool:
    """Whether a certificate was refused; httpx keeps the cause a few steps away."""
    found: BaseException | None = error
    for _ in range(6):
        if found is None:
            return False
        if isinstance(found, ssl.SSLCertVerificationError):
            return True
        found = found.__cause__ or found.__context__
    return False

"""Who may use a served app: the check in front of every route of `tui-chat serve`.

1. The Host must be the served address. A page of another origin that has its own name resolve to
   this machine (DNS rebinding) sends its own name.
2. If there is an Origin it must be the served one; a websocket must have it. Browsers let any page
   open a websocket to any address, and say in Origin which page does.
3. The address that the command prints has a random token. It becomes a cookie, and a redirect leads
   to an address without the token. The cookie is HttpOnly and SameSite=Strict.
4. All paths begin with a random word, to which the cookie is limited: browsers send cookies to
   every port of a host, and so also to other servers of this machine.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import field
from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import web

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass

COOKIE = "tui_chat"
PRINTED = "Open the address that `tui-chat serve` printed."

_PORTS = {"http": ":80", "https": ":443"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src 'self' data:; connect-src {0} ws{1}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Access:
    """The secrets of a server, and the address at which browsers see it."""

    scheme: str
    authority: str
    """Host and port; empty if the server listens at all addresses of the machine."""
    token: str = field(default_factory=_secret, repr=False)
    cookie: str = field(default_factory=_secret, repr=False)
    folder: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(9)}", repr=False)
    """The beginning of all paths."""

    def url(self, authority: str = "") -> str:
        """Return the address to open, with the token."""
        return f"{self.scheme}://{self.authority or authority}/?token={self.token}"

    def origin(self, request: web.Request) -> str:
        """Return the origin at which a request must have been made.

        A server of all addresses accepts the address that was connected to, but no name.
        """
        if self.authority:
            return f"{self.scheme}://{self.authority}"
        transport = request.transport
        assert transport is not None  # while a request is handled
        return f"http://{authority_of(*transport.get_extra_info('sockname')[:2])}"

    def refusal(self, request: web.Request) -> web.Response | None:
        """Return why a request is refused; None if it may be answered."""
        origin, headers = self.origin(request), request.headers
        hosts, origins = headers.getall("Host", []), headers.getall("Origin", [])
        if [host.lower() for host in hosts] != [origin.partition("://")[2]]:
            return _refuse(403, "The Host is not the served address.")
        if origins != [origin] and (origins or "Upgrade" in headers):
            return _refuse(403, "The Origin is not the served address.")
        if request.method != "GET":
            return _refuse(405, "Only GET is answered.")
        if (token := request.query.get("token")) is not None:
            return self._sign_in() if _equal(token, self.token) else _refuse(401, PRINTED)
        if not _equal(request.cookies.get(COOKIE, ""), self.cookie):
            return _refuse(401, PRINTED)
        return None

    def _sign_in(self) -> web.Response:
        response = web.Response(status=303, headers={"Location": f"{self.folder}/"})
        response.set_cookie(
            COOKIE,
            self.cookie,
            path=f"{self.folder}/",
            httponly=True,
            samesite="Strict",
            secure=self.scheme == "https",
        )
        return response

    def protect(self, app: web.Application) -> None:
        """Put the check in front of every route of an application."""

        @web.middleware
        async def check(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            return self.refusal(request) or await handler(request)

        async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
            origin = self.origin(request)
            response.headers.update(
                {
                    "Referrer-Policy": "no-referrer",
                    "Content-Security-Policy": _POLICY.format(origin, origin.removeprefix("http")),
                    "Cross-Origin-Opener-Policy": "same-origin",
                    "Cross-Origin-Resource-Policy": "same-origin",
                    "X-Content-Type-Options": "nosniff",
                    "X-Frame-Options": "DENY",
                    "Cache-Control": "no-store",
                    "Server": "tui-chat",
                }
            )

        app.middlewares.append(check)
        app.on_response_prepare.append(add_headers)


def authority_of(host: str, port: int, scheme: str = "http") -> str:
    """Return host and port as browsers write them."""
    host = f"[{host}]" if ":" in host else host.lower()
    return f"{host}:{port}".removesuffix(_PORTS[scheme])


def granted_access(host: str, address: str, port: int, url: str, *, remote: bool) -> Access:
    """Return the access to a server that listens at `address`, which is what `host` resolves to.

    `url` is what browsers see instead of it, as behind a proxy. Raises InputError if other machines
    could connect without `remote`.
    """
    listening = ip_address(address)
    if not remote and not listening.is_loopback:
        raise InputError(
            f"{host or address} can be reached from other machines.",
            advice="With --allow-remote it is served nevertheless. The connection is not "
            "encrypted: anyone on the way can read it.",
        )
    if url:
        return _public_access(url, remote=remote)
    return Access("http", "" if listening.is_unspecified else authority_of(host, port))


def _public_access(url: str, *, remote: bool) -> Access:
    if not remote:
        raise InputError("--url is for other machines.", advice="Add --allow-remote.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"--url: “{url}” is no address: {error}.") from error
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme not in _PORTS or not parts.hostname or extra:
        raise InputError(
            f"--url: “{url}” is no address.", advice="Write it as https://chat.example.org"
        )
    port = port or int(_PORTS[parts.scheme][1:])
    return Access(parts.scheme, authority_of(parts.hostname, port, parts.scheme))


def _equal(given: str, secret: str) -> bool:
    """Compare in a time that does not depend on where the two differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


def _refuse(status: int, sentence: str) -> web.Response:
    return web.Response(status=status, text=f"{sentence}\n")

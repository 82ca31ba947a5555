"""The HTTP proxy of the environment or of an endpoint, on the way to an upstream.

A tunnel (`CONNECT`, https://www.rfc-editor.org/rfc/rfc9110#name-connect) leads to the upstream, so
that the bytes within it are those that the client sent, and the proxy sees no key.
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import unquote, urlsplit

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass

_LONGEST_ANSWER = 64 * 1024

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class HttpProxy:
    """A proxy that opens tunnels."""

    scheme: str
    host: str
    port: int
    authorization: str = field(default="", repr=False)
    """The value of the `proxy-authorization` header; empty for none."""

    @property
    def authority(self) -> str:
        """Its host and port."""
        return _authority(self.host, self.port)

    async def connect(
        self, host: str, port: int, own_tls: ssl.SSLContext, tls: ssl.SSLContext | None
    ) -> Streams:
        """Return the streams of a tunnel to a server, with TLS inside if `tls` is given. `own_tls`
        is for a proxy whose scheme is https. Raises OSError.
        """
        secure = own_tls if self.scheme == "https" else None
        try:
            reader, writer = await asyncio.open_connection(
                self.host, self.port, ssl=secure, limit=_LONGEST_ANSWER
            )
        except OSError as error:
            sentence = f"the proxy {self.authority} cannot be reached: {error}"
            raise ConnectionError(sentence) from error
        try:
            await self._open_tunnel(reader, writer, _authority(host, port))
            if tls is not None:
                await writer.start_tls(tls, server_hostname=host)
        except BaseException:
            writer.transport.abort()
            raise
        return reader, writer

    async def _open_tunnel(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: str
    ) -> None:
        lines = [f"CONNECT {server} HTTP/1.1", f"host: {server}"]
        if self.authorization:
            lines.append(f"proxy-authorization: {self.authorization}")
        writer.write("\r\n".join((*lines, "", "")).encode())
        name = f"the proxy {self.authority}"
        try:
            answer = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise ConnectionError(f"{name} opened no tunnel") from error
        status = answer.split(b"\r\n")[0].split(b" ")[1:2]
        if not status or not status[0].startswith(b"2"):
            said = status[0][:3].decode("ascii", "replace") if status else "an unreadable response"
            raise ConnectionError(f"{name} refused the tunnel ({said})")


def read_http_proxy(url: str, source: str) -> HttpProxy:
    """Return the proxy of a URL; `source` is the variable or setting that it is from. Raises
    InputError, which does not repeat the URL: it may hold a password.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"https": 443}.get(parts.scheme, 80)
    except ValueError as error:
        raise InputError(f"{source} is not the URL of a proxy.") from error
    if parts.scheme.startswith("socks"):
        raise InputError(
            f"{source} names a SOCKS proxy, which `tui-chat tap` cannot use.",
            advice="Name an HTTP proxy, or put the provider's host into NO_PROXY.",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{source} is not the URL of an HTTP proxy.")
    authorization = ""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + b64encode(pair.encode()).decode()
    return HttpProxy(parts.scheme, parts.hostname, port, authorization)


def proxy_of_environment(scheme: str, host: str, environ: Mapping[str, str]) -> HttpProxy | None:
    """Return the proxy that the environment names for a server, as httpx finds it: by the
    variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. Raises InputError.
    """
    named = sorted(environ.items(), key=lambda item: item[0].islower())  # lower case wins
    found = {
        name.lower().removesuffix("_proxy"): (name, url)
        for name, url in named
        if name.lower().endswith("_proxy") and url.strip()
    }
    if "no" in found and _is_excepted(host, found["no"][1]):
        return None
    name, url = found.get(scheme) or found.get("all") or ("", "")
    return read_http_proxy(url.strip(), name) if url else None


def _is_excepted(host: str, names: str) -> bool:
    """Return True if NO_PROXY names a host, or a domain that it is in."""
    host = host.lower()
    for name in (each.strip().lower() for each in names.split(",")):
        domain = name.removeprefix("*").lstrip(".")
        if name == "*" or (domain and (host == domain or host.endswith(f".{domain}"))):
            return True
    return False


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

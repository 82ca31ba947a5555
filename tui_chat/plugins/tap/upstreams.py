"""Upstreams: the servers that requests go on to, and which protocol a request is in.

A request's path stays as the client wrote it. If the upstream's URL has a path, it comes in front,
and what both have in common appears once: with `https://openrouter.ai/api/v1`,
`/v1/chat/completions` becomes `/api/v1/chat/completions`, and `/api/v1/models` stays.

Where the environment or an endpoint names an HTTP proxy, it is on the way to the upstream. A tunnel
(`CONNECT`, https://www.rfc-editor.org/rfc/rfc9110#name-connect) leads to the upstream, so that the
bytes within it are those that the client sent, and the proxy sees no key.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.tap.http_messages import MessageFault, RequestHead
from tui_chat.protocols.registry import detect_request, protocol_of_path

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
            code = status[0][:3].decode("ascii", "replace") if status else "an unreadable response"
            raise ConnectionError(f"{name} refused the tunnel ({code})")


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
    parameters = {
        name.lower().removesuffix("_proxy"): (name, url)
        for name, url in named
        if name.lower().endswith("_proxy") and url.strip()
    }
    if "no" in parameters and _is_excepted(host, parameters["no"][1]):
        return None
    name, url = parameters.get(scheme) or parameters.get("all") or ("", "")
    return read_http_proxy(url.strip(), name) if url else None


def _is_excepted(host: str, names: str) -> bool:
    """Return True if NO_PROXY names a host, or a domain that it is in."""
    host = host.lower()
    for name in (part.strip().lower() for part in names.split(",")):
        domain = name.removeprefix("*").lstrip(".")
        if name == "*" or (domain and (host == domain or host.endswith(f".{domain}"))):
            return True
    return False


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server."""

    scheme: str
    host: str
    port: int
    path: str = ""
    """Put in front of the paths of requests; without a slash at its end."""
    proxy: HttpProxy | None = None
    """The proxy on the way; None to connect directly."""

    @property
    def authority(self) -> str:
        """The value of the `host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return host if self.port == usual else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The base URL."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def target(self, target: str) -> str:
        """Return the target of a request here."""
        if not self.path or not target.startswith("/"):
            return target
        own = self.path.split("/")[1:]
        path, mark, query = target.partition("?")
        segments = path.split("/")[1:]
        lengths = range(min(len(own), len(segments)), 0, -1)
        common = next((n for n in lengths if own[-n:] == segments[:n]), 0)
        return "/" + "/".join((*own, *segments[common:])) + mark + query

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect. Raises OSError, also for a certificate that is not trusted."""
        secure = _tls() if self.scheme == "https" else None
        if self.proxy is not None:
            return await self.proxy.connect(self.host, self.port, _tls(), secure)
        return await asyncio.open_connection(self.host, self.port, ssl=secure)


def read_upstream(url: str, source: str = "--upstream") -> Upstream:
    """Return the upstream of a URL; `source` is where it is from. Raises InputError."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise InputError(f"{source}: “{url}” is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            f"{source}: “{url}” is not a URL of a server.",
            advice="Write it as https://api.openai.com, or name an endpoint, or “offline”.",
        )
    if parts.username or parts.password:
        raise InputError(f"{source}: a URL with a password cannot be used.")
    usual = 443 if parts.scheme == "https" else 80
    return Upstream(parts.scheme, parts.hostname, port or usual, parts.path.rstrip("/"))


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())  # some Pythons lack the system's certificates
    context.set_alpn_protocols(["http/1.1"])
    return context


_OWN_SERVERS: Mapping[Protocol, Upstream] = {
    Protocol.OPENAI_CHAT: Upstream("https", "api.openai.com", 443),
    Protocol.OPENAI_RESPONSES: Upstream("https", "api.openai.com", 443),
    Protocol.ANTHROPIC: Upstream("https", "api.anthropic.com", 443),
    Protocol.GEMINI: Upstream("https", "generativelanguage.googleapis.com", 443),
    Protocol.OLLAMA: Upstream("http", "127.0.0.1", 11434),
}
"""The servers of protocols if no upstream was named."""

BASE_URL_VARIABLES: Mapping[Protocol, str] = {
    Protocol.OPENAI_CHAT: "OPENAI_BASE_URL",
    Protocol.OPENAI_RESPONSES: "OPENAI_BASE_URL",
    Protocol.ANTHROPIC: "ANTHROPIC_BASE_URL",
    Protocol.GEMINI: "GOOGLE_GEMINI_BASE_URL",
    Protocol.OLLAMA: "OLLAMA_HOST",
}
"""The variables in which clients look for the server of a protocol."""

Route = Callable[[RequestHead], Upstream]


def route_to(upstream: Upstream | None, environ: Mapping[str, str] | None = None) -> Route:
    """Return the route to one upstream. Without one it is each protocol's own provider, or the
    server that the variables for clients name already, behind the proxy that `environ` names.
    Raises InputError if one of these is not a URL.
    """
    if upstream is not None:
        return lambda head: upstream
    named = {
        protocol: read_upstream(url, name)
        for protocol, name in BASE_URL_VARIABLES.items()
        if (url := (environ or {}).get(name))
    }
    servers = {
        protocol: behind_proxy(server, environ or {})
        for protocol, server in {**_OWN_SERVERS, **named}.items()
    }

    def own_server(head: RequestHead) -> Upstream:
        """Return the server of the provider that a request is meant for. Raises MessageFault."""
        server = servers.get(_provider_of(head))
        if server is None:
            raise MessageFault("The server of this protocol is not known: name it with --upstream.")
        return server

    return own_server


def behind_proxy(upstream: Upstream, environ: Mapping[str, str]) -> Upstream:
    """Return an upstream with the environment's proxy, unless it is local. Raises InputError."""
    if is_loopback(upstream.host):
        return upstream
    return replace(upstream, proxy=proxy_of_environment(upstream.scheme, upstream.host, environ))


def behind_proxy_of(upstream: Upstream, setting: str, environ: Mapping[str, str]) -> Upstream:
    """Return an upstream with the proxy of its endpoint or the environment. Raises InputError."""
    kind, _, name = setting.partition(":")
    if not setting:
        return behind_proxy(upstream, environ)
    if setting == "none":
        return upstream
    url = environ.get(name, "") if kind == "env" else setting
    source = f"The variable {name}" if kind == "env" else "The endpoint's proxy"
    return replace(upstream, proxy=read_http_proxy(url, source))


def read_address(text: str, port: int) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, `HOST`, `:PORT` or `PORT`. Raises InputError."""
    host, separator, number = text.rpartition(":")
    if not separator:
        host, number = ("", text) if text.isdigit() else (text, "")
    elif text.count(":") > 1 and not text.startswith("["):
        host, number = text, ""
    if number and not (number.isascii() and number.isdigit() and int(number) < 65536):
        raise InputError(f"--listen: “{text}” is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(number) if number else port


def is_loopback(host: str) -> bool:
    """Return True if a host can only be reached from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _provider_of(head: RequestHead) -> Protocol:
    """Return a protocol of the provider that any request is meant for, by its path and headers."""
    path = head.target.partition("?")[0]
    if (protocol := protocol_of_path(path)) is not None:
        return protocol
    if head.header("anthropic-version") or head.header("x-api-key") or "/messages" in path:
        return Protocol.ANTHROPIC
    if head.header("x-goog-api-key") or path.startswith("/v1beta") or "key=" in head.target:
        return Protocol.GEMINI
    return Protocol.OLLAMA if path.startswith("/api/") else Protocol.OPENAI_CHAT


_OTHER_CALLS = re.compile(
    r"(?i)tokens?$|token-count$|tokenize$|embed|batch|moderation|/files|/models/?$|/compact$"
)
"""Paths of calls whose bodies may look like those of model calls."""
_PATH_MODEL = re.compile(r"/models/([^/:]+):")


def protocol_of_call(
    method: str, target: str, body: Mapping[str, Any], wanted: Protocol | None = None
) -> Protocol | None:
    """Return the protocol of a model call; None for another call. `wanted` is the protocol of
    calls whose paths say nothing; without one their bodies decide.
    """
    if method != "POST":
        return None
    path = target.partition("?")[0]
    if (protocol := protocol_of_path(path)) is not None:
        return protocol
    conversation = body.get("messages") or body.get("contents") or body.get("input")
    if _OTHER_CALLS.search(path) or not isinstance(conversation, list):
        return None
    return wanted or (detect_request(body) if "input" not in body else None)


def model_in_path(target: str) -> str:
    """Return the model that a path names, as Gemini's do; empty for none."""
    match = _PATH_MODEL.search(target.partition("?")[0])
    return match.group(1) if match else ""

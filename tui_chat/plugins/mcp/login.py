"""Logins at servers over HTTP (OAuth): the flow is the package's, the tokens are in a private file.

`tui-chat mcp login SERVER` prints an address for the user's browser and waits at a loopback address
for what comes back. Afterwards the tokens are sent, and renewed, without a question. They belong to
the server's URL: a request to another origin never has them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, BaseModel, ValidationError

from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, read_text, write_private
from tui_chat.models.json_text import as_object, decode_lenient

_FILE = "mcp-logins.json"
_LINE_SIZE = 16_000
_PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"


class LoginStore:
    """What is kept of the login at a URL."""

    def __init__(self, data_dir: Path, url: str) -> None:
        self._path = data_dir / _FILE
        self._url = url

    def _all(self) -> dict[str, Any]:
        try:
            return dict(as_object(decode_lenient(read_text(self._path, max_bytes=MAX_BYTES))))
        except (InputError, ValueError):
            return {}

    def _read(self, key: str, form: type[BaseModel]) -> Any:
        value = as_object(self._all().get(self._url)).get(key)
        try:
            return None if value is None else form.model_validate(value)
        except ValidationError:
            return None

    def _write(self, key: str, value: BaseModel) -> None:
        logins = self._all()
        own = {**as_object(logins.get(self._url)), key: value.model_dump(mode="json")}
        write_private(json.dumps({**logins, self._url: own}, indent=1), self._path)

    def forget(self) -> None:
        """Forget the login. Raises InputError if the file cannot be written."""
        logins = self._all()
        if logins.pop(self._url, None) is not None:
            write_private(json.dumps(logins, indent=1), self._path)

    @property
    def is_known(self) -> bool:
        """True after a login."""
        return "tokens" in as_object(self._all().get(self._url))

    async def get_tokens(self) -> OAuthToken | None:
        return self._read("tokens", OAuthToken)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._write("tokens", tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._read("client", OAuthClientInformationFull)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._write("client", client_info)


def known_login(data_dir: Path, url: str) -> OAuthClientProvider | None:
    """Return what sends and renews the tokens of a login; None without one."""
    logins = LoginStore(data_dir, url)
    return _provider(logins, url, "http://127.0.0.1/callback") if logins.is_known else None


def _provider(logins: LoginStore, url: str, callback: str, **handlers: Any) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="tui-chat", redirect_uris=[AnyUrl(callback)])
    return OAuthClientProvider(url, metadata, logins, **handlers)


@asynccontextmanager
async def new_login(
    logins: LoginStore, url: str, show: Callable[[str], None]
) -> AsyncGenerator[OAuthClientProvider]:
    """Yield what logs in when the server asks for it. `show` gets the address to open."""
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            _, target, *_ = (await reader.readline()).decode("ascii", "replace").split()
            query = {key: values[0] for key, values in parse_qs(urlsplit(target).query).items()}
            if "code" in query and not answer.done():
                answer.set_result(AuthorizationCodeResult.model_validate(query))
            words = "You are logged in. Close this page." if "code" in query else "Not logged in."
            writer.write(_PAGE + words.encode())
            await writer.drain()
        except (ValueError, ConnectionError):  # also a line that is too long
            return
        finally:
            writer.close()

    async def redirect(address: str) -> None:
        show(address)

    async def callback() -> AuthorizationCodeResult:
        return await answer

    server = await asyncio.start_server(receive, "127.0.0.1", 0, limit=_LINE_SIZE)
    async with server:
        port = server.sockets[0].getsockname()[1]
        logins.forget()  # its client was registered with another address
        yield _provider(
            logins,
            url,
            f"http://127.0.0.1:{port}/callback",
            redirect_handler=redirect,
            callback_handler=callback,
        )

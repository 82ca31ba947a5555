"""The configured servers, `[mcp.NAME]`, and the environment that a server is started with.

1. A server is a command, started without a shell, or a URL.
2. `${NAME}` and `${NAME:-default}` in a value stand for a variable of our environment. A variable
   that holds a provider's key is refused: a server is another program.
3. A command gets few variables of ours (`programs.inherited`), and those of `env`.
4. A header with a credential is a reference to a key, or contains a variable. It is looked up when
   a request leaves.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import replace
from hashlib import sha256
from os.path import expanduser
from typing import Annotated, Literal, TypeAlias

from tui_chat.config import Config
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import AsTable, Check, Hidden, Range
from tui_chat.models.endpoint_checks import Pairs, base_url, key_reference, without_secrets
from tui_chat.workspace.programs import VARIABLE, expanded, inherited, located, shown_variables

NAME_LENGTH = 32
"""Characters of a server's name; it begins the names of its tools, which have 64 at most."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*(_[A-Za-z0-9-]+)*")
_REFERENCES = ("env:", "keyring:", "file:", "command:")


def server_name(name: str) -> str:
    """Return a server's name. Without two underscores in a row, and none at its ends, so that it
    can be told from the name of a tool after it. Raises ValueError.
    """
    if len(name) > NAME_LENGTH or not _NAME.fullmatch(name):
        raise ValueError(
            f"must have a name of at most {NAME_LENGTH} letters, digits, “-” and single “_”, which "
            "begins with a letter"
        )
    return name


def _headers(pairs: Pairs) -> Pairs:
    for name, value in pairs:
        if is_reference(value):
            key_reference(value)
        elif not VARIABLE.search(value):
            try:
                without_secrets(((name, value),))
            except ValueError:
                raise ValueError(
                    f"{name} must be a reference to a key, such as env:TOKEN, or contain a "
                    "variable: Bearer ${TOKEN}"
                ) from None
    return pairs


def is_reference(value: str) -> bool:
    """Return True if the value of a header is a reference to a key."""
    return value.startswith(_REFERENCES)


def _header(value: str) -> str:
    """Return a reference, or the variables in a header: they are sent to the server's address."""
    if is_reference(value):
        return value
    variables = "".join(f"${{{name}}}" for name, _ in VARIABLE.findall(value))
    return value if value == variables else f"… {variables}".strip()


def _url(url: str) -> str:
    return url if not url or VARIABLE.search(url) else base_url(url)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One of `[mcp.NAME]`. Either `command` or `url` is set."""

    name: Annotated[str, Hidden()] = ""
    command: str = ""
    """The program of a server that talks over its standard input and output. Nothing is installed
    for it."""
    args: tuple[str, ...] = ()
    """The program's arguments."""
    env: Annotated[tuple[tuple[str, str], ...], AsTable()] = ()
    """Variables of the program's environment, beside those for folders, language and proxies:
    `{ TOKEN = "${MY_TOKEN}" }`."""
    cwd: str = ""
    """The folder that the program starts in; without it the one of tui-chat."""
    url: Annotated[str, Check(_url)] = ""
    """The address of a server that talks over HTTP."""
    transport: Literal["http", "sse"] = "http"
    """How to talk to `url`: `http` (Streamable HTTP), or `sse`, the transport of 2024."""
    headers: Annotated[Pairs, AsTable(), Check(_headers)] = ()
    """Headers of all requests to it. A value may be a reference to a key (`env:NAME`) or contain a
    variable: `{ Authorization = "Bearer ${MY_TOKEN}" }`."""
    tools: tuple[str, ...] = ()
    """The tools that are offered, by their names at the server; `*` stands for any characters;
    without it all."""
    consent: Literal["ask", "always"] = "ask"
    """`ask` asks the user before each call that no permission covers."""
    timeout: Annotated[float, Range(above=0, high=86_400)] = 60.0
    """Seconds after which a call is given up, without those that you take to answer a question of
    the server."""

    @property
    def command_line(self) -> str:
        """The command with its folder and variables, or the URL with its headers, for the user to
        see before it is started. References are not resolved. A value of `env` or of a header is
        left out if it is more than one variable: it may be a key.
        """
        if self.url:
            headers = "".join(f"\n{name}: {_header(value)}" for name, value in self.headers)
            return self.url + headers
        folder = f"cd {shlex.quote(self.cwd)} && " if self.cwd else ""
        return folder + shown_variables(self.env) + shlex.join((self.command, *self.args))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of what is started or connected to; consent is given to it."""
        parts = (self.command, self.args, self.env, self.cwd, self.url, self.headers)
        return sha256(json.dumps(parts).encode()).hexdigest()

    def expanded(self, environ: Mapping[str, str], hidden: Collection[str] = ()) -> ServerSettings:
        """Return the settings with the values of variables. `hidden` are those that hold keys.

        Raises ConfigError for a variable that is not set, or is hidden.
        """

        def expand(text: str) -> str:
            return expanded(text, f"mcp.{self.name}", environ, hidden)

        headers = (
            (name, value if is_reference(value) else expand(value)) for name, value in self.headers
        )
        return replace(
            self,
            command=expand(self.command),
            args=tuple(map(expand, self.args)),
            env=tuple((name, expand(value)) for name, value in self.env),
            cwd=expanduser(expand(self.cwd)),
            url=expand(self.url),
            headers=tuple(headers),
        )


def located_command(settings: ServerSettings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command line of expanded settings with the path of its program."""
    path = dict(settings.env).get("PATH") or environ.get("PATH")
    return located((settings.command, *settings.args), settings.cwd, path)


def complete(settings: ServerSettings) -> ServerSettings:
    """Return settings that say what to start or to connect to. Raises ValueError."""
    if bool(settings.command) == bool(settings.url):
        raise ValueError("must have either `command` or `url`")
    if settings.url and (settings.args or settings.env or settings.cwd):
        raise ValueError("has a `url`, so it must have no `args`, `env` or `cwd`")
    if settings.command and settings.headers:
        raise ValueError("has a `command`, so it must have no `headers`")
    return settings


Table: TypeAlias = Mapping[
    Annotated[str, Check(server_name)], Annotated[ServerSettings, Check(complete)]
]
"""The type of `[mcp]`: servers by name."""


def configured_servers(config: Config) -> tuple[ServerSettings, ...]:
    """Return the servers of a configuration, with their names."""
    table: Mapping[str, ServerSettings] = config.sections.get("mcp", {})
    return tuple(replace(settings, name=name) for name, settings in table.items())


def server_environment(
    settings: ServerSettings, environ: Mapping[str, str], hidden: Collection[str] = ()
) -> dict[str, str]:
    """Return the environment of a server's program."""
    return inherited(environ, hidden) | dict(settings.env)

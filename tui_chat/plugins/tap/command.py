"""`tui-chat tap`: runs the recording proxy, and a command behind it.

1. Nothing of the client's is printed on its own streams: with a command, our lines go to the error
   stream, and only at the end. With `--json` and no `--output` the command's standard output goes
   to the error stream, so that ours has nothing but JSON.
2. The command gets the variables in which clients look for a server; in its arguments, the names
   of these in braces stand for their values, for programs that read no variable. It gets the
   terminal and its signals; the proxy ends after it, with its exit code.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

import click

from tui_chat import hooks
from tui_chat.api import OfflineProvider
from tui_chat.cli.app import new_id, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import json_option
from tui_chat.cli.output import CLOSED, OutputClosed, write_line
from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.errors import InputError
from tui_chat.files import make_private_folder, open_private
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import load_prices
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.prices import Prices
from tui_chat.models.sanitize import sanitize
from tui_chat.plugins.tap.call_output import call_json, call_line, heading
from tui_chat.plugins.tap.calls import Call
from tui_chat.plugins.tap.exchange import RecordedExchange
from tui_chat.plugins.tap.pause import HeldRequests, read_pattern
from tui_chat.plugins.tap.proxy import MAX_REQUEST, TapTransport
from tui_chat.plugins.tap.recorded_call import RecordedCall
from tui_chat.plugins.tap.recorder import Recorder
from tui_chat.plugins.tap.sessions import SessionWriter
from tui_chat.plugins.tap.upstreams import (
    BASE_URL_VARIABLES,
    Upstream,
    client_variables,
    read_address,
    read_upstream,
    route_to,
)
from tui_chat.providers.server import LoopbackServer
from tui_chat.store import Store

OFFLINE = "offline"
"""The name of the offline provider as an upstream."""
_OFFLINE_MODEL = "echo"
"""Its model that answers for the names of models that it does not have."""
_PORT = 8788
"""The port without a command; with one, any free port."""
_LINGER_SECONDS = 1.0
"""Seconds in which connections of a command that has ended may end by themselves."""
_FINISH_SECONDS = 10.0
"""Seconds to record what has ended when the proxy ends."""
_END_SIGNALS = tuple(
    number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
_ERROR_STREAM = 2
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_OWN_HOSTS = "127.0.0.1,localhost"


@dataclass(frozen=True, slots=True)
class TapOptions:
    """The flags of the command."""

    listen: str
    upstream: str
    only: tuple[str, ...]
    pause: tuple[str, ...]
    pause_for: float
    as_json: bool
    output: Path | None
    no_store: bool
    allow_remote: bool
    command: tuple[str, ...]


@click.command(context_settings={"ignore_unknown_options": False})
@click.option(
    "--listen", default="", metavar="[HOST:]PORT", help="Default: 127.0.0.1:8788, or a free port."
)
@click.option(
    "--upstream",
    default="",
    metavar="URL|ENDPOINT|offline",
    help="Where requests go; default: each protocol's own provider.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Record only calls whose protocol, model, path or program fits: 'claude-*'; repeatable.",
)
@click.option(
    "--pause",
    multiple=True,
    metavar="PATTERN",
    help="Hold calls that fit so, or have this text, until you decide; repeatable.",
)
@click.option(
    "--pause-for",
    type=click.FloatRange(1, 86_400),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Forward a held call unchanged after N seconds.",
)
@json_option("Print each call as a line of JSON.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append the JSON lines to a file instead.",
)
@click.option("--no-store", is_flag=True, help="Do not store the conversations as sessions.")
@click.option("--allow-remote", is_flag=True, help="Also listen for other machines.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.pass_obj
def tap(common: CommonOptions, **flags: Any) -> None:
    """Record what another program sends to a model.

    Runs a proxy on this machine: give its address to the program as its base URL, or name the
    program's command after --, and it is started with the right environment variables; in its
    arguments, {OPENAI_BASE_URL} and the like stand for their values. Requests
    and replies pass unchanged and unbuffered. Each conversation becomes a session, which a running
    app shows live. Keys pass, and are never stored or shown. Ends with the exit code of COMMAND.

    With --pause, calls wait until you decide in the app: its command /held sends them as they came,
    edits them in $EDITOR, or drops them.

    \b
    Examples:
      tui-chat tap -- claude -p "Hi"
      tui-chat tap --pause 'claude-*'
    """
    options = TapOptions(**flags)
    host, port = read_address(options.listen, 0 if options.command else _PORT)
    try:
        code = asyncio.run(_Tap(common, options).run(host, port))
    except KeyboardInterrupt:
        code = 0
    if code:
        sys.exit(code)


class _Tap:
    def __init__(self, common: CommonOptions, options: TapOptions) -> None:
        self._common = common
        self._config = common.config()
        self._options = options
        self._prices = load_prices()
        self._stop = asyncio.Event()
        self._code = 0

    async def run(self, host: str, port: int) -> int:
        """Run the proxy; return the exit code. Raises InputError."""
        options = self._options
        async with AsyncExitStack() as stack:
            upstream = await self._upstream(stack)
            store = await self._store(stack)
            writer = None if store is None else self._writer(store)
            output = None
            if options.output is not None:
                output = stack.enter_context(open_private(options.output, "a"))
            report = _Report(options, output, self._end_closed)
            recorder = Recorder(
                on_call=report.add_call,
                on_other=report.add_other,
                prices_of=self._prices_of,
                writer=writer,
                only=options.only,
                command=options.command,
            )
            transport = self._transport(host, port, upstream, recorder, store)
            async with AsyncExitStack() as listening:
                server = await self._listen(listening, transport, host, port)
                listening.push_async_callback(transport.aclose)
                variables = client_variables(server.base_url, upstream)
                if options.command:
                    self._code = await self._run_command(variables)
                    await recorder.wait(_LINGER_SECONDS)
                else:
                    report.greet(server.base_url, upstream, variables)
                    await self._wait()
            await recorder.finish(_FINISH_SECONDS)
            report.end(recorder.calls, recorder.dropped + (writer.dropped if writer else 0))
        return self._code

    async def _listen(
        self, stack: AsyncExitStack, transport: TapTransport, host: str, port: int
    ) -> LoopbackServer:
        remote = self._options.allow_remote
        try:
            server = LoopbackServer(transport, port, host, MAX_REQUEST, remote)
            return await stack.enter_async_context(server)
        except OSError as error:
            raise InputError(f"{host}:{port} cannot be used: {error.strerror}.") from error
        except ValueError as error:
            advice = "Use --allow-remote if that is meant: whoever reaches it may use it."
            sentence = f"--listen: {host} can be reached from other machines."
            raise InputError(sentence, advice=advice) from error

    def _transport(
        self,
        host: str,
        port: int,
        upstream: Upstream | None,
        recorder: Recorder,
        store: Store | None,
    ) -> TapTransport:
        options, holds = self._options, None
        if options.pause:
            patterns = [read_pattern(text) for text in options.pause]
            if store is None:
                advice = "Run it without --no-store: then `/held` in the app decides."
                raise InputError("--pause needs the place where held calls wait.", advice=advice)
            holds = HeldRequests(patterns, options.pause_for, recorder, store.replies.database)
        own = f"{host}:{port}"  # variables that name the proxy already
        environ = {name: value for name, value in os.environ.items() if own not in value}
        return TapTransport(
            route_to(upstream, environ),
            recorder.follow,
            host=host,
            allow_remote=options.allow_remote,
            holds=holds,
            environ=os.environ,
        )

    # --- parts ------------------------------------------------------------------------------

    async def _upstream(self, stack: AsyncExitStack) -> Upstream | None:
        """Return the one upstream; None for each protocol's own provider."""
        name = self._options.upstream
        if not name:
            return None
        endpoints = {endpoint.name: endpoint for endpoint in self._config.endpoints}
        endpoint = endpoints.get(name)
        url = endpoint.base_url if endpoint is not None else name
        if name != OFFLINE and not url.startswith(LOOPBACK_URL):
            return read_upstream(url, proxy=endpoint.proxy if endpoint else "")
        for provider in hooks.load_all("offline provider", OfflineProvider):
            served = provider.serve(alias=_OFFLINE_MODEL)
            break
        else:
            raise InputError("There is no offline provider that can be an upstream.")
        server = await stack.enter_async_context(served)
        path = urlsplit(url).path if endpoint is not None else ""
        return read_upstream(server.base_url + path)

    async def _store(self, stack: AsyncExitStack) -> Store | None:
        if self._options.no_store:
            return None
        make_private_folder(self._config.data_dir)
        return await stack.enter_async_context(open_store(self._common))

    def _writer(self, store: Store) -> SessionWriter:
        return SessionWriter(store, now=time.time, new_id=new_id, endpoint_name=self._endpoint_name)

    def _endpoint_name(self, protocol: Protocol, url: str) -> str:
        endpoint = self._endpoint(protocol, url)
        return endpoint.name if endpoint is not None else ""

    def _endpoint(self, protocol: Protocol, url: str) -> Endpoint | None:
        """Return the configured endpoint of a protocol at a server."""
        if self._options.upstream in (OFFLINE, *_offline_names(self._config)):
            url = LOOPBACK_URL
        host = urlsplit(url).netloc
        endpoints = (
            endpoint
            for endpoint in self._config.endpoints
            if endpoint.protocol is protocol and urlsplit(endpoint.base_url).netloc == host
        )
        return next(endpoints, None)

    def _prices_of(self, call: Call, tier: str) -> Prices | None:
        if call.composed is None:
            return None
        configured = self._endpoint(call.protocol, call.exchange.upstream)
        endpoint = configured or call.composed.endpoint
        context = {"service_tier": tier} if tier else {}
        return self._prices.prices_of(endpoint, call.model, datetime.now(UTC), context)

    # --- the command ------------------------------------------------------------------------

    async def _run_command(self, variables: Mapping[str, str]) -> int:
        """Run the command and return its exit code; 128 and its number for a signal."""
        command = [_with_variables(word, variables) for word in self._options.command]
        is_mixed = self._options.as_json and self._options.output is None
        loop = asyncio.get_running_loop()
        signal.signal(signal.SIGINT, _leave_to_command)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                env={**os.environ, **variables, **_without_proxy(os.environ)},
                stdout=_ERROR_STREAM if is_mixed else None,
            )
        except FileNotFoundError:
            write_line(f"Error: the command “{command[0]}” was not found.", err=True)
            return _NOT_FOUND
        except OSError as error:
            sentence = f"Error: the command “{command[0]}” cannot be run: {error.strerror}."
            write_line(sentence, err=True)
            return _NOT_EXECUTABLE
        for number in _END_SIGNALS:
            with suppress(ValueError, NotImplementedError):
                loop.add_signal_handler(number, _send, process, number)
        code = await process.wait()
        return 128 - code if code < 0 else code

    async def _wait(self) -> None:
        """Wait until the program is to end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, *_END_SIGNALS):
            with suppress(ValueError, NotImplementedError):
                loop.add_signal_handler(number, self._end_by, number)
        await self._stop.wait()

    def _end_by(self, number: int) -> None:
        self._code = 0 if number == signal.SIGINT else 128 + number
        self._stop.set()

    def _end_closed(self) -> None:
        """End because nobody reads what is printed."""
        self._code = CLOSED
        self._stop.set()


class _Report:
    """What is printed of the calls."""

    def __init__(
        self, options: TapOptions, output: TextIO | None, on_closed: Callable[[], None]
    ) -> None:
        self._options = options
        self._output = output or sys.stdout
        self._prints_json = options.as_json or output is not None
        self._loop = asyncio.get_running_loop()
        self._clock = time.time() - time.monotonic()
        self._on_closed = on_closed
        self._is_closed = False
        self._others = 0

    def greet(self, base_url: str, upstream: Upstream | None, variables: Mapping[str, str]) -> None:
        """Say where the proxy listens."""
        to = upstream.url if upstream is not None else "each protocol's own provider"
        lines = [f"Recording at {base_url}; requests go to {to}."]
        names = [n for n in dict.fromkeys(BASE_URL_VARIABLES.values()) if n in variables]
        lines += [f"  export {name}={variables[name]}" for name in names]
        lines.append("Ctrl+C stops it. `tui-chat tap -- COMMAND` starts a client with these.")
        if self._options.pause:
            held, seconds = ", ".join(self._options.pause), self._options.pause_for
            lines.append(f"Held: {held}; /held in the app decides, or sent on in {seconds:g} s.")
        for line in lines:
            write_line(line, err=self._options.as_json)
        if not self._prints_json:
            write_line(heading())

    def add_call(self, recorded: RecordedCall) -> None:
        """Print a call; called in a thread, one at a time."""
        began = self._clock + recorded.exchange.began
        if self._prints_json:
            value = call_json(recorded, began)
            self._print(sanitize(json.dumps(value, ensure_ascii=False), "json"))
        elif not self._options.command:
            self._print(sanitize(call_line(recorded, began)))

    def add_other(self, exchange: RecordedExchange) -> None:
        """Count an exchange that is no model call, and print it."""
        self._others += 1
        if not self._options.command and not self._prints_json:
            status = exchange.status or exchange.fault or exchange.outcome
            line = f"{exchange.number:>4}  {exchange.method} {exchange.path} · {status}"
            self._print(sanitize(line))

    def _print(self, line: str) -> None:
        """Print a line of the table. Any thread may."""
        if self._is_closed:
            return
        try:
            self._output.write(line + "\n")
            self._output.flush()
        except (OSError, ValueError):  # a closed pipe, a full disk
            self._is_closed = True
            if not self._options.command:
                self._loop.call_soon_threadsafe(self._on_closed)

    def end(self, calls: int, dropped: int) -> None:
        """Say how much was recorded."""
        parts = [f"{calls:,} model call{'s' * (calls != 1)} recorded"]
        if self._others:
            parts.append(f"{self._others:,} other request{'s' * (self._others != 1)} passed")
        if dropped:
            parts.append(f"{dropped:,} could not be recorded")
        with suppress(OutputClosed, OSError):
            write_line(f"tui-chat tap: {', '.join(parts)}.", err=True)


def _with_variables(word: str, variables: Mapping[str, str]) -> str:
    """Return an argument of a command with the values of variables that it names in braces."""
    for name, value in variables.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _without_proxy(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep requests to this machine from going through a proxy."""
    return {
        name: f"{environ[name]},{_OWN_HOSTS}" if environ.get(name) else _OWN_HOSTS
        for name in ("NO_PROXY", "no_proxy")
    }


def _offline_names(config: Config) -> tuple[str, ...]:
    return tuple(e.name for e in config.endpoints if e.base_url.startswith(LOOPBACK_URL))


def _leave_to_command(number: int, frame: object) -> None:
    """Ignore Ctrl+C: the terminal sends it to the command too."""
    del number, frame


def _send(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)

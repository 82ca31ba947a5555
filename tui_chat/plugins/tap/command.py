"""`tui-chat tap`: runs the recording proxy, and a command behind it.

1. Nothing of the client's is printed on its own streams: with a command, our lines go to the error
   stream, and only at the end. With `--json` and no `--output` the command's standard output goes
   to the error stream, so that ours has nothing but JSON.
2. The command gets the variables in which clients look for a server; in its arguments, the names
   of these in braces stand for their values, for programs that read no variable. It gets the
   terminal and its signals; the proxy ends after it, with its exit code.
3. What is held is decided on this terminal (`pause_terminal`), or in an app (`held_table`).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

import click

from tui_chat import hooks
from tui_chat.api import OfflineProvider
from tui_chat.cli.app import new_id, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import FILE, PROTOCOLS, json_option
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
from tui_chat.plugins.tap.client_environment import client_variables, no_proxy, with_variables
from tui_chat.plugins.tap.exchange import RecordedExchange
from tui_chat.plugins.tap.held_table import share
from tui_chat.plugins.tap.pause import HeldRequest, Pauses, read_pattern
from tui_chat.plugins.tap.pause_terminal import PauseTerminal
from tui_chat.plugins.tap.proxy import TapProxy
from tui_chat.plugins.tap.recorded_call import RecordedCall
from tui_chat.plugins.tap.recorder import Recorder
from tui_chat.plugins.tap.sessions import SessionWriter, StoredCall
from tui_chat.plugins.tap.upstreams import (
    BASE_URL_VARIABLES,
    Upstream,
    behind_proxy_of,
    read_address,
    read_upstream,
    route_to,
)
from tui_chat.store import Store

OFFLINE = "offline"
"""The name of the offline provider as an upstream."""
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
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class TapOptions:
    """The flags of the command."""

    listen: str = ""
    upstream: str = ""
    protocol: Protocol | None = None
    only: tuple[str, ...] = ()
    pause: tuple[str, ...] = ()
    pause_for: float = 0.0
    max_body: int | None = None
    as_json: bool = False
    output: Path | None = None
    targets: tuple[Protocol, ...] = ()
    is_stored: bool = True
    allow_remote: bool = False
    alias: str = ""
    script: Path | None = None
    command: tuple[str, ...] = ()


class _Size(click.ParamType[int]):
    """A number of bytes, with k, M or G."""

    name = "SIZE"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Return the number of bytes."""
        text = str(value).strip().lower().removesuffix("b")
        number, unit = (text[:-1], text[-1:]) if text[-1:] in "kmg" else (text, "")
        if not (number.isascii() and number.isdigit() and 0 < len(number) < 13):
            self.fail(f"{value!r} is not a size such as 500k or 32M", param, ctx)
        return int(number) * _UNITS[unit]


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
    "--protocol",
    type=click.Choice(PROTOCOLS),
    help="The protocol of requests whose path does not tell it; default: detected.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Record only calls whose protocol, model or path fits, such as 'claude-*'; repeatable.",
)
@click.option(
    "--pause",
    multiple=True,
    metavar="PATTERN",
    help="Hold calls that fit until you decide: model:claude-*, path:TEXT, client:TEXT, body:TEXT, "
    "or a TEXT in any of these; repeatable.",
)
@click.option(
    "--pause-for",
    type=click.FloatRange(1, 86_400),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Forward a held call unchanged after N seconds.",
)
@click.option(
    "--max-body", type=_Size(), help="Record no larger bodies, with 0 none at all; default: 64M."
)
@json_option("Print each call as a line of JSON.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append the JSON lines to a file instead.",
)
@click.option(
    "--to",
    "targets",
    multiple=True,
    type=click.Choice(PROTOCOLS),
    help="Also print each request in another protocol; repeatable.",
)
@click.option("--no-store", is_flag=True, help="Do not store the conversations as sessions.")
@click.option("--allow-remote", is_flag=True, help="Also listen for other machines.")
@click.option(
    "--alias",
    default="",
    metavar="MODEL",
    help="With --upstream offline: the model that answers for unknown names.",
)
@click.option(
    "--script",
    type=FILE,
    help="With --upstream offline: a JSON file that the model “script” plays.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.pass_obj
def tap(common: CommonOptions, **flags: Any) -> None:
    """Record what another program sends to a model.

    Runs a proxy on this machine: give its address to the program as its base URL, or name the
    program's command after --, and it is started with the right environment variables; in its
    arguments, {OPENAI_BASE_URL} and the like stand for their values. Requests
    and replies pass unchanged and unbuffered. Each conversation becomes a session, which a running
    app shows live. Keys pass, and are never stored or shown. Ends with the exit code of COMMAND.

    With --pause, calls wait before they go on: you send them as they came, edit them in $EDITOR,
    answer them yourself, or drop them.

    \b
    Examples:
      tui-chat tap -- claude -p "Hi"
      tui-chat tap --pause 'model:claude-*'
    """
    protocol = flags.pop("protocol")
    targets = flags.pop("targets")
    options = TapOptions(
        protocol=Protocol(protocol) if protocol else None,
        targets=tuple(map(Protocol, targets)),
        is_stored=not flags.pop("no_store"),
        **flags,
    )
    run_tap(common, options)


def run_tap(common: CommonOptions, options: TapOptions) -> None:
    """Run the proxy until the command ends, or until it is interrupted. Raises InputError."""
    config = common.config()
    host, port = read_address(options.listen, 0 if options.command else _PORT)
    try:
        code = asyncio.run(_Tap(common, config, options).run(host, port))
    except KeyboardInterrupt:
        code = 0
    except ValueError as error:
        advice = "Use --allow-remote if that is meant: whoever reaches it may use it."
        raise InputError(f"--listen: {error}.", advice=advice) from error
    if code:
        sys.exit(code)


class _Tap:
    def __init__(self, common: CommonOptions, config: Config, options: TapOptions) -> None:
        self._common = common
        self._config = config
        self._options = options
        self._prices = load_prices()
        self._clock = time.time() - time.monotonic()
        self._output: TextIO | None = None
        self._is_output_closed = False
        self._others = 0
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._code = 0
        self._pauses = Pauses()
        self._store: Store | None = None
        self._terminal: PauseTerminal | None = None

    async def run(self, host: str, port: int) -> int:
        """Run the proxy; return the exit code."""
        options, self._loop = self._options, asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            upstream = await self._upstream(stack)
            writer = await self._writer(stack)
            if options.output is not None:
                self._output = stack.enter_context(open_private(options.output, "a"))
            recorder = Recorder(
                on_call=self._report,
                on_other=self._count_other,
                prices_of=self._prices_of,
                writer=writer,
                protocol=options.protocol,
                only=options.only,
                command=options.command,
                on_held=self._share if options.pause else None,
            )
            own = f"{host}:{port}"  # variables that name the proxy already
            environ = {name: value for name, value in os.environ.items() if own not in value}
            route = route_to(upstream, environ)
            extra = {} if options.max_body is None else {"max_body": options.max_body}
            self._pauses = self._read_pauses()
            proxy = TapProxy(
                route, recorder.follow, host=host, port=port, pauses=self._pauses,
                allow_remote=options.allow_remote, **extra,
            )  # fmt: skip
            async with AsyncExitStack() as listening:
                try:
                    await listening.enter_async_context(proxy)
                except OSError as error:
                    raise InputError(f"{host}:{port} cannot be used: {error.strerror}.") from error
                variables = client_variables(proxy.base_url, upstream)
                if options.command:
                    self._code = await self._run_command(variables)
                    await recorder.wait(_LINGER_SECONDS)
                else:
                    self._greet(proxy, upstream, variables)
                    await self._wait()
                    await self._pauses.close()
            await recorder.finish(_FINISH_SECONDS)
            self._say_end(recorder, writer)
        return self._code

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
            return behind_proxy_of(
                read_upstream(url), endpoint.proxy if endpoint else "", os.environ
            )
        for provider in hooks.load_all("offline provider", OfflineProvider):
            served = provider.serve(alias=self._options.alias, script=self._options.script)
            break
        else:
            raise InputError("There is no offline provider that can be an upstream.")
        server = await stack.enter_async_context(served)
        path = urlsplit(url).path if endpoint is not None else ""
        return read_upstream(server.base_url + path)

    async def _writer(self, stack: AsyncExitStack) -> SessionWriter | None:
        if not self._options.is_stored:
            return None
        make_private_folder(self._config.data_dir)
        self._store = store = await stack.enter_async_context(open_store(self._common))
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

    # --- held requests ----------------------------------------------------------------------

    def _read_pauses(self) -> Pauses:
        """Return what is held, and open the terminal for it. Raises InputError without one."""
        options = self._options
        if not options.pause:
            return Pauses()
        has_terminal = sys.stdin.isatty() and sys.stderr.isatty() and not options.command
        if not (has_terminal or options.is_stored):
            raise InputError(
                "--pause needs a place where you decide about held calls.",
                advice="Run the tap in a terminal without a command, or without --no-store: then "
                "`/held` in the app decides.",
            )
        pauses = Pauses(
            [read_pattern(text) for text in options.pause],
            options.pause_for,
            protocol=options.protocol,
            command=options.command,
            on_change=self._show_change,
            on_passed=lambda exchange, why: self._say(f"Request {exchange.number} passed: {why}."),
        )
        if has_terminal:
            from tui_chat.ui.terminal.external_programs import editor_command  # imports Textual

            editor = editor_command(os.environ)
            self._terminal = PauseTerminal(pauses, self._write_held, editor)
        else:
            self._write_held("tui-chat tap: calls that fit --pause wait; /held in the app decides.")
        return pauses

    async def _share(self, exchange: RecordedExchange, stored: StoredCall) -> None:
        held = self._pauses.requests.get(exchange.number)
        if held is not None and self._store is not None:
            database = self._store.replies.database
            await share(database, held, stored.entry_id, stored.session_id)

    def _show_change(self, held: HeldRequest) -> None:
        if self._terminal is not None:
            self._terminal.show_change(held)

    def _say(self, line: str) -> None:
        """Print a line on the terminal, after the editor has left it."""
        if self._terminal is not None:
            self._terminal.show(line)

    def _write_held(self, line: str) -> None:
        with suppress(OutputClosed, OSError):
            write_line(line, err=True)

    # --- the command ------------------------------------------------------------------------

    async def _run_command(self, variables: Mapping[str, str]) -> int:
        """Run the command and return its exit code; 128 and its number for a signal."""
        command = [with_variables(word, variables) for word in self._options.command]
        is_mixed = self._options.as_json and self._output is None
        loop = asyncio.get_running_loop()
        signal.signal(signal.SIGINT, _leave_to_command)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                env={**os.environ, **variables, **no_proxy(os.environ)},
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
        keys = asyncio.ensure_future(self._terminal.run()) if self._terminal else None
        await self._stop.wait()
        if keys is not None:
            keys.cancel()
            await asyncio.gather(keys, return_exceptions=True)

    def _end_by(self, number: int) -> None:
        if number == signal.SIGINT and self._terminal is not None and self._terminal.is_editing:
            return  # the editor has it
        self._code = 0 if number == signal.SIGINT else 128 + number
        self._stop.set()

    # --- what is printed ----------------------------------------------------------------------

    @property
    def _prints_json(self) -> bool:
        return self._options.as_json or self._output is not None

    def _greet(
        self, proxy: TapProxy, upstream: Upstream | None, variables: Mapping[str, str]
    ) -> None:
        to = upstream.url if upstream is not None else "each protocol's own provider"
        err = self._options.as_json
        write_line(f"Recording at {proxy.base_url}; requests go to {to}.", err=err)
        for name in dict.fromkeys(BASE_URL_VARIABLES.values()):
            if name in variables:
                write_line(f"  export {name}={variables[name]}", err=err)
        write_line(
            "Ctrl+C stops it. `tui-chat tap -- COMMAND` starts a client with these.", err=err
        )
        if self._options.pause:
            seconds = f"{self._options.pause_for:g}"
            write_line(
                f"Held: {', '.join(self._options.pause)}; sent on after {seconds} s.", err=err
            )
        if not self._prints_json:
            write_line(heading())

    def _report(self, recorded: RecordedCall) -> None:
        """Print a call; called in a thread, one at a time."""
        began = self._clock + recorded.exchange.began
        if self._prints_json:
            value = call_json(recorded, began, self._options.targets)
            self._print(sanitize(json.dumps(value, ensure_ascii=False), "json"))
        elif not self._options.command:
            self._print(sanitize(call_line(recorded, began)))

    def _print(self, line: str) -> None:
        """Print a line of the table, after the editor has left the terminal. Any thread may."""
        if self._terminal is None or self._loop is None:
            self._write(line)
        else:
            action = partial(self._write, line)
            self._loop.call_soon_threadsafe(self._terminal.after_editor, action)

    def _write(self, line: str) -> None:
        if self._is_output_closed:
            return
        output = self._output or sys.stdout
        try:
            output.write(line + "\n")
            output.flush()
        except (OSError, ValueError):  # a closed pipe, a full disk
            self._is_output_closed = True
            if not self._options.command:
                self._code = CLOSED
                assert self._loop is not None
                self._loop.call_soon_threadsafe(self._stop.set)

    def _count_other(self, exchange: RecordedExchange) -> None:
        self._others += 1
        if not self._options.command and not self._prints_json:
            status = exchange.status or exchange.fault or exchange.outcome
            self._print(
                sanitize(f"{exchange.number:>4}  {exchange.method} {exchange.path} · {status}")
            )

    def _say_end(self, recorder: Recorder, writer: SessionWriter | None) -> None:
        dropped = recorder.dropped + (writer.dropped if writer is not None else 0)
        parts = [f"{recorder.calls:,} model call{'s' * (recorder.calls != 1)} recorded"]
        if self._others:
            parts.append(f"{self._others:,} other request{'s' * (self._others != 1)} passed")
        if dropped:
            parts.append(f"{dropped:,} could not be recorded")
        with suppress(OutputClosed, OSError):
            write_line(f"tui-chat tap: {', '.join(parts)}.", err=True)


def _offline_names(config: Config) -> tuple[str, ...]:
    return tuple(e.name for e in config.endpoints if e.base_url.startswith(LOOPBACK_URL))


def _leave_to_command(number: int, frame: object) -> None:
    """Ignore Ctrl+C: the terminal sends it to the command too."""
    del number, frame


def _send(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)

"""`tui-chat doctor`: what works on this machine, what does not, and what to do about it.

Nothing is sent without `--online`, and nothing is written. No key is printed.
"""

from __future__ import annotations

import asyncio
import locale
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_chat import __version__, paths
from tui_chat.cli.app import open_http_client, open_library, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.keys import key_states
from tui_chat.cli.options import json_option
from tui_chat.cli.output import counted, write_json, write_line
from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.errors import ConfigError, InputError, StoreError, TuiChatError, install_advice
from tui_chat.library.presets import load_preset
from tui_chat.plugins.doctor.endpoint_checks import Check, Result, check_server, show_check
from tui_chat.store import access
from tui_chat.workspace.settings import DEFAULT_MODEL, LAST_MODEL, default_model, last_model

if TYPE_CHECKING:
    from tui_chat.models.endpoint import Endpoint

PACKAGES = ("textual", "httpx", "aiosqlite", "splintr-rs", "click", "keyring")
SMALLEST = (80, 24)
"""Columns and rows that the screen is made for."""
LEAST_ROOM = 100_000_000
"""Bytes that should be free for the database."""


@click.command()
@click.option("--online", is_flag=True, help="Also ask the endpoints that have a key.")
@json_option()
@click.pass_obj
def doctor(common: CommonOptions, online: bool, as_json: bool) -> None:
    """Diagnose this installation.

    It looks at versions, terminal, configuration, files, database, keys and endpoints. Nothing is
    sent without --online. Exits with 1 if something does not work.

    \b
    Examples:
      tui-chat doctor
      tui-chat doctor --online --json
    """
    checks = list(_checks(common, online=online))
    failed = [check for check in checks if check.result == "failed"]
    if as_json:
        write_json({"works": not failed, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            show_check(check, width=10)
        write_line("")
        names = ", ".join(dict.fromkeys(check.name for check in failed))
        write_line(f"Does not work: {names}." if failed else "Everything that is needed works.")
        if not online:
            write_line("Nothing was sent; --online asks the endpoints too.")
    if failed:
        sys.exit(1)


def _checks(common: CommonOptions, *, online: bool) -> Iterator[Check]:
    from tui_chat.ui.keys import screen_errors  # with Textual, which --help does not need

    yield from _program()
    yield from _terminal()
    try:
        config = common.config()
    except ConfigError as error:
        yield Check("config", "failed", str(error), error.advice or "`tui-chat config check`")
        config = Config(config_dir=common.config_folder, data_dir=common.data_folder)
    else:
        path = common.config_file
        errors = screen_errors(config)
        for error in errors:
            yield Check("config", "warning", f"{path}: {error}", error.advice)
        if not errors:
            there = "has no faults" if path.exists() else "does not exist; the defaults hold"
            yield Check("config", "ok", f"{path} {there}.")
    yield from _files(config)
    yield from _database(paths.database_file(config.data_dir))
    yield from _endpoints(config, online=online)


# --- the program and its terminal ------------------------------------------------------


def _program() -> Iterator[Check]:
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    python = f"Python {platform.python_version()} at {sys.executable}"
    yield Check("program", "ok", f"tui-chat {__version__}, {python}, on {system}.")
    versions = {name: _version(name) for name in PACKAGES}
    words = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    yield Check("packages", "ok", f"{words}.")
    if not versions["keyring"]:
        advice = f"It needs the package keyring. {install_advice('keyring')}"
        yield Check("packages", "warning", "The keyring cannot be used for keys.", advice)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _terminal() -> Iterator[Check]:
    kind = os.environ.get("TERM", "")
    if not sys.stdout.isatty():
        sentence = "The output is not a terminal; the terminal checks were skipped."
        yield Check("terminal", "skipped", sentence)
        return
    size = shutil.get_terminal_size()
    colors = _colors(kind)
    inside = [name for name, key in (("tmux", "TMUX"), ("ssh", "SSH_TTY")) if os.environ.get(key)]
    words = [f"TERM={kind or 'not set'}", f"{size.columns} x {size.lines}", colors, *inside]
    result: Result = "failed" if kind in ("", "dumb", "unknown") else "ok"
    advice = "Set TERM to the kind of your terminal, such as xterm-256color."
    yield Check("terminal", result, f"{', '.join(words)}.", advice if result == "failed" else "")
    if size.columns < SMALLEST[0] or size.lines < SMALLEST[1]:
        sentence = f"The terminal is smaller than {SMALLEST[0]} x {SMALLEST[1]}."
        yield Check("terminal", "warning", sentence, "Enlarge it, or use a smaller font.")
    encoding = (sys.stdout.encoding or locale.getpreferredencoding()).lower()
    if encoding.replace("-", "") != "utf8":
        sentence = f"The encoding is {encoding}, in which many characters cannot be shown."
        yield Check("terminal", "warning", sentence, "Set LANG to a UTF-8 locale: C.UTF-8.")


def _colors(kind: str) -> str:
    if os.environ.get("NO_COLOR"):
        return "no colors, since NO_COLOR is set"
    if os.environ.get("COLORTERM", "") in ("truecolor", "24bit") or "direct" in kind:
        return "16 million colors"
    return "256 colors" if "256" in kind else "few colors (COLORTERM=truecolor says more)"


# --- files and the database ------------------------------------------------------------


def _files(config: Config) -> Iterator[Check]:
    library = open_library(config)
    faults: list[str] = []
    counts: list[str] = []
    for kind in ("presets", "roles", "profiles", "lorebooks"):
        own = {
            name: path
            for name, path in library.files(kind).items()
            if path.parent.parent == config.config_dir
        }
        count = f"{len(own)} {kind[:-1] if len(own) == 1 else kind}"
        counts.append(f"{count.replace('role', 'role file')}")
        for name, path in own.items():
            try:
                match kind:
                    case "presets":
                        load_preset(path)
                    case "roles":
                        library.role(name, library.text("roles", name))
                    case "profiles":
                        library.profile(name)
                    case "lorebooks":
                        library.lorebook(name)
            except InputError as error:
                faults.append(str(error))
            else:
                faults += library.doubts(kind, name)
    yield Check("files", "ok", f"Your own: {', '.join(counts)}.")
    for fault in faults:
        yield Check("files", "warning", fault, "`tui-chat presets check FILE` says more.")


def _database(path: Path) -> Iterator[Check]:
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not path.exists():
        yield Check("database", "ok", f"{path} does not exist yet; the first start creates it.")
    else:
        try:
            facts = access.status(path)
        except (StoreError, InputError) as error:
            yield Check("database", "failed", str(error), error.advice)
        else:
            roles = counted(access.count_roles(path), "role")
            counts = f"{facts.sessions:,} sessions, {facts.messages:,} messages, {roles}"
            used = "; another program has it open" if facts.in_use else ""
            size = f"{facts.bytes / 1e6:,.1f} MB"
            yield Check("database", "ok", f"{path}: {size}, {counts}{used}.")
            if facts.pending:
                sentence = "It has an older version; the next start of the app migrates it."
                yield Check("database", "warning", sentence, "`tui-chat db backup` makes a copy.")
    if not os.access(folder, os.W_OK):
        advice = "Choose another folder with --data-dir."
        yield Check("database", "failed", f"{folder} cannot be written to.", advice)
    elif (free := shutil.disk_usage(folder).free) < LEAST_ROOM:
        sentence = f"Only {free / 1e6:,.0f} MB are free in {folder}."
        yield Check("database", "warning", sentence, "Make room; `tui-chat db vacuum` may help.")


# --- keys and endpoints ----------------------------------------------------------------


def _endpoints(config: Config, *, online: bool) -> Iterator[Check]:
    states = synchronous(key_states)(config)
    present = {name for name, _, state in states if state in ("found", "not tried")}
    keyless = {endpoint.name for endpoint in config.endpoints} - {name for name, *_ in states}
    names = ", ".join(name for name, *_ in states if name in present)
    yield Check("keys", "ok", f"There are keys for {names}." if names else "There are no keys.")
    try:
        used = _models_of_new_sessions(config)
    except ConfigError as error:
        yield Check("endpoint", "failed", str(error), error.advice)
        return
    for who, endpoint, model, why in used:
        model = model or next(iter(endpoint.models), "its first model")
        sentence = f"{who} use {model} at {endpoint.name} ({why})"
        if endpoint.name in present | keyless:
            is_offline = endpoint.base_url.startswith(LOOPBACK_URL)
            offline = ", which answers offline" if is_offline else ""
            yield Check("endpoint", "ok", f"{sentence}{offline}.")
        else:
            state = next(state for name, _, state in states if name == endpoint.name)
            advice = f"`tui-chat keys set {endpoint.name}`, or another `endpoint` in config.toml."
            yield Check("endpoint", "failed", f"{sentence}, but: {state}", advice)
    if online:
        defaults = [endpoint for _, endpoint, *_ in used]
        tested = [each for each in config.endpoints if each.name in present or each in defaults]
        yield from _ask(tested)


def _models_of_new_sessions(config: Config) -> list[tuple[str, Endpoint, str, str]]:
    """Return who begins sessions, with the endpoint and model of those whose role names none, and
    what decides that: in the app what was chosen there, for commands the configuration.
    """
    name, model = config.named
    if name or model:
        default = config.endpoint_named(config.endpoint)
        endpoint = config.endpoint_named(name) if name else config.endpoint_for(model, default)
        return [("New sessions", endpoint, model, "as the command line or the environment says")]
    configured = config.endpoint_named(config.endpoint), config.model
    stored: dict[str, str] = {}
    with suppress(StoreError, InputError):  # the check of the database names its fault
        stored = access.stored_settings(paths.database_file(config.data_dir))
    chosen = default_model(config, stored.get(DEFAULT_MODEL, ""))
    why = "chosen last in the app" if chosen is None else "the default that you chose in the app"
    chosen = chosen or last_model(config, stored.get(LAST_MODEL, ""))
    if chosen == configured:
        return [("New sessions", *configured, "as configured")]
    return [
        ("New sessions", *chosen, why),
        ("`ask` and `build`", *configured, "as configured"),
    ]


@synchronous
async def _ask(endpoints: list[Endpoint]) -> list[Check]:
    async with open_http_client() as client:
        answers = await asyncio.gather(
            *(check_server(endpoint, client) for endpoint in endpoints), return_exceptions=True
        )
    checks: list[Check] = []
    for endpoint, answer in zip(endpoints, answers, strict=True):
        if isinstance(answer, TuiChatError):
            checks.append(Check("server", "failed", f"{endpoint.name}: {answer}", answer.advice))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            check, _ = answer
            sentence = f"{endpoint.name}: {check.sentence}"
            checks.append(Check("server", check.result, sentence, check.advice, check.seconds))
    return checks

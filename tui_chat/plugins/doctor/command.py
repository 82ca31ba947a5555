"""`tui-chat doctor`: what works on this machine, what does not, and what to do about it.

Nothing is sent and nothing is written. No key is printed.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import click

from tui_chat import __version__, paths
from tui_chat.cli.app import open_library, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.keys import key_states
from tui_chat.cli.options import json_option
from tui_chat.cli.output import write_json, write_line
from tui_chat.config import Config
from tui_chat.errors import ConfigError, InputError, StoreError
from tui_chat.library.library import Kind
from tui_chat.plugins.doctor.endpoint_checks import Check, Result, show_check
from tui_chat.store import access

LEAST_ROOM = 100_000_000
"""Bytes that should be free for the database."""


@click.command()
@json_option()
@click.pass_obj
def doctor(common: CommonOptions, as_json: bool) -> None:
    """Diagnose this installation.

    It looks at terminal, configuration, files, database and keys. Nothing is sent: `endpoints
    test` asks a server. Exits with 1 if something does not work.

    \b
    Example:
      tui-chat doctor
    """
    checks = list(_checks(common))
    failed = [check for check in checks if check.result == "failed"]
    if as_json:
        write_json({"works": not failed, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            show_check(check, width=10)
        write_line("")
        names = ", ".join(dict.fromkeys(check.name for check in failed))
        write_line(f"Does not work: {names}." if failed else "Everything that is needed works.")
        write_line("Nothing was sent; `tui-chat endpoints test NAME` asks a server.")
    if failed:
        sys.exit(1)


def _checks(common: CommonOptions) -> Iterator[Check]:
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
    yield from _keys(config)


# --- the program and its terminal ------------------------------------------------------


def _program() -> Iterator[Check]:
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    python = f"Python {platform.python_version()} at {sys.executable}"
    yield Check("program", "ok", f"tui-chat {__version__}, {python}, on {system}.")


def _terminal() -> Iterator[Check]:
    if not sys.stdout.isatty():
        sentence = "The output is not a terminal; the terminal checks were skipped."
        yield Check("terminal", "skipped", sentence)
        return
    kind, size = os.environ.get("TERM", ""), shutil.get_terminal_size()
    words = f"TERM={kind or 'not set'}, {size.columns} x {size.lines}."
    result: Result = "failed" if kind in ("", "dumb", "unknown") else "ok"
    advice = "Set TERM to the kind of your terminal, such as xterm-256color."
    yield Check("terminal", result, words, advice if result == "failed" else "")
    if sys.stdout.encoding.lower().replace("-", "") != "utf8":
        sentence = f"The encoding is {sys.stdout.encoding}; many characters cannot be shown."
        yield Check("terminal", "warning", sentence, "Set LANG to a UTF-8 locale: C.UTF-8.")


# --- files and the database ------------------------------------------------------------


def _files(config: Config) -> Iterator[Check]:
    library = open_library(config)
    read: dict[Kind, Callable[[str], object]] = {
        "presets": library.preset,
        "roles": lambda name: library.role(name, library.text("roles", name)),
        "profiles": library.profile,
        "lorebooks": library.lorebook,
    }
    faults: list[str] = []
    counts: list[str] = []
    for kind, load in read.items():
        files = library.files(kind).items()
        own = [name for name, path in files if path.parent.parent == config.config_dir]
        counts.append(f"{len(own)} {kind}")
        for name in own:
            try:
                load(name)
            except InputError as error:
                faults.append(str(error))
            else:
                faults += library.doubts(kind, name)
    yield Check("files", "ok", f"Your own files: {', '.join(counts)}.")
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
            counts = f"{facts.sessions:,} sessions, {facts.messages:,} messages"
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


# --- keys ------------------------------------------------------------------------------


def _keys(config: Config) -> Iterator[Check]:
    states = {name: state for name, _, state in synchronous(key_states)(config)}
    present = [name for name, state in states.items() if state in ("found", "not tried")]
    names = ", ".join(present)
    yield Check("keys", "ok", f"There are keys for {names}." if names else "There are no keys.")
    try:
        endpoint = config.endpoint_named(config.endpoint)
    except ConfigError as error:
        yield Check("endpoint", "failed", str(error), error.advice)
        return
    sentence = f"{config.model or 'The first model'} at {endpoint.name} is configured"
    if endpoint.name in present or endpoint.name not in states:
        yield Check("endpoint", "ok", f"{sentence}.")
    else:
        advice = f"`tui-chat keys set {endpoint.name}`, or another `endpoint` in config.toml."
        yield Check("endpoint", "failed", f"{sentence}, but: {states[endpoint.name]}", advice)

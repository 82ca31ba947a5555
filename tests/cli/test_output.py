"""Everything that the command line prints is sanitized; standard streams that are closed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from tests.support.command_line import Done, Run
from tests.support.command_tree import subcommands
from tests.support.hostile_world import (
    BAD,
    NAME,
    World,
    stored_world,
)
from tests.support.tables import each_row
from tui_chat.cli import commands, main, output
from tui_chat.cli.commands import cli
from tui_chat.extensions import missing_plugin

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ESCAPES = re.compile("[\x00-\x08\x0b-\x1f]")
_OUR_STYLES = re.compile("\x1b\\[[0-49](?:;[0-49])*m")
"""Bold, dim and the like, as Markdown on a terminal has them without colors."""


Walk = Callable[[World], list[tuple[object, ...]]]


def exports(_: World) -> list[tuple[object, ...]]:
    kinds = ("json", "jsonl", "markdown", "html", "sillytavern")
    return [*(("s1", "--format", kind) for kind in kinds), ("--all",), (BAD,), ("titled",)]


def builds(world: World) -> list[tuple[object, ...]]:
    shows = ("payload", "envelope", "request", "curl")
    whole = ("--preset", world.good, "--draft", BAD, "--model", f"m{BAD}")
    return [
        *((*whole, "--show", show) for show in shows),
        ("--protocol", "gemini", *whole),
        ("--preset", world.preset),
        ("--preset", BAD),
        ("--history", world.broken),
        ("--role", world.role, "--draft", BAD),
        ("--lorebook", world.book),
        ("--turn", world.broken),
        ("--variable", BAD),
        ("--endpoint", BAD),
        ("--at", BAD),
        ("--seed", BAD),
    ]


_HOSTILE_CLIENT = (
    sys.executable,
    "-c",
    "import json, os, urllib.request as r\n"
    f"messages = [{{'role': 'user', 'content': {BAD!r}}}]\n"
    "body = json.dumps({'model': 'echo', 'messages': messages}).encode()\n"
    f"headers = {{'x-hostile': 'a\\x9bb', 'user-agent': 'c\\x1b[2Jd'}}\n"
    "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions?%1b%9b'\n"
    "r.urlopen(r.Request(url, body, headers)).read()",
)
"""A client whose every text would be obeyed by a terminal."""

WALKS: dict[str, Walk] = {
    "build": builds,
    "convert": lambda w: [
        *((w.plain, "--to", to) for to in ("anthropic", "gemini", "openai_responses")),
        (w.plain, "--to", "gemini", "--report"),
        (w.request, "--to", "anthropic"),
        (w.broken, "--to", "gemini"),
        (w.plain, "--to", "gemini", "--endpoint", BAD),
        (w.plain, "--to", BAD),
    ],
    "docs": lambda _: [(), ("tap",), (BAD,)],
    "eval run": lambda w: [
        (w.folder / "cases", "--dry-run"),
        (w.folder / "cases", "--model", "loopback/echo", "--only", "a"),
        (w.folder / "cases", "--model", BAD),
        ("--resume", BAD),
        (BAD,),
    ],
    "eval list": lambda _: [(), ("--json",)],
    "eval show": lambda _: [(), ("--json",), (BAD,)],
    "eval compare": lambda _: [(), (BAD, BAD)],
    "eval accept": lambda _: [(BAD,)],
    "eval delete": lambda _: [(BAD,)],
    "inspect": lambda w: [(w.request,), (w.broken,), (w.folder / f"none{NAME}",)],
    "read": lambda w: [
        (w.reply, "--protocol", "openai_chat"),
        (w.error, "--protocol", "openai_chat"),
        (w.reply, "--protocol", "gemini"),
        (w.folder / f"none{NAME}", "--protocol", "gemini"),
    ],
    "tap": lambda _: [
        ("--upstream", "offline", "--json", "--to", "gemini", "--", *_HOSTILE_CLIENT),
        ("--upstream", BAD, "--", "true"),
        ("--upstream", "offline", "--", BAD),
        ("--listen", BAD),
        ("--max-body", BAD),
    ],
    "presets check": lambda w: [(w.preset, w.book), ("--json", w.preset), (w.folder / NAME,)],
    "presets import": lambda w: [(w.tavern,), (w.tavern, "--name", NAME), (w.broken,)],
    "presets states": lambda _: [(), (BAD,), (NAME, "--show", "1")],
    "presets test": lambda w: [(w.folder / "cases",), ("--update", w.folder / "cases"), (BAD,)],
    "sillytavern check": lambda w: [(w.folder,), (w.folder, "--json"), (BAD,)],
    "sillytavern build": lambda w: [(w.case,), (w.tavern,), (w.broken,)],
    "presets export": lambda w: [(w.good,), (w.preset,), (BAD,)],
    "presets list": lambda _: [(), ("--json",)],
    "presets show": lambda w: [(w.good,), (w.good, "--json"), (w.preset,), (BAD,)],
    "presets path": lambda _: [(), ("plain",), (BAD,)],
    "lorebooks list": lambda _: [(), ("--json",)],
    "lorebooks show": lambda w: [(w.book,), (w.book, "--json"), (BAD,)],
    "lorebooks export": lambda w: [(w.book,), (w.broken,), (BAD,)],
    "roles list": lambda _: [(), ("--json",)],
    "roles export": lambda w: [("r1",), ("r1", "-o", w.folder / f"r{NAME}.json"), (BAD,)],
    "roles show": lambda _: [("r1",), ("r1", "--json"), (BAD,)],
    "profiles list": lambda _: [(), ("--json",)],
    "profiles show": lambda _: [(BAD,), (NAME,), (NAME, "--json")],
    "models": lambda _: [
        (),
        ("--json",),
        ("--endpoint", "hostile", "--online"),
        ("--endpoint", "hostile", "--online", "--json"),
        ("--endpoint", "refusing", "--online"),
        ("--endpoint", BAD),
        (BAD,),
    ],
    "loopback": lambda _: [("--host", BAD), ("--port", BAD)],
    "serve": lambda _: [
        ("--host", BAD),
        ("--port", BAD),
        ("--url", BAD),
        ("--url", BAD, "--allow-remote"),
    ],
    "endpoints list": lambda _: [(), ("--json",), ("--discover",), ("--discover", "--json")],
    "endpoints facts": lambda _: [
        ("hostile",),
        ("hostile", BAD, "gpt-5"),
        ("hostile", BAD, "--json"),
        (BAD,),
    ],
    "endpoints test": lambda _: [
        ("hostile",),
        ("hostile", "--json"),
        ("hostile", "--model", BAD),
        ("hostile", "--model", "refused"),
        ("refusing",),
        ("refusing", "--json"),
        (BAD,),
    ],
    "ask": lambda w: [
        (BAD, "--model", "echo", "--raw"),
        (BAD, "--model", "echo", "--json"),
        ("x", "--endpoint", "hostile", "--raw"),
        ("x", "--endpoint", "refusing"),
        ("x", "-s", "s1", "--model", "echo", "--raw"),
        ("x", "-s", BAD),
        ("x", "--role", BAD),
        ("x", "--preset", BAD),
        ("x", "--attach", w.folder / NAME),
        ("x", "--schema", w.broken),
        ("x", "--set", BAD),
    ],
    "config path": lambda _: [()],
    "config show": lambda _: [(), ("--json",)],
    "config check": lambda w: [(), (w.broken,), (w.folder / NAME,)],
    "config edit": lambda _: [(BAD,)],
    "keys set": lambda _: [("openai",), ("hostile",), (BAD,)],
    "keys list": lambda _: [(), ("--json",)],
    "keys delete": lambda _: [("openai",), (BAD,)],
    "doctor": lambda _: [(), ("--json",)],
    "plugins check": lambda _: [(), (BAD,)],
    "plugins list": lambda _: [(), ("--json",)],
    "tools grants": lambda _: [(), ("--json",)],
    "tools revoke": lambda _: [(BAD,)],
    "completion": lambda _: [("zsh",), (BAD,)],
    "db status": lambda _: [(), ("--json",)],
    "db migrate": lambda _: [(), ("--to", BAD)],
    "db rollback": lambda _: [("--yes",), ("--to", BAD)],
    "db backup": lambda w: [(w.folder / f"copy{NAME}",), (w.folder / NAME / NAME,)],
    "db restore": lambda w: [(w.broken,), (w.folder / NAME,)],
    "db check": lambda _: [(), ("--json",)],
    "db repair": lambda _: [(), (BAD,)],
    "db vacuum": lambda _: [(), (f"--{BAD}",)],
    "db salvage": lambda w: [("--to", w.folder / f"new{NAME}.db"), (w.broken, "--to", w.broken)],
    "import": lambda w: [
        (w.chat, w.broken, w.folder / NAME),
        ("--json", w.chat, w.broken),
        ("--dry-run", w.folder),
    ],
    "export": exports,
    "sessions show": lambda _: [("s1",), ("s1", "--json"), (BAD,)],
    "sessions rename": lambda _: [("s1", BAD), ("s1", " "), (BAD, "x")],
    "sessions tag": lambda _: [("s1", "-a", BAD), ("s1", "-r", BAD), (BAD, "-a", "x")],
    "sessions archive": lambda _: [("s1",), ("s1", "--undo"), (BAD,)],
    "sessions delete": lambda _: [("s1",), ("s1", "--undo"), (BAD,), (BAD, "--undo")],
    "sessions cache": lambda _: [("s1",), ("s1", "--json"), (BAD,)],
    "redact": lambda _: [
        *(("s1", "--json"), ("s1", "--yes"), ("s1", "--format", "markdown", "--yes")),
        *(("s1", "--keep", BAD, "--yes"), ("s1",), (BAD,)),
    ],
    "sessions mute": lambda _: [("s1", "1"), ("s1", "--undo"), ("s1", BAD), (BAD, "1")],
    "sessions fork": lambda _: [("s1",), ("s1", "--title", BAD), ("s1", "--at", BAD), (BAD,)],
    "sessions list": lambda _: [(), ("--json",), ("--role", BAD), ("--limit", BAD)],
    "usage": lambda _: [(), ("--json",), ("--by", "model"), ("--by", BAD)],
    "prices show": lambda _: [("gpt-5",), ("gpt-5", "--json"), (BAD,)],
    "prices update": lambda w: [("--from", w.broken), ("--from", w.folder / NAME)],
    "search": lambda _: [("findme",), ("findme", "--json"), (BAD,), ("x", "--since", BAD)],
    "view": lambda w: [(w.chat,), (w.broken,)],
    "mcp add": lambda _: [("a", "--", BAD), (BAD, "--", "x"), ("b", "--env", BAD, "--", "x")],
    "mcp allow": lambda _: [(BAD,)],
    "mcp import": lambda w: [(w.servers, "--yes"), (w.broken,), (w.folder / NAME,)],
    "mcp list": lambda _: [(), ("--json",)],
    "mcp remove": lambda _: [("hostile",), (BAD,)],
    "mcp serve": lambda _: [("--all",), ("--session", BAD), ()],
    "mcp status": lambda _: [(), ("--json",)],
    "mcp test": lambda _: [
        ("hostile",),
        ("hostile", "--json"),
        ("hostile", "--call", "echo", "--arguments", json.dumps({"a": BAD})),
        ("hostile", "--call", BAD, "--arguments", BAD),
        (BAD,),
    ],
}


def command_names(group: click.Group, before: str = "") -> Iterator[str]:
    """Yield the names of all commands below a group."""
    for name, command in subcommands(group).items():
        if isinstance(command, click.Group):
            yield from command_names(command, f"{before}{name} ")
        else:
            yield before + name


HERE = sorted(
    name
    for name in WALKS
    if not (missing_plugin("commands", name) or missing_plugin("commands", name.split()[0]))
)
"""The commands that are not of a deleted plugin."""


def test_every_command_is_covered() -> None:
    assert set(command_names(cli)) == set(HERE)


def walked(run: Run, world: World, name: str) -> Iterator[tuple[tuple[object, ...], Done]]:
    folders = ("--data-dir", world.data, "--config-dir", world.config)
    if name == "import":
        (world.data / "chat.db").unlink()
    for arguments in WALKS[name](world):
        yield arguments, run(*folders, *name.split(), *arguments)


@each_row("name", HERE)
def test_no_control_characters_are_printed(
    name: str, run: Run, servers: tuple[str, str], database: bytes, tmp_path: Path
) -> None:
    for arguments, done in walked(run, stored_world(tmp_path, servers, database), name):
        # The exact bytes of a request are promised where they are kept, and only there.
        is_request = name in ("build", "convert") and "--report" not in arguments
        out = _ESCAPES if is_request and "envelope" not in arguments else _OBEYED
        is_reply = name == "ask" and "--json" not in arguments
        assert is_reply or not out.search(done.out), (arguments, done.out)
        assert not _OBEYED.search(done.err), (arguments, done.err)
        assert "Traceback" not in done.err
        assert "Internal error" not in done.err, (arguments, done.err)


@each_row("name", HERE)
def test_no_control_characters_are_printed_on_a_terminal(
    name: str,
    run: Run,
    servers: tuple[str, str],
    database: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(output, "is_terminal", lambda *, err=False: True)
    monkeypatch.setenv("NO_COLOR", "1")
    for arguments, done in walked(run, stored_world(tmp_path, servers, database), name):
        out = _OUR_STYLES.sub("", done.out) if name in ("sessions show", "docs") else done.out
        assert not _OBEYED.search(out), (arguments, done.out)
        said = re.sub("\r|\x1b\\[K", "", done.err)  # the line that says how far it is
        assert not _OBEYED.search(said), (arguments, said)


@pytest.mark.parametrize("name", ["build", "convert"])
def test_a_request_on_a_terminal_is_escaped_but_equal_json(
    run: Run, world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {
        "build": ("build", "--draft", BAD, "--model", "m"),
        "convert": ("convert", world.plain, "--to", "openai_chat"),
    }[name]
    kept = run("--config-dir", world.config, *words)
    monkeypatch.setattr(output, "is_terminal", lambda *, err=False: not err)
    seen = run("--config-dir", world.config, *words)
    assert "\x9b" in kept.out
    assert "\x9b" not in seen.out
    assert json.loads(seen.out) == json.loads(kept.out)


@each_row(
    "config",
    [
        f"{json.dumps(BAD)} = 1",
        f"endpoint = {json.dumps(BAD)}",
        f"[endpoints.{json.dumps(BAD)}]\nprotocol = {json.dumps(BAD)}",
        f"x = {BAD}",
        f'[endpoints.e]\nprotocol = "gemini"\nbase_url = {json.dumps(BAD)}\nkey = "env:{1}"',
    ],
)
def test_faults_of_the_configuration_are_sanitized(run: Run, tmp_path: Path, config: str) -> None:
    (tmp_path / "config.toml").write_text(config)
    for words in (("endpoints", "list"), ("endpoints", "facts", "e"), ("build",), ()):
        done = run("--config-dir", tmp_path, "--data-dir", tmp_path, *words)
        assert not _OBEYED.search(done.out + done.err)
        assert "Traceback" not in done.err


@each_row(
    "words",
    [(BAD,), (f"--{BAD}",), ("build", f"--{BAD}"), ("endpoints", BAD), ("import",), ("endpoints",)],
)
def test_echoed_arguments_are_sanitized(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.code == 2
    assert done.err
    assert not _OBEYED.search(done.out + done.err)


def test_json_escapes_keep_the_data(run: Run, stored: World) -> None:
    folders = ("--data-dir", stored.data, "--config-dir", stored.config)
    lines = run(*folders, "export", "s1", "--format", "jsonl").out.splitlines()
    assert json.loads(lines[0])["content"] == f"findme {BAD}"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGPIPE")
@each_row(
    "words", [("export", "--all"), ("sessions", "list"), ("endpoints", "list", "--json"), ("-h",)]
)
def test_a_closed_pipe_ends_a_command_quietly(stored: World, words: tuple[str, ...]) -> None:
    folders = ("--data-dir", str(stored.data), "--config-dir", str(stored.config))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "tui_chat", *folders, *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (output.CLOSED, "")


@pytest.mark.slow
def test_characters_outside_the_encoding_are_escaped(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tui_chat", "endpoints", "facts", "none"],
        capture_output=True,
        timeout=60,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "PYTHONIOENCODING": "ascii",
        },
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_closed_output_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["tui-chat", "endpoints", "list"])
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err == "Error: the output cannot be written: it is closed\n"


def test_a_closed_input_is_empty(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    done = run("convert", "-", "--to", "gemini")
    assert (done.code, done.err.split(".")[0]) == (
        2,
        "Error: standard input: No request was found",
    )


def test_ctrl_c_before_a_command_runs_prints_nothing(run: Run, monkeypatch: pytest.MonkeyPatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run", interrupted)
    done = run("endpoints", "list")
    assert (done.code, done.out, done.err) == (130, "", "")

"""Everything that the command line prints is sanitized; standard streams that are closed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.data import table
from tests.support.command_line import Done, Run
from tests.support.command_tree import subcommands
from tests.support.hostile_world import (
    BAD,
    World,
    stored_world,
)
from tests.support.program import run_program
from tests.support.tables import each_row
from tui_chat.cli import commands, main, output
from tui_chat.cli.commands import cli

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ESCAPES = re.compile("[\x00-\x08\x0b-\x1f]")
_OUR_STYLES = re.compile("\x1b\\[[0-49](?:;[0-49])*m")
"""Bold, dim and the like, as Markdown on a terminal has them without colors."""


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

WALKS: dict[str, list[list[str]]] = table("output_walks")
"""The arguments that each command is run with: `{bad}` are control characters, `{client}` the
client, other names in braces files of the world.
"""


def command_names(group: click.Group, before: str = "") -> Iterator[str]:
    """Yield the names of all commands below a group."""
    for name, command in subcommands(group).items():
        if isinstance(command, click.Group):
            yield from command_names(command, f"{before}{name} ")
        else:
            yield before + name


HERE = sorted(name for name in WALKS if name in set(command_names(cli)))
"""The commands that are not of a deleted plugin."""


def test_every_command_is_covered():
    assert set(command_names(cli)) == set(HERE)


def walked(run: Run, world: World, name: str) -> Iterator[tuple[tuple[object, ...], Done]]:
    folders = ("--data-dir", world.data, "--config-dir", world.config)
    if name == "import":
        (world.data / "chat.db").unlink()
    for words in WALKS[name]:
        arguments = [each for word in words for each in expanded(word, world)]
        yield tuple(arguments), run(*folders, *name.split(), *arguments)


def expanded(word: str, world: World) -> tuple[str, ...]:
    if word == "{client}":
        return _HOSTILE_CLIENT
    word = word.replace("{bad_json}", json.dumps(BAD)).replace("{bad}", BAD)
    return (re.sub(r"^\{(\w+)\}", lambda found: str(getattr(world, found[1])), word),)


@each_row("name", HERE)
def test_no_control_characters_are_printed(
    name: str, run: Run, servers: tuple[str, str], database: bytes, tmp_path: Path
):
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
):
    monkeypatch.setattr(output, "is_terminal", lambda *, err=False: True)
    monkeypatch.setenv("NO_COLOR", "1")
    for arguments, done in walked(run, stored_world(tmp_path, servers, database), name):
        out = _OUR_STYLES.sub("", done.out) if name in ("sessions show", "docs") else done.out
        assert not _OBEYED.search(out), (arguments, done.out)
        said = re.sub("\r|\x1b\\[K", "", done.err)  # the line that says how far it is
        assert not _OBEYED.search(said), (arguments, said)


@each_row("name", ["build", "convert"])
def test_a_request_on_a_terminal_is_escaped_but_equal_json(
    run: Run, world: World, name: str, monkeypatch: pytest.MonkeyPatch
):
    words = {
        "build": ("build", BAD, "--model", "m"),
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
def test_faults_of_the_configuration_are_sanitized(run: Run, tmp_path: Path, config: str):
    (tmp_path / "config.toml").write_text(config)
    for words in (("endpoints", "list"), ("build",), ()):
        done = run("--config-dir", tmp_path, "--data-dir", tmp_path, *words)
        assert not _OBEYED.search(done.out + done.err)
        assert "Traceback" not in done.err


@each_row(
    "words",
    [(BAD,), (f"--{BAD}",), ("build", f"--{BAD}"), ("endpoints", BAD), ("import",), ("endpoints",)],
)
def test_echoed_arguments_are_sanitized(run: Run, words: tuple[str, ...]):
    done = run(*words)
    assert done.code == 2
    assert done.err
    assert not _OBEYED.search(done.out + done.err)


def test_json_escapes_keep_the_data(run: Run, stored: World):
    folders = ("--data-dir", stored.data, "--config-dir", stored.config)
    lines = run(*folders, "export", "s1", "--format", "jsonl").out.splitlines()
    assert json.loads(lines[0])["content"] == f"findme {BAD}"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGPIPE")
@each_row(
    "words", [("export", "--all"), ("sessions", "list"), ("endpoints", "list", "--json"), ("-h",)]
)
def test_a_closed_pipe_ends_a_command_quietly(stored: World, words: tuple[str, ...]):
    folders = ("--data-dir", str(stored.data), "--config-dir", str(stored.config))
    reader, writer = os.pipe()
    os.close(reader)
    done = run_program(*folders, *words, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (output.CLOSED, "")


@pytest.mark.slow
def test_characters_outside_the_encoding_are_escaped(tmp_path: Path):
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


def test_a_closed_output_is_an_error(monkeypatch, capsys: pytest.CaptureFixture[str]):
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

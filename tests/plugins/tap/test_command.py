"""`tui-chat tap`, as its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Run
from tests.support.program import PIPE, Program, run_program
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.plugins.tap.upstreams import client_variables, read_address, read_upstream

KEY = "sk-planted-0123456789abcdefghij"
CLIENT = f"""
import json, os, sys, urllib.request
def ask(messages, model="claude-sonnet-4-5"):
    body = json.dumps({{"model": model, "max_tokens": 99, "messages": messages}}).encode()
    headers = {{"x-api-key": "{KEY}", "anthropic-version": "2023-06-01"}}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages?beta=true"
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:
        return json.load(reply)["content"][0]["text"]
messages = [{{"role": "user", "content": "One"}}]
text = ask(messages)
ask([*messages, {{"role": "assistant", "content": text}}, {{"role": "user", "content": "Two"}}])
print("client:", text)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    folders = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    return {**os.environ, **{name: str(tmp_path / "home") for name in folders}}


def tap(environ: dict[str, str], *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_program("--data-dir", folder / "data", "tap", *words, env=environ)


@pytest.mark.slow
def test_a_command_runs_behind_the_tap(run: Run, environ: dict[str, str], tmp_path: Path):
    client = [sys.executable, "-c", CLIENT, "7"]
    flags = ["--upstream", "offline", "--json"]
    done = tap(environ, *flags, "--", *client, folder=tmp_path)
    assert done.returncode == 7, done.stderr
    one, two = (json.loads(line) for line in done.stdout.splitlines())
    assert "client: One" in done.stderr
    assert "2 model calls recorded" in done.stderr
    assert [one["conversation"]["call"], two["conversation"]["call"]] == [1, 2]
    assert one["request"]["url"].endswith("/v1/messages?beta=true")
    assert json.loads(one["request"]["body"])["messages"][0]["content"] == "One"
    assert [turn["content"] for turn in two["explained"]["turns"]] == ["One", "One", "Two"]
    assert [each["preview"] for each in two["compared"]["messages"]["added"]] == ["One", "Two"]
    assert two["compared"]["cache"]["kind"] == "grown"
    assert (two["reply"]["content"], two["response"]["outcome"]) == ("Two", "complete")
    assert two["reply"]["usage"]["output"] == 1
    assert two["seconds"]["first_token"] <= two["seconds"]["total"]
    assert KEY not in done.stdout + done.stderr
    data = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in data
    listed = run("--data-dir", tmp_path / "data", "sessions", "list", "--json", "--tag", "tap")
    assert listed.code == 0, listed.err
    (session,) = json.loads(listed.out)
    assert session["session_id"] == two["conversation"]["session_id"]
    assert session["endpoint"] == "loopback-anthropic"
    exported = run("--data-dir", tmp_path / "data", "export", session["session_id"])
    [*_, sent] = json.loads(exported.out)["sessions"][0]["requests"]
    assert {name: sent[name] for name in ("method", "url", "sha256")} == {
        name: two["request"][name] for name in ("method", "url", "sha256")
    }


@pytest.mark.slow
def test_the_commands_output_is_its_own_without_json(
    run: Run, environ: dict[str, str], tmp_path: Path
):
    client = [sys.executable, "-c", CLIENT, "0"]
    flags = ["--upstream", "offline", "--no-store"]
    lines = tmp_path / "calls.jsonl"
    words = (*flags, "--output", str(lines), "--", *client)
    assert run("--data-dir", tmp_path / "data", "tap", *words).code == 0
    done = tap(environ, *words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "client: One\n")
    assert len(lines.read_text().splitlines()) == 4
    assert lines.stat().st_mode & 0o077 == 0
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_command_names_the_address_in_its_arguments(environ: dict[str, str], tmp_path: Path):
    show = ["sh", "-c", 'echo "$1 $OPENAI_BASE_URL"', "sh", 'x="{OPENAI_BASE_URL}" {PATH} {}']
    done = tap(environ, "--upstream", "http://127.0.0.1:9/api", "--", *show, folder=tmp_path)
    first, *rest, address = done.stdout.split()
    assert (first, rest) == (f'x="{address}"', ["{PATH}", "{}"])
    assert address.endswith("/api")


@each_row(
    ("command", "code"),
    [(["no-such-program-at-all"], 127), (["/"], 126), (["sh", "-c", "kill -TERM $$"], 143)],
)
def test_the_exit_code_is_the_commands(run: Run, tmp_path: Path, command: list[str], code: int):
    done = run("--data-dir", tmp_path, "tap", "--upstream", "offline", "--", *command)
    assert done.code == code
    assert "Traceback" not in done.err


@contextmanager
def running(environ: dict[str, str], folder: Path) -> Iterator[tuple[Program, Callable[..., Any]]]:
    """Run the tap without a command; yield it, and a function that asks through it."""
    command = ("--data-dir", folder / "data", "tap", "--listen", "0", "--upstream", "offline")
    with Program(command, env=environ, stdout=PIPE) as process:
        assert process.stdout is not None
        base = process.stdout.readline().decode().split()[2].rstrip(";")
        assert b"OPENAI_BASE_URL=" in process.stdout.readline()

        def ask(**body: Any) -> Any:
            data = json.dumps({**body, "messages": [{"role": "user", "content": "Hi"}]}).encode()
            request = urllib.request.Request(f"{base}/v1/chat/completions", data)
            return urllib.request.urlopen(request, timeout=20)

        yield process, ask


@pytest.mark.slow
def test_without_a_command_it_runs_until_a_signal(environ: dict[str, str], tmp_path: Path):
    with running(environ, tmp_path) as (process, ask):
        with ask(model="echo") as reply:
            assert json.load(reply)["choices"][0]["message"]["content"] == "Hi"
        line = ""
        while "echo" not in line:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            assert line, "it ended early"
        assert line.split()[1:3] == ["Python-urllib", "echo"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 143


@pytest.mark.slow
def test_it_ends_at_once_while_a_reply_arrives(run: Run, environ: dict[str, str], tmp_path: Path):
    with (
        running(environ, tmp_path) as (process, ask),
        ask(model="flaky-stall", stream=True) as reply,
    ):
        assert reply.readline().startswith(b"data: ")
        process.send_signal(signal.SIGINT)
        assert process.wait(8) == 0
    (session,) = json.loads(run("--data-dir", tmp_path / "data", "sessions", "list", "--json").out)
    assert session["status"] == "stopped"


@each_row(
    ("words", "told"),
    [
        (["--listen", "0.0.0.0:0"], "--listen: 0.0.0.0 can be reached from other machines."),
        (["--listen", "x:y"], "--listen: “x:y” is not HOST:PORT"),
        (["--upstream", "ftp://x"], "--upstream: “ftp://x” is not a URL of a server."),
        (["--upstream", "https://u:p@x"], "--upstream: a URL with a password cannot be used."),
        (["--pause", "x"], "--pause needs the place where held calls wait."),
        (["--output", "/no/such/folder/x"], "cannot be written"),
    ],
)
def test_bad_flags_are_explained(run: Run, tmp_path: Path, words: list[str], told: str):
    done = run("--data-dir", tmp_path, "tap", "--no-store", *words, "--", "true")
    assert done.code == 2
    assert told in done.err


def test_addresses():
    for text, address in (
        ("", ("127.0.0.1", 9)),
        ("8080", ("127.0.0.1", 8080)),
        (":8080", ("127.0.0.1", 8080)),
        ("localhost", ("localhost", 9)),
        ("localhost:1", ("localhost", 1)),
        ("::1", ("::1", 9)),
        ("[::1]:1", ("::1", 1)),
    ):
        assert read_address(text, 9) == address
    for text in ("a:b", "a:70000", "[::1]:x"):
        with pytest.raises(InputError):
            read_address(text, 9)


VARIABLES: list[tuple[str, dict[str, Any]]] = [
    ("", {"OPENAI_BASE_URL": "/v1", "ANTHROPIC_BASE_URL": "", "GOOGLE_GEMINI_BASE_URL": ""}),
    ("https://o.ai/api/v1", {"OPENAI_BASE_URL": "/api/v1", "ANTHROPIC_BASE_URL": "/api"}),
    ("https://c.com/codex", {"OPENAI_BASE_URL": "/codex", "OLLAMA_HOST": ""}),
]


@each_row(("url", "paths"), VARIABLES)
def test_the_variables_of_clients(url: str, paths: dict[str, str]):
    found = client_variables("http://127.0.0.1:1", read_upstream(url) if url else None)
    assert {name: found[name] for name in paths} == {
        name: f"http://127.0.0.1:1{path}" for name, path in paths.items()
    }
    assert ("OLLAMA_HOST" in found) is bool(url)

"""`tui-chat endpoints`: what it lists, and what it finds out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KEY = "sk-proj-0123456789abcdef"


def run(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tui_chat", "--config-dir", str(folder), "endpoints", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "NO_COLOR": "1", **environ},
    )


@pytest.mark.parametrize(
    "name", ["loopback", "loopback-responses", "loopback-anthropic", "loopback-gemini"]
)
def test_a_working_endpoint_passes_every_check(name: str, tmp_path: Path):
    done = run(tmp_path, "test", name, "--model", "echo", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["works"] is True
    checks = {check["name"]: check for check in told["checks"]}
    assert list(checks) == ["key", "server", "model", "chat", "stream", "usage"]
    assert {check["result"] for check in checks.values()} == {"ok"}
    assert "in pieces" in checks["stream"]["sentence"]


def test_what_fails_is_told_with_what_to_do(tmp_path: Path):
    done = run(tmp_path, "test", "loopback", "--model", "flaky-429")
    assert done.returncode == 1
    assert "NO  chat" in done.stdout
    assert "Wait 2 s" in done.stdout
    assert "does not work: chat, stream" in done.stdout


def test_a_cut_stream_is_told(tmp_path: Path):
    told = json.loads(run(tmp_path, "test", "loopback", "--model", "flaky-cut", "--json").stdout)
    checks = {check["name"]: check["result"] for check in told["checks"]}
    assert checks["stream"] == "failed"


def test_a_missing_key_stops_it_before_anything_is_sent(tmp_path: Path):
    done = run(tmp_path, "test", "openai")
    assert done.returncode == 1
    assert "Set OPENAI_API_KEY" in done.stdout
    assert done.stdout.count("--  ") == 5


def test_a_server_that_is_off_is_told(tmp_path: Path):
    (tmp_path / "config.toml").write_text(
        '[endpoints.mine]\nprotocol = "openai_chat"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    done = run(tmp_path, "test", "mine")
    assert done.returncode == 1
    assert "No server answers at 127.0.0.1:9" in done.stdout


def test_an_unknown_name_and_a_broken_file_exit_with_2(tmp_path: Path):
    done = run(tmp_path, "test", "nowhere")
    assert done.returncode == 2
    assert "There are: loopback" in done.stderr
    (tmp_path / "config.toml").write_text(f'[endpoints.openai]\nkey = "{KEY}"')
    done = run(tmp_path, "list")
    assert done.returncode == 2
    assert "endpoints.openai.key" in done.stderr
    assert KEY not in done.stderr


def test_the_list_shows_where_keys_are_and_never_one(tmp_path: Path):
    (tmp_path / "config.toml").write_text(
        '[endpoints.openai]\nkey = "env:MY_KEY"\n'
        f'[endpoints.google]\nkey = "command:/bin/echo {KEY}"\n'
        '[endpoints.groq]\nkey = "keyring:chat/groq"\n'
    )
    for arguments in (("list",), ("list", "--json")):
        done = run(tmp_path, *arguments, MY_KEY=KEY)
        assert done.returncode == 0, done.stderr
        assert KEY not in done.stdout + done.stderr
        for expected in ("env:MY_KEY", "command:echo …", "keyring:chat/groq", "none needed"):
            assert expected in done.stdout
        assert "env:ANTHROPIC_API_KEY (not set)" in done.stdout
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["anthropic"]["facts"]["claude-opus-4-8*"]["prefill"] is False
    assert rows["ollama"]["running"] is False


def test_a_key_command_is_run_and_its_answer_sent_nowhere_else(tmp_path: Path):
    (tmp_path / "config.toml").write_text(
        f'[endpoints.loopback]\nkey = "command:/bin/echo {KEY}"\nauth = "header:X-My-Key"\n'
    )
    done = run(tmp_path, "test", "loopback", "--model", "mirror")
    assert done.returncode == 0, done.stdout
    assert "Found: command:echo …" in done.stdout
    assert KEY not in done.stdout + done.stderr

"""`tui-chat endpoints`: what it lists, and what it finds out."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Run

KEY = "sk-proj-0123456789abcdef"


@pytest.fixture
def endpoints(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command with a folder as its home, and no keys, settings or proxies around."""
    for name in list(os.environ):
        if name.upper().endswith(("_API_KEY", "_PROXY")) or name.startswith("TUI_CHAT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    return partial(run, "--config-dir", tmp_path, "endpoints")


@pytest.mark.parametrize(
    "name", ["loopback", "loopback-responses", "loopback-anthropic", "loopback-gemini"]
)
def test_a_working_endpoint_passes_every_check(name: str, endpoints: Run):
    done = endpoints("test", name, "--model", "echo", "--json")
    assert done.code == 0, done.out + done.err
    told = json.loads(done.out)
    assert told["works"] is True
    checks = {check["name"]: check for check in told["checks"]}
    assert list(checks) == ["key", "server", "model", "chat", "stream", "usage"]
    assert {check["result"] for check in checks.values()} == {"ok"}
    assert "in pieces" in checks["stream"]["sentence"]


def test_what_fails_is_told_with_what_to_do(endpoints: Run):
    done = endpoints("test", "loopback", "--model", "flaky-429")
    assert done.code == 1
    assert "NO  chat" in done.out
    assert "Wait 2 s" in done.out
    assert "does not work: chat, stream" in done.out


def test_a_cut_stream_is_told(endpoints: Run):
    told = json.loads(endpoints("test", "loopback", "--model", "flaky-cut", "--json").out)
    checks = {check["name"]: check["result"] for check in told["checks"]}
    assert checks["stream"] == "failed"


def test_a_missing_key_stops_it_before_anything_is_sent(endpoints: Run):
    done = endpoints("test", "openai")
    assert done.code == 1
    assert "Set OPENAI_API_KEY" in done.out
    assert done.out.count("--  ") == 5


def test_a_server_that_is_off_is_told(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        '[endpoints.mine]\nprotocol = "openai_chat"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    done = endpoints("test", "mine")
    assert done.code == 1
    assert "No server answers at 127.0.0.1:9" in done.out


def test_an_unknown_name_and_a_broken_file_exit_with_2(tmp_path: Path, endpoints: Run):
    done = endpoints("test", "nowhere")
    assert done.code == 2
    assert "There are: loopback" in done.err
    (tmp_path / "config.toml").write_text(f'[endpoints.openai]\nkey = "{KEY}"')
    done = endpoints("list")
    assert done.code == 2
    assert "endpoints.openai.key" in done.err
    assert KEY not in done.err


def test_the_list_shows_where_keys_are_and_never_one(
    tmp_path: Path, endpoints: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", KEY)
    (tmp_path / "config.toml").write_text(
        '[endpoints.openai]\nkey = "env:MY_KEY"\n'
        f'[endpoints.google]\nkey = "command:/bin/echo {KEY}"\n'
        '[endpoints.groq]\nkey = "keyring:chat/groq"\n'
    )
    for arguments in (("list",), ("list", "--json")):
        done = endpoints(*arguments)
        assert done.code == 0, done.err
        assert KEY not in done.out + done.err
        for expected in ("env:MY_KEY", "command:echo …", "keyring:chat/groq", "none needed"):
            assert expected in done.out
        assert "env:ANTHROPIC_API_KEY (not set)" in done.out
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert rows["anthropic"]["facts"]["claude-opus-4-8"]["prefill"] is False
    assert rows["ollama"]["running"] is False


def test_a_key_command_is_run_and_its_answer_sent_nowhere_else(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        f'[endpoints.loopback]\nkey = "command:/bin/echo {KEY}"\nauth = "header:X-My-Key"\n'
    )
    done = endpoints("test", "loopback", "--model", "mirror")
    assert done.code == 0, done.out
    assert "Found: command:echo …" in done.out
    assert KEY not in done.out + done.err


def test_the_test_shows_where_requests_go(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        '[endpoints.mine]\nprotocol = "anthropic"\nbase_url = "http://127.0.0.1:9/v1/messages"\n'
    )
    assert "Requests go to http://127.0.0.1:9/v1/messages\n" in endpoints("test", "mine").out
    assert json.loads(endpoints("test", "mine", "--json").out)["url"].endswith(":9/v1/messages")
